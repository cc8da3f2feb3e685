"""Tensors made of nothing: in every dtype, with shapes of no, one and several axes."""

import torch

from common import (DTYPES, FLOATS, INTS, OVERFLOW, TORCH, Case, cast, equal, gen, integers, rounded,
                    source, uniform)

SHAPES = [[], [3], [2, 3], [0, 4], [1, 1, 5]]
PLAIN = [d for d, _, _ in DTYPES if d not in ("f4e2m1", "f8e8m0")]


def case(op, name, body, y, d, inputs=None, note=""):
    inputs = inputs or {}
    return Case(name, source(body, inputs, [y]), inputs, [y], equal(), [op], d, note=note)


def typed(d, size):
    return f"{d}[{', '.join(map(str, size))}]" if size else d


def constants():
    for d in PLAIN:
        dtype = TORCH[d]
        for n, size in enumerate(SHAPES):
            for op, f in [("zeros", torch.zeros), ("ones", torch.ones)]:
                y = f(size, dtype=torch.float32).to(dtype)
                yield case(op, f"{op}_{d}_{n}", f"{op}({typed(d, size)})", y, d)
        values = {"f": ["0.1", "-inf", "1e30", "-0.0"], "b": ["0.1", "-inf", "1e30", "-0.0"],
                  "i": ["7", "-3"], "u": ["7", "200"]}["b" if d == "bf16" else d[0]] if d != "bool" else []
        for n, v in enumerate(values):
            # a number is an f64 before it lands in the dtype
            w = torch.full([2, 3], float(v), dtype=torch.float64)
            y = w.to(dtype) if d in INTS else cast(rounded(w, dtype) if dtype.itemsize > 1 else w, dtype)
            note = OVERFLOW if d == "f8e4m3" else ""
            yield case("full", f"full_{d}_{n}", f"full({typed(d, [2, 3])}, {v})", y, d, note=note)
            x = uniform(gen(f"like_{d}"), [3, 1], dtype) if d not in INTS else \
                integers(gen(f"like_{d}"), [3, 1], dtype)
            z = y[:1, :1].expand(3, 1).contiguous()
            yield case("full_like", f"full_like_{d}_{n}", f"full_like(x, {v})", z, d, {"x": x}, note)


def ranges():
    for d in INTS + FLOATS:
        for n, (k, start) in enumerate([(5, 0), (0, 3), (1, 9), (7, -3 if d[0] != "u" else 3), (40, 90)]):
            if d in ("i8",) and n == 4:
                continue
            y = torch.arange(start, start + k, dtype=torch.int64).to(TORCH[d])
            first = f", start = {start}" if start else ""
            kind = f", dtype = {d}" if d != "i64" else ""
            yield case("arange", f"arange_{d}_{n}", f"arange({k}{first}{kind})", y, d)
    # above 2^8 and 2^11 whole numbers round in bf16 and f16
    for d, start in [("bf16", 250), ("f16", 2040), ("f32", 16777210)]:
        y = torch.arange(start, start + 20, dtype=torch.int64).to(torch.float64)
        yield case("arange", f"arange_{d}_rounds", f"arange(20, start = {start}, dtype = {d})",
                   rounded(y, TORCH[d]), d)


def matrices():
    for d in FLOATS + INTS:
        for n, m in [(3, 3), (2, 5), (4, 1), (0, 2)]:
            y = torch.eye(n, m).to(TORCH[d])
            parts = [str(n)] + ([f"m = {m}"] if m != n else []) + ([f"dtype = {d}"] if d != "f32" else [])
            yield case("eye", f"eye_{d}_{n}_{m}", f"eye({', '.join(parts)})", y, d)


def masks():
    for n, m in [(3, 3), (2, 5), (5, 2), (1, 1), (1, 6), (0, 3)]:
        ones = torch.ones(n, m, dtype=torch.bool)
        yield case("tril_mask", f"tril_mask_{n}_{m}", f"tril_mask([{n}, {m}])", ones.tril(), "bool")
        yield case("causal_mask", f"causal_mask_{n}_{m}", f"causal_mask([{n}, {m}])",
                   ones.tril(m - n), "bool", note="the last query is aligned with the last key")
    for n, start, end in [(4, 6, 8), (3, 0, 9), (5, 7, 7), (1, 2, 3), (0, 0, 4)]:
        y = torch.arange(start, start + n) < end
        yield case("window_valid", f"window_valid_{n}_{start}_{end}",
                   f"window_valid({n}, start = {start}, end = {end})", y, "bool")


def written():
    for d in PLAIN:
        dtype = TORCH[d]
        x = integers(gen(f"empty_{d}"), [3, 4], torch.int64, 0, 1).to(torch.float32).to(dtype)
        y = torch.stack([x, x])
        yield case("empty", f"empty_{d}",
                   f"let mut y = empty({d}[2, 3, 4]); for i in 0..2 {{ y[i] = x; }} y", y, d, {"x": x})
    x = uniform(gen("empty_none"), [0, 2])
    yield case("empty", "empty_none", "let mut y = empty(f32[0, 2]); y[0..0] = x; y", x, "f32", {"x": x})


def cases():
    yield from constants()
    yield from ranges()
    yield from matrices()
    yield from masks()
    yield from written()

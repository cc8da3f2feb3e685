"""Reductions: over one axis, several, all; kept or not; of nothing, of one, of long rows.

The reference of sums is the f64 sum rounded once: the order in which PyTorch adds is not defined.
Where every partial sum is exact, on small whole numbers and on integers, all bits must be alike.
"""

import numpy as np
import torch

from common import (FLOATS, INTS, TORCH, UNIT, Case, accumulates, cast, close, equal, gen, integers,
                    rounded, signed, source, specials, sum_bound, ulp, uniform)

#: name, shape, dims (all where None), keepdim
WAYS = [
    ("row", [3, 7], [-1], False),
    ("column", [5, 2], [0], True),
    ("two", [2, 3, 5], [0, 2], False),
    ("all", [4, 3], None, False),
    ("one", [1, 4], [0], False),
    ("long", [1, 530], [1], False),
]
NOTHING = ("nothing", [2, 0], [1], False)
TRUTH = "f64, rounded once"


def call(op, dims, keep, extra=""):
    parts = []
    if dims is not None:
        parts.append(f"dim = {dims[0] if len(dims) == 1 else dims}")
    if keep:
        parts.append("keepdim = true")
    parts += [extra] if extra else []
    return f"{op}({', '.join(['x', *parts])})"


def axes(x, dims):
    return list(range(x.dim())) if dims is None else dims


def count(x, dims):
    return int(np.prod([x.shape[d] for d in axes(x, dims)]))


def case(op, d, what, x, y, dims, keep, rule, note="", out="", like=""):
    extra = f"out = {out}" if out else ""
    tag = f"_{out}" if out else ""
    return Case(f"{op}_{d}_{what}{tag}", source(call(op, dims, keep, extra), {"x": x}, [y]),
                {"x": x}, [y], rule, [op], d, note=note, like=like)


def small(g, size, dtype):
    """Whole numbers whose sums are exact in every float, 530 of them included, to bf16's 8 bits."""
    return integers(g, size, torch.int64, -1, 1).to(dtype)


def sums():
    for d in FLOATS + ["f8e4m3", "f8e5m2"]:
        dtype = TORCH[d]
        outs = [""] if d in ("f64", "f32") else ["f32"] if d[:2] == "f8" else ["", "f32"]
        for what, size, dims, keep in [*WAYS, NOTHING]:
            for out in outs:
                to = TORCH[out or d]
                tag = f"_{outs[0]}" if outs[0] else ""
                first = lambda op, kind="": f"{op}_{d}_{what}{kind}{tag}" if (op, out) != (
                    "sum", outs[0]) else ""
                g = gen(f"sum_{d}_{what}")
                draws = [("", uniform(g, size, dtype)), ("_exact", small(g, size, dtype))]
                for kind, x in draws if out == outs[0] else draws[:1]:
                    w = x.to(torch.float64)
                    at = axes(x, dims)
                    y = rounded(w.sum(at, keep), to)
                    mags = w.abs().sum(at)
                    rule = equal() if kind else sum_bound(count(x, dims), mags, to, dtype)
                    yield case("sum", d, what + kind, x, y, dims, keep, rule, TRUTH, out,
                               first("sum", kind))
                x = uniform(gen(f"sum_{d}_{what}"), size, dtype)
                w, n = x.to(torch.float64), count(x, dims)
                y = rounded(w.mean(at, keep), to)
                mags = w.abs().sum(at) / max(n, 1)
                yield case("mean", d, what, x, y, dims, keep,
                           sum_bound(n + 1, mags, to, dtype), TRUTH, out, f"sum_{d}_{what}{tag}")
                x = uniform(g, size, torch.float32).sign().mul(0.9).add(
                    uniform(g, size, torch.float32, 0.2)).to(dtype)
                y = rounded(x.to(torch.float64).prod(1, keep) if dims == [1] or dims == [-1]
                            else product(x.to(torch.float64), at, keep), to)
                acc = accumulates(dtype)
                rule = close((n + 1) * acc + 2 * UNIT[to], torch.finfo(to).smallest_normal,
                             f"{n} factors, each product rounded by {acc:.3g}, then to {out or d};"
                             " what is below the least normal number loses digits")
                yield case("prod", d, what, x, y, dims, keep, rule, TRUTH, out,
                           first("prod") if out != outs[0] else "")


def product(w, at, keep):
    for a in sorted([a % w.dim() for a in at], reverse=True):
        w = w.prod(a, keepdim=True)
    return w if keep else w.squeeze(at)


def whole():
    for d in INTS:
        dtype = TORCH[d]
        out = {"i8": "i32", "u8": "u32"}.get(d, "")
        to = TORCH[out or d]
        for what, size, dims, keep in [*WAYS[:5], NOTHING]:
            g = gen(f"whole_{d}_{what}")
            x = integers(g, size, dtype)
            # in i64, whose low bits are those of every narrower integer
            w = signed(x).to(torch.int64)
            if d == "u32":
                w = w & 0xFFFFFFFF
            narrow = {torch.uint32: torch.int32, torch.uint64: torch.int64}.get(to, to)
            y = w.sum(axes(x, dims), keep).to(narrow).view(to)
            yield case("sum", d, what, x, y, dims, keep, equal(), "wraps", out)
            y = product(w, axes(x, dims), keep).to(narrow).view(to)
            yield case("prod", d, what, x, y, dims, keep, equal(), "wraps", out,
                       f"sum_{d}_{what}" + (f"_{out}" if out else ""))


def extremes():
    for d in FLOATS + ["f8e4m3", "f8e5m2"] + INTS:
        dtype = TORCH[d]
        for what, size, dims, keep in WAYS:
            g = gen(f"max_{d}_{what}")
            draw = uniform if dtype.is_floating_point else integers
            x = draw(g, size, dtype)
            if what == "two":
                s = specials(dtype)
                at = torch.randint(0, len(s), size, generator=g)
                x = s.view(torch.uint8).reshape(len(s), -1)[at.reshape(-1)].reshape(-1).view(dtype)
                x = x.reshape(size)
            at = axes(x, dims)
            yield from extreme(d, what, x, dims, keep, at)


def extreme(d, what, x, dims, keep, at):
    note, rule = "", ulp(0) if x.is_floating_point() else equal()
    if d in ("u32", "u64"):
        n = x.numpy()
        note = "numpy's result: PyTorch has none on this dtype"
        high, low = (torch.from_numpy(np.asarray(f(n, axis=tuple(at), keepdims=keep)))
                     for f in (np.amax, np.amin))
        big = high
    else:
        w = x.to(torch.float32) if d[:2] == "f8" else x
        high, low, big = w.amax(at, keep), w.amin(at, keep), w.abs().amax(at, keep)
        high, low, big = (t.to(x.dtype) for t in (high, low, big))
    yield case("max", d, what, x, high, dims, keep, rule, note)
    first = f"max_{d}_{what}"
    yield case("min", d, what, x, low, dims, keep, rule, note, like=first)
    yield case("abs_max", d, what, x, big, dims, keep, rule, note, like=first)


def nothing():
    for d in ["f32", "bf16", "i32"]:
        x = torch.zeros([3, 0], dtype=TORCH[d])
        y = torch.zeros([3], dtype=TORCH[d])
        yield case("abs_max", d, "nothing", x, y, [1], False, equal(), "0 by definition")


def first(hit, n, dim, keep):
    """The lowest index where something holds; PyTorch does not say which of equal ones it takes."""
    shape = [1] * hit.dim()
    shape[dim] = n
    at = torch.where(hit, torch.arange(n).reshape(shape), n)
    return at.amin(dim, keep)


def places():
    ways = [("row", [3, 7], 1, False), ("kept", [4, 5], 0, True), ("last", [2, 3, 9], -1, False)]
    for d in FLOATS + ["f8e4m3", "f8e5m2"] + [i for i in INTS if i not in ("u32", "u64")]:
        dtype = TORCH[d]
        for what, size, dim, keep in ways:
            g = gen(f"argmax_{d}_{what}")
            # few values, so that many are equal
            lo = 0 if d[0] == "u" else -2
            x = integers(g, size, torch.int64, lo, 2).to(torch.float32).to(dtype)
            if what == "last" and dtype.is_floating_point:
                x[0, 1, 4:6] = float("nan")
            w = x.to(torch.float64 if dtype.is_floating_point else torch.int64)
            lost = w.isnan()
            for op, best in [("argmax", w.amax(dim, True)), ("argmin", w.amin(dim, True))]:
                y = first(torch.where(lost.any(dim, True), lost, w == best), size[dim], dim, keep)
                for to in ["", "i32"]:
                    extra = f"dtype = {to}" if to else ""
                    y = y.to(torch.int32) if to else y
                    yield Case(f"{op}_{d}_{what}{to}",
                               source(call(op, [dim], keep, extra), {"x": x}, [y]), {"x": x}, [y],
                               equal(), [op], d, note="the lowest index of equal elements",
                               like=f"argmax_{d}_{what}" if op + to != "argmax" else "")
    for d in ["f32", "i32"]:
        x = integers(gen(f"argall_{d}"), [4, 5], torch.int64, -9, 9).to(TORCH[d])
        for op, best in [("argmax", x.max()), ("argmin", x.min())]:
            y = first((x == best).reshape(-1), 20, 0, False)
            yield Case(f"{op}_{d}_all", source(call(op, None, False), {"x": x}, [y]), {"x": x},
                       [y], equal(), [op], d, note="the lowest index of equal elements")


def bools():
    for op, f in [("all", torch.Tensor.all), ("any", torch.Tensor.any)]:
        for what, size, dims, keep in [*WAYS, NOTHING]:
            x = integers(gen(f"{op}_{what}"), size, torch.bool)
            # long rows are rarely of one value
            x = (x | (torch.arange(size[-1]) > 2)) if op == "all" else x & (torch.arange(size[-1]) < 2)
            y = x
            for a in sorted([a % x.dim() for a in axes(x, dims)], reverse=True):
                y = f(y, a, keepdim=True)
            y = y if keep else y.squeeze(axes(x, dims))
            yield case(op, "bool", what, x, y, dims, keep, equal())


def scans():
    ways = [("row", [3, 7], 1), ("column", [6, 2], 0), ("middle", [2, 5, 3], -2), ("empty", [0, 4], 1),
            ("long", [1, 300], -1)]
    f8 = ["f8e4m3", "f8e5m2"]
    for d in FLOATS + f8 + INTS:
        dtype = TORCH[d]
        out = {"i8": "i32", "u8": "u32", "f16": "f32", "f8e4m3": "f32", "f8e5m2": "bf16"}.get(d, "")
        to = TORCH[out or d]
        for what, size, dim in ways:
            g = gen(f"cumsum_{d}_{what}")
            draws = [("", uniform(g, size, dtype)), ("_exact", small(g, size, dtype))] \
                if d in FLOATS + f8 else [("", integers(g, size, dtype))]
            for kind, x in draws:
                if d in FLOATS + f8:
                    w = x.to(torch.float64)
                    y = rounded(w.cumsum(dim), to)
                    rule = equal() if kind else sum_bound(size[dim], w.abs().sum(dim), to, dtype)
                else:
                    w = signed(x).to(torch.int64)
                    w = w & 0xFFFFFFFF if d == "u32" else w
                    narrow = {torch.uint32: torch.int32, torch.uint64: torch.int64}.get(to, to)
                    y, rule = w.cumsum(dim).to(narrow).view(to), equal()
                extra = f", out = {out}" if out else ""
                body = f"cumsum(x, dim = {dim}{extra})"
                yield Case(f"cumsum_{d}_{what}{kind}", source(body, {"x": x}, [y]), {"x": x}, [y],
                           rule, ["cumsum"], d, note=TRUTH if d[0] in "bf" else "wraps")


def logs():
    for d in FLOATS + ["f8e4m3", "f8e5m2"]:
        dtype = TORCH[d]
        for what, size, dims, keep in [*WAYS, NOTHING]:
            for kind, x in [("", uniform(gen(f"lse_{d}_{what}"), size, dtype, 8.0)),
                            ("_inf", torch.full(size, -torch.inf).to(dtype))]:
                if kind and (what != "row" or d == "f8e4m3"):
                    continue
                w, n = x.to(torch.float64), max(count(x, dims), 1)
                y = cast(torch.logsumexp(w, axes(x, dims), keep), dtype)
                acc = accumulates(dtype)
                atol = (n + 40) * acc * (1 + 2 * UNIT[dtype])
                rule = close(2 * UNIT[dtype] + acc, atol,
                             f"differences of at most 16 round by {acc:.3g} of themselves, which "
                             f"their exponentials inherit; {n} terms add, the logarithm turns "
                             "relative into absolute error")
                yield case("logsumexp", d, what + kind, x, y, dims, keep, rule, TRUTH)


def cases():
    yield from sums()
    yield from whole()
    yield from extremes()
    yield from nothing()
    yield from places()
    yield from bools()
    yield from scans()
    yield from logs()

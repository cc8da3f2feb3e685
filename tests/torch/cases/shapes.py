"""Ops that only move elements, on the bits of every dtype: one row an expression."""

import torch
import torch.nn.functional as F

from common import DTYPES, TORCH, Case, equal, f4, gen, integers, source

#: op, expression, shapes of x, y, .., PyTorch's form
MOVES = [
    ("concat", "concat([x, y], dim = 0)", [[2, 4], [3, 4]], lambda x, y: torch.cat([x, y])),
    ("concat", "concat([x, y, z], dim = -1)", [[2, 2], [2, 0], [2, 4]],
     lambda x, y, z: torch.cat([x, y, z], -1)),
    ("concat", "concat([x, y], dim = 1)", [[1, 1, 2], [1, 5, 2]], lambda x, y: torch.cat([x, y], 1)),
    ("expand", "expand(x, [3, 4, 2])", [[4, 2]], lambda x: x.expand(3, 4, 2)),
    ("expand", "expand(x, [2, 3, 4])", [[1, 3, 1]], lambda x: x.expand(2, 3, 4)),
    ("expand", "expand(x, [0, 4])", [[1, 4]], lambda x: x.expand(0, 4)),
    ("flatten", "flatten(x)", [[2, 3, 4]], lambda x: x.flatten()),
    ("flatten", "flatten(x, start = 1)", [[2, 3, 1, 4]], lambda x: x.flatten(1)),
    ("flatten", "flatten(x, start = -3, end = -2)", [[2, 0, 3, 2]], lambda x: x.flatten(-3, -2)),
    ("flip", "flip(x, dim = 0)", [[5, 2]], lambda x: x.flip(0)),
    ("flip", "flip(x, dim = [0, -1])", [[3, 2, 4]], lambda x: x.flip([0, -1])),
    ("flip", "flip(x, dim = 1)", [[2, 1, 2]], lambda x: x.flip(1)),
    ("pad", "pad(x, dim = -1, low = 2, high = 4)", [[3, 4]], lambda x: F.pad(x, (2, 4))),
    ("pad", "pad(x, dim = [0, 2], low = [1, 0], high = [0, 3])", [[2, 3, 1]],
     lambda x: F.pad(x, (0, 3, 0, 0, 1, 0))),
    ("pad", "pad(x, dim = 0, low = 0, high = 2)", [[0, 4]], lambda x: F.pad(x, (0, 0, 0, 2))),
    ("repeat_interleave", "repeat_interleave(x, 3, dim = 0)", [[2, 4]],
     lambda x: x.repeat_interleave(3, 0)),
    ("repeat_interleave", "repeat_interleave(x, 2, dim = -1)", [[3, 5]],
     lambda x: x.repeat_interleave(2, -1)),
    ("repeat_interleave", "repeat_interleave(x, 1, dim = 1)", [[2, 3, 2]],
     lambda x: x.repeat_interleave(1, 1)),
    ("reshape", "reshape(x, [4, 6])", [[2, 3, 4]], lambda x: x.reshape(4, 6)),
    ("reshape", "reshape(x, [1, 7, 1, 2])", [[14]], lambda x: x.reshape(1, 7, 1, 2)),
    ("reshape", "reshape(x, [5, 0, 2])", [[0, 4]], lambda x: x.reshape(5, 0, 2)),
    ("slice", "x[1..3, 2..6]", [[5, 8]], lambda x: x[1:3, 2:6]),
    ("slice", "x[.., 2, 1..]", [[3, 4, 3]], lambda x: x[:, 2, 1:]),
    ("slice", "x[3]", [[5, 2, 2]], lambda x: x[3]),
    ("slice", "x[2..2, ..]", [[4, 2]], lambda x: x[2:2]),
    ("split", "let (a, b, c) = split(x, [1, 0, 4], dim = 0); (a, b, c)", [[5, 2]],
     lambda x: x.split([1, 0, 4])),
    ("split", "let (a, b) = split(x, [2, 4], dim = -1); (b, a)", [[3, 6]],
     lambda x: x.split([2, 4], -1)[::-1]),
    ("split", "let (a, b) = split(x, [1, 2], dim = 1); (a, b)", [[2, 3, 2]],
     lambda x: x.split([1, 2], 1)),
    ("squeeze", "squeeze(x, dim = 0)", [[1, 4]], lambda x: x.squeeze(0)),
    ("squeeze", "squeeze(x, dim = [1, -2])", [[3, 1, 1, 2]], lambda x: x.squeeze((1, -2))),
    ("squeeze", "squeeze(x, dim = -2)", [[0, 1, 2]], lambda x: x.squeeze(-2)),
    ("stack", "stack([x, y])", [[4], [4]], lambda x, y: torch.stack([x, y])),
    ("stack", "stack([x, y, z], dim = -1)", [[2, 3]] * 3, lambda *t: torch.stack(t, -1)),
    ("stack", "stack([x, y], dim = 1)", [[3, 2], [3, 2]], lambda x, y: torch.stack([x, y], 1)),
    ("transpose", "transpose(x, [1, 0])", [[4, 6]], lambda x: x.permute(1, 0)),
    ("transpose", "transpose(x, [2, 0, 1])", [[2, 3, 4]], lambda x: x.permute(2, 0, 1)),
    ("transpose", "transpose(x, [0, 3, 1, 2])", [[1, 2, 3, 5]], lambda x: x.permute(0, 3, 1, 2)),
    ("transpose", "transpose(x, [1, 0, 2])", [[0, 3, 2]], lambda x: x.permute(1, 0, 2)),
    ("unflatten", "unflatten(x, [2, 3], dim = 0)", [[6, 2]], lambda x: x.unflatten(0, [2, 3])),
    ("unflatten", "unflatten(x, [3, 1, 2], dim = -1)", [[2, 6]],
     lambda x: x.unflatten(-1, [3, 1, 2])),
    ("unflatten", "unflatten(x, [1, 5], dim = 1)", [[2, 5, 2]], lambda x: x.unflatten(1, [1, 5])),
    ("unsqueeze", "unsqueeze(x, dim = 0)", [[3, 4]], lambda x: x.unsqueeze(0)),
    ("unsqueeze", "unsqueeze(x, dim = -1)", [[5]], lambda x: x.unsqueeze(-1)),
    ("unsqueeze", "unsqueeze(x, dim = -2)", [[0, 2]], lambda x: x.unsqueeze(-2)),
    ("window_write", "let mut y = x; y[1..3, 2..4] = t; y", [[4, 6], [2, 2]],
     lambda x, t: put(x, (slice(1, 3), slice(2, 4)), t)),
    ("window_write", "let mut y = x; y[.., 2] = t; y", [[3, 4], [3]],
     lambda x, t: put(x, (slice(None), 2), t)),
    ("window_write", "let mut y = x; y[1] = t; y", [[2, 5, 2], [5, 2]],
     lambda x, t: put(x, (1,), t)),
    ("window_write", "let mut y = x; for i in tile(7, 3, pad = 0) { y[i] = t[i]; } y", [[7, 2], [7, 2]],
     lambda x, t: t),
]
SOME = ["f32", "bf16", "i8", "bool", "u64", "f8e4m3"]


def put(x, at, t):
    x = x.clone()
    x[at] = t
    return x


def bits(g, size, d):
    """Random bits of a dtype, as integers of its width that PyTorch moves; f4 one code a byte."""
    if d == "f4e2m1":
        return integers(g, size, torch.uint8, 0, 15)
    if d == "bool":
        return integers(g, size, torch.uint8, 0, 1)
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return integers(g, size, width[TORCH[d].itemsize])


def typed(b, d):
    if d == "f4e2m1":
        return f4(b)
    return b.to(torch.bool) if d == "bool" else b.contiguous().view(TORCH[d])


def fits(d, t):
    """Two f4 share a byte, so that PyTorch holds only rows of an even number of them."""
    return d != "f4e2m1" or (t.dim() > 0 and t.shape[-1] % 2 == 0 and t.numel() > 0)


def padded():
    """Padding with a value."""
    for d, value in [("f32", -0.5), ("bf16", float("-inf")), ("i8", -7), ("u64", 9), ("f16", 1.5)]:
        x = typed(bits(gen(f"pad_value_{d}"), [2, 3], d), d)
        number = torch.tensor([value], dtype=torch.float64).to(TORCH[d])
        y = F.pad(as_bits(x), (1, 2), value=int(as_bits(number)[0])).view(TORCH[d])
        body = f"pad(x, dim = 1, low = 1, high = 2, value = {value})"
        yield Case(f"pad_value_{d}", source(body, {"x": x}, [y]), {"x": x}, [y], equal(), ["pad"], d)


def as_bits(t):
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return t.view(width[t.dtype.itemsize])


def cases():
    yield from padded()
    seen = {}
    for op, expr, shapes, f in MOVES:
        n = seen[op] = seen.get(op, -1) + 1
        for d in [d for d, _, _ in DTYPES] if n == 0 else SOME[n % 3 :: 2]:
            name = f"{op}_{n}_{d}"
            g = gen(name)
            xs = [bits(g, s, d) for s in shapes]
            if op == "pad" and d == "f8e8m0":
                continue  # it has no zero to pad with
            ys = f(*xs)
            ys = list(ys) if isinstance(ys, tuple) else [ys]
            if not all(fits(d, t) for t in [*xs, *ys]):
                continue
            names = "xt" if op == "window_write" else "xyz"
            inputs = {k: typed(x, d) for k, x in zip(names, xs)}
            outs = [typed(y, d) for y in ys]
            yield Case(name, source(expr, inputs, outs), inputs, outs, equal(), [op], d)

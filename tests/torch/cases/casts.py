"""`cast` from every dtype to every other, and `widen`.

Not held to PyTorch, because it is undefined there or defined otherwise: floats outside the range of
an integer (here they saturate, NaN gives 0), f8e4m3 above 464 (NaN here, 448 in PyTorch 2.15), and
zero, negative and subnormal values as f8e8m0 (NaN, NaN and the nearest power here).
"""

import torch

from common import (DTYPES, FLOATS, OVERFLOW, TORCH, Case, cast, equal, f4, gen, integers, rounded,
                    source, specials, uniform, wide)

F4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
#: halfway between neighbours; the code that a tie goes to is even
MIDDLE = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)


def encode_f4(x):
    """The nearest of the 16 values, a tie to the even code, what is larger to 6."""
    m = x.to(torch.float64).abs()
    up, down = torch.bucketize(m, MIDDLE, right=True), torch.bucketize(m, MIDDLE)
    code = torch.where(up % 2 == 0, up, down)
    return f4(code | (torch.signbit(x).to(torch.int64) << 3))


def draw(name):
    """Values of a dtype, and what they are in something PyTorch computes with; all codes of the
    types of 8 bits."""
    dtype = TORCH[name]
    codes = torch.arange(256, dtype=torch.int64).to(torch.uint8).reshape(16, 16)
    if name == "f4e2m1":
        c = torch.arange(16).repeat(2).reshape(2, 16)
        return f4(c), torch.where(c < 8, F4[c % 8], -F4[c % 8])
    if name == "bool":
        b = (codes % 2).to(torch.bool)[0]
        return b, b
    if dtype.itemsize == 1:
        x = codes.view(dtype)
        return x, x.to(torch.float32) if dtype.is_floating_point else x
    g = gen(f"cast_{name}")
    if dtype.is_floating_point:
        parts = [specials(dtype), uniform(g, [15], dtype, 300.0), wide(g, [21], dtype, -10, 10),
                 wide(g, [17], dtype, -30, 40), torch.tensor([464.0], dtype=dtype)]
    else:
        parts = [specials(dtype), integers(g, [20], dtype), integers(g, [21], dtype, 0, 127)]
    x = torch.cat(parts)
    x = x[: len(x) // 2 * 2].reshape(2, -1)
    return x, x


def defined(x, to):
    """Where a float is inside the range of an integer, so that PyTorch's cast is defined."""
    i = torch.iinfo(to)
    v = x.to(torch.float64)
    return (v > i.min - 1.0) & (v < i.max + 1.0) if i.bits < 64 else \
        (v >= float(i.min)) & (v < float(i.max))


def keep(x, seen, ok):
    """The elements that are compared, an even number of them."""
    at = torch.nonzero(ok.reshape(-1)).reshape(-1)
    at = at[: len(at) // 2 * 2]
    flat = x.reshape(-1).view(torch.uint8).reshape(len(ok.reshape(-1)), -1)[at]
    return flat.contiguous().reshape(-1).view(x.dtype), seen.reshape(-1)[at]


def one(a, b):
    x, seen = draw(a)
    to, note = TORCH[b], ""
    from_float = seen.is_floating_point()
    if b == "f4e2m1":
        note = "PyTorch has no cast to f4: the nearest value, a tie to the even code"
        seen = seen.to(torch.float64)
        if a != "f4e2m1":
            x, seen = keep(x, seen, ~seen.isnan())
        y = encode_f4(seen)
        return x, y, note
    if b == "f8e8m0" and a != "f8e8m0":
        v = seen.to(torch.float64)
        ok = (v >= 2.0**-126) & (v < 2.0**127)
        if a in ("i64", "u64"):
            ok &= v < 2.0**53
        if a != "f4e2m1":
            x, seen = keep(x, seen, ok)
            return x, seen.to(torch.float32).to(to), ""
        codes = torch.arange(1, 7)
        return f4(codes), F4[codes].to(to), ""
    if not from_float and seen.dtype != torch.bool and to.is_floating_point:
        if b in FLOATS[:2]:
            return x, seen.to(to), ""
        v = seen.to(torch.float64)
        if a in ("i64", "u64"):
            x, seen = keep(x, seen, v.abs() < 2.0**53)
            v = seen.to(torch.float64)
        y = cast(v, to) if to.itemsize == 1 else rounded(v, to)
        return x, y, OVERFLOW if b == "f8e4m3" else "through f64, where it is exact"
    if from_float and not to.is_floating_point and to != torch.bool and a != "f4e2m1":
        x, seen = keep(x, seen, defined(seen, to))
        note = "only values that the integer type holds: others are undefined in PyTorch"
    if a == "f4e2m1" and b[0] == "u":
        codes = torch.arange(8)
        return f4(codes), F4[codes].to(to), "no negative values: they are undefined in PyTorch"
    if from_float and to.is_floating_point and seen.dtype == torch.float64:
        y = cast(seen, to) if to.itemsize == 1 else rounded(seen, to)
    else:
        y = cast(seen, to) if to.is_floating_point else seen.to(to)
    return x, y, OVERFLOW if b == "f8e4m3" else note


def cases():
    for a, _, _ in DTYPES:
        first = ""
        for b, _, _ in DTYPES:
            if a == b:
                continue
            x, y, note = one(a, b)
            body = f"cast(x, {b})"
            yield Case(f"cast_{a}_{b}", source(body, {"x": x}, [y]), {"x": x}, [y], equal(),
                       ["cast"], f"{a} to {b}", note=note, like=first)
            first = first or f"cast_{a}_{b}"
    for a in ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"]:
        x, seen = draw(a)
        y = seen if a in ("f64", "f32") else seen.to(torch.float32)
        yield Case(f"widen_{a}", source("widen(x)", {"x": x}, [y]), {"x": x}, [y], equal(),
                   ["widen"], a, like=f"cast_{a}_{'f64' if a != 'f64' else 'f32'}")

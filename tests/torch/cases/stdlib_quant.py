"""`std::quant`: codes and scales bit for bit, and the products of quantized operands.

The formulas are written here once more, in numpy's f32. Elements are cast by PyTorch (f8) and
ml_dtypes (f4); exponents come from frexp, not from a logarithm.
"""

import ml_dtypes
import numpy as np
import torch

from common import TF, Case, equal, f4, gen, source, sum_bound, uniform, wide

F32 = np.float32
TOP = {"f8e4m3": F32(448), "f8e5m2": F32(57344), "f4e2m1": F32(6)}
EMAX = {"f8e4m3": 8, "f8e5m2": 15, "f4e2m1": 2}
F8 = {"f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
EPS = F32(1e-12)


def narrow(x, to):
    """f32 of numpy, held within the largest value and cast."""
    x = np.clip(x, -TOP[to], TOP[to])
    if to == "f4e2m1":
        codes = x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
        return f4(torch.from_numpy(codes.copy()))
    return torch.from_numpy(np.ascontiguousarray(x, dtype=F32)).to(F8[to])


def wide_again(q, to):
    """The values of the elements, in f64 of numpy."""
    if to == "f4e2m1":
        b = q.view(torch.uint8).numpy()
        codes = np.stack([b & 15, b >> 4], -1).reshape(*b.shape[:-1], -1)
        return codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    return q.to(torch.float32).numpy().astype(np.float64)


def f32(x):
    return x.to(torch.float32).numpy()


def scale_of(top, to, eps=EPS):
    return (np.maximum(top, F32(eps)) / TOP[to]).astype(F32)


def t(a):
    return torch.from_numpy(np.ascontiguousarray(a))


def grouped(x, group):
    return x.reshape(*x.shape[:-1], x.shape[-1] // group, group)


def by_tensor(x, to, eps=EPS):
    s = scale_of(np.abs(x).max(), to, eps)
    return narrow(x / s, to), torch.tensor(float(s), dtype=torch.float32)


def by_row(x, to, eps=EPS):
    s = scale_of(np.abs(x).max(-1, keepdims=True), to, eps)
    return narrow(x / s, to), t(s)


def by_group(x, to, group, eps=EPS):
    f = grouped(x, group)
    s = scale_of(np.abs(f).max(-1, keepdims=True), to, eps)
    return narrow((f / s).reshape(x.shape), to), t(s[..., 0])


def by_block(x, to, block, eps=EPS):
    """Square by square, the last ones as they are cut."""
    r, c = x.shape[-2:]
    q = np.empty_like(x)
    s = np.empty((*x.shape[:-2], -(-r // block), -(-c // block)), F32)
    for i in range(s.shape[-2]):
        for j in range(s.shape[-1]):
            at = (..., slice(i * block, (i + 1) * block), slice(j * block, (j + 1) * block))
            s[..., i, j] = scale_of(np.abs(x[at]).max((-2, -1)), to, eps)
            q[at] = x[at] / s[..., i, j][..., None, None]
    return narrow(q, to), t(s)


def by_mx(x, to, group=32):
    f = grouped(x, group)
    top = np.abs(f).max(-1)
    # frexp: a fraction in 0.5..1 times a power of two
    finite = np.nan_to_num(top, nan=1.0, posinf=np.finfo(F32).max)
    e = np.where(top == 0, -127, np.frexp(finite)[1] - 1) - EMAX[to]
    e = np.clip(e, -127, 127)
    s = np.ldexp(F32(1), e).astype(F32)
    s[np.isnan(top)] = np.nan
    byte = np.where(np.isnan(top), 255, e + 127).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        q = narrow((f / s[..., None]).reshape(x.shape), to)
    return q, t(byte).view(torch.float8_e8m0fnu)


def by_nvfp4(x, group=16, eps=EPS):
    f = grouped(x, group)
    top = np.abs(f).max(-1)
    whole = F32(np.maximum(top.max(), eps) / (F32(448) * F32(6)))
    s8 = t(np.clip(top / F32(6) / whole, F32(2.0**-9), F32(448))).to(torch.float8_e4m3fn)
    s = f32(s8) * whole
    q = narrow((f / s[..., None]).reshape(x.shape), "f4e2m1")
    return q, s8, torch.tensor(float(whole), dtype=torch.float32)


USE = "use std::quant::{{{}}};\n"


def case(name, what, body, inputs, outputs, rule=None, note=""):
    text = source(body, inputs, outputs, before=USE.format(", ".join(what)))
    first = next(iter(inputs.values()))
    return Case(name, text, inputs, outputs, rule or equal(), list(what), dtype=TF[first.dtype],
                note=note)


def draws(name, size, dtype):
    """A tensor whose rows differ in magnitude, with a row of zeros and one of tiny elements."""
    g = gen(name)
    x = uniform(g, size, torch.float64) * 2.0 ** torch.arange(-6, 6, 12 / size[-2])[:, None]
    if size[-2] > 2:
        x[..., 1, :] = 0.0
        x[..., 2, :] *= 2.0**-20
    return x.to(dtype)


#: f32 values whose scales are subnormal, whose division is inexact, that saturate or are no number
def odd(group):
    rows = [
        [2.0**-140] * group,
        [0.0] * group,
        [(2 - 2.0**-23) * 2.0**k for k in range(-group // 2, group - group // 2)],
        [2.0**-126 * (1 - 2.0**-23)] * group,
        [3.4028234663852886e38, *[1e30 * i for i in range(1, group)]],
        [511.0 + i / 64 for i in range(group)],
        [(-1) ** i * (i % 17) / 4 for i in range(group)],
        [-0.0, 2.0**-149, *[2.0**-133] * (group - 2)],
    ]
    return torch.tensor(rows, dtype=torch.float64).to(torch.float32)


def float_scales():
    for d in (torch.float32, torch.bfloat16, torch.float16):
        for to in TOP:
            n = f"{TF[d]}_{to}"
            for size in ([3, 4], [2, 5, 6], [1, 2]):
                shown = "x".join(map(str, size))
                x = draws(f"tensor_{n}_{shown}", size, d)
                yield case(f"tensor_{n}_{shown}", ["quantize"], f"quantize(x, to = {to})", {"x": x},
                           list(by_tensor(f32(x), to)))
                x = draws(f"rows_{n}_{shown}", size, d)
                yield case(f"rows_{n}_{shown}", ["quantize_rows"], f"quantize_rows(x, to = {to})",
                           {"x": x}, list(by_row(f32(x), to)))
            for size, group in (([3, 8], 4), ([2, 4, 12], 12), ([1, 2], 2)):
                shown = "x".join(map(str, size))
                x = draws(f"groups_{n}_{shown}", size, d)
                yield case(f"groups_{n}_{shown}", ["quantize_groups"],
                           f"quantize_groups(x, to = {to}, group = {group})", {"x": x},
                           list(by_group(f32(x), to, group)))
            squares = (([4, 8], 4), ([2, 5, 6], 4), ([3, 2], 8), ([9, 4], 4), ([4, 10], 4))
            for size, block in squares:
                shown = "x".join(map(str, size))
                x = draws(f"blocks_{n}_{shown}", size, d)
                yield case(f"blocks_{n}_{shown}", ["quantize_blocks"],
                           f"quantize_blocks(x, to = {to}, block = {block})", {"x": x},
                           list(by_block(f32(x), to, block)))
    x = draws("groups_default", [3, 256], torch.bfloat16)
    yield case("groups_default", ["quantize_groups"], "quantize_groups(x)", {"x": x},
               list(by_group(f32(x), "f8e4m3", 128)))
    x = draws("blocks_default", [130, 129], torch.bfloat16)
    yield case("blocks_default", ["quantize_blocks"], "quantize_blocks(x)", {"x": x},
               list(by_block(f32(x), "f8e4m3", 128)))


def odd_values():
    for to in TOP:
        x = odd(16)
        note = "`eps` lets scales be subnormal"
        args = f"to = {to}, eps = 1e-40"
        yield case(f"rows_odd_{to}", ["quantize_rows"], f"quantize_rows(x, {args})", {"x": x},
                   list(by_row(x.numpy(), to, 1e-40)), note=note)
        yield case(f"groups_odd_{to}", ["quantize_groups"],
                   f"quantize_groups(x, group = 8, {args})", {"x": x},
                   list(by_group(x.numpy(), to, 8, 1e-40)), note=note)
        yield case(f"blocks_odd_{to}", ["quantize_blocks"],
                   f"quantize_blocks(x, block = 3, {args})", {"x": x},
                   list(by_block(x.numpy(), to, 3, 1e-40)), note=note)
        z = torch.zeros([4, 8])
        yield case(f"tensor_zeros_{to}", ["quantize"], f"quantize(x, to = {to})", {"x": z},
                   list(by_tensor(z.numpy(), to)))
    for to in F8:
        x = uniform(gen(f"nan_{to}"), [4, 8])
        x[1, 2], x[2, 5], x[3, 0] = torch.nan, torch.inf, -torch.inf
        with np.errstate(invalid="ignore"):
            yield case(f"rows_nan_{to}", ["quantize_rows"], f"quantize_rows(x, to = {to})",
                       {"x": x}, list(by_row(x.numpy(), to)))


def mx():
    for to in TOP:
        for d in (torch.float32, torch.bfloat16):
            for size in ([3, 32], [2, 4, 64], [1, 96]):
                name = f"mx_{TF[d]}_{to}_{'x'.join(map(str, size))}"
                x = draws(name, size, d)
                yield case(name, ["quantize_mx"], f"quantize_mx(x, to = {to})", {"x": x},
                           list(by_mx(f32(x), to)))
        x = odd(32)
        if to in F8:
            x = torch.cat([x, torch.full([1, 32], torch.inf), torch.full([1, 32], torch.nan)])
            x[-2, 3:] = -1e37
        yield case(f"mx_odd_{to}", ["quantize_mx"], f"quantize_mx(x, to = {to})", {"x": x},
                   list(by_mx(x.numpy(), to)))
        x = wide(gen(f"mx_wide_{to}"), [16, 32], lo=-149, hi=128)
        yield case(f"mx_wide_{to}", ["quantize_mx"], f"quantize_mx(x, to = {to}, group = 2)",
                   {"x": x}, list(by_mx(x.numpy(), to, 2)))
        # just below and at each power of two: what a rounded logarithm would get wrong
        p = torch.ldexp(torch.ones(1), torch.arange(-126.0, 127.0))[:252]
        x = torch.stack([p * (1 - 2.0**-24), p], -1)
        x = torch.cat([x, x * -0.7], -1).contiguous()
        yield case(f"mx_powers_{to}", ["quantize_mx"], f"quantize_mx(x, to = {to}, group = 2)",
                   {"x": x}, list(by_mx(x.numpy(), to, 2)))


def nvfp4():
    for size in ([3, 16], [2, 4, 32], [1, 48]):
        for d in (torch.float32, torch.bfloat16):
            name = f"nvfp4_{TF[d]}_{'x'.join(map(str, size))}"
            x = draws(name, size, d)
            yield case(name, ["quantize_nvfp4"], "quantize_nvfp4(x)", {"x": x},
                       list(by_nvfp4(f32(x))))
    z = torch.zeros([2, 16])
    yield case("nvfp4_zeros", ["quantize_nvfp4"], "quantize_nvfp4(x)", {"x": z},
               list(by_nvfp4(z.numpy())))


def once(f, to):
    """f32 of numpy, rounded to a dtype of PyTorch."""
    return t(f.astype(F32)).to(to)


def back():
    """Elements times scales: one rounding in f32, one to the result."""
    for d in (torch.float32, torch.bfloat16, torch.float16):
        for to in TOP:
            n = f"{TF[d]}_{to}"
            for size in ([3, 32], [2, 3, 64], [1, 96]):
                shown = f"{n}_{'x'.join(map(str, size))}"
                x = draws(f"back_{shown}", size, torch.float32).numpy()
                q, s = by_row(x, to)
                w = wide_again(q, to).astype(F32)
                yield case(f"back_rows_{shown}", ["dequantize"], f"dequantize(q, s, to = {TF[d]})",
                           {"q": q, "s": s}, [once(w * s.numpy(), d)])
                q, s = by_group(x, to, 16)
                w = grouped(wide_again(q, to).astype(F32), 16) * s.numpy()[..., None]
                yield case(f"back_groups_{shown}", ["dequantize_groups"],
                           f"dequantize_groups(q, s, group = 16, to = {TF[d]})", {"q": q, "s": s},
                           [once(w.reshape(x.shape), d)])
                q, s = by_mx(x, to)
                w = grouped(wide_again(q, to).astype(F32), 32) * f32(s)[..., None]
                yield case(f"back_mx_{shown}", ["dequantize_mx"],
                           f"dequantize_mx(q, s, to = {TF[d]})", {"q": q, "s": s},
                           [once(w.reshape(x.shape), d)])
            for size, block in (([4, 8], 4), ([2, 5, 6], 4), ([9, 4], 4), ([3, 2], 8)):
                shown = f"{n}_{'x'.join(map(str, size))}"
                x = draws(f"back_blocks_{shown}", size, torch.float32).numpy()
                q, s = by_block(x, to, block)
                every = np.kron(s.numpy(), np.ones((block, block), F32))
                every = every[..., : size[-2], : size[-1]]
                yield case(f"back_blocks_{shown}", ["dequantize_blocks"],
                           f"dequantize_blocks(q, s, block = {block}, to = {TF[d]})",
                           {"q": q, "s": s}, [once(wide_again(q, to).astype(F32) * every, d)])
        x = draws(f"back_nvfp4_{TF[d]}", [3, 32], torch.float32).numpy()
        q, s, g = by_nvfp4(x)
        w = grouped(wide_again(q, "f4e2m1").astype(F32), 16) * (f32(s) * g.numpy())[..., None]
        yield case(f"back_nvfp4_{TF[d]}", ["dequantize_nvfp4"],
                   f"dequantize_nvfp4(q, s, g, to = {TF[d]})", {"q": q, "s": s, "g": g},
                   [once(w.reshape(x.shape), d)])
        q, s = by_tensor(x, "f8e4m3")
        yield case(f"back_tensor_{TF[d]}", ["dequantize"], f"dequantize(q, s, to = {TF[d]})",
                   {"q": q, "s": s}, [once(wide_again(q, "f8e4m3").astype(F32) * s.numpy(), d)])


def products():
    """Against the f64 product of the dequantized operands. A term has its product rounded, its
    place in the sum, and three more roundings with the scales of its block."""
    for d in (torch.bfloat16, torch.float32):
        for m, n, k, block in ((4, 8, 8, 4), (1, 5, 12, 4), (3, 9, 4, 4), (2, 3, 4, 2)):
            name = f"matmul_blocks_{TF[d]}_{m}x{n}x{k}"
            g = gen(name)
            a, s = by_group(uniform(g, [2, m, k]).numpy(), "f8e4m3", block)
            w, u = by_block(uniform(g, [n, k]).numpy(), "f8e4m3", block)
            x = wide_again(a, "f8e4m3") * np.repeat(s.numpy().astype(np.float64), block, -1)
            every = np.kron(u.numpy().astype(np.float64), np.ones((block, block)))[:n, :k]
            y = wide_again(w, "f8e4m3") * every
            rule = sum_bound(k + 4 * (k // block), t(np.abs(x) @ np.abs(y).T), d, torch.float32)
            yield case(name, ["matmul_blocks"],
                       f"matmul_blocks(a, s, w, u, block = {block}, to = {TF[d]})",
                       {"a": a, "s": s, "w": w, "u": u}, [t(x @ y.T).to(d)], rule)
        for m, n, k, pair in ((4, 8, 64, ("f8e4m3", "f8e4m3")), (1, 3, 32, ("f4e2m1", "f4e2m1")),
                              (3, 2, 96, ("f8e5m2", "f8e5m2"))):
            name = f"matmul_mx_{TF[d]}_{m}x{n}x{k}"
            g = gen(name)
            a, s = by_mx(uniform(g, [m, k]).numpy(), pair[0])
            w, u = by_mx(uniform(g, [n, k]).numpy(), pair[1])
            x = wide_again(a, pair[0]) * np.repeat(f32(s).astype(np.float64), 32, -1)
            y = wide_again(w, pair[1]) * np.repeat(f32(u).astype(np.float64), 32, -1)
            rule = sum_bound(k + 4 * (k // 32), t(np.abs(x) @ np.abs(y).T), d, torch.float32)
            yield case(name, ["matmul_mx"], f"matmul_mx(a, s, w, u, to = {TF[d]})",
                       {"a": a, "s": s, "w": w, "u": u}, [t(x @ y.T).to(d)], rule)


def cases():
    yield from float_scales()
    yield from odd_values()
    yield from mx()
    yield from nvfp4()
    yield from back()
    yield from products()

"""Products. The reference is the f64 product rounded once; PyTorch's order of accumulation is not
defined, so that random operands are compared within a bound derived from the number of terms, and
small whole numbers, whose sums are exact in any order, bit by bit."""

import torch
import torch.nn.functional as F

from common import (TORCH, Case, equal, f4, gen, integers, rounded, source,
                    sum_bound, ulp, uniform)

#: name, a, b, transpose_a, transpose_b
SHAPES = [
    ("plain", [3, 5], [5, 4], False, False),
    ("outer", [7, 1], [1, 3], False, False),
    ("batch", [2, 3, 4], [4, 5], False, False),
    ("both", [2, 1, 4, 3], [5, 2, 4], True, True),
    ("deep", [2, 130], [3, 130], False, True),
    ("inner", [2, 0], [0, 3], False, False),
    ("none", [0, 4], [4, 2], False, False),
]
TRUTH = "f64, rounded once"

#: operands and result
FLOATS = [("f64", ""), ("f32", ""), ("f16", ""), ("f16", "f32"), ("bf16", ""), ("bf16", "f32"),
          ("f8e4m3", "f32"), ("f8e4m3", "bf16"), ("f8e5m2", "f32"), ("f8e5m2", "f16")]
WHOLE = [("i64", ""), ("i32", ""), ("i16", ""), ("i16", "i32"), ("i8", "i32"), ("u8", "i32")]
WEIGHTS = [("f8e8m0", "f32"), ("f4e2m1", "f32")]


def like(d, out, name):
    """The case of the same operands and another `out`, where there is one before."""
    second = {("f16", "f32"): "", ("bf16", "f32"): "", ("f8e4m3", "bf16"): "f32", ("f8e5m2", "f16"): "f32"}
    first = second.get((d, out))
    return "" if first is None else name.replace(f"_{d}{out}_", f"_{d}{first}_", 1)


def kinds(d, out):
    """Exact operands once for each dtype of theirs."""
    return ["", "_exact"] if not like(d, out, "x") else [""]


def swap(x, yes):
    return x.transpose(-1, -2) if yes else x


def body(ta, tb, out, extra=""):
    parts = ["a", "b"] + [f"transpose_{n} = true" for n, t in [("a", ta), ("b", tb)] if t]
    parts += [f"out = {out}"] if out else []
    return f"matmul({', '.join(parts + ([extra] if extra else []))})"


def wide(x):
    """An operand as PyTorch can multiply it: exactly in f64, f8 through f32."""
    return (x.to(torch.float32) if x.dtype.itemsize == 1 else x).to(torch.float64)


def products():
    for d, out in FLOATS:
        dtype, to = TORCH[d], TORCH[out or d]
        for what, p, q, ta, tb in SHAPES:
            name = f"matmul_{d}{out}_{what}"
            g = gen(f"matmul_{d}_{what}")
            for kind in kinds(d, out):
                if kind:
                    a, b = (integers(g, s, torch.int64, -3, 3).to(torch.float32).to(dtype)
                            for s in (p, q))
                else:
                    a, b = (uniform(g, s, dtype, 2.0) for s in (p, q))
                x, y = swap(wide(a), ta), swap(wide(b), tb)
                k = x.shape[-1]
                want = rounded(x @ y, to)
                rule = equal() if kind else sum_bound(2 * k, x.abs() @ y.abs(), to, dtype)
                inputs = {"a": a, "b": b}
                yield Case(name + kind, source(body(ta, tb, out), inputs, [want]), inputs, [want],
                           rule, ["matmul"], d, note=TRUTH, like=like(d, out, name + kind))


def tf32(x):
    """An f32 tensor to the nearest number of 10 bits of fraction, ties to even."""
    bits = x.view(torch.int32).to(torch.int64)
    bits = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return bits.to(torch.int32).view(torch.float32)


def special_products():
    for what, p, q, ta, tb in SHAPES[:5]:
        g = gen(f"matmul_tf32_{what}")
        a, b = uniform(g, p), uniform(g, q)
        x, y = (swap(tf32(t).double(), s) for t, s in [(a, ta), (b, tb)])
        want = (x @ y).float()
        inputs = {"a": a, "b": b}
        yield Case(f"matmul_tf32_{what}",
                   source(body(ta, tb, "", "precision = tf32"), inputs, [want]), inputs, [want],
                   sum_bound(2 * x.shape[-1], x.abs() @ y.abs(), torch.float32), ["matmul"], "tf32",
                   note="operands rounded to tf32 bit by bit; f64, rounded once")
    for d, out in WHOLE:
        dtype, to = TORCH[d], TORCH[out or d]
        for what, p, q, ta, tb in SHAPES:
            g = gen(f"matmul_{d}_{what}")
            a, b = integers(g, p, dtype), integers(g, q, dtype)
            want = (swap(a, ta).to(torch.int64)[..., None, :]
                    * swap(swap(b, tb), True).to(torch.int64)[..., None, :, :]).sum(-1).to(to)
            inputs = {"a": a, "b": b}
            yield Case(f"matmul_{d}{out}_{what}", source(body(ta, tb, out), inputs, [want]),
                       inputs, [want], equal(), ["matmul"], d, note="wraps")
    codes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = torch.cat([codes, -codes])
    for what, p, q in [("square", [2, 4], [4, 2]), ("batch", [3, 2, 6], [6, 4]), ("deep", [1, 64], [64, 2])]:
        g = gen(f"matmul_f4_{what}")
        c, e = integers(g, p, torch.int64, 0, 15), integers(g, q, torch.int64, 0, 15)
        want = (values[c].double() @ values[e].double()).float()
        inputs = {"a": f4(c), "b": f4(e)}
        yield Case(f"matmul_f4_{what}", source(body(False, False, "f32"), inputs, [want]), inputs,
                   [want], equal(), ["matmul"], "f4e2m1", note="every product and sum is exact")
    for what, p, q in [("square", [2, 4], [4, 2]), ("row", [1, 3], [3, 5]), ("deep", [2, 16], [16, 1])]:
        g = gen(f"matmul_e8m0_{what}")
        a, b = (integers(g, s, torch.int64, 125, 129).to(torch.uint8).view(torch.float8_e8m0fnu)
                for s in (p, q))
        want = rounded(wide(a) @ wide(b), torch.float32)
        inputs = {"a": a, "b": b}
        yield Case(f"matmul_e8m0_{what}", source(body(False, False, "f32"), inputs, [want]), inputs,
                   [want], equal(), ["matmul"], "f8e8m0", note="every product and sum is exact")


EINSUMS = [
    ("mk,kn->mn", [[3, 5], [5, 2]]),
    ("mk,nk->mn", [[2, 7], [3, 7]]),
    ("bij,bjk->bik", [[2, 3, 4], [2, 4, 1]]),
    ("bqhd,bkhd->bhqk", [[1, 3, 2, 4], [1, 5, 2, 4]]),
    ("i,i->", [[9], [9]]),
    ("i,j->ij", [[3], [4]]),
    ("ij->ji", [[3, 4]]),
    ("ij->i", [[3, 4]]),
    ("...i,ij->...j", [[2, 1, 3], [3, 4]]),
    ("i,j,j->ij", [[2], [5], [5]]),
    ("ab,bc,cd->ad", [[2, 3], [3, 4], [4, 2]]),
    ("ij,jk->ik", [[2, 0], [0, 3]]),
]


def einsums():
    for d, out in FLOATS:
        dtype, to = TORCH[d], TORCH[out or d]
        for n, (spec, shapes) in enumerate(EINSUMS):
            if d[:2] == "f8" and n % 3:
                continue
            name = f"einsum_{d}{out}_{n}"
            g = gen(f"einsum_{d}_{n}")
            for kind in kinds(d, out):
                if kind:
                    xs = [integers(g, s, torch.int64, -2, 2).to(torch.float32).to(dtype) for s in shapes]
                else:
                    xs = [uniform(g, s, dtype) for s in shapes]
                ws = [wide(x) for x in xs]
                want = rounded(torch.einsum(spec, *ws), to)
                names = "abc"[: len(xs)]
                inputs = dict(zip(names, xs))
                extra = f", out = {out}" if out else ""
                terms = sum(max(s) for s in shapes) if shapes else 1
                mags = torch.einsum(spec, *[w.abs() for w in ws])
                # a product without a sum keeps -0 in PyTorch; here every result starts at +0
                rule = ulp(0) if kind else sum_bound(2 * terms, mags, to, dtype)
                text = f'einsum("{spec}", {", ".join(names)}{extra})'
                yield Case(name + kind, source(text, inputs, [want]), inputs, [want], rule,
                           ["einsum"], d, note=TRUTH, like=like(d, out, name + kind))


#: name, x, w, bias, arguments
CONVS = [
    ("plain", [2, 3, 9], [4, 3, 3], False, {}),
    ("stride", [1, 2, 10], [3, 2, 4], True, {"stride": 3, "padding": 2}),
    ("dilated", [1, 4, 12], [2, 2, 3], True, {"dilation": 2, "groups": 2, "padding": 1}),
    ("depthwise", [1, 5, 7], [5, 1, 4], True, {"groups": 5, "causal": True}),
    ("point", [2, 3, 1], [2, 3, 1], False, {}),
    ("causal", [1, 2, 6], [3, 2, 3], False, {"causal": True, "dilation": 2}),
    ("empty", [0, 2, 5], [3, 2, 2], True, {}),
]


def convolutions():
    for d, out in FLOATS:
        dtype, to = TORCH[d], TORCH[out or d]
        for what, p, q, bias, args in CONVS:
            if d[:2] == "f8" and what in ("dilated", "point", "causal"):
                continue
            name = f"conv1d_{d}{out}_{what}"
            g = gen(f"conv1d_{d}_{what}")
            for kind in kinds(d, out):
                if kind:
                    draw = [integers(g, s, torch.int64, -2, 2).to(torch.float32).to(dtype)
                            for s in (p, q, q[:1])]
                else:
                    draw = [uniform(g, s, dtype) for s in (p, q, q[:1])]
                x, w, b = draw
                want = rounded(conv(wide(x), wide(w), wide(b) if bias else None, args), to)
                mags = conv(wide(x).abs(), wide(w).abs(), wide(b).abs() if bias else None, args)
                inputs = {"x": x, "w": w} | ({"b": b} if bias else {})
                parts = ["x", "w"] + (["bias = b"] if bias else [])
                parts += [f"{k} = {str(v).lower()}" for k, v in args.items()]
                parts += [f"out = {out}"] if out else []
                rule = equal() if kind else sum_bound(2 * q[1] * q[2] + 1, mags, to, dtype)
                yield Case(name + kind, source(f"conv1d({', '.join(parts)})", inputs, [want]),
                           inputs, [want], rule, ["conv1d"], d, note=TRUTH, like=like(d, out, name + kind))


PLANES = [
    ("plain", [2, 3, 5, 6], [4, 3, 3, 2], False, {}),
    ("stride", [1, 2, 7, 8], [3, 2, 2, 3], True, {"stride": [2, 3], "padding": [1, 0]}),
    ("dilated", [1, 4, 6, 6], [2, 2, 2, 2], True, {"dilation": [2, 1], "groups": 2, "padding": 1}),
    ("depthwise", [1, 3, 4, 5], [3, 1, 3, 3], True, {"groups": 3, "padding": 1}),
    ("point", [2, 3, 1, 2], [2, 3, 1, 1], False, {}),
    ("empty", [0, 2, 3, 3], [3, 2, 2, 2], True, {}),
]


def planes():
    for d, out in FLOATS:
        dtype, to = TORCH[d], TORCH[out or d]
        for what, p, q, bias, args in PLANES:
            if d[:2] == "f8" and what in ("dilated", "point"):
                continue
            name = f"conv2d_{d}{out}_{what}"
            g = gen(f"conv2d_{d}_{what}")
            for kind in kinds(d, out):
                if kind:
                    x, w, b = (integers(g, s, torch.int64, -2, 2).to(torch.float32).to(dtype)
                               for s in (p, q, q[:1]))
                else:
                    x, w, b = (uniform(g, s, dtype) for s in (p, q, q[:1]))
                want = rounded(F.conv2d(wide(x), wide(w), wide(b) if bias else None, **args), to)
                mags = F.conv2d(wide(x).abs(), wide(w).abs(), wide(b).abs() if bias else None, **args)
                inputs = {"x": x, "w": w} | ({"b": b} if bias else {})
                parts = ["x", "w"] + (["bias = b"] if bias else [])
                parts += [f"{k} = {v}" for k, v in args.items()] + ([f"out = {out}"] if out else [])
                rule = equal() if kind else sum_bound(2 * q[1] * q[2] * q[3] + 1, mags, to, dtype)
                yield Case(name + kind, source(f"conv2d({', '.join(parts)})", inputs, [want]),
                           inputs, [want], rule, ["conv2d"], d, note=TRUTH, like=like(d, out, name + kind))


def conv(x, w, b, args):
    args = dict(args)
    if args.pop("causal", False):
        x = F.pad(x, ((w.shape[-1] - 1) * args.get("dilation", 1), 0))
    return F.conv1d(x, w, b, **args)


def grouped():
    ways = [("plain", 7, [2, 5, 7], False), ("turned", 6, [0, 6, 6], True), ("none", 0, [0, 0], False),
            ("all", 3, [3], True)]
    for d, out in FLOATS + [("i32", ""), ("i8", "i32")]:
        dtype, to = TORCH[d], TORCH[out or d]
        for what, rows, ends, turned in ways:
            name = f"grouped_{d}{out}_{what}"
            g = gen(f"grouped_{d}_{what}")
            sizes = [rows, 4], [len(ends), *([3, 4] if turned else [4, 3])]
            for kind in kinds(d, out) if dtype.is_floating_point else [""]:
                if not dtype.is_floating_point:
                    x, w = (integers(g, s, dtype) for s in sizes)
                elif kind:
                    x, w = (integers(g, s, torch.int64, -3, 3).to(torch.float32).to(dtype) for s in sizes)
                else:
                    x, w = (uniform(g, s, dtype) for s in sizes)
                parts, at = [], 0
                v = wide if dtype.is_floating_point else (lambda t: t.to(torch.int64))
                for e, end in enumerate(ends):
                    parts.append((v(x[at:end]), swap(v(w[e]), turned)))
                    at = end
                join = torch.cat([a @ b for a, b in parts])
                want = rounded(join, to) if dtype.is_floating_point else join.to(to)
                mags = torch.cat([a.abs() @ b.abs() for a, b in parts])
                rule = sum_bound(8, mags, to, dtype) if dtype.is_floating_point and not kind else equal()
                inputs = {"x": x, "w": w, "ends": torch.tensor(ends, dtype=torch.int32)}
                extra = (", transpose_b = true" if turned else "") + (f", out = {out}" if out else "")
                yield Case(name + kind, source(f"grouped_matmul(x, w, ends{extra})", inputs, [want]),
                           inputs, [want], rule, ["grouped_matmul"], d, note=TRUTH, like=like(d, out, name + kind))


def cases():
    yield from products()
    yield from special_products()
    yield from einsums()
    yield from convolutions()
    yield from planes()
    yield from grouped()

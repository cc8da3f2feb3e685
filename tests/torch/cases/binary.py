"""Elementwise ops of two or three operands: one row an op."""

import numpy as np
import torch

from common import (FLOATS, INTS, OVERFLOW, TORCH, Case, cast, equal, gen, integers, rounded, source, specials, ulp,
                    uniform, wide)

SHAPES = [("row", [4, 3], [3]), ("outer", [2, 1, 3], [4, 1]), ("empty", [2, 0], [1])]


def div(a, b):
    return a / b


#: name, expression, PyTorch's function, numpy's for unsigned integers that PyTorch has not
ARITHMETIC = [
    ("sub", "a - b", torch.sub, np.subtract),
    ("mul", "a * b", torch.mul, np.multiply),
    ("maximum", "maximum(a, b)", torch.maximum, np.maximum),
    ("minimum", "minimum(a, b)", torch.minimum, np.minimum),
]
COMPARISONS = [
    ("eq", "a == b", torch.eq, np.equal),
    ("ne", "a != b", torch.ne, np.not_equal),
    ("lt", "a < b", torch.lt, np.less),
    ("le", "a <= b", torch.le, np.less_equal),
    ("gt", "a > b", torch.gt, np.greater),
    ("ge", "a >= b", torch.ge, np.greater_equal),
]
DIVISIONS = [
    ("floor_div", "floor_div(a, b)", lambda a, b: torch.div(a, b, rounding_mode="floor"),
     np.floor_divide),
    ("rem", "a % b", torch.remainder, np.remainder),
]
ONLY_NUMPY = ("u64", "u32")
NUMPY = "PyTorch has no such op on this dtype; numpy's result"


def pairs(g, d, shapes=SHAPES):
    dtype = TORCH[d]
    draw = uniform if d[0] in "fb" and d != "bool" else integers
    for what, p, q in shapes:
        yield what, draw(g, p, dtype), draw(g, q, dtype)
    s = specials(dtype)
    yield "special", s[:, None].contiguous(), s


def like(op, d, what):
    """The first op that sees the same numbers."""
    first = {"bool": "where_bool"}.get(d, f"sub_{d}")
    what = what.removesuffix("_sign")
    return f"{first}_{what}" if op not in (first.split("_")[0], "wide") and what != "wide" else ""


def case(op, expr, d, what, a, b, f, npf, rule=None, note=""):
    if d in ONLY_NUMPY:
        with np.errstate(all="ignore"):
            y, note = torch.from_numpy(np.asarray(npf(a.numpy(), b.numpy()))), NUMPY
    elif a.dtype.itemsize == 1 and a.dtype.is_floating_point:
        y = f(a.to(torch.float32), b.to(torch.float32))
        if y.dtype != torch.bool:
            y = cast(y, a.dtype)
            note = f"in f32 and cast; {OVERFLOW}" if d == "f8e4m3" else "in f32 and cast"
    else:
        y = f(a, b)
    inputs = {"a": a, "b": b}
    return Case(f"{op}_{d}_{what}", source(expr, inputs, [y]), inputs, [y], rule or equal(),
                [op], d, note=note, like=like(op, d, what))


def arithmetic():
    for op, expr, f, npf in ARITHMETIC + COMPARISONS:
        for d in FLOATS + ["f8e4m3", "f8e5m2"] + INTS:
            for what, a, b in pairs(gen(f"binary_{d}"), d):
                # maximum and minimum of zeros of both signs: PyTorch's sign differs by dtype
                rule = ulp(0) if op in ("maximum", "minimum") and d[0] in "fb" else equal()
                yield case(op, expr, d, what, a, b, f, npf, rule)
    for d in ["f8e4m3", "f8e5m2"]:
        for what, a, b in pairs(gen(f"binary_{d}"), d):
            yield case("add", "a + b", d, what, a, b, torch.add, np.add)


def quotients():
    for d in FLOATS + ["f8e4m3", "f8e5m2"]:
        for what, a, b in pairs(gen(f"binary_{d}"), d):
            yield case("div", "a / b", d, what, a, b, div, None)
    for op, expr, f, npf in DIVISIONS:
        for d in INTS:
            for what, a, b in pairs(gen(f"binary_{d}"), d):
                b = torch.where(b == 0, torch.ones_like(b), b) if d not in ONLY_NUMPY else \
                    torch.from_numpy(np.where(b.numpy() == 0, b.numpy() + 1, b.numpy()))
                if d[0] == "i":
                    # the least over -1 overflows the machine's division in PyTorch: undefined
                    b = torch.where((b == -1) & (a.amin() == torch.iinfo(b.dtype).min), 3, b) \
                        if a.numel() else b
                yield case(op, expr, d, what, a, b, f, npf)


def powers():
    for d in FLOATS + ["f8e4m3", "f8e5m2"]:
        dtype = TORCH[d]
        for what, a, b in [*pairs(gen(f"binary_{d}"), d),
                           ("wide", wide(gen(f"pow_wide_{d}"), [4, 6], dtype, -4, 4).abs(),
                            uniform(gen(f"pow_by_{d}"), [6], dtype, 6.0))]:
            if d == "f64":
                yield case("pow", "pow(a, b)", d, what, a, b, torch.pow, None, ulp(2))
            elif d == "f32":
                y = rounded(torch.pow(a.double(), b.double()), dtype)
                inputs = {"a": a, "b": b}
                yield Case(f"pow_{d}_{what}", source("pow(a, b)", inputs, [y]), inputs, [y],
                           equal(), ["pow"], note="f64, rounded once",
                           like=like("pow", d, what) if what != "wide" else "")
            else:
                yield case("pow", "pow(a, b)", d, what, a, b, torch.pow, None, ulp(1))


def logic():
    for op, sign, f in [("and", "&&", torch.logical_and), ("or", "||", torch.logical_or)]:
        for what, a, b in pairs(gen("binary_bool"), "bool"):
            yield case(op, f"{op}(a, b)", "bool", what, a, b, f, None)
            yield case(op, f"a {sign} b", "bool", f"{what}_sign", a, b, f, None)


def choices():
    for d in FLOATS + ["f8e4m3", "f8e5m2"] + INTS + ["bool"]:
        dtype = TORCH[d]
        for what, a, b in pairs(gen(f"binary_{d}"), d):
            full = list(torch.broadcast_shapes(a.shape, b.shape))
            c = integers(gen(f"where_c_{d}_{what}"), full[1:] if what == "outer" else full,
                         torch.bool)
            y = torch.where(c, a.view(torch.uint8), b.view(torch.uint8)).view(dtype) \
                if d in ("f8e4m3", "f8e5m2") else torch.where(c, a, b)
            inputs = {"c": c, "a": a, "b": b}
            yield Case(f"where_{d}_{what}", source("where(c, a, b)", inputs, [y]), inputs, [y],
                       equal(), ["where"], like=like("where", d, what))


BOUNDS = [("both", -0.5, 0.75), ("low", -1.0, None), ("high", None, 0.1), ("crossed", 1.0, -1.0),
          ("zero", 0.0, None)]
WHOLE_BOUNDS = [("both", 1, 5), ("low", 2, None), ("high", None, 100), ("crossed", 9, 3)]


def clamps():
    for d in FLOATS + ["f8e4m3", "f8e5m2"] + INTS:
        dtype = TORCH[d]
        for what, lo, hi in WHOLE_BOUNDS if d in INTS else BOUNDS:
            g = gen(f"clamp_{d}_{what}")
            draw = integers(g, [3, 4], dtype) if d in INTS else uniform(g, [3, 4], dtype, 2.0)
            x = torch.cat([draw.reshape(-1), specials(dtype)])
            if d in ONLY_NUMPY:
                y = torch.from_numpy(np.clip(x.numpy(), lo, hi))
            elif d[:2] == "f8":
                y = cast(torch.clamp(x.to(torch.float32), lo, hi), dtype)
            else:
                y = torch.clamp(x, lo, hi)
            given = [f"{n} = {v}" for n, v in [("min", lo), ("max", hi)] if v is not None]
            body = f"clamp(x, {', '.join(given)})"
            yield Case(f"clamp_{d}_{what}", source(body, {"x": x}, [y]), {"x": x}, [y], equal(),
                       ["clamp"], note=NUMPY if d in ONLY_NUMPY else "")


def cases():
    yield from arithmetic()
    yield from quotients()
    yield from powers()
    yield from choices()
    yield from logic()
    yield from clamps()

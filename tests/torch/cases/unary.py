"""Elementwise ops of one operand: one row an op."""

import torch
import torch.nn.functional as F

from common import (FLOATS, INTS, OVERFLOW, TORCH, Case, cast, equal, gen, integers, rounded, signed, source,
                    specials, ulp, uniform, wide)

NARROW = ["f16", "bf16", "f8e4m3", "f8e5m2"]

#: exact on every float; PyTorch's own result is the reference
EXACT = [
    ("abs", torch.abs),
    ("ceil", torch.ceil),
    ("floor", torch.floor),
    ("neg", torch.neg),
    ("relu", torch.relu),
    ("round", torch.round),
    ("sign", torch.sign),
    ("square", torch.square),
    ("trunc", torch.trunc),
    ("reciprocal", torch.reciprocal),
]

#: rounded functions: expression, PyTorch's function, ulp of the f64 result, and a form for f64 where
#: PyTorch's own loses digits, with the reason
ROUNDED = [
    ("cos", "cos(x)", torch.cos, 2, None, ""),
    ("erf", "erf(x)", torch.erf, 2, torch.erf, "PyTorch's bf16 form gives 0 near 0"),
    ("exp", "exp(x)", torch.exp, 2, None, ""),
    ("exp2", "exp2(x)", torch.exp2, 2, None, ""),
    ("expm1", "expm1(x)", torch.expm1, 2, None, ""),
    ("gelu", "gelu(x)", F.gelu, 4,
     lambda x: x * 0.5 * torch.special.erfc(x * -(0.5**0.5)),
     "1 + erf cancels for negative x in PyTorch's form; the reference is by erfc in f64"),
    ("gelu", 'gelu(x, approximate = "tanh")', lambda x: F.gelu(x, approximate="tanh"), 4,
     lambda x: x / (1 + torch.exp(-2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x))),
     "1 + tanh cancels for negative x in PyTorch's form; the reference is by exp in f64"),
    ("log", "log(x)", torch.log, 2, None, ""),
    ("log1p", "log1p(x)", torch.log1p, 2, None, ""),
    ("log2", "log2(x)", torch.log2, 2, None, ""),
    ("rsqrt", "rsqrt(x)", torch.rsqrt, 2, None, ""),
    ("sigmoid", "sigmoid(x)", torch.sigmoid, 3, None, ""),
    ("silu", "silu(x)", F.silu, 4, None, ""),
    ("sin", "sin(x)", torch.sin, 2, None, ""),
    ("softplus", "softplus(x)", F.softplus, 3,
     lambda x: torch.logaddexp(x, torch.zeros_like(x)),
     "PyTorch returns x above 20; the reference is log(1 + exp(x)) everywhere, in f64"),
    ("sqrt", "sqrt(x)", torch.sqrt, 1, torch.sqrt, "PyTorch's f64 and f32 forms are not correctly rounded"),
    ("tanh", "tanh(x)", torch.tanh, 2, None, ""),
]

#: on integers: on signed ones, and on the bits of unsigned ones
WHOLE = [
    ("abs", torch.abs, lambda x: x),
    ("neg", torch.neg, torch.neg),
    ("relu", torch.relu, lambda x: x),
    ("sign", torch.sign, lambda x: (x != 0).to(x.dtype)),
    ("square", torch.square, torch.square),
]


def draws(g, dtype, scale):
    yield "plain", uniform(g, [3, 7], dtype, scale)
    if dtype.itemsize > 1:
        yield "wide", wide(g, [1, 25], dtype, -12, 12)
    yield "special", specials(dtype)
    if dtype in (torch.float32, torch.bfloat16):
        yield "empty", uniform(g, [0, 3], dtype)
        yield "scalar", uniform(g, [], dtype)


def eager(f, x):
    """PyTorch's own result; where it has no arithmetic, in f32 and cast."""
    return f(x) if x.dtype.itemsize > 1 else cast(f(x.to(torch.float32)), x.dtype)


def like(op, d, what):
    """All ops see the same numbers, which the first of them has."""
    return f"abs_{d}_{what}" if op != "abs" else ""


def narrow(dtype):
    """f8 is reached through f32, as the op computes it."""
    return torch.float32 if dtype.itemsize == 1 else dtype


def floats():
    for op, f in EXACT:
        for d in FLOATS + NARROW[2:]:
            for what, x in draws(gen(f"unary_{d}"), TORCH[d], 6.0):
                y = eager(f, x)
                yield Case(f"{op}_{d}_{what}", source(f"{op}(x)", {"x": x}, [y]), {"x": x}, [y],
                           equal(), [op], note=OVERFLOW if d == "f8e4m3" else "", like=like(op, d, what))


def transcendental():
    for op, expr, f, n, exact, note in ROUNDED:
        kind = "_tanh" if "approximate" in expr else ""
        truth = exact or f
        for d in FLOATS + NARROW[2:]:
            for what, x in draws(gen(f"unary_{d}"), TORCH[d], 6.0):
                if d in NARROW and exact is None:
                    y, rule, why = eager(f, x), ulp(1), "PyTorch's own result"
                elif d == "f64":
                    y, rule, why = truth(x), ulp(n), "f64 on both sides"
                else:
                    y = cast(rounded(truth(x.to(torch.float64)), narrow(x.dtype)), x.dtype)
                    rule, why = (equal() if d == "f32" else ulp(1)), "f64, rounded once"
                yield Case(f"{op}{kind}_{d}_{what}", source(expr, {"x": x}, [y]), {"x": x}, [y],
                           rule, [op], note=f"{why}; {note}" if note else why,
                           like=like(op, d, what))


def whole():
    for op, f, unsigned in WHOLE:
        for d in INTS:
            dtype = TORCH[d]
            g = gen(f"unary_{d}")
            for what, x in [("plain", integers(g, [2, 5], dtype)), ("special", specials(dtype))]:
                y = unsigned(signed(x)).view(dtype) if d[0] == "u" else f(x)
                yield Case(f"{op}_{d}_{what}", source(f"{op}(x)", {"x": x}, [y]), {"x": x}, [y],
                           equal(), [op], like=like(op, d, what))


def predicates():
    for d in FLOATS + NARROW[2:]:
        for what, x in draws(gen(f"unary_{d}"), TORCH[d], 6.0):
            y = torch.isnan(x)
            yield Case(f"is_nan_{d}_{what}", source("is_nan(x)", {"x": x}, [y]), {"x": x}, [y],
                       equal(), ["is_nan"], d, like=like("is_nan", d, what))
    for what, shape in [("row", [5]), ("matrix", [2, 3]), ("empty", [0]), ("scalar", [])]:
        x = integers(gen(f"not_{what}"), shape, torch.bool)
        for form, body in [("name", "not(x)"), ("sign", "!x")]:
            y = torch.logical_not(x)
            yield Case(f"not_{what}_{form}", source(body, {"x": x}, [y]), {"x": x}, [y], equal(),
                       ["not"])


def cases():
    yield from floats()
    yield from transcendental()
    yield from whole()
    yield from predicates()

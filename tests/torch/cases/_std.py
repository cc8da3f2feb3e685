"""What the topics of the standard library share: programs that use it, weights, bounds."""

import torch

from common import UNIT, Case, accumulates, close, source, uniform

F32, F64, BF16, F16 = torch.float32, torch.float64, torch.bfloat16, torch.float16
NAMES = {F32: "f32", F64: "f64", BF16: "bf16", F16: "f16"}


def case(name, module, body, inputs, outputs, rule, used, more=(), **rest):
    """A program that uses functions of one library module; `more` are lines above it."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    before = f"use std::{module}::{{{', '.join(used)}}};\n" + "".join(f"{m}\n" for m in more)
    inputs = {k: v.detach() for k, v in inputs.items()}
    outputs = [o.detach() for o in outputs]
    ops = [f"std::{module}::{u}" for u in used]
    return Case(name, source(body, inputs, outputs, before), inputs, outputs, rule, ops, **rest)


def relative(dtype, steps, why):
    """For results that no cancellation makes smaller than what they are made of: `steps` roundings
    in the working dtype on both sides together, and those to the dtype itself."""
    u = steps * accumulates(dtype) + (2 * UNIT[dtype] if UNIT[dtype] > accumulates(dtype) else 0)
    return close(u, 0, f"{why}: {steps} roundings of {accumulates(dtype):.3g}")


def absolute(dtype, steps, size, why, narrow=0, of=None):
    """For sums: `steps` roundings in the working dtype of parts no larger than `size`, on both
    sides together, and `narrow` roundings to the dtype itself, of parts no larger than `of`."""
    size = float(size)
    of = size if of is None else float(of)
    u = accumulates(dtype)
    n = narrow if UNIT[dtype] > u else 0
    says = f"{why}: {steps:.0f} roundings of {u:.3g} of parts of at most {size:.3g}"
    if n:
        says += f", {n} of {UNIT[dtype]:.3g} of parts of at most {of:.3g}"
    return close(0, steps * u * size + n * UNIT[dtype] * of, says)


def as_good(narrow, wide):
    """For whole layers: PyTorch's own error in the dtype, found by its result in f64, which is the
    reference. Sums in another order may be 8 times as far off; of 16-bit values, where this is no
    matter of the order, twice as far."""
    dtype, size = narrow.dtype, float(wide.abs().max())
    own = float((narrow.double() - wide).abs().max())
    u = UNIT[dtype]
    times, steps = (2, 1) if u > accumulates(dtype) else (8, 32)
    says = f"PyTorch in this dtype is {own:.3g} from f64, times {times}; {steps} roundings of {size:.3g}"
    return close(2 * u, times * own + steps * u * size, says)


def fill(g, module, scale=0.5):
    """Seeded weights for a module of transformers, by order of their names."""
    with torch.no_grad():
        for _, p in sorted(module.named_parameters()):
            p.copy_(uniform(g, p.shape, F32, scale).to(p.dtype))
    return module.eval()

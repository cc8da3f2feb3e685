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


def absolute(dtype, steps, size, why, narrow=0):
    """For sums: `steps` roundings in the working dtype of parts no larger than `size`, on both
    sides together, and `narrow` roundings to the dtype itself."""
    size = float(size)
    u = accumulates(dtype)
    n = narrow if UNIT[dtype] > u else 0
    says = f"{why}: {steps} roundings of {u:.3g}, {n} of {UNIT[dtype]:.3g}, of parts of at most {size:.3g}"
    return close(0, (steps * u + n * UNIT[dtype]) * size, says)


def fill(g, module, scale=0.5):
    """Seeded weights for a module of transformers, by order of their names."""
    with torch.no_grad():
        for _, p in sorted(module.named_parameters()):
            p.copy_(uniform(g, p.shape, F32, scale).to(p.dtype))
    return module.eval()

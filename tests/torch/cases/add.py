"""`add` alone, as the least topic: shapes that broadcast, and every dtype that adds."""

import torch

from common import FLOATS, INTS, TORCH, Case, equal, gen, integers, source, specials, uniform

SHAPES = {
    "same": ([3, 5], [3, 5]),
    "row": ([4, 3], [3]),
    "outer": ([2, 1, 3], [4, 1]),
    "scalar": ([5], []),
    "empty": ([0, 3], [3]),
}


def one(name, dtype, a, b):
    # unsigned integers wrap as the signed ones of their width
    signed = {torch.uint64: torch.int64, torch.uint32: torch.int32}.get(dtype, dtype)
    out = (a.view(signed) + b.view(signed)).view(dtype)
    inputs = {"a": a, "b": b}
    return Case(name, source("a + b", inputs, [out]), inputs, [out], equal(), ["add"])


def cases():
    for d in FLOATS + INTS:
        dtype = TORCH[d]
        for what, (p, q) in SHAPES.items():
            name = f"add_{d}_{what}"
            g = gen(name)
            draw = uniform if d in FLOATS else integers
            yield one(name, dtype, draw(g, p, dtype), draw(g, q, dtype))
        s = specials(dtype)
        yield one(f"add_{d}_special", dtype, s[:, None].contiguous(), s)

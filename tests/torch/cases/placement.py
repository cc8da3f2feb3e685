"""Ops that say where a value is: they never change it, so a placed program is held to what PyTorch
computes of the logical one."""

import torch

from common import TORCH, Case, equal, gen, integers, ty

HEAD = 'module M {\n    target "nvidia.h200_sxm";\n    topology cta = 8, thread = 32;\n\n'

#: name, ops, shape of x, result's PyTorch form, mesh, statements, result
PROGRAMS = [
    ("split_sum", ["reshard", "complete"], [8, 6], lambda x: x.sum(0), "g = cta[r: 4]",
     "let s = reshard(x, smem[8 @ g.r, 6]);", "complete(sum(s, dim = 0))"),
    ("split_max", ["reshard", "complete"], [8, 6], lambda x: x.amax(0), "g = cta[r: 8]",
     "let s = reshard(x, smem[8 @ g.r, 6]);", "complete(max(s, dim = 0))"),
    ("two_axes", ["reshard", "complete"], [4, 6], lambda x: x.sum(), "g = cta[r: 2, c: 3]",
     "let s = reshard(x, smem[4 @ g.r, 6 @ g.c]);", "complete(sum(s))"),
    ("kept_split", ["reshard"], [8, 3], lambda x: x + x, "g = cta[r: 2]",
     "let s = reshard(x, smem[8 @ g.r, 3]);", "s + s"),
    ("moved_split", ["reshard"], [4, 8], lambda x: x.transpose(0, 1), "g = cta[r: 4]",
     "let s = reshard(x, smem[4 @ g.r, 8]); let t = reshard(s, smem[4, 8 @ g.r]);",
     "transpose(t, [1, 0])"),
    ("pieces", ["local", "collect"], [8, 3], lambda x: x.reshape(4, 2, 3), "g = cta[r: 4]",
     "let p = local(reshard(x, smem[8 @ g.r, 3]));", "collect(p, g.r)"),
    ("piece_sums", ["local", "collect", "complete"], [8, 3], lambda x: x.sum(0), "g = cta[r: 4]",
     "let p = local(reshard(x, smem[8 @ g.r, 3]));",
     "complete(sum(collect(sum(p, dim = 0), g.r), dim = 0))"),
    ("two_axis_pieces", ["local", "collect"], [4, 6], lambda x: x.reshape(2, 2, 3, 2).transpose(1, 2),
     "g = cta[r: 2, c: 3]", "let p = local(reshard(x, smem[4 @ g.r, 6 @ g.c]));",
     "collect(p, g.r, g.c)"),
]


def cases():
    for what, ops, size, f, mesh, body, result in PROGRAMS:
        for d in ["f32", "bf16", "i32"]:
            name = f"{what}_{d}"
            # whole numbers: sums are exact in any order
            x = integers(gen(name), size, torch.int64, -4, 4).to(TORCH[d])
            y = f(x).to(x.dtype).contiguous()
            text = (f"{HEAD}    entry func f(x: {ty(x)}) -> {ty(y)} {{\n        mesh {mesh} {{\n"
                    f"            {body}\n            reshard({result}, gmem)\n        }}\n    }}\n}}\n")
            yield Case(name, text, {"x": x}, [y], equal(), ops, d, module="M", func="f")

"""Writes inputs.safetensors and what PyTorch makes of them.

    pip install torch safetensors numpy
    python make_data.py

Each sequence alone: its pages are gathered by the table, cut to its length and attended to. The
lengths are one token, a part of a page within the second part, and every page to its end.
"""

import torch
from safetensors.torch import save_file

B, NKV, G, D, PAGE, PAGES, MAXP = 3, 2, 4, 32, 4, 20, 6

g = torch.Generator().manual_seed(7)
normal = lambda *shape: torch.randn(shape, generator=g).to(torch.bfloat16)
q = normal(B, NKV, G, D)
kc, vc = (normal(PAGES, PAGE, NKV, D) for _ in range(2))
table = torch.randperm(PAGES, generator=g)[: B * MAXP].reshape(B, MAXP).to(torch.int32)
lens = torch.tensor([1, 13, MAXP * PAGE], dtype=torch.int32)


def attend(dtype):
    out = []
    for b in range(B):
        k, v = (c[table[b].long()].reshape(-1, NKV, D)[: lens[b]].to(dtype) for c in (kc, vc))
        s = torch.einsum("hgd,khd->hgk", q[b].to(dtype), k) / D**0.5
        out.append(torch.einsum("hgk,khd->hgd", torch.softmax(s, dim=-1), v))
    return torch.stack(out)


save_file({"q": q, "kc": kc, "vc": vc, "table": table, "lens": lens}, "inputs.safetensors")
save_file({"output": attend(torch.float32).to(torch.bfloat16)}, "expected.safetensors")
save_file({"output": attend(torch.float64)}, "expected_f64.safetensors")
print("largest |v|:", vc.abs().max().item())

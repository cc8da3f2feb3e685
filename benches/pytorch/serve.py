"""Runs the cases of cases.tf in PyTorch, one command a line: see main.rs.

load CASE FILE   read the inputs       run CASE        run once, print seconds
save CASE FILE   write the last result free CASE       forget it
"""

import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

torch.set_num_threads(int(sys.argv[1]))
torch.set_grad_enabled(False)


def matmul(t):
    return t["a"] @ t["b"]


def attention(t):
    q, k, v = (t[n].transpose(1, 2) for n in "qkv")
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2)


def norm(x, w):
    """As the Qwen3RMSNorm of transformers."""
    f = x.float()
    f = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * f.to(x.dtype)


def rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    turned = torch.cat((-b, a), -1)
    return (x * cos[:, None] + turned * sin[:, None]).to(x.dtype)


def layer(t):
    s, d = t["h"].shape[0], 128
    x = norm(t["h"], t["ln_attn"])
    q = F.linear(x, t["wq"]).view(s, 16, d)
    k = F.linear(x, t["wk"]).view(s, 8, d)
    v = F.linear(x, t["wv"]).view(s, 8, d)
    q = rope(norm(q, t["ln_q"]), t["cos"], t["sin"])
    k = rope(norm(k, t["ln_k"]), t["cos"], t["sin"])
    q, k, v = (y.transpose(0, 1)[None] for y in (q, k, v))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    a = t["h"] + F.linear(o[0].transpose(0, 1).reshape(s, 16 * d), t["wo"])
    y = norm(a, t["ln_mlp"])
    return a + F.linear(F.silu(F.linear(y, t["w_gate"])) * F.linear(y, t["w_up"]), t["w_down"])


CASES = {
    "attention_bf16": attention,
    "softmax_f32": lambda t: F.softmax(t["x"], -1),
    "rms_norm_f32": lambda t: F.rms_norm(t["x"], (4096,), t["w"], 1e-6),
    "chain_f16": lambda t: F.relu(t["x"] * t["y"] + t["x"]),
    "layer_bf16": layer,
}

tensors, results = {}, {}
for line in sys.stdin:
    command, case, *rest = line.split()
    if command == "load":
        tensors[case] = load_file(rest[0])
        print("ok", flush=True)
    elif command == "run":
        f = CASES.get(case, matmul)
        start = time.perf_counter()
        results[case] = f(tensors[case])
        print(time.perf_counter() - start, flush=True)
    elif command == "save":
        save_file({"output": results[case].contiguous()}, rest[0])
        print("ok", flush=True)
    elif command == "free":
        tensors.pop(case), results.pop(case)
        print("ok", flush=True)

"""`std::nn` against torch.nn.functional and the classes of transformers."""

import torch
import torch.nn.functional as F
from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as rotary_gptj
from transformers.models.llama.modeling_llama import LlamaRMSNorm, apply_rotary_pos_emb
from transformers.models.deepseek_v3.modeling_deepseek_v3 import apply_rotary_pos_emb_interleave
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm
from transformers.models.qwen3_next.modeling_qwen3_next import l2norm

from cases._std import BF16, F16, F32, F64, NAMES, absolute, case, relative
from common import equal, gen, uniform

ALL = [F64, F32, BF16, F16]
ROWS = {"rows": [3, 8], "deep": [2, 3, 16], "one": [1, 1], "vector": [5]}


def once(ref, x, dim):
    """In f32, rounded once: of 16-bit operands PyTorch's CPU code rounds some steps in between."""
    return ref(x, dim=dim) if x.dtype == F64 else ref(x, dim=dim, dtype=F32).to(x.dtype)


def softmaxes():
    for dtype in ALL:
        for what, shape in ROWS.items():
            for f, ref in [("softmax", F.softmax), ("log_softmax", F.log_softmax)]:
                name = f"{f}_{NAMES[dtype]}_{what}"
                x = uniform(gen(name), shape, dtype, 4.0)
                n = shape[-1]
                if dtype in (BF16, F16):
                    rule = equal()
                elif f == "softmax":
                    rule = relative(dtype, 2 * n + 24, f"exponentials of differences up to 8, {n} summed")
                else:
                    rule = absolute(dtype, 2 * n + 8, 16, f"{n} exponentials summed, a difference")
                yield case(name, "nn", f"{f}(x)", {"x": x}, once(ref, x, -1), rule, [f])
    for f, ref in [("softmax", F.softmax), ("log_softmax", F.log_softmax)]:
        name = f"{f}_axis"
        x = uniform(gen(name), [3, 4, 2], BF16, 4.0)
        yield case(name, "nn", f"{f}(x, dim = 1)", {"x": x}, once(ref, x, 1), equal(), [f])
        name = f"{f}_infinite"
        x = uniform(gen(name), [3, 4], F16, 4.0)
        x[0] = -torch.inf
        x[1, 2] = -torch.inf
        x[2, 0] = torch.nan
        yield case(name, "nn", f"{f}(x)", {"x": x}, once(ref, x, -1), equal(), [f], note="a row of -inf is NaN")


def layer_norms():
    for dtype in ALL:
        for what, shape in ROWS.items():
            name = f"layer_norm_{NAMES[dtype]}_{what}"
            g = gen(name)
            x = uniform(g, shape, dtype, 3.0)
            w, b = uniform(g, shape[-1:], dtype), uniform(g, shape[-1:], dtype)
            y = F.layer_norm(x, shape[-1:], w, b)
            rule = absolute(dtype, 4 * shape[-1] + 16, 4, "a normed row is at most 4 here", 2, y.abs().max())
            yield case(name, "nn", "layer_norm(x, w, b)", {"x": x, "w": w, "b": b}, y, rule, ["layer_norm"])


def group_norms():
    shapes = {"image": ([2, 4, 3, 2], 2), "row": ([1, 6, 5], 3), "flat": ([3, 4], 4), "one": ([1, 2, 1], 1),
              "whole": ([2, 3, 4], 1)}
    for dtype in ALL:
        for what, (shape, groups) in shapes.items():
            name = f"group_norm_{NAMES[dtype]}_{what}"
            g = gen(name)
            x = uniform(g, shape, dtype, 2.0)
            m = torch.nn.GroupNorm(groups, shape[1], eps=1e-3, dtype=dtype)
            with torch.no_grad():
                m.weight.copy_(uniform(g, shape[1:2], dtype))
                m.bias.copy_(uniform(g, shape[1:2], dtype))
            inputs = {"x": x, "w": m.weight, "b": m.bias}
            y = m(x).detach()
            # PyTorch multiplies out (x - mean) * rstd * w: its parts are x * rstd and mean * rstd
            rows = x.double().reshape(shape[0], groups, -1)
            rstd = (rows.var(-1, correction=0) + 1e-3).rsqrt()
            size = (rows.abs().amax(-1) * rstd).max()
            rule = absolute(dtype, 4 * rows.shape[-1] + 16, size, "x over the deviation", 2, y.abs().max())
            yield case(name, "nn", f"group_norm(x, {groups}, w, b, eps = 1e-3)", inputs, y, rule, ["group_norm"])


def rms_norms():
    def one(name, module, dtype, shape, attrs):
        g = gen(name)
        x = uniform(g, shape, dtype, 2.0)
        m = module(shape[-1]).to(dtype)
        with torch.no_grad():
            m.weight.copy_(uniform(g, shape[-1:], dtype))
        rule = equal() if dtype in (BF16, F16) else relative(dtype, shape[-1] + 10, f"{shape[-1]} squares summed")
        return case(name, "nn", f"rms_norm(x, w{attrs})", {"x": x, "w": m.weight}, m(x), rule, ["rms_norm"])

    for what, shape in ROWS.items():
        for dtype in [F32, BF16, F16]:
            tail = f"{NAMES[dtype]}_{what}"
            yield one(f"rms_norm_llama_{tail}", LlamaRMSNorm, dtype, shape, "")
            yield one(f"rms_norm_qwen3_{tail}", Qwen3RMSNorm, dtype, shape, ", eps = 1e-6")
            yield one(f"rms_norm_gemma2_{tail}", Gemma2RMSNorm, dtype, shape,
                      ', round = "after", add_unit_offset = true')
        for dtype in [F64, BF16]:
            name = f"rms_norm_after_{NAMES[dtype]}_{what}"
            g = gen(name)
            x, w = uniform(g, shape, dtype, 2.0), uniform(g, shape[-1:], dtype)
            y = F.rms_norm(x, shape[-1:], w, eps=1e-4)
            rule = relative(dtype, shape[-1] + 10, f"{shape[-1]} squares summed")
            yield case(name, "nn", 'rms_norm(x, w, eps = 1e-4, round = "after")', {"x": x, "w": w}, y, rule,
                       ["rms_norm"])
    # rounded, then multiplied by a weight that 1 was added to in its own dtype
    name = "rms_norm_before_offset_bf16"
    g = gen(name)
    x, w = uniform(g, [4, 8], BF16, 2.0), uniform(g, [8], BF16)
    y = F.rms_norm(x.float(), [8], eps=1e-6).to(BF16) * (w + 1)
    yield case(name, "nn", "rms_norm(x, w, add_unit_offset = true)", {"x": x, "w": w}, y, equal(), ["rms_norm"])


def l2_norms():
    for dtype in ALL:
        for what, shape in ROWS.items():
            name = f"l2_norm_{NAMES[dtype]}_{what}"
            x = uniform(gen(name), shape, dtype, 2.0)
            wide = x if dtype == F64 else x.float()
            rule = equal() if dtype in (BF16, F16) else relative(dtype, shape[-1] + 8, f"{shape[-1]} squares summed")
            yield case(name, "nn", "l2_norm(x)", {"x": x}, l2norm(wide).to(dtype), rule, ["l2_norm"])


def softcaps():
    for dtype in ALL:
        for what, shape in ROWS.items():
            name = f"softcap_{NAMES[dtype]}_{what}"
            x = uniform(gen(name), shape, dtype, 90.0)
            wide = x if dtype == F64 else x.float()
            cap = 30.0 if what == "rows" else 50.0
            body = "softcap(x)" if what == "rows" else "softcap(x, cap = 50.0)"
            # the lines of Gemma2Model
            y = (torch.tanh(wide / cap) * cap).to(dtype)
            rule = equal() if dtype in (BF16, F16) else relative(dtype, 8, "a quotient, tanh within 2 units, a product")
            yield case(name, "nn", body, {"x": x}, y, rule, ["softcap"])


def ropes():
    shapes = {"batch": [2, 5, 3, 8], "one": [1, 1, 1, 2], "wide": [1, 4, 2, 16]}
    for dtype in ALL:
        for what, shape in shapes.items():
            d = shape[-1]

            def tables(g, angles=None):
                # angles of turns spread over a circle and more
                a = uniform(g, [shape[1], angles or d // 2], F32, 7.0)
                return (a.cos(), a.sin()) if dtype != F64 else (a.double().cos(), a.double().sin())

            def wide(t):
                return t if dtype == F64 else t.float()

            name = f"rope_half_{NAMES[dtype]}_{what}"
            g = gen(name)
            x, (c, s) = uniform(g, shape, dtype), tables(g)
            full = [torch.cat([t, t], -1)[None] for t in (c, s)]
            y = apply_rotary_pos_emb(wide(x), wide(x), *full, unsqueeze_dim=2)[0].to(dtype)
            yield case(name, "nn", "rope(x, cos, sin)", {"x": x, "cos": c, "sin": s}, y, equal(), ["rope"])
            name += "_full"
            both = {"x": x, "cos": full[0][0].clone(), "sin": full[1][0].clone()}
            yield case(name, "nn", "rope(x, cos, sin)", both, y, equal(), ["rope"])

            name = f"rope_pairs_{NAMES[dtype]}_{what}"
            g = gen(name)
            x, (c, s) = uniform(g, shape, dtype), tables(g)
            y = rotary_gptj(wide(x), s[None], c[None]).to(dtype)
            body = "rope(x, cos, sin, interleaved = true)"
            yield case(name, "nn", body, {"x": x, "cos": c, "sin": s}, y, equal(), ["rope"])

            name = f"rope_pairs_deepseek_{NAMES[dtype]}_{what}"
            g = gen(name)
            x, (c, s) = uniform(g, shape, dtype), tables(g)
            full = [torch.cat([t, t], -1) for t in (c, s)]
            y = apply_rotary_pos_emb_interleave(wide(x), wide(x), *[t[None] for t in full], unsqueeze_dim=2)[0]
            # it leaves the first of each pair before the second
            y = y.unflatten(-1, (2, d // 2)).transpose(-1, -2).flatten(-2).to(dtype)
            yield case(name, "nn", body, {"x": x, "cos": full[0], "sin": full[1]}, y.contiguous(), equal(), ["rope"])

            if d > 2:
                name = f"rope_partial_{NAMES[dtype]}_{what}"
                g = gen(name)
                x, (c, s) = uniform(g, shape, dtype), tables(g, d // 4)
                full = [torch.cat([t, t], -1)[None] for t in (c, s)]
                first = wide(x[..., : d // 2])
                y = apply_rotary_pos_emb(first, first, *full, unsqueeze_dim=2)[0].to(dtype)
                y = torch.cat([y, x[..., d // 2 :]], -1)
                inputs = {"x": x, "cos": c, "sin": s}
                yield case(name, "nn", f"rope(x, cos, sin, rotary_dim = {d // 2})", inputs, y, equal(), ["rope"])


def gated():
    forms = {
        "swiglu": ("swiglu(gate, up)", F.silu, ["swiglu"]),
        "geglu": ("geglu(gate, up)", F.gelu, ["geglu"]),
        "geglu_tanh": ('geglu(gate, up, approximate = "tanh")', lambda x: F.gelu(x, approximate="tanh"), ["geglu"]),
    }
    for dtype in ALL:
        for what, shape in ROWS.items():
            for form, (body, act, used) in forms.items():
                name = f"{form}_{NAMES[dtype]}_{what}"
                g = gen(name)
                gate, up = uniform(g, shape, dtype, 3.0), uniform(g, shape, dtype)
                if dtype in (BF16, F16):
                    # as eager PyTorch, step by step, with the activation rounded from f64: PyTorch's is
                    # rounded from f32, where the sum with erf leaves few bits of gelu(-3)
                    y, rule = act(gate.double()).to(dtype) * up, equal()
                else:
                    # gelu of -3 is a difference of parts of 3
                    y, rule = act(gate) * up, absolute(dtype, 12, 3, "an activation of at most 3, times at most 1")
                yield case(name, "nn", body, {"gate": gate, "up": up}, y, rule, used)


def cases():
    for part in [softmaxes, layer_norms, group_norms, rms_norms, l2_norms, softcaps, ropes, gated]:
        yield from part()

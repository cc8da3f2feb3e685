"""`std::attention` against scaled_dot_product_attention and the attention classes of transformers."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right
from transformers.masking_utils import sliding_window_causal_mask_function
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gemma2 import modeling_gemma2 as gemma2
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.llama import modeling_llama as llama
from transformers.models.qwen3 import modeling_qwen3 as qwen3

from cases._std import BF16, F16, F32, F64, NAMES, absolute, as_good, case, fill
from common import gen, integers, uniform

ALL = [F64, F32, BF16, F16]
# batch, queries, heads, keys, heads of keys, features, features of values
SHAPES = {
    "heads": (2, 3, 4, 3, 4, 4, 4),
    "grouped": (1, 3, 4, 5, 2, 4, 6),
    "one_kv": (2, 4, 4, 6, 1, 4, 4),
    "decode": (2, 1, 6, 7, 3, 4, 4),
    "one": (1, 1, 1, 1, 1, 1, 1),
}
# more queries than keys: the first two see none
BLIND = (1, 5, 2, 3, 1, 4, 4)


def operands(g, shape, dtype):
    b, s, h, n, k, d, e = shape
    return {
        "q": uniform(g, [b, s, h, d], dtype, 2.0),
        "k": uniform(g, [b, n, k, d], dtype, 2.0),
        "v": uniform(g, [b, n, k, e], dtype),
    }


def turned(inputs):
    """As PyTorch has it, heads before tokens; in f64 where the dtype is narrower than f32."""
    out = [inputs[n].transpose(1, 2) for n in "qkv"]
    return [t.double() if t.dtype in (BF16, F16) else t for t in out]


def bound(inputs, dtype, extra=0.0):
    """An error of a score is its size times the roundings of a sum; weights and result follow it."""
    q, k, v = (inputs[n].double().abs() for n in "qkv")
    score = q.shape[-1] ** 0.5 * q.max() * k.max() + extra
    steps = 2 * (q.shape[-1] + k.shape[1] + 24) * (1 + score)
    return absolute(dtype, float(steps), v.max(), f"{q.shape[-1]} features, {k.shape[1]} keys, "
                    f"scores to {float(score):.3g}; weights and result are of the dtype", 3)


def sdpa(name, shape, dtype, body, used=("attention",), mask=None, more=None, edit=None, **rest):
    inputs = operands(gen(name), shape, dtype)
    q, k, v = turned(inputs)
    mask, own = mask(gen(name + "/mask"), q, k) if mask else (None, {})
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True, **rest)
    extra = 0.0
    if own and "bias" in own:
        extra = float(own["bias"].double().abs().clamp(max=100).max())
    y = y.transpose(1, 2).to(dtype).contiguous()
    return case(name, "attention", body, {**inputs, **own}, y, bound(inputs, dtype, extra), list(used))


def plain():
    for dtype in ALL:
        for what, shape in SHAPES.items():
            yield sdpa(f"attention_{NAMES[dtype]}_{what}", shape, dtype, "attention(q, k, v)")
        yield sdpa(f"attention_scale_{NAMES[dtype]}", SHAPES["grouped"], dtype, "attention(q, k, v, scale = 0.25)",
                   scale=0.25)

    def ends(_, q, k):
        return causal_lower_right(q.shape[-2], k.shape[-2])._materialize(q.device), {}

    for dtype in ALL:
        for what in ["heads", "grouped", "one"]:
            yield sdpa(f"attention_causal_{NAMES[dtype]}_{what}", SHAPES[what], dtype, "attention(q, k, v, causal = true)",
                       mask=ends)
        yield sdpa(f"attention_causal_{NAMES[dtype]}_blind", BLIND, dtype, "attention(q, k, v, causal = true)",
                   mask=ends)


def masked():
    def bools(size):
        def make(g, q, k):
            m = integers(g, size(q, k), torch.bool)
            m.reshape(-1, m.shape[-1])[0] = False  # a query without a key
            return m, {"mask": m}

        return make

    def floats(size, holes=False):
        def make(g, q, k):
            dtype = F64 if q.dtype == F64 else F32
            m = uniform(g, size(q, k), dtype, 2.0)
            if holes:
                m = torch.where(integers(g, m.shape, torch.bool), m, -torch.inf)
                m.reshape(-1, m.shape[-1])[0] = -torch.inf
            return m.to(q.dtype), {"bias": m}

        return make

    def whole(q, k):
        return [*q.shape[:-1], k.shape[-2]]

    sizes = {"all": whole, "rows": lambda q, k: [q.shape[-2], k.shape[-2]],
             "batch": lambda q, k: [q.shape[0], 1, 1, k.shape[-2]],
             "heads": lambda q, k: [q.shape[1], 1, k.shape[-2]]}
    for dtype in [F64, F32, BF16]:
        for what, size in sizes.items():
            tail, of = f"{NAMES[dtype]}_{what}", SHAPES["grouped" if what != "batch" else "heads"]
            yield sdpa(f"attention_mask_{tail}", of, dtype, "attention(q, k, v, mask = mask)", mask=bools(size))
            yield sdpa(f"attention_bias_{tail}", of, dtype, "attention(q, k, v, bias = bias)", mask=floats(size))
            yield sdpa(f"attention_bias_holes_{tail}", of, dtype, "attention(q, k, v, bias = bias)",
                       mask=floats(size, True))

    def near(window, causal):
        def make(_, q, k):
            s, n = q.shape[-2], k.shape[-2]
            at = torch.arange(s)[:, None] + n - s
            to = torch.arange(n)[None]
            if causal:
                return sliding_window_causal_mask_function(window)(0, 0, at, to), {}
            return (at - to).abs() < window, {}

        return make

    for dtype in [F64, F32, BF16]:
        for what, shape in {"one_kv": SHAPES["one_kv"], "decode": SHAPES["decode"], "blind": BLIND}.items():
            for window in [1, 3] if what == "one_kv" else [2]:
                tail = f"{window}_{NAMES[dtype]}_{what}"
                yield sdpa(f"attention_window_{tail}", shape, dtype,
                           f"attention(q, k, v, causal = true, window = {window})", mask=near(window, True))
                yield sdpa(f"attention_around_{tail}", shape, dtype, f"attention(q, k, v, window = {window})",
                           mask=near(window, False))


def eager():
    """The functions that the classes of Gemma 2 and GPT-OSS call for a head's scores."""
    for dtype in [F32, BF16]:
        for what, shape in SHAPES.items():
            _, s, h, n, k, d, _ = shape
            module = SimpleNamespace(num_key_value_groups=h // k, training=False, head_dim=d)

            def wide(inputs):
                return [t.float() for t in turned(inputs)]

            name = f"attention_softcap_{NAMES[dtype]}_{what}"
            inputs = operands(gen(name), shape, dtype)
            o, _ = gemma2.eager_attention_forward(module, *wide(inputs), None, scaling=0.5, softcap=2.0)
            yield case(name, "attention", "attention(q, k, v, scale = 0.5, softcap = 2.0)", inputs,
                       o.to(dtype), bound(inputs, dtype, 2.0), ["attention"])

            for tail, body, size in [("", "", None), ("_causal", ", causal = true", n)]:
                name = f"attention_sink_{NAMES[dtype]}_{what}{tail}"
                g = gen(name)
                inputs = operands(g, shape, dtype)
                sink = uniform(g, [h], dtype, 3.0)
                module.sinks = sink.float()
                mask = None
                if tail:
                    seen = torch.arange(n)[None] <= torch.arange(s)[:, None] + n - s
                    mask = torch.where(seen, 0.0, -torch.inf)
                o, _ = gpt_oss.eager_attention_forward(module, *wide(inputs), mask, scaling=d**-0.5)
                yield case(name, "attention", f"attention(q, k, v, sink = sink{body})", {**inputs, "sink": sink},
                           o.to(dtype), bound(inputs, dtype, 3.0), ["attention"])
    # every query before the keys sees the sink alone: zeros
    name = "attention_sink_blind"
    g = gen(name)
    inputs = operands(g, (1, 3, 2, 2, 1, 4, 4), F32)
    inputs["mask"] = torch.zeros(3, 2, dtype=torch.bool)
    inputs["sink"] = uniform(g, [2])
    module = SimpleNamespace(num_key_value_groups=2, training=False, sinks=inputs["sink"])
    o, _ = gpt_oss.eager_attention_forward(module, *turned(inputs), torch.full([3, 2], -torch.inf), scaling=1.0)
    yield case(name, "attention", "attention(q, k, v, scale = 1.0, mask = mask, sink = sink)", inputs, o,
               bound(inputs, F32), ["attention"])


HIDDEN, HEADS, KV, HEAD = 16, 4, 2, 4


def both(module, x, cos, sin, mask):
    """What a layer gives in f64 rounded to f32, and the rule that its result in f32 makes."""
    def run(dtype):
        m = module.to(dtype)
        args = [t.to(dtype) for t in (x, cos, sin, mask)]
        return m(hidden_states=args[0], position_embeddings=(args[1], args[2]), attention_mask=args[3])[0].detach()

    narrow, wide = run(F32), run(F64)
    module.to(F32)
    return wide.to(F32), as_good(narrow, wide)


def layer(name, module, x, cos, sin, mask, before, attrs, extra=None):
    """A whole attention layer: projections, rotation, attention, projection."""
    y, rule = both(module, x, cos, sin, mask)
    w = {n: getattr(module, f"{n}_proj").weight for n in "qkvo"}
    inputs = {"x": x, "wq": w["q"], "wk": w["k"], "wv": w["v"], "wo": w["o"]}
    inputs |= {"cos": cos[0].clone(), "sin": sin[0].clone(), **(extra or {})}
    body = f"""
    let q = unflatten(matmul(x, wq, transpose_b = true), [{HEADS}, {HEAD}], dim = -1);
    let k = unflatten(matmul(x, wk, transpose_b = true), [{KV}, {HEAD}], dim = -1);
    let v = unflatten(matmul(x, wv, transpose_b = true), [{KV}, {HEAD}], dim = -1);
    let qr = rope({before.format('q')}, cos, sin);
    let kr = rope({before.format('k')}, cos, sin);
    let o = attention(qr, kr, v{attrs});
    matmul(flatten(o, start = -2), wo, transpose_b = true)
"""
    more = ["use std::nn::{rms_norm, rope};" if "rms_norm" in before else "use std::nn::{rope};"]
    return case(name, "attention", body, inputs, y, rule, ["attention"], more)


def masks(s, window=None):
    see = sliding_window_causal_mask_function(window or s)(0, 0, torch.arange(s)[:, None], torch.arange(s)[None])
    return torch.where(see, 0.0, -torch.inf)[None, None]


def layers():
    common = dict(hidden_size=HIDDEN, num_attention_heads=HEADS, num_key_value_heads=KV, head_dim=HEAD,
                  attn_implementation="eager", max_position_embeddings=32)
    for s in [1, 4, 7]:
        def hidden(name):
            g = gen(name)
            return g, uniform(g, [1 + (s == 1), s, HIDDEN])

        at = torch.arange(s)[None]
        name = f"llama_attention_{s}"
        g, x = hidden(name)
        config = llama.LlamaConfig(**common)
        m = fill(g, llama.LlamaAttention(config, 0))
        tables = llama.LlamaRotaryEmbedding(config)(x, at)
        yield layer(name, m, x, *tables, masks(s), "{}", ", causal = true")

        name = f"qwen3_attention_{s}"
        g, x = hidden(name)
        config = qwen3.Qwen3Config(**common)
        m = fill(g, qwen3.Qwen3Attention(config, 0))
        tables = qwen3.Qwen3RotaryEmbedding(config)(x, at)
        extra = {"q_norm": m.q_norm.weight, "k_norm": m.k_norm.weight}
        yield layer(name, m, x, *tables, masks(s), "rms_norm({0}, {0}_norm)", ", causal = true", extra)

        name = f"gemma2_attention_{s}"
        g, x = hidden(name)
        config = gemma2.Gemma2Config(**common, query_pre_attn_scalar=16, attn_logit_softcapping=5.0, sliding_window=3)
        m = fill(g, gemma2.Gemma2Attention(config, 0))
        assert m.sliding_window == 3
        tables = gemma2.Gemma2RotaryEmbedding(config)(x, at)
        attrs = ", scale = 0.25, causal = true, window = 3, softcap = 5.0"
        yield layer(name, m, x, *tables, masks(s, 3), "{}", attrs)


def latent():
    H, P, R, E, C = 4, 4, 4, 5, 6
    for s in [1, 4, 7]:
        config = deepseek.DeepseekV3Config(
            hidden_size=HIDDEN, num_attention_heads=H, num_key_value_heads=H, q_lora_rank=None, kv_lora_rank=C,
            qk_nope_head_dim=P, qk_rope_head_dim=R, v_head_dim=E, head_dim=R, attn_implementation="eager",
            rope_interleave=True, max_position_embeddings=32)
        for form in ["mla", "mla_absorbed"]:
            name = f"deepseek_v3_attention_{form}_{s}"
            g = gen(name)
            x = uniform(g, [1 + (s == 1), s, HIDDEN])
            m = fill(g, deepseek.DeepseekV3Attention(config, 0))
            cos, sin = deepseek.DeepseekV3RotaryEmbedding(config)(x, torch.arange(s)[None])
            y, rule = both(m, x, cos, sin, masks(s))
            inputs = {"x": x, "wq": m.q_proj.weight, "wa": m.kv_a_proj_with_mqa.weight,
                      "norm": m.kv_a_layernorm.weight, "wb": m.kv_b_proj.weight, "wo": m.o_proj.weight,
                      "cos": cos[0].clone(), "sin": sin[0].clone()}
            body = f"""
    let q = unflatten(matmul(x, wq, transpose_b = true), [{H}, {P + R}], dim = -1);
    let (q_nope, q_turn) = split(q, [{P}, {R}], dim = -1);
    let (latent, k_turn) = split(matmul(x, wa, transpose_b = true), [{C}, {R}], dim = -1);
    let c = rms_norm(latent, norm);
    let q_rope = rope(q_turn, cos, sin, interleaved = true);
    let k_rope = squeeze(rope(unsqueeze(k_turn, dim = -2), cos, sin, interleaved = true), dim = -2);
    let o = {form}(q_nope, q_rope, c, k_rope, reshape(wb, [{H}, {P + E}, {C}]), causal = true);
    matmul(flatten(o, start = -2), wo, transpose_b = true)
"""
            yield case(name, "attention", body, inputs, y, rule, [form], ["use std::nn::{rms_norm, rope};"])

    # one step over a cache, in the layout the class keeps: expanded by it, then its eager function
    shapes = {"decode": (2, 1, 7), "tail": (1, 3, 6), "one": (1, 1, 1)}
    for dtype in [F64, F32, BF16]:
        for what, (b, s, n) in shapes.items():
            for form in ["mla", "mla_absorbed"]:
                name = f"{form}_{NAMES[dtype]}_{what}"
                g = gen(name)
                inputs = {"q_nope": uniform(g, [b, s, H, P], dtype), "q_rope": uniform(g, [b, s, H, R], dtype),
                          "c": uniform(g, [b, n, C], dtype), "k_rope": uniform(g, [b, n, R], dtype),
                          "w": uniform(g, [H, P + E, C], dtype)}
                own = {"mask": integers(g, [b, 1, s, n], torch.bool)} if what == "tail" else {}

                def run(to):
                    i = {k: t.to(to) for k, t in inputs.items()}
                    module = deepseek.DeepseekV3Attention(config, 0).to(to)
                    with torch.no_grad():
                        module.kv_b_proj.weight.copy_(i["w"].reshape(H * (P + E), C))
                    k, v = module.expand_kv(i["c"][:, None], i["k_rope"][:, None])
                    q = torch.cat([i["q_nope"], i["q_rope"]], -1).transpose(1, 2)
                    # the class has no guard for a query without a key
                    y = F.scaled_dot_product_attention(q, k, v, attn_mask=own.get("mask"))
                    return y.transpose(1, 2).detach().contiguous()

                wide = run(F64)
                y, rule = wide.to(dtype), as_good(run(dtype), wide)
                attr = ", mask = mask" if own else ""
                yield case(name, "attention", f"{form}(q_nope, q_rope, c, k_rope, w{attr})", {**inputs, **own}, y, rule,
                           [form])


def online():
    state = """
    let mut m = full({a}[{b}, {s}], -inf);
    let mut l = zeros({a}[{b}, {s}]);
    let mut acc = zeros({a}[{b}, {s}, {e}]);
"""
    walk = """
    for keys in tile({range}, {block}, pad = 0.0) {{
        let raw = matmul(q, k[.., keys], transpose_b = true, out = {a}) * {scale};
        let seen = mask[.., keys];
        let s = where(seen && keys.valid, raw, -inf);
        let (m1, l1, acc1) = online_softmax_step(s, v[.., keys], m, l, acc);
        m = m1;
        l = l1;
        acc = acc1;
    }}
"""
    shapes = {"even": (2, 3, 8, 4, 4), "ragged": (1, 5, 7, 3, 6), "one": (1, 1, 1, 1, 1), "wide": (1, 2, 5, 8, 4)}
    for dtype in [F64, F32, BF16]:
        for what, (b, s, n, block, d) in shapes.items():
            for form in ["walk", "sink", "merge"]:
                name = f"online_softmax_{form}_{NAMES[dtype]}_{what}"
                g = gen(name)
                q, k = uniform(g, [b, s, d], dtype, 2.0), uniform(g, [b, n, d], dtype, 2.0)
                v = uniform(g, [b, n, d], dtype)
                mask = integers(g, [s, n], torch.bool)
                mask[0] = s == 1  # a query without a key, and none where it is the only one
                mask[-1, 0] = True
                inputs = {"q": q, "k": k, "v": v, "mask": mask}
                i = {x: t.double() for x, t in inputs.items() if x != "mask"}
                a = "f64" if dtype == F64 else "f32"
                names = dict(a=a, b=b, s=s, e=d, block=block, scale=0.5)
                used = ["online_softmax_finish", "online_softmax_step"]
                end = f"cast(online_softmax_finish(l, acc), {NAMES[dtype]})"
                if form == "merge":
                    h = (n + 1) // 2
                    body = state.format(**names) + walk.format(**names, range=f"0..{h}")
                    body += "    let (m0, l0, acc0) = (m, l, acc);" + state.format(**names)
                    body += walk.format(**names, range=f"{h}..{n}")
                    body += "    let (_, sums, total) = online_softmax_merge(m0, l0, acc0, m, l, acc);\n"
                    end = end.replace("(l, acc)", "(sums, total)")
                    used = sorted([*used, "online_softmax_merge"])
                else:
                    body = state.format(**names) + walk.format(**names, range=f"0..{n}")
                y = F.scaled_dot_product_attention(i["q"], i["k"], i["v"], attn_mask=mask, scale=0.5)
                if form == "sink":
                    sink = uniform(g, [s], F64 if dtype == F64 else F32, 2.0)
                    inputs["sink"] = sink
                    body = body.replace(f"full({a}[{b}, {s}], -inf)", f"expand(sink, [{b}, {s}])")
                    body = body.replace(f"l = zeros({a}", f"l = ones({a}")
                    # one head a query, so that each has a sink of its own
                    module = SimpleNamespace(num_key_value_groups=1, training=False, sinks=sink.double())
                    hq, hk, hv = i["q"].unsqueeze(2), *(t[:, None].expand(b, s, n, d) for t in (i["k"], i["v"]))
                    bias = torch.where(mask, 0.0, -torch.inf).double()[None, :, None]
                    y, _ = gpt_oss.eager_attention_forward(module, hq, hk, hv, bias, scaling=0.5)
                    y = y[:, 0]
                y = y.to(dtype).contiguous()
                score = float(0.5 * 4 * d)
                steps = 2 * (d + n + 8 * (n // block + 1) + 24) * (1 + score)
                rule = absolute(dtype, steps, 1, f"{d} features, {n} keys in blocks of {block}, scores to {score:.3g}", 3)
                yield case(name, "attention", body + "    " + end + "\n", inputs, y, rule, used)


def cases():
    for part in [plain, masked, eager, layers, latent, online]:
        yield from part()

"""The programs of tests/samples at small sizes, each held to its model in PyTorch.

The references are written from what the models are: matrix products and attention in f64, with the
roundings to narrow dtypes that the model itself has (its layers hand over bf16). The bounds count
the roundings in which a program may differ, each of one unit of its dtype, of the sum of magnitudes
that it works on.
"""

import torch
import torch.nn.functional as F

from common import (UNIT, Case, cast, close, equal, gen, integers, rounded, sum_bound, ulp, uniform)

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
U16, U8 = UNIT[F16], UNIT[BF16]
FILE = "tests/samples/"


def sample(name, file, module, func, inputs, outs, rules, consts=None, dims=None, note="", **kw):
    return Case(f"{name}", "", inputs, outs, rules, [f"sample {file}"], dims=dims or {}, note=note,
                file=f"{FILE}{file}.tf", module=module, func=func, consts=consts or {}, **kw)


def roundings(n, unit, most, why):
    """Within n roundings of a unit each, of values no larger than `most`."""
    most = float(most.abs().max()) if torch.is_tensor(most) else float(most)
    return close(n * unit, n * unit * most, f"{why}: {n} roundings of {unit:.3g}, of at most {most:.3g}")


def chains():
    x = uniform(gen("chain"), [1, 32, 64], F16, 2.0)
    y = (x * x + x) * x
    times = [1, 128, 32]
    for module, like in [("Placed", ""), ("Crowded", "chain_Placed")]:
        yield sample(f"chain_{module}", "chain", module, "chain", {"x": x}, [y], equal(), like=like,
                     repeat={"in/x": times, "out/0": times},
                     note="PyTorch's own result: every op rounds to f16")


def gemms():
    consts = {"M": 64, "N": 96, "K": 48, "BM": 16, "BN": 16, "BK": 16, "GROUP": 2}
    g = gen("gemm")
    a, b = uniform(g, [64, 48], BF16), uniform(g, [96, 48], BF16)
    w = F.linear(a.double(), b.double())
    rule = sum_bound(2 * 48, F.linear(a.double().abs(), b.double().abs()), BF16, F32)
    for module, like in [("Position", ""), ("Global", "gemm_Position")]:
        yield sample(f"gemm_{module}", "gemm", module, "gemm", {"a": a, "b": b},
                     [rounded(w, BF16)], rule, consts, like=like)


def norm(x, weight, eps):
    """The RMS norm of Hugging Face: the normalized row lands in its dtype before the weight."""
    w = x.double()
    return rounded(w * torch.rsqrt(w.square().mean(-1, keepdim=True) + eps), x.dtype) * weight


def norms():
    for tokens in [1, 2]:
        g = gen(f"norm_{tokens}")
        x, r = uniform(g, [tokens, 2688], BF16, 3.0), uniform(g, [tokens, 2688], BF16, 3.0)
        gamma = uniform(g, [2688], BF16, 2.0)
        h = x + r
        step = ulp(2)
        yield sample(f"residual_rms_norm_{tokens}", "residual_rms_norm", "AddNorm", "add_norm",
                     {"gamma": gamma, "x": x, "residual": r}, [norm(h, gamma, 1e-5), h],
                     [step, equal()], dims={"tokens": tokens},
                     note="the mean is summed in f32: its row may round one step of bf16 off, which "
                          "the product with gamma makes two at most")
    for module, rows in [("TwoPass", 1), ("Fused", 2)]:
        g = gen(f"norm_quant_{module}")
        x, gamma = uniform(g, [rows, 7168], BF16, 3.0), uniform(g, [1, 7168], BF16, 2.0)
        y = norm(x, gamma, 1e-6).float()
        blocks = y.reshape(rows, 56, 128)
        scale = blocks.abs().amax(-1, keepdim=True) * (1.0 / 448.0)
        q = cast((blocks / scale).clamp(-448.0, 448.0), torch.float8_e4m3fn).reshape(rows, 7168)
        times = [132 // rows, 1]
        yield sample(f"rms_norm_quant_{module}", "rms_norm_quant", module, "norm_quant",
                     {"gamma": gamma, "x": x}, [q, scale.squeeze(-1)],
                     [ulp(1), close(2 * U8, 0, "a row of the norm may round two steps of bf16 off")],
                     {"ROWS": 132},
                     repeat={"in/x": times, "out/0": times, "out/1": times},
                     note="a code follows its scale and its element by one step at most")


def block_quantize(x, bs, top=448.0):
    r, c = x.shape
    blocks = x.float().reshape(r // bs, bs, c // bs, bs)
    scale = blocks.abs().amax((1, 3), keepdim=True).clamp(min=1e-12) / top
    q = cast((blocks / scale).clamp(-top, top), torch.float8_e4m3fn)
    return q.reshape(r, c), scale.reshape(r // bs, c // bs)


def spread(scale, bs):
    return scale.double().repeat_interleave(bs, 0).repeat_interleave(bs, 1)


def block_f8():
    consts = {"M": 32, "K": 48, "N": 64, "BS": 16}
    g = gen("block_f8")
    x = uniform(g, [32, 48], BF16, 3.0)
    w, ws = block_quantize(uniform(g, [64, 48], F32, 0.3), 16)
    q, qs = block_quantize(x, 16)
    a, b = q.float().double() * spread(qs, 16), w.float().double() * spread(ws, 16)
    # the scales' product and the scaling round as well
    rule = sum_bound(2 * 48 + 2, a.abs() @ b.abs().T, BF16, F32)
    for func, like in [("linear", ""), ("logical", "f8_block_quant_linear")]:
        yield sample(f"f8_block_quant_{func}", "f8_block_quant", "BlockF8", func,
                     {"w": w, "w_scale": ws, "x": x}, [rounded(a @ b.T, BF16)], rule, consts,
                     like=like, note="activations quantized in PyTorch to the same codes")


def sdpa(q, k, v, mask=None):
    """Attention of [B, S, heads, D] in f64, from PyTorch's own."""
    q, k, v = (t.double().transpose(1, 2) for t in (q, k, v))
    o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return o.transpose(1, 2)


def weights_bound(unit, v, out):
    """Weights are rounded before they multiply v; the rest accumulates in f32."""
    return close(2 * UNIT[out], (unit + 2.0**-16) * float(v.abs().max()),
                 f"each weight rounds by {unit:.3g}, so their mean of v moves by that of the largest "
                 "v; the sums in f32 add less than 2^-16 of it; then one rounding on each side")


def decode():
    # the second launch of `context_split` has a thread for each of 128 features
    ways = [("head_split", "", 2, 4, 2, 32), ("context_split_fused", "head_split", 2, 4, 2, 32),
            ("context_split", "", 1, 2, 1, 128), ("attend", "context_split", 1, 2, 1, 128)]
    for func, like, b, nh, nkv, d in ways:
        for ctx in [1, 5, 19]:
            g = gen(f"decode_{like or func}_{ctx}")
            q = uniform(g, [b, nh, d], BF16, 1.5)
            k, v = (uniform(g, [b, ctx, nkv, d], BF16, 1.5) for _ in "kv")
            o = rounded(sdpa(q[:, None], k, v)[:, 0], BF16)
            yield sample(f"gqa_decode_{func}_{ctx}", "gqa_decode", "Decode", func,
                         {"q": q, "k": k, "v": v}, [o], weights_bound(U8, v, BF16),
                         {"BK": 8, "NH": nh, "NKV": nkv, "D": d, "NS": 4, "B": b}, {"ctx": ctx},
                         like=like and f"gqa_decode_{like}_{ctx}")


def prefill():
    consts = {"B": 1, "Q": 16, "S": 32, "NH": 4, "NKV": 2, "D": 32, "BQ": 8, "BK": 8}
    g = gen("prefill")
    q = uniform(g, [1, 16, 4, 32], F16, 2.0)
    k, v = (uniform(g, [1, 32, 2, 32], F16, 2.0) for _ in "kv")
    mask = torch.ones(16, 32, dtype=torch.bool).tril(16)
    o = rounded(sdpa(q, k, v, mask), F16)
    for module, like in [("Logical", ""), ("Tiled", "Logical"), ("Specialized", "Logical")]:
        yield sample(f"gqa_prefill_{module}", "gqa_prefill", module, "attend",
                     {"q": q, "k": k, "v": v}, [o], weights_bound(U16, v, F16), consts,
                     like=like and f"gqa_prefill_{like}")


def paged():
    b, kv, gr, d, page, pages, most = 2, 2, 2, 16, 4, 16, 8
    g = gen("paged")
    q = uniform(g, [b, kv, gr, d], BF16, 1.5)
    kc, vc = (uniform(g, [pages, page, kv, d], BF16, 1.5) for _ in "kv")
    table = torch.randperm(pages, generator=g).reshape(b, most).to(torch.int32)
    lens = torch.tensor([3, 29], dtype=torch.int32)
    outs = []
    for i in range(b):
        rows = [c[table[i].long()].reshape(most * page, kv, d)[: lens[i]][None] for c in (kc, vc)]
        outs.append(sdpa(q[i].reshape(1, 1, kv * gr, d), *rows).reshape(kv, gr, d))
    for ns in [1, 4]:
        consts = {"B": b, "NKV": kv, "G": gr, "D": d, "PAGE": page, "PAGES": pages, "MAXP": most, "NS": ns}
        yield sample(f"paged_decode_{ns}", "paged_decode", "Paged", "decode",
                     {"q": q, "kc": kc, "vc": vc, "table": table, "lens": lens},
                     [rounded(torch.stack(outs), BF16)], weights_bound(U8, vc, BF16), consts,
                     like="paged_decode_1" if ns > 1 else "")


def gated(x, gate, up, down):
    """The gated MLP as its layers hand over: bf16 after each, the last in f64."""
    lin = lambda w: rounded(F.linear(x.double(), w.double()), BF16)
    inner = F.silu(lin(gate)) * lin(up)
    mags = F.linear(inner.double().abs(), down.double().abs())
    return F.linear(inner.double(), down.double()), mags


MLP = "gate, up, silu and their product each may round one step of bf16 off, then the result"


def parallel_mlp():
    consts = {"T": 4, "H": 24, "F": 32}
    g = gen("parallel_mlp")
    x = uniform(g, [4, 24], BF16, 2.0)
    gate, up = (uniform(g, [32, 24], BF16) for _ in "gu")
    down = uniform(g, [24, 32], BF16)
    y, mags = gated(x, gate, up, down)
    yield sample("tensor_parallel_mlp", "tensor_parallel_mlp", "ParallelMlp", "mlp",
                 {"w_gate": gate, "w_up": up, "w_down": down, "x": x}, [rounded(y, BF16)],
                 roundings(5, U8, mags, MLP), consts)


def moe():
    h, f, e, k, t = 16, 16, 6, 2, 9
    g = gen("moe")
    x, router = uniform(g, [t, h], BF16, 2.0), uniform(g, [e, h], BF16)
    gate, up = (uniform(g, [e, f, h], BF16) for _ in "gu")
    down = uniform(g, [e, h, f], BF16)
    share, ids = F.softmax(F.linear(x.double(), router.double()), -1).topk(k, -1)
    share = share / share.sum(-1, keepdim=True)
    y, mags = torch.zeros(t, h, dtype=F64), torch.zeros(t, h, dtype=F64)
    for i in range(t):
        for s, j in zip(share[i], ids[i]):
            one, m = gated(x[i : i + 1], gate[j], up[j], down[j])
            y[i] += s * one[0]
            mags[i] += s * m[0]
    consts = {"H": h, "F": f, "E": e, "TOPK": k, "BM": 4, "BN": 8, "BK": 8}
    yield sample("moe", "moe", "Moe", "moe",
                 {"router": router, "w_gate": gate, "w_up": up, "w_down": down, "x": x},
                 [rounded(y, BF16)], roundings(5, U8, mags, MLP), consts, {"T": t})
    xs = uniform(g, [t * k, h], BF16)
    offsets = torch.tensor([0, 7, 7, 10, 10, 12, 18], dtype=torch.int32)
    each = torch.bucketize(torch.arange(t * k), offsets[1:].long(), right=True)
    w = torch.einsum("rh,rfh->rf", xs.double(), up.double()[each])
    mags = torch.einsum("rh,rfh->rf", xs.double().abs(), up.double()[each].abs())
    yield sample("moe_grouped_up", "moe", "Moe", "grouped_up",
                 {"w_up": up, "xs": xs, "offsets": offsets}, [rounded(w, BF16)],
                 sum_bound(2 * h, mags, BF16, F32), consts, {"T": t})


def ssd(x, b, c, dt, a, skip, h):
    """The recurrence of Mamba-2, one token after the other: h = exp(dt a) h + dt x b, y = h c + D x."""
    r = x.shape[1] // b.shape[1]
    ys = []
    for t in range(x.shape[0]):
        bt, ct = (m[t].repeat_interleave(r, 0) for m in (b, c))
        h = torch.exp(dt[t] * a)[:, None, None] * h + (dt[t][:, None] * x[t])[..., None] * bt[:, None]
        ys.append(torch.einsum("hpn,hn->hp", h, ct) + skip[:, None] * x[t])
    return torch.stack(ys), h


def mamba():
    l, nh, p, gr, n, kw = 16, 4, 8, 2, 8, 4
    width = nh * p + 2 * gr * n
    consts = {"L": l, "CH": 4, "NH": nh, "P": p, "G": gr, "N": n}
    g = gen("mamba")
    w = {"conv_w": uniform(g, [width, 1, kw], BF16), "conv_b": uniform(g, [width], BF16),
         "a_log": uniform(g, [nh], F32), "dt_bias": uniform(g, [nh], F32), "skip": uniform(g, [nh], F32)}
    a, skip = -torch.exp(w["a_log"].double()), w["skip"].double()
    xbc, dt = uniform(g, [l, width], BF16, 2.0), uniform(g, [l, nh], BF16)

    def parts(u):
        cut = u.double().split([nh * p, gr * n, gr * n], -1)
        return [m.reshape(-1, *s) for m, s in zip(cut, [(nh, p), (gr, n), (gr, n)])]

    pad = F.pad(xbc.double().T[None], (kw - 1, 0))
    v = F.conv1d(pad, w["conv_w"].double(), w["conv_b"].double(), groups=width)[0].T
    u = F.silu(rounded(v, BF16))
    x, b, c = parts(u)
    delta = F.softplus(dt.double() + w["dt_bias"].double())
    zero = torch.zeros(nh, p, n, dtype=F64)
    y, h = ssd(x, b, c, delta, a, skip, zero)
    my, mh = ssd(x.abs(), b.abs(), c.abs(), delta, a, skip.abs(), zero)
    why = "conv and silu, then scores, kept inputs and the carried state of a chunk, land in bf16"
    yield sample("mamba2_prefill", "mamba2", "Mamba2", "prefill", {**w, "xbc": xbc, "dt": dt},
                 [rounded(y, BF16), xbc[-kw:].T.contiguous(), rounded(h, F32)],
                 [roundings(6, U8, my, why), equal(), roundings(4, U8, mh, why)], consts)
    # one step, from states in the middle
    conv = uniform(g, [width, kw], BF16, 2.0)
    state = uniform(g, [nh, p, n], F32)
    row, dt1 = uniform(g, [width], BF16, 2.0), uniform(g, [nh], BF16)
    window = torch.cat([conv[:, 1:], row[:, None]], 1)
    v = (window.double() * w["conv_w"].double()[:, 0]).sum(1) + w["conv_b"].double()
    x, b, c = parts(F.silu(rounded(v, BF16))[None])
    delta = F.softplus(dt1.double() + w["dt_bias"].double())[None]
    y, h = ssd(x, b, c, delta, a, skip, state.double())
    my, mh = ssd(x.abs(), b.abs(), c.abs(), delta, a, skip.abs(), state.double().abs())
    why = "conv and silu land in bf16"
    yield sample("mamba2_step", "mamba2", "Mamba2", "step",
                 {**w, "xbc": row, "dt": dt1, "conv": conv, "h": state},
                 [rounded(y[0], BF16), window, rounded(h, F32)],
                 [roundings(3, U8, my, why), equal(), roundings(2, U8, mh, why)], consts)


def twins():
    g = gen("twins")
    consts = {"B": 2, "NH": 4, "NKV": 2, "D": 16}
    for ctx in [1, 11]:
        q = uniform(g, [2, 1, 4, 16], BF16, 1.5)
        k, v = (uniform(g, [2, ctx, 2, 16], BF16, 1.5) for _ in "kv")
        yield sample(f"twins_attend_{ctx}", "twins", "Decode", "attend", {"q": q, "k": k, "v": v},
                     [rounded(sdpa(q, k, v), BF16)], weights_bound(U8, v, BF16), consts, {"ctx": ctx})
    x, w = uniform(g, [5, 24], BF16), uniform(g, [16, 24], BF16)
    y = rounded(F.linear(x.double(), w.double()), BF16)
    yield sample("twins_linear", "twins", "Linear", "linear", {"w": w, "x": x}, [y],
                 sum_bound(48, F.linear(x.double().abs(), w.double().abs()), BF16, F32),
                 {"N": 16, "K": 24}, {"rows": 5})


QWEN = {"H": 32, "NH": 4, "NKV": 2, "D": 8, "F": 48, "V": 64, "LAYERS": 2, "MAX": 16}
#: a weight of `Layer`, its name in the checkpoint, its shape, how large it is
LAYER = [
    ("ln_attn", "input_layernorm", [32], 0), ("ln_mlp", "post_attention_layernorm", [32], 0),
    ("wq", "self_attn.q_proj", [32, 32], 0.3), ("wk", "self_attn.k_proj", [16, 32], 0.3),
    ("wv", "self_attn.v_proj", [16, 32], 0.3), ("wo", "self_attn.o_proj", [32, 32], 0.3),
    ("ln_q", "self_attn.q_norm", [8], 0), ("ln_k", "self_attn.k_norm", [8], 0),
    ("w_gate", "mlp.gate_proj", [48, 32], 0.3), ("w_up", "mlp.up_proj", [48, 32], 0.3),
    ("w_down", "mlp.down_proj", [32, 48], 0.3),
]


def qwen_model(weights, dtype):
    """The published class at these sizes and weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    c = Qwen3Config(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                    num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6,
                    max_position_embeddings=40960, tie_word_embeddings=True, attention_bias=False,
                    rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
                    attn_implementation="eager")
    m = Qwen3ForCausalLM(c).eval()
    state = {"model.embed_tokens.weight": weights["embed"], "model.norm.weight": weights["ln_out"],
             "lm_head.weight": weights["embed"]}
    for name, key, _, _ in LAYER:
        for i in range(2):
            state[f"model.layers.{i}.{key}.weight"] = weights[f"layers.{name}"][i]
    m.load_state_dict(state)
    return m.to(dtype)


def qwen_step(model, token, kc, vc, ctx):
    """Logits and both caches after one token, which is at ctx - 1."""
    from transformers import DynamicCache

    dtype = next(model.parameters()).dtype
    cache = DynamicCache()
    turn = lambda t: t[: ctx - 1].to(dtype).transpose(0, 1)[None]
    if ctx > 1:
        for i in range(2):
            cache.update(turn(kc[i]), turn(vc[i]), i)
    with torch.no_grad():
        at = torch.tensor([[ctx - 1]])
        out = model(token[None].long(), cache=cache, position_ids=at, use_cache=True)
    new = [torch.stack([getattr(l, n)[0, :, ctx - 1] for l in cache.layers]) for n in ("keys", "values")]
    return out.logits[0], *new


def qwen():
    g = gen("qwen3")
    draw = lambda s, scale: uniform(g, s, BF16, scale) if scale else \
        (1 + uniform(g, s, F32, 0.25)).to(BF16)
    w = {"embed": draw([64, 32], 1.0), "ln_out": draw([32], 0)}
    w |= {f"layers.{n}": draw([2, *s], scale) for n, _, s, scale in LAYER}
    exact, eager = qwen_model(w, F64), qwen_model(w, BF16)
    for ctx, token in [(1, 5), (7, 33), (16, 60)]:
        token = torch.tensor([token], dtype=torch.int32)
        # what lies past the context is never read
        kc, vc = (uniform(g, [2, 16, 2, 8], BF16, 2.0) for _ in "kv")
        logits, k, v = qwen_step(exact, token, kc, vc, ctx)
        _, ek, ev = qwen_step(eager, token, kc, vc, ctx)
        outs, rules = [logits.argmax(-1).to(torch.int32)], [equal()]
        for old, new, other, which in [(kc, k, ek, "keys"), (vc, v, ev, "values")]:
            out = old.clone()
            out[:, ctx - 1] = rounded(new, BF16)
            off = float((other.double() - new).abs().max())
            outs.append(out)
            rules.append(close(0, 2 * off, f"the class itself, run in bf16, gives {which} {off:.3g} from "
                                           "those of f64: twice that"))
        yield sample(f"qwen3_step_{ctx}", "qwen3_1_7b", "Qwen3", "step",
                     {**w, "token": token, "kc": kc, "vc": vc}, outs, rules, QWEN, {"ctx": ctx},
                     like="qwen3_step_1" if ctx > 1 else "",
                     note="Qwen3ForCausalLM of transformers in f64, on the same bf16 weights")


def cases():
    yield from chains()
    yield from gemms()
    yield from norms()
    yield from block_f8()
    yield from decode()
    yield from prefill()
    yield from paged()
    yield from parallel_mlp()
    yield from moe()
    yield from mamba()
    yield from twins()
    yield from qwen()

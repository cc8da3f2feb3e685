"""`std::moe` against the routers and expert blocks of transformers."""

import torch
import torch.nn.functional as F
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.mixtral import modeling_mixtral as mixtral
from transformers.models.qwen2_moe import modeling_qwen2_moe as qwen2_moe
from transformers.models.qwen3_moe import modeling_qwen3_moe as qwen3_moe

from cases._std import BF16, F32, F64, NAMES, absolute, as_good, case, fill, relative
from common import equal, gen, integers, uniform

# tokens, experts, chosen
ROUTES = {"few": (5, 6, 2), "one": (1, 1, 1), "all": (3, 4, 4), "many": (2, 16, 3)}
HIDDEN = 8


def ordered(weights, ids):
    """A router that does not sort gives its choice in any order: the largest weight first."""
    at = weights.sort(dim=-1, descending=True, stable=True).indices
    return weights.gather(-1, at), ids.gather(-1, at).to(torch.int32)


def routes(e):
    return relative(F32, 2 * e + 2 * HIDDEN + 64, f"a softmax over {e}, of logits given")


def logits_of(router, x):
    """A router with the identity as its weight: the logits are the hidden states."""
    with torch.no_grad():
        router.weight.copy_(torch.eye(x.shape[-1]))
    return router(x)


def softmax_routes():
    for what, (t, e, k) in ROUTES.items():
        for norm in [True, False]:
            name = f"softmax_topk_qwen3_{what}_{'norm' if norm else 'plain'}"
            x = uniform(gen(name), [t, e], F32, 3.0)
            config = qwen3_moe.Qwen3MoeConfig(hidden_size=e, num_attention_heads=1, num_experts=e, num_experts_per_tok=k, norm_topk_prob=norm)
            _, w, ids = logits_of(qwen3_moe.Qwen3MoeTopKRouter(config), x)
            body = f"softmax_topk(logits, {k})" if norm else f"softmax_topk(logits, {k}, renormalize = false)"
            yield case(name, "moe", body, {"logits": x}, [w, ids.to(torch.int32)], [routes(e), equal()],
                       ["softmax_topk"])

        name = f"softmax_topk_mixtral_{what}"
        x = uniform(gen(name), [t, e], F32, 3.0)
        config = mixtral.MixtralConfig(hidden_size=e, num_attention_heads=1, num_local_experts=e, num_experts_per_tok=k)
        _, w, ids = logits_of(mixtral.MixtralTopKRouter(config), x)
        yield case(name, "moe", f"softmax_topk(logits, {k})", {"logits": x}, [w, ids.to(torch.int32)],
                   [routes(e), equal()], ["softmax_topk"])

        name = f"softmax_topk_gpt_oss_{what}"
        g = gen(name)
        x, b = uniform(g, [t, e], F32, 3.0), uniform(g, [e])
        config = gpt_oss.GptOssConfig(hidden_size=e, num_attention_heads=1, num_local_experts=e, num_experts_per_tok=k)
        router = gpt_oss.GptOssTopKRouter(config)
        with torch.no_grad():
            router.bias.copy_(b)
        _, w, ids = logits_of(router, x)
        yield case(name, "moe", f"softmax_topk(logits + bias, {k})", {"logits": x, "bias": b},
                   [w, ids.to(torch.int32)], [routes(e), equal()], ["softmax_topk"],
                   note="a softmax over the chosen logits alone is the renormalized one")

    for dtype in [F64, BF16]:
        name = f"softmax_topk_{NAMES[dtype]}"
        # logits far enough apart that no two are one in bf16
        x = torch.stack([torch.randperm(8, generator=gen(name)) for _ in range(6)]).reshape(2, 3, 8).to(dtype) / 4
        p = x.double().softmax(-1) if dtype == F64 else x.float().softmax(-1)
        w, ids = p.topk(3, dim=-1)
        w = (w / w.sum(-1, keepdim=True)).to(dtype)
        rule = equal() if dtype == BF16 else relative(F64, 64, "a softmax over 8")
        yield case(name, "moe", "softmax_topk(logits, 3)", {"logits": x}, [w, ids.to(torch.int32)], [rule, equal()],
                   ["softmax_topk"])


GROUPS = {"four": (5, 8, 3, 4, 2), "two": (4, 8, 2, 2, 1), "single": (3, 6, 2, 1, 1), "one": (1, 4, 1, 2, 1)}


def grouped_routes():
    for what, (t, e, k, groups, kept) in GROUPS.items():
        attrs = f", scale = 1.5, groups = {groups}, topk_groups = {kept}"
        name = f"softmax_topk_deepseek_v2_{what}"
        x = uniform(gen(name), [t, e], F32, 3.0)
        config = deepseek2.DeepseekV2Config(
            hidden_size=e, num_attention_heads=1, n_routed_experts=e, num_experts_per_tok=k, n_group=groups,
            topk_group=kept, routed_scaling_factor=1.5, topk_method="group_limited_greedy")
        _, w, ids = logits_of(deepseek2.DeepseekV2TopkRouter(config), x)
        w, ids = ordered(w, ids)
        yield case(name, "moe", f"softmax_topk(logits, {k}, renormalize = false{attrs})", {"logits": x}, [w, ids],
                   [routes(e), equal()], ["softmax_topk"])

        for norm in [True, False]:
            name = f"sigmoid_topk_deepseek_v3_{what}_{'norm' if norm else 'plain'}"
            g = gen(name)
            x, b = uniform(g, [t, e], F32, 3.0), uniform(g, [e])
            config = deepseek.DeepseekV3Config(
                hidden_size=e, num_attention_heads=1, n_routed_experts=e, num_experts_per_tok=k, n_group=groups, topk_group=kept,
                routed_scaling_factor=1.5, norm_topk_prob=norm)
            router = deepseek.DeepseekV3TopkRouter(config)
            router.e_score_correction_bias.copy_(b)
            _, w, ids = logits_of(router, x)
            # sorted by what they are chosen by
            at = (x.sigmoid() + b).gather(-1, ids).sort(dim=-1, descending=True).indices
            w, ids = w.gather(-1, at), ids.gather(-1, at).to(torch.int32)
            flag = "" if norm else ", renormalize = false"
            yield case(name, "moe", f"sigmoid_topk(logits, bias, {k}{flag}{attrs})", {"logits": x, "bias": b}, [w, ids],
                       [relative(F32, 2 * k + 24, f"sigmoids, {k} summed"), equal()], ["sigmoid_topk"])

    for what, (t, e, _, groups, kept) in GROUPS.items():
        for dtype in [F64, F32]:
            name = f"keep_top_groups_{what}_{NAMES[dtype]}"
            x = uniform(gen(name), [t, e], dtype)
            best = 1 if what == "two" else 2
            parts = x.unflatten(-1, (groups, e // groups))
            at = parts.topk(best, dim=-1)[0].sum(-1).topk(kept, dim=-1)[1]
            mask = torch.zeros(t, groups).scatter_(1, at, 1).bool()[..., None]
            y = parts.masked_fill(~mask, -torch.inf).flatten(-2)
            yield case(name, "moe", f"keep_top_groups(scores, {groups}, {kept}, {best})", {"scores": x}, y, equal(),
                       ["keep_top_groups"])


def moves():
    for what, (t, e, k) in ROUTES.items():
        for dtype in [torch.int32, torch.int64]:
            name = f"dispatch_{what}_{'i32' if dtype == torch.int32 else 'i64'}"
            ids = integers(gen(name), [t, k], dtype, 0, e - 1)
            pair = ids.reshape(-1).sort(stable=True).indices
            ends = torch.bincount(ids.reshape(-1), minlength=e).cumsum(0)
            outs = [o.to(torch.int32) for o in [pair, pair // k, ends]]
            yield case(name, "moe", f"dispatch(ids, {e})", {"ids": ids}, outs, equal(), ["dispatch"])
        for dtype in [F64, F32]:
            name = f"combine_{what}_{NAMES[dtype]}"
            g = gen(name)
            weights, y = uniform(g, [t, k], dtype), uniform(g, [t * k, 3], dtype)
            pair = torch.randperm(t * k, generator=g)
            token = pair // k
            share = weights.reshape(-1)[pair][:, None]
            out = torch.zeros(t, 3, dtype=dtype).index_add(0, token, y * share)
            inputs = {"y": y, "weights": weights, "pair": pair.to(torch.int32), "token": token.to(torch.int32)}
            yield case(name, "moe", "combine(y, weights, pair, token)", inputs, out,
                       absolute(dtype, 2 * k + 2, k, f"{k} products summed"), ["combine"])


def fused(inputs, experts):
    """The fused weight of gate and up as the two that the function takes."""
    gate, up = experts.gate_up_proj.detach().chunk(2, dim=1)
    inputs |= {"w_gate": gate.contiguous(), "w_up": up.contiguous(), "w_down": experts.down_proj}


def both(module, x):
    """What a block gives in f64 rounded to f32, and the rule that its result in f32 makes."""
    narrow = module(x[None])[0].detach()
    wide = module.double()(x[None].double())[0].detach()
    module.float()
    return wide.to(F32), as_good(narrow, wide)


def size(inputs):
    """The largest magnitude that experts sum up: of gate and up times, of down."""
    x, a, b, c = (inputs[n].detach().double().abs() for n in ("x", "w_gate", "w_up", "w_down"))
    inner = x.max() ** 2 * a.sum(-1).max() * b.sum(-1).max()
    return float(inner * c.sum(-1).max())


EXPERTS = "experts(x, w, ids, w_gate, w_up, w_down)"
SHARED = "shared_expert(x, s_gate, s_up, s_down{})"


def blocks():
    width = 4
    for t in [1, 3, 6]:
        name = f"qwen3_moe_block_{t}"
        g = gen(name)
        x = uniform(g, [t, HIDDEN])
        config = qwen3_moe.Qwen3MoeConfig(hidden_size=HIDDEN, num_attention_heads=1, num_experts=5, num_experts_per_tok=2,
                                          moe_intermediate_size=width, norm_topk_prob=True,
                                          experts_implementation="eager")
        m = fill(g, qwen3_moe.Qwen3MoeSparseMoeBlock(config))
        inputs = {"x": x, "router": m.gate.weight}
        fused(inputs, m.experts)
        body = f"""
    let (w, ids) = softmax_topk(matmul(x, router, transpose_b = true), 2);
    {EXPERTS}
"""
        yield case(name, "moe", body, inputs, *both(m, x), ["experts", "softmax_topk"])

        name = f"qwen2_moe_block_{t}"
        g = gen(name)
        x = uniform(g, [t, HIDDEN])
        config = qwen2_moe.Qwen2MoeConfig(hidden_size=HIDDEN, num_attention_heads=1, num_experts=3, num_experts_per_tok=2,
                                          moe_intermediate_size=width, shared_expert_intermediate_size=6,
                                          norm_topk_prob=False, experts_implementation="eager")
        m = fill(g, qwen2_moe.Qwen2MoeSparseMoeBlock(config))
        inputs = {"x": x, "router": m.gate.weight}
        fused(inputs, m.experts)
        s = m.shared_expert
        inputs |= {"s_gate": s.gate_proj.weight, "s_up": s.up_proj.weight, "s_down": s.down_proj.weight,
                   "gate": m.shared_expert_gate.weight}
        body = f"""
    let (w, ids) = softmax_topk(matmul(x, router, transpose_b = true), 2, renormalize = false);
    {EXPERTS} + {SHARED.format(", gate = gate")}
"""
        yield case(name, "moe", body, inputs, *both(m, x), ["experts", "shared_expert", "softmax_topk"])

        name = f"deepseek_v3_moe_{t}"
        g = gen(name)
        x = uniform(g, [t, HIDDEN])
        config = deepseek.DeepseekV3Config(
            hidden_size=HIDDEN, num_attention_heads=1, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
            moe_intermediate_size=width, routed_scaling_factor=2.5, n_shared_experts=1,
            experts_implementation="eager")
        m = fill(g, deepseek.DeepseekV3MoE(config))
        bias = uniform(g, [4])
        m.gate.e_score_correction_bias.copy_(bias)
        inputs = {"x": x, "router": m.gate.weight, "bias": bias}
        fused(inputs, m.experts)
        s = m.shared_experts
        inputs |= {"s_gate": s.gate_proj.weight, "s_up": s.up_proj.weight, "s_down": s.down_proj.weight}
        body = f"""
    let logits = matmul(x, router, transpose_b = true);
    let (w, ids) = sigmoid_topk(logits, bias, 2, scale = 2.5, groups = 2, topk_groups = 1);
    {EXPERTS} + {SHARED.format("")}
"""
        yield case(name, "moe", body, inputs, *both(m, x), ["experts", "shared_expert", "sigmoid_topk"])

    # an expert that no token goes to, and both dtypes that the classes above are not run in
    for dtype in [F64, BF16]:
        name = f"experts_{NAMES[dtype]}"
        g = gen(name)
        x, w = uniform(g, [4, HIDDEN], dtype), uniform(g, [4, 2], dtype).abs()
        ids = torch.tensor([[0, 3], [3, 1], [0, 1], [3, 0]], dtype=torch.int32)
        inputs = {"x": x, "w": w, "ids": ids, "w_gate": uniform(g, [4, width, HIDDEN], dtype),
                  "w_up": uniform(g, [4, width, HIDDEN], dtype), "w_down": uniform(g, [4, HIDDEN, width], dtype)}
        i = {n: t.double() for n, t in inputs.items() if n != "ids"}

        def rounded(t):
            return t.to(dtype).double()

        y = torch.zeros(4, HIDDEN, dtype=F64)
        for token in range(4):
            for c in range(2):
                e = int(ids[token, c])
                gate, up = (rounded(i[n][e] @ i["x"][token]) for n in ("w_gate", "w_up"))
                inner = rounded(rounded(F.silu(gate)) * up)
                y[token] += i["w"][token, c] * (i["w_down"][e] @ inner)
        steps = 2 * (4 * HIDDEN + 2 * width + 64)
        rule = absolute(dtype, steps, 2 * size(inputs), f"sums of {HIDDEN} and {width}, rounded as eager PyTorch does",
                        2, y.abs().max())
        yield case(name, "moe", EXPERTS, inputs, y.to(dtype), rule, ["experts"])


def cases():
    for part in [softmax_routes, grouped_routes, moves, blocks]:
        yield from part()

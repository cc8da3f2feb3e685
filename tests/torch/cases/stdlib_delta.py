"""The delta rule of `std::ssm`: Qwen3-Next's, with one decay a head, and Kimi's, with one a channel.

f32 and bf16 cases have the results of the functions that the two models of `transformers` run on a
CPU, the recurrent one for the forms token by token, the chunked one for the forms in chunks. f64
cases have those of a loop written here from the definition: there all forms must agree within some
1e-13. Bounds come from the same loop.
"""

import torch
from transformers.models.kimi_linear import modeling_kimi_linear as kimi
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from common import TF, UNIT, accumulates, close, gen, uniform
from cases.stdlib_ssm import BF16, F32, F64, RUNS, case, one_batch, shown


def loop(q, k, v, g, beta, s, l2_norm, chunk):
    """As it is defined, one token after the other; g is of heads `[.., 1]` or of channels.

    Also gives what bounds are made of: the largest norms of a state, of a value, and of what the
    corrections of a chunk put before one of its keys; and the largest norm of a query.
    """
    r = v.shape[-2] // k.shape[-2]
    if l2_norm:
        q, k = (t / (t.square().sum(-1, keepdim=True) + 1e-6).sqrt() for t in (q, k))
    q, k = (t.repeat_interleave(r, -2) for t in (q / k.shape[-1] ** 0.5, k))
    ys, most, written = [], float(norm(s).max()), []
    before = torch.zeros(v.shape[:-3] + v.shape[-2:-1], dtype=F64)
    for t in range(v.shape[-3]):
        s = torch.exp(g[..., t, :, :, None]) * s
        kt, qt = k[..., t, :, :], q[..., t, :, :]
        known = torch.einsum("...hk,...hkv->...hv", kt, s)
        delta = (v[..., t, :, :] - known) * beta[..., t, :, None]
        met = torch.zeros_like(before)
        if t % chunk == 0:
            written = []
        for u, d in written:
            met += torch.einsum("...hk,...hk->...h", kt, k[..., u, :, :]).abs() * d
        before = torch.maximum(before, met)
        written.append((t, delta.norm(dim=-1)))
        s = s + kt[..., None] * delta[..., None, :]
        ys.append(torch.einsum("...hk,...hkv->...hv", qt, s))
        most = max(most, float(norm(s).max()))
    reach = most + float(v.norm(dim=-1).max()) + float(before.max())
    return torch.stack(ys, -3), s, reach, float(q.norm(dim=-1).max())


def norm(s):
    return s.flatten(-2).norm(dim=-1)


def rules(args, chunk, reach, most_q, out, state, sides):
    """With keys of norm 1 at most and beta in 0..1 a token never makes a difference of two states
    larger, so roundings add up over the tokens: each has those of the sums over K and over the
    tokens of its chunk, and the error of a cumulated logarithm."""
    q, k, v, g, beta, s = args
    n, width = v.shape[-3], k.shape[-1]
    logs = max(float(-part.sum(-3).min()) for part in g.split(chunk, -3))
    length = min(n, chunk)
    units = 2 * length + 2 * width + 16 + (length + 2) * logs
    error = sides * n * units * accumulates(out) * reach
    why = (f"{n} tokens, none of which makes an error larger, of {units:.3g} roundings each of what "
           f"is {reach:.3g} at most, on {sides} side(s)")
    return [close(2 * UNIT[out], error * most_q, why + f"; a query of norm {most_q:.3g}"),
            close(2 * UNIT[state], error, why)]


def draw(name, lead, s, heads, keys, channels, d):
    g = gen(name)
    wide = F64 if d == F64 else F32
    width, values = 6, 5
    q, k = (uniform(g, [*lead, s, keys, width], d) for _ in range(2))
    # of norm 1 at most
    k = k * 0.375
    v = uniform(g, [*lead, s, heads, values], d)
    size = [*lead, s, heads, width] if channels else [*lead, s, heads]
    decay = -uniform(g, size, wide).abs()
    beta = uniform(g, [*lead, s, heads], d).abs()
    return q, k, v, decay, beta, uniform(g, [*lead, heads, width, values], wide)


def expected(args, lead, chunk, channels, l2_norm, chunked):
    """What the model's own function gives, with all leading axes as one."""
    q, k, v, g, beta, s = (one_batch(t, lead) for t in args)
    opts = {"initial_state": s, "output_final_state": True, "use_qk_l2norm_in_kernel": l2_norm}
    if channels:
        f = kimi.chunk_kimi_delta_attention if chunked else kimi.recurrent_kimi_delta_attention
    else:
        f = qwen.torch_chunk_gated_delta_rule if chunked else qwen.torch_recurrent_gated_delta_rule
    if chunked:
        opts["chunk_size"] = chunk
    return f(q, k, v, g=g, beta=beta, **opts)


def runs(channels):
    names = ["kda", "kda_chunks", "kda_step"] if channels else [
        "gated_delta_rule", "gated_delta_chunks", "gated_delta_step"]
    for d in (F64, F32, BF16):
        for i, (lead, s, chunk) in enumerate(RUNS):
            if d == BF16 and i % 2 == 1:
                continue  # one rounding more than f32, of the same values
            l2_norm = i % 3 > 0
            keys = 2 if channels or l2_norm else 1
            label = f"{TF[d]}_{shown(lead, s)}"
            args = draw(f"delta_{channels}_{label}", lead, s, 2, keys, channels, d)
            wide = args[-1].dtype
            inputs = dict(zip(["q", "k", "v", "g", "beta", "s"], args))
            f64 = [t.to(F64) for t in args]
            if not channels:
                f64[3] = f64[3][..., None]
            y, after, reach, most_q = loop(*f64, l2_norm, chunk)
            rule = rules(f64, chunk, reach, most_q, d, wide, 1 if d == F64 else 2)
            opts = "" if l2_norm else ", l2_norm = false"
            call = "let mut {0} = s; let {1} = {2}(q, k, v, g, beta, inout {0}{3}); "
            both = (call.format("t", "y", names[0], opts)
                    + call.format("u", "z", names[1], f"{opts}, chunk = {chunk}"))
            outputs = []
            for chunked in (False, True):
                if d != F64:
                    y, after = expected(args, lead, chunk, channels, l2_norm, chunked)
                outputs += [y.reshape(args[2].shape).to(d), after.reshape(args[-1].shape).to(wide)]
            yield case(f"{names[0]}_{label}", names[:2], both + "(y, t, z, u)", inputs, outputs,
                       rule + rule)
            if s == 1:
                first = {k: t if k == "s" else t.squeeze(len(lead)) for k, t in inputs.items()}
                one = call.format("t", "y", names[2], opts) + "(y, t)"
                yield case(f"{names[2]}_{label}", [names[2]], one, first,
                           [outputs[0].squeeze(len(lead)), outputs[1]], rule)


def symbolic():
    """A number of tokens that is a dim, walked in chunks."""
    lead, s, chunk = [1], 7, 4
    args = draw("symbolic", lead, s, 2, 2, False, F64)
    f64 = list(args)
    f64[3] = f64[3][..., None]
    y, after, reach, most_q = loop(*f64, True, chunk)
    inputs = dict(zip(["q", "k", "v", "g", "beta", "s"], args))
    c = case("gated_delta_chunks_dim", ["gated_delta_chunks"],
             f"let mut t = s; let y = gated_delta_chunks(q, k, v, g, beta, inout t, chunk = {chunk});"
             " (y, t)", inputs, [y, after], rules(f64, chunk, reach, most_q, F64, F64, 1),
             before="dim n in 1..=64;\n")
    c.source = c.source.replace(f"[1, {s},", "[1, n,")
    c.dims = {"n": s}
    yield c


def cases():
    yield from runs(False)
    yield from runs(True)
    yield from symbolic()

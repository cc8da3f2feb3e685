"""The Mamba-2 part of `std::ssm`: convolution, state space, gated norm, gates.

f32 and bf16 cases of the state space have the results of the functions that Mamba-2 of
`transformers` runs on a CPU. f64 cases have those of a loop written here from the definition, token
by token: there both forms must agree to a few times 1e-14. Bounds come from the same loop.
"""

import math

import torch
import torch.nn.functional as F
from transformers.models.mamba2 import modeling_mamba2 as mamba2
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from common import TF, UNIT, Case, accumulates, close, equal, gen, source, sum_bound, ulp, uniform

F64, F32, BF16 = torch.float64, torch.float32, torch.bfloat16
#: leading axes, tokens, chunk: one token, whole chunks, a chunk cut off, one that is longer than all
RUNS = [([2], 1, 4), ([1], 8, 4), ([2], 7, 4), ([], 5, 16), ([2, 2], 6, 3), ([1], 21, 8)]


def case(name, what, body, inputs, outputs, rule, before=""):
    text = source(body, inputs, outputs, before=f"use std::ssm::{{{', '.join(what)}}};\n" + before)
    dtype = TF[next(iter(inputs.values())).dtype]
    return Case(name, text, inputs, outputs, rule, list(what), dtype=dtype)


def shown(lead, s):
    return "x".join(map(str, [*lead, s]))


def one_batch(t, lead):
    """All leading axes as one, as the classes have it."""
    return t.reshape(-1, *t.shape[len(lead):])


# --- convolution --------------------------------------------------------------------------------


def convolutions():
    for d in (F64, F32, BF16):
        for lead, s, width in (([2], 9, 4), ([], 1, 4), ([2, 3], 5, 2), ([1], 3, 4)):
            for silu, biased in ((False, width == 4), (True, s != 9)):
                name = f"conv_{TF[d]}_{shown(lead, s)}{'_silu' if silu else ''}"
                g = gen(name)
                x, w = uniform(g, [*lead, s, 6], d), uniform(g, [6, width], d)
                b = uniform(g, [6], d) if biased else torch.zeros([6], dtype=d)
                state = uniform(g, [*lead, 6, width], d)
                act = "silu" if silu else None
                opts = (", bias = b" if biased else "") + (", silu = true" if silu else "")
                weights = {"w": w, "b": b} if biased else {"w": w}

                def rule(terms):
                    r = sum_bound(width + 2, terms, d)
                    # the slope of silu is at most 1.1; it is rounded before the cast
                    more = 1.1 * r["atol"] + 8 * accumulates(d) * float(terms.max())
                    why = r["why"] + "; silu has a slope of 1.1 at most"
                    return close(r["rtol"], more, why) if silu else r

                xt = one_batch(x, lead).mT.to(F64)
                args = (w.to(F64), b.to(F64))
                y = mamba2.causal_conv1d_fn(xt, *args, activation=act)
                terms = mamba2.causal_conv1d_fn(xt.abs(), w.to(F64).abs(), b.to(F64).abs())
                yield case(name, ["causal_conv1d"], f"causal_conv1d(x, w{opts})",
                           {"x": x, **weights}, [y.mT.reshape(x.shape).to(d)], rule(terms))

                st = one_batch(state, lead).to(F64, copy=True)
                sizes = (w.to(F64).abs(), b.to(F64).abs())
                mags = mamba2.causal_conv1d_update(xt.abs(), st.abs(), *sizes)
                y = mamba2.causal_conv1d_update(xt, st, *args, activation=act)
                after = st.reshape(state.shape).to(d)
                yield case(name.replace("conv", "conv_update"), ["causal_conv1d_update"],
                           "let mut s = st; "
                           f"let y = causal_conv1d_update(x, inout s, w{opts}); (y, s)",
                           {"x": x, "st": state, **weights},
                           [y.mT.reshape(x.shape).to(d), after], [rule(mags), equal()])

                st = one_batch(state, lead).to(F64, copy=True)
                mags = mamba2.causal_conv1d_update(xt[..., :1].abs(), st.abs(), *sizes)
                st = one_batch(state, lead).to(F64, copy=True)
                y = mamba2.causal_conv1d_update(xt[..., :1].clone(), st, *args, activation=act)
                one = x[..., 0, :].contiguous()
                yield case(name.replace("conv", "conv_step"), ["causal_conv1d_step"],
                           "let mut s = st; "
                           f"let y = causal_conv1d_step(x, inout s, w{opts}); (y, s)",
                           {"x": one, "st": state, **weights},
                           [y[..., 0].reshape(one.shape).to(d), st.reshape(state.shape).to(d)],
                           [rule(mags), equal()])


# --- Mamba-2 ------------------------------------------------------------------------------------


def ssd_loop(x, dt, a, b, c, h, skip):
    """As it is defined, one token after the other."""
    r = x.shape[-2] // b.shape[-2]
    ys = []
    for t in range(x.shape[-3]):
        xt, bt, ct = x[..., t, :, :], *(v[..., t, :, :].repeat_interleave(r, -2) for v in (b, c))
        step = dt[..., t, :, None, None]
        h = torch.exp(step * a[:, None, None]) * h + step * xt[..., None] * bt[..., None, :]
        ys.append((h * ct[..., None, :]).sum(-1) + skip[:, None] * xt)
    return torch.stack(ys, -3), h


def ssd_rules(args, chunk, out, state, sides):
    """All terms have one sign in a loop of magnitudes. A term passes a product, a sum and the decay
    of each token, the sum over N, and the error of a cumulated logarithm."""
    x, dt, a, b, c, h, skip = (t.to(F64) for t in args)
    y, hm = ssd_loop(x.abs(), dt, a, b.abs(), c.abs(), h.abs(), skip.abs())
    s, n = x.shape[-3], b.shape[-1]
    logs = max(float(part.sum(-2).max()) for part in (dt * a.abs()).split(chunk, -2))
    # the logarithms of all chunks before add up, too
    units = 4 * s + 2 * n + 12 + (min(s, chunk) + 2) * logs * math.ceil(s / chunk)
    acc = accumulates(out)
    why = (f"{s} tokens of 4 roundings, 2 sums of {n}, logarithms of decays up to {logs:.3g} "
           f"cumulated over chunks of {chunk}, on {sides} side(s), times the sum of magnitudes")
    return [close(2 * UNIT[d], sides * units * acc * float(m.max()), why)
            for d, m in ((out, y), (state, hm))]


def scans():
    heads, groups, p, n = 4, 2, 3, 5
    for d in (F64, F32, BF16):
        wide = F64 if d == F64 else F32
        for lead, s, chunk in RUNS:
            name = f"ssd_{TF[d]}_{shown(lead, s)}"
            g = gen(name)
            x = uniform(g, [*lead, s, heads, p], d)
            b, c = (uniform(g, [*lead, s, groups, n], d) for _ in range(2))
            dt = uniform(g, [*lead, s, heads], wide).abs()
            a = -uniform(g, [heads], wide).abs() * 2 - 0.1
            skip, h = uniform(g, [heads], wide), uniform(g, [*lead, heads, p, n], wide)
            skips = len(lead) > 0
            if not skips:
                skip = torch.zeros_like(skip)
            args = (x, dt, a, b, c, h, skip)
            y, after = ssd_loop(*(t.to(F64) for t in args))
            if d != F64:
                bx, bdt, bb, bc, bh = (one_batch(t, lead) for t in (x, dt, b, c, h))
                y, after = mamba2.mamba2_chunk_scan(
                    bx, bdt, a, bb, bc, chunk, D=skip, initial_states=bh, return_final_states=True)
            outputs = [y.reshape(x.shape).to(d), after.reshape(h.shape).to(wide)]
            rules = ssd_rules(args, chunk, d, wide, 1 if d == F64 else 2)
            inputs = dict(zip(["x", "dt", "a", "b", "c", "h"] + ["skip"] * skips, args))
            given = ", skip = skip" if skips else ""
            call = f"let mut s = h; let y = {{}}(x, dt, a, b, c, inout s{given}{{}}); (y, s)"
            yield case(name, ["ssd_scan"], call.format("ssd_scan", ""), inputs, outputs, rules)
            yield case(name.replace("ssd", "ssd_chunks"), ["ssd_chunks"],
                       call.format("ssd_chunks", f", chunk = {chunk}"), inputs, outputs, rules)
            if s != 1:
                continue
            first = {k: t[..., 0, :, :] if k in "xbc" else t[..., 0, :] if k == "dt" else t
                     for k, t in inputs.items()}
            y, after = outputs[0][..., 0, :, :], outputs[1]
            if d == F32:
                after = h.clone()
                y = mamba2.mamba2_selective_state_update(
                    after, first["x"], dt[:, 0, :, None].expand(-1, -1, p),
                    a[:, None, None].expand(-1, p, n), first["b"], first["c"],
                    D=skip[:, None].expand(-1, p))
            yield case(name.replace("ssd", "ssd_step"), ["ssd_step"], call.format("ssd_step", ""),
                       {k: t.contiguous() for k, t in first.items()}, [y.contiguous(), after], rules)


# --- norms and gates ----------------------------------------------------------------------------


def norms():
    """The classes run in the dtype of their operands, so bf16 and f16 round where they do."""
    for d in (F32, BF16, torch.float16):
        for size, groups in (([3, 8], 1), ([2, 3, 12], 3), ([1, 1], 1), ([1, 6], 2)):
            shape = "x".join(map(str, size))
            g = gen(f"norm_{TF[d]}_{shape}")
            x, gate = uniform(g, size, d, 4.0), uniform(g, size, d, 4.0)
            x[0] *= 0.001
            w = uniform(g, [size[-1]], d)
            inputs = {"x": x, "gate": gate, "w": w}
            n = size[-1]
            units = n + 24
            why = (f"a mean of {n} squares and its root, four products, and 8 units of a silu, "
                   "on two sides")
            rule = close(units * UNIT[F32], 0.0, why) if d == F32 else ulp(1)
            if groups == 1:
                m = qwen.Qwen3NextRMSNormGated(n, eps=1e-5)
                m.weight.data = w
                yield case(f"norm_first_{TF[d]}_{shape}", ["rms_norm_gated"],
                           "rms_norm_gated(x, gate, w, eps = 1e-5)", inputs,
                           [m(x, gate).detach()], rule)
            m = mamba2.MambaRMSNormGated(n, n // groups)
            m.weight.data = w
            yield case(f"norm_last_{TF[d]}_{shape}", ["rms_norm_gated"],
                       f"rms_norm_gated(x, gate, w, groups = {groups}, norm_before_gate = false)",
                       inputs, [m(x, gate).detach()], rule)


def gates():
    """In f64 from the operands as they are, rounded once to f32."""
    for d in (F32, BF16):
        for lead in ([3], [2, 1], []):
            name = f"{TF[d]}_{shown(lead, 4)}"
            g = gen(f"gates_{name}")
            x = uniform(g, [*lead, 4], d, 30.0)
            log, bias = uniform(g, [4]), uniform(g, [4])
            soft = F.softplus(x.to(F64) + bias.to(F64), threshold=100)
            y = -log.to(F64).exp() * soft
            # the sum x + bias is rounded, of which softplus has a slope below 1
            moved = 2 * UNIT[F32] * float((x.to(F64) + bias.to(F64)).abs().max())
            why = "the sum under softplus, an exponential, a softplus and a product, rounded each"
            yield case(f"gate_{name}", ["decay_gate"], "decay_gate(x, log, bias)",
                       {"x": x, "log": log, "bias": bias}, [y.to(F32)],
                       close(6 * UNIT[F32], moved * math.e, why))
            yield case(f"dt_{name}", ["ssd_dt"], "ssd_dt(x, bias, min = 0.01, max = 2.5)",
                       {"x": x, "bias": bias}, [soft.clamp(0.01, 2.5).to(F32)],
                       close(6 * UNIT[F32], moved, why))


def cases():
    yield from convolutions()
    yield from scans()
    yield from norms()
    yield from gates()

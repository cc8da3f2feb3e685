"""Whole modules of transformers, built of the standard library: Mamba-2's mixer and Qwen3-Next's gated
delta net, over whole prompts and over a cache.

The modules turn parts of their work to f32 whatever dtype they have. The reference is the module in
f64 with these turns kept in f64, so that programs in f64 are held to f64; an f32 program is held to
the same numbers rounded, by how far the module in f32 is from them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.overrides import TorchFunctionMode
from transformers.cache_utils import DynamicCache
from transformers.models.mamba2 import modeling_mamba2 as mamba2
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from cases._std import F32, F64, NAMES, as_good, case, fill
from common import UNIT, close, gen, uniform

HIDDEN, KERNEL = 16, 4
#: what both layers with a state use beside convolution and scan
MORE = ["ssd_dt", "decay_gate", "rms_norm_gated"]
#: batch, tokens, chunk: one token, a chunk cut off, whole chunks, one chunk longer than all
RUNS = [(2, 1, 4), (1, 7, 4), (2, 8, 4), (1, 5, 8)]


class Wide(TorchFunctionMode):
    """What is turned to f32 is turned to f64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def wide(a):
            return F64 if a is F32 else a

        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*map(wide, args), **{k: wide(a) for k, a in (kwargs or {}).items()})


def reference(run, module):
    """What `run` gives of the module in f64, and the rules for results in f32 and in f64."""
    with torch.no_grad():
        narrow, mixed = run(module.to(F32), F32), run(module.to(F64), F64)
        with Wide():
            wide = run(module, F64)
        module.to(F32)
    rules = {F32: [], F64: []}
    for n, m, w in zip(narrow, mixed, wide):
        assert m.dtype in (F32, F64) and n.dtype == F32 and w.dtype == F64
        rules[F32].append(as_good(n, w))
        # the mode changes roundings, nothing else
        assert float((m.double() - w).abs().max()) <= rules[F32][-1]["atol"]
        own, size = float((n.double() - w).abs().max()) / UNIT[F32], float(w.abs().max())
        says = f"PyTorch in f32 is {own:.3g} roundings from f64, times 8, on two sides; 64 roundings of {size:.3g}"
        rules[F64].append(close(0, UNIT[F64] * (16 * own + 64 * size), says))
    return wide, rules


def both(name, body, inputs, found, used, turned, like):
    """A case for each dtype, of which the body has `DTYPE`. Inputs as given are f32; `like` has the
    earlier case of the dtype, if any, whose weights these are."""
    wide, rules = found
    for dtype in (F32, F64):
        label = f"{name}_{NAMES[dtype]}"
        text = body.replace("DTYPE", NAMES[dtype])
        yield case(label, "ssm", text, {k: t.to(dtype) for k, t in inputs.items()}, [w.to(dtype) for w in wide],
                   rules[dtype], [u for u in used if f"{u}(" in text],
                   note=f"the module turns {turned} to f32; the reference keeps them in f64", like=like.get(dtype, ""))
        like[dtype] = label


def parameters(m, **names):
    """Parameters by the names they have in a program, a convolution's without the axis of its one input."""
    known = dict(m.named_parameters())
    assert sorted(names.values()) == sorted(known)
    return {k: known[n].squeeze(1) if n == "conv1d.weight" else known[n] for k, n in names.items()}


# --- layers with a state ------------------------------------------------------------------------


@dataclass
class Layer:
    """A module with the program for it: `make` gives it and its config for a size of chunks, `names`
    are its parameters' names there, `tokens(i, x, conv, scan, chunk)` is the text for tokens x with
    names that end with i, where y is the result; `state` and `channels` are the states' sizes, and
    `scan` the names of the forms: token by token, in chunks, of one token."""

    name: str
    make: Callable
    names: dict
    tokens: Callable
    state: list
    channels: int
    scan: list
    turned: str

    def cases(self):
        used = ["causal_conv1d", "causal_conv1d_update", "causal_conv1d_step", *self.scan, *MORE]
        like = {}
        for b, s, chunk in RUNS:
            name = f"{self.name}_{b}x{s}"
            g = gen(name)
            x, more, last = (uniform(g, [b, *size, HIDDEN]) for size in ([s], [2], []))
            h = f"zeros(DTYPE[{', '.join(map(str, [b, *self.state]))}])"

            # in chunks and token by token: there is one reference for both
            module, _, opts = self.make(chunk, False)
            fill(gen(self.name), module)
            found = reference(lambda m, d: [m(x.to(d), **opts)], module)
            inputs = {"x": x, **parameters(module, **self.names)}
            for form, scan, size in (("scan", self.scan[0], ""), ("chunks", self.scan[1], f", chunk = {chunk}")):
                body = f"\n    let mut h = {h};{self.tokens('', 'x', 'causal_conv1d({}, ', scan, size, False)}\n    y\n"
                yield from both(f"{name}_{form}", body, inputs, found, used, self.turned, like)

            # over a cache: a prompt, two tokens at once, one token
            module, config, opts = self.make(chunk, True)
            fill(gen(self.name), module)

            def cached(m, d):
                cache = DynamicCache(config=config)
                ys = [m(t.to(d), cache=cache, **opts) for t in (x, more, last[:, None])]
                layer = cache.layers[0]
                return [*ys[:2], ys[2][:, 0], layer.conv_states[0].clone(), layer.recurrent_states[0].clone()]

            found = reference(cached, module)
            inputs = {"x": x, "more": more, "last": last, **parameters(module, **self.names)}
            body = f"\n    let mut h = {h};\n    let mut st = zeros(DTYPE[{b}, {self.channels}, {KERNEL}]);"
            update, step = "causal_conv1d_update({}, inout st, ", "causal_conv1d_step({}, inout st, "
            body += self.tokens("0", "x", update, self.scan[1], f", chunk = {chunk}", True)
            body += self.tokens("1", "more", update, self.scan[0], "", True)
            body += self.tokens("2", "last", step, self.scan[2], "", True)
            body += "\n    (y0, y1, y2, st, h)\n"
            yield from both(f"{name}_cached", body, inputs, found, used, self.turned, like)


# --- Mamba-2 ------------------------------------------------------------------------------------

H, P, G, N = 4, 8, 2, 4


def mamba_module(chunk, cached):
    config = mamba2.Mamba2Config(
        hidden_size=HIDDEN, num_heads=H, head_dim=P, n_groups=G, state_size=N, conv_kernel=KERNEL, chunk_size=chunk,
        num_hidden_layers=1, use_bias=True)
    module = mamba2.Mamba2Mixer(config, 0)
    # over a cache the module leaves the limits out for one token
    if not cached:
        module.time_step_limit = (0.25, 1.5)
    return module, config, {}


def mamba_tokens(i, x, conv, scan, chunk, cached):
    inner, bc = H * P, G * N
    limit = "" if cached else ", min = 0.25, max = 1.5"
    return f"""
    let p{i} = matmul({x}, w_in, transpose_b = true) + b_in;
    let (gate{i}, mixed{i}, step{i}) = split(p{i}, [{inner}, {inner + 2 * bc}, {H}], dim = -1);
    let ubc{i} = {conv.format(f"mixed{i}")}w_conv, bias = b_conv, silu = true);
    let (u{i}, b{i}, c{i}) = split(ubc{i}, [{inner}, {bc}, {bc}], dim = -1);
    let o{i} = {scan}(unflatten(u{i}, [{H}, {P}], dim = -1), ssd_dt(step{i}, dt_bias{limit}), -exp(a_log),
        unflatten(b{i}, [{G}, {N}], dim = -1), unflatten(c{i}, [{G}, {N}], dim = -1), inout h, skip = skip{chunk});
    let n{i} = rms_norm_gated(flatten(o{i}, start = -2), gate{i}, norm, eps = 1e-5, groups = {G},
        norm_before_gate = false);
    let y{i} = matmul(n{i}, w_out, transpose_b = true) + b_out;"""


MAMBA = Layer(
    "mamba2", mamba_module,
    {"w_in": "in_proj.weight", "b_in": "in_proj.bias", "w_conv": "conv1d.weight", "b_conv": "conv1d.bias",
     "dt_bias": "dt_bias", "a_log": "A_log", "skip": "D", "norm": "norm.weight", "w_out": "out_proj.weight",
     "b_out": "out_proj.bias"},
    mamba_tokens, [H, P, N], H * P + 2 * G * N, ["ssd_scan", "ssd_chunks", "ssd_step"], "A, x, dt, B, C and the norm")

# --- Qwen3-Next's gated delta net ---------------------------------------------------------------

J, V, A, E = 2, 4, 4, 6


def delta_module(chunk, cached):
    config = qwen.Qwen3NextConfig(
        hidden_size=HIDDEN, num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_hidden_layers=1,
        linear_conv_kernel_dim=KERNEL, linear_key_head_dim=A, linear_value_head_dim=E, linear_num_key_heads=J,
        linear_num_value_heads=V, layer_types=["linear_attention"])
    return qwen.Qwen3NextGatedDeltaNet(config, 0), config, {"chunk_size": chunk}


def delta_tokens(i, x, conv, scan, chunk, cached):
    r = V // J
    return f"""
    let qkvz{i} = unflatten(matmul({x}, w_qkvz, transpose_b = true), [{J}, {2 * A + 2 * r * E}], dim = -1);
    let (qi{i}, ki{i}, vi{i}, z{i}) = split(qkvz{i}, [{A}, {A}, {r * E}, {r * E}], dim = -1);
    let ba{i} = unflatten(matmul({x}, w_ba, transpose_b = true), [{J}, {2 * r}], dim = -1);
    let (b{i}, a{i}) = split(ba{i}, [{r}, {r}], dim = -1);
    let heads{i} = concat([flatten(qi{i}, start = -2), flatten(ki{i}, start = -2), flatten(vi{i}, start = -2)],
        dim = -1);
    let qkv{i} = {conv.format(f"heads{i}")}w_conv, silu = true);
    let (q{i}, k{i}, v{i}) = split(qkv{i}, [{J * A}, {J * A}, {V * E}], dim = -1);
    let o{i} = {scan}(unflatten(q{i}, [{J}, {A}], dim = -1), unflatten(k{i}, [{J}, {A}], dim = -1),
        unflatten(v{i}, [{V}, {E}], dim = -1), decay_gate(flatten(a{i}, start = -2), a_log, dt_bias),
        sigmoid(flatten(b{i}, start = -2)), inout h{chunk});
    let gate{i} = unflatten(flatten(z{i}, start = -2), [{V}, {E}], dim = -1);
    let n{i} = rms_norm_gated(o{i}, gate{i}, norm);
    let y{i} = matmul(flatten(n{i}, start = -2), w_out, transpose_b = true);"""


DELTA = Layer(
    "qwen3_next_delta", delta_module,
    {"w_qkvz": "in_proj_qkvz.weight", "w_ba": "in_proj_ba.weight", "w_conv": "conv1d.weight", "dt_bias": "dt_bias",
     "a_log": "A_log", "norm": "norm.weight", "w_out": "out_proj.weight"},
    delta_tokens, [V, A, E], 2 * J * A + V * E, ["gated_delta_rule", "gated_delta_chunks", "gated_delta_step"],
    "the gates, the delta rule and the norm")


def cases():
    for layer in [MAMBA, DELTA]:
        yield from layer.cases()

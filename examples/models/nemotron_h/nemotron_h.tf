//! Nemotron-H: one greedy decode step of the hybrid of Mamba-2, attention and mixtures of experts.
//! The sizes are those of the published config of NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, the
//! checkpoint that the defaults of the `NemotronHConfig` of transformers name; weights go by their
//! names in that checkpoint. Which mixer stands in which of the 52 layers is the config's pattern:
//! `M` is Mamba-2, `*` attention, `E` a mixture of experts and `-` a plain MLP. Attention has no
//! positions.

use std::moe::{combine, dispatch, sigmoid_topk};
use std::nn::{attention, rms_norm};
use std::ssm::{causal_conv1d_step, rms_norm_gated, ssd_dt, ssd_step};

config cfg = "config.json";

const PATTERN = cfg.hybrid_override_pattern;
const MAMBA = positions(PATTERN, "M");
const ATTENTION = positions(PATTERN, "*");
const H = cfg.hidden_size;
const V = cfg.vocab_size;
const EPS = cfg.layer_norm_epsilon;
const DTYPE = cfg.torch_dtype;
const MAX = 8192;               // tokens that a cache holds

// attention
const NH = cfg.num_attention_heads;
const NKV = cfg.num_key_value_heads;
const D = cfg.head_dim;

// Mamba-2
const MH = cfg.mamba_num_heads;
const P = cfg.mamba_head_dim;
const N = cfg.ssm_state_size;
const G = cfg.n_groups;
const KW = cfg.conv_kernel;
const X = MH * P;
const C = X + 2 * G * N;        // x, b and c go through one convolution

// experts
const E = cfg.n_routed_experts;
const K = cfg.num_experts_per_tok;
const F = cfg.moe_intermediate_size;
const FS = cfg.moe_shared_expert_intermediate_size;
const FM = cfg.intermediate_size;

type Act = DTYPE;

dim ctx in 1..=MAX;             // tokens in the cache after this step; the new one is at ctx - 1

/// The norm before a mixer and at the end: rounded once, after the weight.
func norm(h: Act[1, H], w: Act[H]) -> Act[1, H] {
    rms_norm(h, w, eps = EPS, round = "after")
}

/// `w_down relu(w_up x)^2`
func relu2_mlp<W>(x: Act[1, H], w_up: Act[W, H], w_down: Act[H, W]) -> Act[1, H] {
    matmul(square(relu(matmul(x, w_up, transpose_b = true))), w_down, transpose_b = true)
}

module Mamba {
    weight ln: Act[H] from "norm.weight";
    weight w_in: Act[X + C + MH, H] from "mixer.in_proj.weight";
    weight conv_w: Act[C, 1, KW] from "mixer.conv1d.weight";
    weight conv_b: Act[C] from "mixer.conv1d.bias";
    weight dt_bias: Act[MH] from "mixer.dt_bias";
    weight a_log: Act[MH] from "mixer.A_log";
    weight skip: Act[MH] from "mixer.D";
    weight ln_gate: Act[X] from "mixer.norm.weight";
    weight w_out: Act[H, X] from "mixer.out_proj.weight";

    entry func mamba(h: Act[1, H], inout conv: Act[C, KW], inout ssm: f32[MH, P, N]) -> Act[1, H] {
        let x = matmul(norm(h, ln), w_in, transpose_b = true);
        let (gate, xbc, dt) = split(x, [X, C, MH], dim = 1);
        let u = causal_conv1d_step(
            squeeze(xbc, dim = 0),
            inout conv,
            squeeze(conv_w, dim = 1),
            bias = conv_b,
            silu = true,
        );
        let (xs, b, c) = split(u, [X, G * N, G * N], dim = 0);
        let y = ssd_step(
            reshape(xs, [MH, P]),
            ssd_dt(squeeze(dt, dim = 0), dt_bias),
            -exp(cast(a_log, f32)),
            reshape(b, [G, N]),
            reshape(c, [G, N]),
            inout ssm,
            skip = cast(skip, f32),
        );
        let z = rms_norm_gated(
            reshape(y, [1, X]),
            gate,
            ln_gate,
            eps = EPS,
            groups = G,
            norm_before_gate = false,
        );
        h + matmul(z, w_out, transpose_b = true)
    }
}

module Attention {
    weight ln: Act[H] from "norm.weight";
    weight wq: Act[NH * D, H] from "mixer.q_proj.weight";
    weight wk: Act[NKV * D, H] from "mixer.k_proj.weight";
    weight wv: Act[NKV * D, H] from "mixer.v_proj.weight";
    weight wo: Act[H, NH * D] from "mixer.o_proj.weight";

    entry func attend(
        h: Act[1, H],
        inout kc: Act[MAX, NKV, D],
        inout vc: Act[MAX, NKV, D],
    ) -> Act[1, H] {
        let x = norm(h, ln);
        let q = reshape(matmul(x, wq, transpose_b = true), [1, NH, D]);
        kc[ctx - 1..ctx] = reshape(matmul(x, wk, transpose_b = true), [1, NKV, D]);
        vc[ctx - 1..ctx] = reshape(matmul(x, wv, transpose_b = true), [1, NKV, D]);
        let o = attention(q, kc[..ctx], vc[..ctx]);
        h + matmul(reshape(o, [1, NH * D]), wo, transpose_b = true)
    }
}

module Experts {
    weight ln: Act[H] from "norm.weight";
    weight router: f32[E, H] from "mixer.gate.weight";
    weight bias: f32[E] from "mixer.gate.e_score_correction_bias";
    weight w_up: Act[E, F, H] from "mixer.experts.{}.up_proj.weight";
    weight w_down: Act[E, H, F] from "mixer.experts.{}.down_proj.weight";
    weight shared_up: Act[FS, H] from "mixer.shared_experts.up_proj.weight";
    weight shared_down: Act[H, FS] from "mixer.shared_experts.down_proj.weight";

    entry func experts(h: Act[1, H]) -> Act[1, H] {
        let x = norm(h, ln);
        let (weights, ids) = sigmoid_topk(
            matmul(cast(x, f32), router, transpose_b = true),
            bias,
            k = K,
            renormalize = cfg.norm_topk_prob,
            scale = cfg.routed_scaling_factor,
            groups = cfg.n_group,
            topk_groups = cfg.topk_group,
        );
        let (pair, token, ends) = dispatch(ids, E);
        let xs = index_select(x, token, dim = 0);
        let up = grouped_matmul(xs, w_up, ends, transpose_b = true);
        let y = grouped_matmul(square(relu(up)), w_down, ends, transpose_b = true, out = f32);
        let routed = cast(combine(y, weights, pair, token), Act);
        h + (routed + relu2_mlp(x, shared_up, shared_down))
    }
}

module Mlp {
    weight ln: Act[H] from "norm.weight";
    weight w_up: Act[FM, H] from "mixer.up_proj.weight";
    weight w_down: Act[H, FM] from "mixer.down_proj.weight";

    entry func mlp(h: Act[1, H]) -> Act[1, H] {
        h + relu2_mlp(norm(h, ln), w_up, w_down)
    }
}

module NemotronH {
    target "nvidia.h200_sxm";

    weight embed: Act[V, H] from "backbone.embeddings.weight";
    weight ln_out: Act[H] from "backbone.norm_f.weight";
    weight head: Act[V, H] from "lm_head.weight";

    // the layers of one kind, under the numbers they have among all
    child mamba: Mamba[MAMBA] from "backbone.layers";
    child attention: Attention[ATTENTION] from "backbone.layers";
    child experts: Experts[positions(PATTERN, "E")] from "backbone.layers";
    child mlp: Mlp[positions(PATTERN, "-")] from "backbone.layers";

    entry func step(
        token: i32[1] range 0..V,
        inout conv: Act[len(MAMBA), C, KW],
        inout ssm: f32[len(MAMBA), MH, P, N],
        inout kc: Act[len(ATTENTION), MAX, NKV, D],
        inout vc: Act[len(ATTENTION), MAX, NKV, D],
    ) -> (i32[1], f32[1, V]) {
        let h = layers(token, inout conv, inout ssm, inout kc, inout vc);
        let logits = cast(matmul(norm(h, ln_out), head, transpose_b = true), f32);
        (argmax(logits, dim = -1, dtype = i32), logits)
    }

    /// What each layer of `step` gives.
    pub func hidden(
        token: i32[1] range 0..V,
        inout conv: Act[len(MAMBA), C, KW],
        inout ssm: f32[len(MAMBA), MH, P, N],
        inout kc: Act[len(ATTENTION), MAX, NKV, D],
        inout vc: Act[len(ATTENTION), MAX, NKV, D],
    ) -> Act[len(PATTERN), 1, H] {
        layers(token, inout conv, inout ssm, inout kc, inout vc, each = true)
    }

    /// The last layer's result, or that of each.
    func layers(
        token: i32[1],
        inout conv: Act[len(MAMBA), C, KW],
        inout ssm: f32[len(MAMBA), MH, P, N],
        inout kc: Act[len(ATTENTION), MAX, NKV, D],
        inout vc: Act[len(ATTENTION), MAX, NKV, D],
        each: bool = false,
    ) {
        let mut h = embedding(token, embed);
        let mut all = empty(Act[len(PATTERN), 1, H]);
        // of each kind, how many layers came before
        let mut m = 0;
        let mut a = 0;
        let mut e = 0;
        let mut p = 0;
        for kind in PATTERN {
            let i = m + a + e + p;
            match kind {
                "M" => {
                    h = mamba[m](h, inout conv[m], inout ssm[m]);
                    m = m + 1;
                },
                "*" => {
                    h = attention[a](h, inout kc[a], inout vc[a]);
                    a = a + 1;
                },
                "E" => {
                    h = experts[e](h);
                    e = e + 1;
                },
                "-" => {
                    h = mlp[p](h);
                    p = p + 1;
                },
            }
            match each {
                true => {
                    all[i] = h;
                },
                false => {},
            }
        }
        match each {
            true => all,
            false => h,
        }
    }
}

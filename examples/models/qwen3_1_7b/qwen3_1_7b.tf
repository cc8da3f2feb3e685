//! Qwen3-1.7B: one greedy decode step, from a token to the next, over KV caches updated in place.
//! Sizes come from the published config, weights go by their names in the checkpoint, the 28 layers
//! are one loop, and the rope tables are prepared once per load.

use std::nn::{attention, rms_norm, rope, swiglu};

config cfg = "config.json";

const H = cfg.hidden_size;
const NH = cfg.num_attention_heads;
const NKV = cfg.num_key_value_heads;
const D = cfg.head_dim;
const F = cfg.intermediate_size;
const V = cfg.vocab_size;
const LAYERS = cfg.num_hidden_layers;
const EPS = cfg.rms_norm_eps;
const SCALE = 1.0 / sqrt(D);
const DTYPE = cfg.torch_dtype;
const MAX = 8192;       // tokens that a cache holds

type Act = DTYPE;

dim ctx in 1..=MAX;     // tokens in the cache after this step; the new one is at ctx - 1

/// The angle of each position and pair of features.
func angles(n: index) -> f32[n, D / 2] {
    let e = cast(arange(D / 2, dtype = i32) * 2, f32) / D;
    let freq = 1.0 / pow(cfg.rope_theta, e);
    let pos = cast(arange(n, dtype = i32), f32);
    unsqueeze(pos, dim = 1) * unsqueeze(freq, dim = 0)
}

module Layer {
    weight ln_attn: Act[H] from "input_layernorm.weight";
    weight ln_mlp: Act[H] from "post_attention_layernorm.weight";
    weight wq: Act[NH * D, H] from "self_attn.q_proj.weight";
    weight wk: Act[NKV * D, H] from "self_attn.k_proj.weight";
    weight wv: Act[NKV * D, H] from "self_attn.v_proj.weight";
    weight wo: Act[H, NH * D] from "self_attn.o_proj.weight";
    weight ln_q: Act[D] from "self_attn.q_norm.weight";
    weight ln_k: Act[D] from "self_attn.k_norm.weight";
    weight w_gate: Act[F, H] from "mlp.gate_proj.weight";
    weight w_up: Act[F, H] from "mlp.up_proj.weight";
    weight w_down: Act[H, F] from "mlp.down_proj.weight";

    pub func attend(
        h: Act[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: Act[MAX, NKV, D],
        inout vc: Act[MAX, NKV, D],
    ) -> Act[1, H] {
        let x = rms_norm(h, ln_attn, eps = EPS);
        let q = reshape(matmul(x, wq, transpose_b = true), [1, NH, D]);
        let k = reshape(matmul(x, wk, transpose_b = true), [1, NKV, D]);
        let v = reshape(matmul(x, wv, transpose_b = true), [1, NKV, D]);
        kc[ctx - 1..ctx] = rope(rms_norm(k, ln_k, eps = EPS), cos, sin);
        vc[ctx - 1..ctx] = v;
        let qr = rope(rms_norm(q, ln_q, eps = EPS), cos, sin);
        let o = attention(qr, kc[..ctx], vc[..ctx], scale = SCALE);
        h + matmul(reshape(o, [1, NH * D]), wo, transpose_b = true)
    }

    pub func mlp(h: Act[1, H]) -> Act[1, H] {
        let x = rms_norm(h, ln_mlp, eps = EPS);
        let gate = matmul(x, w_gate, transpose_b = true);
        let up = matmul(x, w_up, transpose_b = true);
        h + matmul(swiglu(gate, up), w_down, transpose_b = true)
    }

    entry func layer(
        h: Act[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: Act[MAX, NKV, D],
        inout vc: Act[MAX, NKV, D],
    ) -> Act[1, H] {
        mlp(attend(h, cos, sin, inout kc, inout vc))
    }
}

module Qwen3 {
    target "nvidia.h200_sxm";

    weight embed: Act[V, H] from "model.embed_tokens.weight";   // tied: the output head as well
    weight ln_out: Act[H] from "model.norm.weight";
    prepare cos_t: f32[MAX, D / 2] = cos(angles(MAX));
    prepare sin_t: f32[MAX, D / 2] = sin(angles(MAX));
    child layers: Layer[LAYERS] from "model.layers";

    entry func step(
        token: i32[1] range 0..V,
        inout kc: Act[LAYERS, MAX, NKV, D],
        inout vc: Act[LAYERS, MAX, NKV, D],
    ) -> (i32[1], f32[1, V]) {
        let c = cos_t[ctx - 1..ctx];
        let s = sin_t[ctx - 1..ctx];
        let mut h = embedding(token, embed);
        for i in 0..LAYERS {
            h = layers[i](h, c, s, inout kc[i], inout vc[i]);
        }
        let x = rms_norm(h, ln_out, eps = EPS);
        let logits = matmul(x, embed, transpose_b = true, out = f32);
        (argmax(logits, dim = -1, dtype = i32), logits)
    }

    /// What each layer of `step` gives.
    pub func hidden(
        token: i32[1] range 0..V,
        inout kc: Act[LAYERS, MAX, NKV, D],
        inout vc: Act[LAYERS, MAX, NKV, D],
    ) -> Act[LAYERS, 1, H] {
        let c = cos_t[ctx - 1..ctx];
        let s = sin_t[ctx - 1..ctx];
        let mut h = embedding(token, embed);
        let mut all = empty(Act[LAYERS, 1, H]);
        for i in 0..LAYERS {
            h = layers[i](h, c, s, inout kc[i], inout vc[i]);
            all[i] = h;
        }
        all
    }
}

//! all-MiniLM-L6-v2: a batch of padded sentences to embeddings of length 1. A BERT encoder of 6
//! layers with the published config and checkpoint names, the mean over a sentence's tokens, and an
//! L2 normalisation. Embeddings of two sentences multiply to their similarity.

use std::nn::{attention, layer_norm};

config cfg = "config.json";

const H = cfg.hidden_size;
const NH = cfg.num_attention_heads;
const D = H / NH;
const F = cfg.intermediate_size;
const V = cfg.vocab_size;
const MAX = cfg.max_position_embeddings;
const LAYERS = cfg.num_hidden_layers;
const EPS = cfg.layer_norm_eps;

dim B in 1..=1024;      // sentences
dim S in 1..=MAX;       // tokens of the longest

func linear<N, K>(x: f32[B, S, K], w: f32[N, K], b: f32[N]) -> f32[B, S, N] {
    matmul(x, w, transpose_b = true) + b
}

module Layer {
    weight wq: f32[H, H] from "attention.self.query.weight";
    weight bq: f32[H] from "attention.self.query.bias";
    weight wk: f32[H, H] from "attention.self.key.weight";
    weight bk: f32[H] from "attention.self.key.bias";
    weight wv: f32[H, H] from "attention.self.value.weight";
    weight bv: f32[H] from "attention.self.value.bias";
    weight wo: f32[H, H] from "attention.output.dense.weight";
    weight bo: f32[H] from "attention.output.dense.bias";
    weight ln_attn: f32[H] from "attention.output.LayerNorm.weight";
    weight ln_attn_b: f32[H] from "attention.output.LayerNorm.bias";
    weight w_up: f32[F, H] from "intermediate.dense.weight";
    weight b_up: f32[F] from "intermediate.dense.bias";
    weight w_down: f32[H, F] from "output.dense.weight";
    weight b_down: f32[H] from "output.dense.bias";
    weight ln_mlp: f32[H] from "output.LayerNorm.weight";
    weight ln_mlp_b: f32[H] from "output.LayerNorm.bias";

    pub func attend(h: f32[B, S, H], mask: bool[B, S]) -> f32[B, S, H] {
        let q = unflatten(linear(h, wq, bq), [NH, D], dim = -1);
        let k = unflatten(linear(h, wk, bk), [NH, D], dim = -1);
        let v = unflatten(linear(h, wv, bv), [NH, D], dim = -1);
        let o = attention(q, k, v, mask = reshape(mask, [B, 1, 1, S]));
        layer_norm(h + linear(flatten(o, start = 2), wo, bo), ln_attn, ln_attn_b, eps = EPS)
    }

    pub func mlp(h: f32[B, S, H]) -> f32[B, S, H] {
        let y = linear(gelu(linear(h, w_up, b_up)), w_down, b_down);
        layer_norm(h + y, ln_mlp, ln_mlp_b, eps = EPS)
    }

    entry func layer(h: f32[B, S, H], mask: bool[B, S]) -> f32[B, S, H] {
        mlp(attend(h, mask))
    }
}

module MiniLM {
    target "nvidia.h200_sxm";

    weight words: f32[V, H] from "embeddings.word_embeddings.weight";
    weight places: f32[MAX, H] from "embeddings.position_embeddings.weight";
    weight types: f32[cfg.type_vocab_size, H] from "embeddings.token_type_embeddings.weight";
    weight ln: f32[H] from "embeddings.LayerNorm.weight";
    weight ln_b: f32[H] from "embeddings.LayerNorm.bias";
    child layers: Layer[LAYERS] from "encoder.layer";

    /// `mask` is 1 for a sentence's tokens and 0 behind them.
    entry func encode(ids: i32[B, S] range 0..V, mask: i32[B, S] range 0..=1) -> f32[B, H] {
        let mut h = embed(ids);
        for i in 0..LAYERS {
            h = layers[i](h, mask > 0);
        }
        let m = unsqueeze(cast(mask, f32), dim = 2);
        let mean = sum(h * m, dim = 1) / clamp(sum(m, dim = 1), min = 1e-9);
        let norm = sqrt(sum(square(mean), dim = -1, keepdim = true));
        mean / clamp(norm, min = 1e-12)
    }

    /// What each layer of `encode` gives.
    pub func hidden(
        ids: i32[B, S] range 0..V,
        mask: i32[B, S] range 0..=1,
    ) -> f32[LAYERS, B, S, H] {
        let mut h = embed(ids);
        let mut all = empty(f32[LAYERS, B, S, H]);
        for i in 0..LAYERS {
            h = layers[i](h, mask > 0);
            all[i] = h;
        }
        all
    }

    /// All sentences are of the first type.
    func embed(ids: i32[B, S]) -> f32[B, S, H] {
        layer_norm(embedding(ids, words) + places[..S] + types[0], ln, ln_b, eps = EPS)
    }
}

//! Causal grouped-query attention: 16 new tokens in the last places of a context of 64, 4 query heads
//! that share 2 KV heads. Held against PyTorch's `scaled_dot_product_attention` in f16 and against
//! an f64 evaluation of the formula. `Composed` says each step; `Library` calls `std::nn`.

use std::nn::{attention};

const B = 1;
const Q = 16;
const S = 64;
const NH = 4;
const NKV = 2;
const D = 32;
const G = NH / NKV;
const OFF = S - Q; // query i is token OFF + i: the last query sees the last key
const SCALE = 1.0 / sqrt(D);

module Composed {
    target "nvidia.h200_sxm";

    entry func attend(
        q: f16[B, Q, NH, D],
        k: f16[B, S, NKV, D],
        v: f16[B, S, NKV, D],
    ) -> f16[B, Q, NH, D] {
        let qg = reshape(q, [B, Q, NKV, G, D]);
        let s = einsum("bqhgd,bkhd->bhgqk", qg, k, out = f32) * SCALE;
        let qi = unsqueeze(arange(Q, dtype = i32) + OFF, dim = 1);
        let ki = unsqueeze(arange(S, dtype = i32), dim = 0);
        let masked = where(qi >= ki, s, -inf);
        let e = exp(masked - max(masked, dim = -1, keepdim = true));
        let p = e / sum(e, dim = -1, keepdim = true);
        let o = einsum("bhgqk,bkhd->bqhgd", cast(p, f16), v);
        reshape(o, [B, Q, NH, D])
    }
}

module Library {
    target "nvidia.h200_sxm";

    entry func attend(
        q: f16[B, Q, NH, D],
        k: f16[B, S, NKV, D],
        v: f16[B, S, NKV, D],
    ) -> f16[B, Q, NH, D] {
        attention(q, k, v, scale = SCALE, causal = true)
    }
}

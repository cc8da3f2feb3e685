//! Quantizers of the standard library where rows, groups and squares are split: the scales are
//! finished inside, and are those of whole ones.

use std::quant::{dequantize_groups, matmul_blocks, quantize, quantize_blocks, quantize_groups};
use std::quant::{quantize_mx, quantize_rows};

// agrees: rows = whole_rows
// agrees: groups = whole_groups
// agrees: squares = whole_squares
// agrees: tensor = whole_tensor
dim tokens in 1..=4096;

module Quantizers {
    target "nvidia.h200_sxm";
    topology cta, thread = 64;

    pub func rows(x: bf16[8, 256]) -> (f8e4m3[8, 256], f32[8, 1]) {
        let mut y = empty(f8e4m3[8, 256]);
        let mut scales = empty(f32[8, 1]);
        mesh g = cta[r: 4, c: 2] {
            let s = reshard(x, rmem[8 @ g.r, 256 @ g.c]);
            let (q, scale) = quantize_rows(s);
            y = reshard(q, gmem);
            scales = reshard(scale, gmem);
        }
        (y, scales)
    }

    pub func groups(x: bf16[8, 256]) -> (f4e2m1[8, 256], f8e8m0[8, 8]) {
        mesh g = cta[r: 8], t = thread[group: 8, lane: 8] {
            let s = reshard(x, rmem[8 @ g.r, (8 @ t.group, 8 @ t.lane, 4)]);
            let (q, scale) = quantize_mx(s, to = f4e2m1);
            (reshard(q, gmem), reshard(scale, gmem))
        }
    }

    pub func squares(w: bf16[256, 256]) -> (f8e4m3[256, 256], f32[2, 2]) {
        mesh g = cta[r: 2, c: 2], t = thread[lane: 64] {
            let s = reshard(w, rmem[(2 @ g.r, 64 @ t.lane, 2), (2 @ g.c, 128)]);
            let (q, scale) = quantize_blocks(s);
            (reshard(q, gmem), reshard(scale, gmem))
        }
    }

    pub func tensor(x: bf16[8, 256]) -> (f8e5m2[8, 256], f32) {
        let mut y = empty(f8e5m2[8, 256]);
        let mut scales = empty(f32);
        mesh g = cta[r: 4] {
            let (q, scale) = quantize(reshard(x, rmem[8 @ g.r, 256]), to = f8e5m2);
            y = reshard(q, gmem);
            scales = reshard(scale, gmem);
        }
        (y, scales)
    }

    pub func whole_rows(x: bf16[8, 256]) -> (f8e4m3[8, 256], f32[8, 1]) {
        quantize_rows(x)
    }

    pub func whole_groups(x: bf16[8, 256]) -> (f4e2m1[8, 256], f8e8m0[8, 8]) {
        quantize_mx(x, to = f4e2m1)
    }

    pub func whole_squares(w: bf16[256, 256]) -> (f8e4m3[256, 256], f32[2, 2]) {
        quantize_blocks(w)
    }

    pub func whole_tensor(x: bf16[8, 256]) -> (f8e5m2[8, 256], f32) {
        quantize(x, to = f8e5m2)
    }

    // reveal: linear.y: bf16[tokens, 192] in gmem
    pub func linear(x: bf16[tokens, 256], w: bf16[192, 256]) -> bf16[tokens, 192] {
        let (a, s) = quantize_groups(x);
        let (b, t) = quantize_blocks(w);
        let y = matmul_blocks(a, s, b, t);
        y
    }

    // reveal: back.y: f16[tokens, 256] in gmem
    pub func back(q: f8e4m3[tokens, 256], s: f32[tokens, 2]) -> f16[tokens, 256] {
        let y = dequantize_groups(q, s, to = f16);
        y
    }
}

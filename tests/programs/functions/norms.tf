//! Norms of the standard library: dtypes and leading axes are the caller's, and a split row is
//! finished inside.

use std::nn::{layer_norm, log_softmax};

module Norms {
    target "nvidia.h200_sxm";
    topology cta;

    // reveal: narrow.y: bf16[1, 2, 4] in gmem
    pub func narrow(x: bf16[1, 2, 4], w: bf16[4], b: bf16[4]) -> bf16[1, 2, 4] {
        let y = layer_norm(x, w, b);
        y
    }

    pub func wide(x: f32[2, 4], w: f32[4], b: f32[4]) -> f32[2, 4] {
        layer_norm(x, w, b, eps = 1e-3)
    }

    // reveal: logs.y: f32[3, 2] in gmem
    pub func logs(x: f32[3, 2]) -> f32[3, 2] {
        let y = log_softmax(x, dim = 0);
        y
    }

    pub func last(x: bf16[2, 3]) -> bf16[2, 3] {
        log_softmax(x)
    }

    pub func split_rows(x: f32[8, 64], w: f32[64], b: f32[64]) -> f32[8, 64] {
        let mut y = empty(f32[8, 64]);
        mesh g = cta[r: 4, c: 2] {
            let s = reshard(x, rmem[8 @ g.r, 64 @ g.c]);
            y = reshard(layer_norm(log_softmax(s), w, b), gmem);
        }
        y
    }
}

//! Norms of the standard library: dtypes and leading axes are the caller's, and a split row is
//! finished inside.

use std::nn::{group_norm, l2_norm, layer_norm, log_softmax, rms_norm, rope, softcap, swiglu};

// agrees: split_channels = channels
// agrees: split_heads = turned

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

    pub func channels(x: f32[2, 4, 8, 3], w: f32[4], b: f32[4]) -> f32[2, 4, 8, 3] {
        group_norm(x, 2, w, b)
    }

    /// Positions over one axis of CTAs, groups over another.
    pub func split_channels(x: f32[2, 4, 8, 3], w: f32[4], b: f32[4]) -> f32[2, 4, 8, 3] {
        let mut y = empty(f32[2, 4, 8, 3]);
        mesh g = cta[c: 2, p: 4] {
            let s = reshard(x, rmem[2, 4 @ g.c, 8 @ g.p, 3]);
            y = reshard(group_norm(s, 2, w, b), gmem);
        }
        y
    }

    pub func turned(x: f32[3, 4, 8], c: f32[3, 2], s: f32[3, 2], w: f32[8]) -> f32[3, 4, 8] {
        let n = rms_norm(l2_norm(x), w, round = "after", add_unit_offset = true);
        let r = rope(n, c, s, interleaved = true, rotary_dim = 4);
        swiglu(softcap(r, cap = 2.0), x)
    }

    pub func split_heads(x: f32[3, 4, 8], c: f32[3, 2], s: f32[3, 2], w: f32[8]) -> f32[3, 4, 8] {
        let mut y = empty(f32[3, 4, 8]);
        mesh g = cta[t: 3, h: 4] {
            let xs = reshard(x, rmem[3 @ g.t, 4 @ g.h, 8]);
            y = reshard(turned(xs, c, s, w), gmem);
        }
        y
    }
}

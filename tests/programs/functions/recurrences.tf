//! Recurrences of the standard library: a split of heads, of features of the state and of the axis
//! that is summed over, which is finished inside; a prompt in chunks, then a step.

use std::ssm::{causal_conv1d, causal_conv1d_step, gated_delta_chunks, gated_delta_step};
use std::ssm::{rms_norm_gated, ssd_step};

// agrees: step = whole_step
// agrees: ssd = whole_ssd
// agrees: norm = whole_norm
dim tokens in 1..=4096;

module Recurrences {
    target "nvidia.h200_sxm";
    topology cta;

    // reveal: step.o: f32[4, 8] in rmem[4 @ g.h, 8]
    // reveal: step.s: f32[4, 16, 8] in rmem[4 @ g.h, (2 @ g.k, 8), 8]
    pub func step(
        q: f32[4, 16],
        k: f32[4, 16],
        v: f32[4, 8],
        g0: f32[4],
        beta: f32[4],
        inout state: f32[4, 16, 8],
    ) -> f32[4, 8] {
        let mut y = empty(f32[4, 8]);
        mesh g = cta[h: 4, k: 2] {
            let qs = reshard(q, rmem[4 @ g.h, 16 @ g.k]);
            let ks = reshard(k, rmem[4 @ g.h, 16 @ g.k]);
            let mut s = reshard(state, rmem[4 @ g.h, 16 @ g.k, 8]);
            let vs = reshard(v, rmem[4 @ g.h, 8]);
            let o = gated_delta_step(qs, ks, vs, g0, beta, inout s);
            y = reshard(o, gmem);
            state = reshard(s, gmem);
        }
        y
    }

    pub func ssd(
        x: f32[4, 8],
        dt: f32[4],
        a: f32[4],
        b: f32[2, 16],
        c: f32[2, 16],
        inout h: f32[4, 8, 16],
    ) -> f32[4, 8] {
        let mut y = empty(f32[4, 8]);
        mesh g = cta[p: 2, n: 4] {
            let xs = reshard(x, rmem[4, 8 @ g.p]);
            let bs = reshard(b, rmem[2, 16 @ g.n]);
            let cs = reshard(c, rmem[2, 16 @ g.n]);
            let mut s = reshard(h, rmem[4, 8 @ g.p, 16 @ g.n]);
            y = reshard(ssd_step(xs, dt, a, bs, cs, inout s), gmem);
            h = reshard(s, gmem);
        }
        y
    }

    pub func norm(x: bf16[8, 64], gate: bf16[8, 64], w: bf16[64]) -> bf16[8, 64] {
        let mut y = empty(bf16[8, 64]);
        mesh g = cta[r: 4, c: 2] {
            let s = reshard(x, rmem[8 @ g.r, 64 @ g.c]);
            y = reshard(rms_norm_gated(s, gate, w), gmem);
        }
        y
    }

    pub func whole_step(
        q: f32[4, 16],
        k: f32[4, 16],
        v: f32[4, 8],
        g0: f32[4],
        beta: f32[4],
        inout state: f32[4, 16, 8],
    ) -> f32[4, 8] {
        gated_delta_step(q, k, v, g0, beta, inout state)
    }

    pub func whole_ssd(
        x: f32[4, 8],
        dt: f32[4],
        a: f32[4],
        b: f32[2, 16],
        c: f32[2, 16],
        inout h: f32[4, 8, 16],
    ) -> f32[4, 8] {
        ssd_step(x, dt, a, b, c, inout h)
    }

    pub func whole_norm(x: bf16[8, 64], gate: bf16[8, 64], w: bf16[64]) -> bf16[8, 64] {
        rms_norm_gated(x, gate, w)
    }

    // reveal: prompt.y: bf16[2, tokens, 4, 8] in gmem
    pub func prompt(
        q: bf16[2, tokens, 2, 16],
        k: bf16[2, tokens, 2, 16],
        v: bf16[2, tokens, 4, 8],
        g: f32[2, tokens, 4],
        beta: bf16[2, tokens, 4],
        inout state: f32[2, 4, 16, 8],
    ) -> bf16[2, 4, 8] {
        let y = gated_delta_chunks(q, k, v, g, beta, inout state);
        gated_delta_step(q[.., 0], k[.., 0], y[.., 0], g[.., 0], beta[.., 0], inout state)
    }

    pub func conv(
        x: bf16[tokens, 6],
        w: bf16[6, 4],
        b: bf16[6],
        inout state: bf16[6, 3],
    ) -> bf16[6] {
        let y = causal_conv1d(x, w, bias = b, silu = true);
        causal_conv1d_step(y[0], inout state, w)
    }
}

//! The library's attention over split heads, split keys and symbolic contexts, whole and in blocks.
// agrees: heads = logical
// agrees: keys = logical
// agrees: blocks = streamed
// agrees: absorbed = expanded

use std::attention::{
    attention,
    mla,
    mla_absorbed,
    online_softmax_finish,
    online_softmax_merge,
    online_softmax_step,
};

dim ctx in 4..=64;

module Split {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 128;

    pub func logical(
        q: f32[3, 8, 4],
        k: f32[8, 4, 4],
        v: f32[8, 4, 6],
        seen: bool[3, 8],
        s: f32[8],
    ) -> f32[3, 8, 6] {
        attention(q, k, v, causal = true, window = 5, softcap = 4.0, mask = seen, sink = s)
    }

    pub func heads(
        q: f32[3, 8, 4],
        k: f32[8, 4, 4],
        v: f32[8, 4, 6],
        seen: bool[3, 8],
        s: f32[8],
    ) -> f32[3, 8, 6] {
        mesh g = cta[h: 4] {
            let qr = reshard(q, rmem[3, 8 @ g.h, 4]);
            let kr = reshard(k, rmem[8, 4 @ g.h, 4]);
            let vr = reshard(v, rmem[8, 4 @ g.h, 6]);
            let o = attention(
                qr,
                kr,
                vr,
                causal = true,
                window = 5,
                softcap = 4.0,
                mask = seen,
                sink = s,
            );
            reshard(o, gmem)
        }
    }

    pub func keys(
        q: f32[3, 8, 4],
        k: f32[8, 4, 4],
        v: f32[8, 4, 6],
        seen: bool[3, 8],
        s: f32[8],
    ) -> f32[3, 8, 6] {
        mesh g = cta[n: 8] {
            let kr = reshard(k, rmem[8 @ g.n, 4, 4]);
            let vr = reshard(v, rmem[8 @ g.n, 4, 6]);
            let o = attention(
                q,
                kr,
                vr,
                causal = true,
                window = 5,
                softcap = 4.0,
                mask = seen,
                sink = s,
            );
            reshard(o, gmem)
        }
    }

    // reveal: streamed.y: f32[2, ctx, 2, 6] in gmem
    pub func streamed(
        q: f32[2, ctx, 2, 4],
        k: f32[2, ctx, 2, 4],
        v: f32[2, ctx, 2, 6],
        b: f32[2, ctx, ctx],
    ) -> f32[2, ctx, 2, 6] {
        let y = attention(q, k, v, causal = true, window = 7, bias = b, scale = 1.0);
        y
    }

    /// The same, 4 keys at a time, the first 4 apart from the others.
    pub func blocks(
        q: f32[2, ctx, 2, 4],
        k: f32[2, ctx, 2, 4],
        v: f32[2, ctx, 2, 6],
        b: f32[2, ctx, ctx],
    ) -> f32[2, ctx, 2, 6] {
        let qt = transpose(q, [0, 2, 1, 3]);
        let kt = transpose(k, [0, 2, 1, 3]);
        let vt = transpose(v, [0, 2, 1, 3]);
        let query = unsqueeze(arange(ctx, dtype = i32), dim = 1);
        let key = unsqueeze(arange(ctx, dtype = i32), dim = 0);
        let seen = where(query >= key && query - key < 7, b, -inf);
        let (m0, l0, a0) = online_softmax_step(
            matmul(qt, kt[.., .., ..4], transpose_b = true) + seen[.., .., ..4],
            vt[.., .., ..4],
            full(f32[2, 2, ctx], -inf),
            zeros(f32[2, 2, ctx]),
            zeros(f32[2, 2, ctx, 6]),
        );
        let mut m = full(f32[2, 2, ctx], -inf);
        let mut l = zeros(f32[2, 2, ctx]);
        let mut acc = zeros(f32[2, 2, ctx, 6]);
        for w in tile(4..ctx, 4, pad = 0.0) {
            let raw = matmul(qt, kt[.., .., w], transpose_b = true) + seen[.., .., w];
            let s = where(w.valid, raw, -inf);
            let (m1, l1, a1) = online_softmax_step(s, vt[.., .., w], m, l, acc);
            m = m1;
            l = l1;
            acc = a1;
        }
        let (_, sums, total) = online_softmax_merge(m0, l0, a0, m, l, acc);
        transpose(online_softmax_finish(sums, total), [0, 2, 1, 3])
    }

    pub func expanded(
        q: f32[1, 2, 4],
        q_rope: f32[1, 2, 2],
        c: f32[ctx, 3],
        k_rope: f32[ctx, 2],
        w: f32[2, 9, 3],
    ) -> f32[1, 2, 5] {
        mla(q, q_rope, c, k_rope, w)
    }

    pub func absorbed(
        q: f32[1, 2, 4],
        q_rope: f32[1, 2, 2],
        c: f32[ctx, 3],
        k_rope: f32[ctx, 2],
        w: f32[2, 9, 3],
    ) -> f32[1, 2, 5] {
        mesh g = cta[h: 2] {
            let qs = reshard(q, rmem[1, 2 @ g.h, 4]);
            reshard(mla_absorbed(qs, q_rope, c, k_rope, w), gmem)
        }
    }
}

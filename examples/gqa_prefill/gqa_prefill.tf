//! Causal grouped-query attention of 512 new tokens over a context of 4096, and a kernel of it.
//! `Logical` says what is computed. `Tiled` gives one CTA to each tile of 128 queries. In
//! `Persistent` 132 CTAs walk over the tiles, and one warpgroup fetches for two that do the
//! arithmetic: the loads of a tile are under the arithmetic of the one before it. Its twin
//! `PrefillTma` is gqa_prefill.cu.

use std::attention::{attention};

const B = 2;
const Q = 512;
const S = 4096;
const NH = 32;
const NKV = 8;
const D = 128;
const G = NH / NKV;
const OFF = S - Q; // query i is token OFF + i
const SCALE = 1.0 / sqrt(D);
const BQ = 128;
const BK = 128;
const QB = Q / BQ;
const TILES = B * NH * QB;
const CTAS = 132;

/// Batch, head and block of queries of the i-th tile. The longest come first, and every other round
/// of the CTAs goes backwards: who has a long tile has a short one next.
func longest_first(i: index) -> (index, index, index) {
    let round = i / CTAS;
    let first = round * CTAS;
    let last = min(first + CTAS, TILES) - 1;
    let at = i + round % 2 * (first + last - 2 * i);
    let rest = at % (TILES / QB);
    (rest / NH, rest % NH, QB - 1 - at / (TILES / QB))
}

module Logical {
    target "nvidia.h200_sxm";

    entry func attend(
        q: f16[B, Q, NH, D],
        k: f16[B, S, NKV, D],
        v: f16[B, S, NKV, D],
    ) -> f16[B, Q, NH, D] {
        attention(q, k, v, scale = SCALE, causal = true)
    }
}

module Tiled {
    target "nvidia.h200_sxm";
    topology cta, thread = 256;

    entry func attend(
        q: f16[B, Q, NH, D],
        k: f16[B, S, NKV, D],
        v: f16[B, S, NKV, D],
    ) -> f16[B, Q, NH, D] {
        let mut o = empty(f16[B, Q, NH, D]);
        mesh g = cta[b: B, h: NH, qb: QB] {
            let rows = g.qb * BQ..(g.qb + 1) * BQ;
            let qt = reshard(q[g.b, rows, g.h], smem swizzle(3, 4, 3));
            let qi = unsqueeze(arange(BQ, dtype = i32) + (rows.start + OFF), dim = 1);
            let mut m = full(f32[BQ], -inf);
            let mut l = zeros(f32[BQ]);
            let mut acc = zeros(f32[BQ, D]);
            // keys after the tile's last query are never read
            for kv in tile(0..OFF + rows.end, BK) {
                #[via(cp_async), buffers(2)]
                let kt = reshard(k[g.b, kv, g.h / G], smem swizzle(3, 4, 3));
                #[via(cp_async), buffers(2)]
                let vt = reshard(v[g.b, kv, g.h / G], smem swizzle(3, 4, 3));
                let ki = unsqueeze(arange(BK, dtype = i32) + kv.start, dim = 0);
                let raw = matmul(qt, kt, transpose_b = true, out = f32);
                let s = where(qi >= ki, raw * SCALE, -inf);
                let top = maximum(m, max(s, dim = 1));
                let kept = exp(m - top);
                let p = exp(s - unsqueeze(top, dim = 1));
                l = l * kept + sum(p, dim = 1);
                acc = acc * unsqueeze(kept, dim = 1);
                acc = acc + matmul(cast(p, f16), vt, out = f32);
                m = top;
            }
            o[g.b, rows, g.h] = cast(acc / unsqueeze(l, dim = 1), f16);
        }
        o
    }
}

module Persistent {
    target "nvidia.h200_sxm";
    topology cta = CTAS, warpgroup = 3, thread = 128;

    entry func attend(
        q: f16[B, Q, NH, D],
        k: f16[B, S, NKV, D],
        v: f16[B, S, NKV, D],
    ) -> f16[B, Q, NH, D] {
        let mut o = empty(f16[B, Q, NH, D]);
        mesh g = cta[p: CTAS], wg = warpgroup[w: 3], load = wg[0..1], mma = wg[1..3] {
            for i in g.p..TILES step CTAS {
                let (b, h, qb) = longest_first(i);
                let rows = qb * BQ..(qb + 1) * BQ;
                #[via(tma), buffers(2)]
                let qt = on load { reshard(q[b, rows, h], smem swizzle(3, 4, 3)) };
                // 64 rows for each of the two consumers
                let qi: i32[BQ, 1] in rmem[BQ @ mma.w, 1] =
                    unsqueeze(arange(BQ, dtype = i32) + (rows.start + OFF), dim = 1);
                let mut m: f32[BQ] in rmem[BQ @ mma.w] = full(f32[BQ], -inf);
                let mut l: f32[BQ] in rmem[BQ @ mma.w] = zeros(f32[BQ]);
                let mut acc: f32[BQ, D] in rmem[BQ @ mma.w, D] = zeros(f32[BQ, D]);
                // from the diagonal back to the first key
                let n = OFF / BK + qb + 1;
                for j in 0..n {
                    let kv = (n - 1 - j) * BK..(n - j) * BK;
                    #[via(tma), buffers(3), regs(24)]
                    let kt = on load { reshard(k[b, kv, h / G], smem swizzle(3, 4, 3)) };
                    #[via(tma), buffers(2), regs(24)]
                    let vt = on load { reshard(v[b, kv, h / G], smem swizzle(3, 4, 3)) };
                    #[atom(wgmma, n = 128), regs(240)]
                    on mma {
                        // qt and kt are whole: the annotation gives each consumer its rows
                        let raw: f32[BQ, BK] in rmem[BQ @ mma.w, BK] =
                            matmul(qt, kt, transpose_b = true, out = f32);
                        let ki = unsqueeze(arange(BK, dtype = i32) + kv.start, dim = 0);
                        let s = where(qi >= ki, raw * SCALE, -inf);
                        let top = maximum(m, max(s, dim = 1));
                        let kept = exp(m - top);
                        let p = exp(s - unsqueeze(top, dim = 1));
                        l = l * kept + sum(p, dim = 1);
                        acc = acc * unsqueeze(kept, dim = 1);
                        acc = acc + matmul(cast(p, f16), vt, out = f32);
                        m = top;
                    }
                }
                on mma {
                    o[b, rows, h] = cast(acc / unsqueeze(l, dim = 1), f16);
                }
            }
        }
        o
    }
}

twin PrefillTma for Persistent {
    // boxes are 128 rows of 64 features, the 128 bytes of the swizzle; a result's are one warpgroup's
    extern kernel prefill(
        q: in tensor_map(f16[B, Q, NH, D], box = [1, BQ, 1, 64], swizzle = 128),
        k: in tensor_map(f16[B, S, NKV, D], box = [1, BK, 1, 64], swizzle = 128),
        v: in tensor_map(f16[B, S, NKV, D], box = [1, BK, 1, 64], swizzle = 128),
        o: out tensor_map(f16[B, Q, NH, D], box = [1, 64, 1, 64], swizzle = 128),
        batch: u32,
        queries: u32,
        keys: u32,
        heads: u32,
        kv_heads: u32,
        scale: f32,
    ) from "gqa_prefill.ptx" entry "gqa_prefill";

    func attend(q, k, v) {
        let o = alloc(f16[B, Q, NH, D]);
        // two tiles of queries and a ring of five of K and V, aligned to the swizzle
        launch prefill(q, k, v, o, B, Q, S, NH, NKV, SCALE)
            grid(CTAS) block(384) smem((2 + 5) * BQ * D * 2 + 1024);
        o
    }
}

//! One decode step of grouped-query attention, with its projections and rope: hidden 256, 8 query and
//! 2 KV heads of 32, bf16, one new token and `ctx` tokens in the cache, the new one last. Five plans
//! for the attention over the cache, each a boundary of its own with the same result:
//!
//! 1. `logical`: no placement;
//! 2. `heads`: a CTA for each query head, with its KV head's part of the cache in smem. K and V are
//!    128 B a token, and the query 64 B more, so that 1815 tokens fit 232,448 B and 1816 do not;
//! 3. `split`: a CTA for each KV head and part of the context, softmax state carried by a loop;
//! 4. `streamed`: the same, with the cache fetched in blocks, three ahead;
//! 5. `step`: `heads` where the cache fits, `streamed` beyond.

const H = 256;
const NH = 8;
const NKV = 2;
const D = 32;
const G = NH / NKV;
const SCALE = 1.0 / sqrt(D);
const MAX = 8192;
const NS = 16; // parts of the context
const BK = 64;
dim ctx in 1..=MAX;

/// Rotates features i and i + D / 2 of each head together.
func rotate<N>(x: bf16[1, N, D], cos: f32[1, D / 2], sin: f32[1, D / 2]) -> bf16[1, N, D] {
    let lo = cast(x[.., .., ..D / 2], f32);
    let hi = cast(x[.., .., D / 2..], f32);
    cast(concat([lo * cos - hi * sin, hi * cos + lo * sin], dim = 2), bf16)
}

/// The s-th of NS parts of the context, as start and end.
func part(s: index) -> (index, index) {
    let size = ceil_div(ctx, NS);
    let lo = min(s * size, ctx);
    (lo, min(lo + size, ctx))
}

/// The parts' softmax states put together.
func combine(ms: f32[NKV, NS, G], ls: f32[NKV, NS, G], accs: f32[NKV, NS, G, D]) -> bf16[NH, D] {
    let scale = exp(ms - max(ms, dim = 1, keepdim = true));
    let den = sum(ls * scale, dim = 1);
    let num = sum(accs * unsqueeze(scale, dim = -1), dim = 1);
    reshape(cast(num / unsqueeze(den, dim = -1), bf16), [NH, D])
}

module Decode {
    target "nvidia.h200_sxm";
    topology cta, thread = 128;

    weight w_q: bf16[NH * D, H] from "q_proj.weight";
    weight w_k: bf16[NKV * D, H] from "k_proj.weight";
    weight w_v: bf16[NKV * D, H] from "v_proj.weight";
    weight w_o: bf16[H, NH * D] from "o_proj.weight";

    /// Projects the token, puts its key and value in the cache, and gives its query.
    func enter(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[NH, D] {
        let q = reshape(matmul(x, w_q, transpose_b = true), [1, NH, D]);
        let k = reshape(matmul(x, w_k, transpose_b = true), [1, NKV, D]);
        let v = reshape(matmul(x, w_v, transpose_b = true), [1, NKV, D]);
        kc[ctx - 1..ctx] = rotate(k, cos, sin);
        vc[ctx - 1..ctx] = v;
        reshape(rotate(q, cos, sin), [NH, D])
    }

    func leave(o: bf16[NH, D]) -> bf16[1, H] {
        matmul(reshape(o, [1, NH * D]), w_o, transpose_b = true)
    }

    func attend_whole(q: bf16[NH, D], k: bf16[ctx, NKV, D], v: bf16[ctx, NKV, D]) -> bf16[NH, D] {
        let s = einsum("hgd,khd->hgk", reshape(q, [NKV, G, D]), k, out = f32) * SCALE;
        let e = exp(s - max(s, dim = -1, keepdim = true));
        let p = e / sum(e, dim = -1, keepdim = true);
        reshape(einsum("hgk,khd->hgd", cast(p, bf16), v), [NH, D])
    }

    func attend_heads(q: bf16[NH, D], k: bf16[ctx, NKV, D], v: bf16[ctx, NKV, D]) -> bf16[NH, D] {
        let mut o = empty(bf16[NH, D]);
        mesh g = cta[h: NH] {
            let row = g.h..g.h + 1;
            let qs = reshard(q[row], smem);
            let ks = reshard(k[.., g.h / G], smem);
            let vs = reshard(v[.., g.h / G], smem);
            let s = matmul(qs, ks, transpose_b = true, out = f32) * SCALE;
            let e = exp(s - max(s, dim = 1, keepdim = true));
            let p = e / sum(e, dim = 1, keepdim = true);
            o[row] = cast(matmul(cast(p, bf16), vs, out = f32), bf16);
        }
        o
    }

    func attend_split(q: bf16[NH, D], k: bf16[ctx, NKV, D], v: bf16[ctx, NKV, D]) -> bf16[NH, D] {
        let mut ms = empty(f32[NKV, NS, G]);
        let mut ls = empty(f32[NKV, NS, G]);
        let mut accs = empty(f32[NKV, NS, G, D]);
        mesh g = cta[h: NKV, s: NS] {
            let (lo, hi) = part(g.s);
            let qs = reshard(q[g.h * G..(g.h + 1) * G], smem);
            let mut m = full(f32[G], -inf);
            let mut l = zeros(f32[G]);
            let mut acc = zeros(f32[G, D]);
            for w in tile(lo..hi, BK, pad = 0.0) {
                let raw = matmul(qs, k[w, g.h], transpose_b = true, out = f32);
                let s = where(unsqueeze(w.valid, dim = 0), raw * SCALE, -inf);
                let mn = maximum(m, max(s, dim = 1));
                let c = exp(m - mn);
                let p = exp(s - unsqueeze(mn, dim = 1));
                l = l * c + sum(p, dim = 1);
                acc = acc * unsqueeze(c, dim = 1);
                acc = acc + matmul(cast(p, bf16), v[w, g.h], out = f32);
                m = mn;
            }
            ms[g.h, g.s] = m;
            ls[g.h, g.s] = l;
            accs[g.h, g.s] = acc;
        }
        combine(ms, ls, accs)
    }

    func attend_streamed(
        q: bf16[NH, D],
        k: bf16[ctx, NKV, D],
        v: bf16[ctx, NKV, D],
    ) -> bf16[NH, D] {
        let mut ms = empty(f32[NKV, NS, G]);
        let mut ls = empty(f32[NKV, NS, G]);
        let mut accs = empty(f32[NKV, NS, G, D]);
        mesh g = cta[h: NKV, s: NS] {
            let (lo, hi) = part(g.s);
            let qs = reshard(q[g.h * G..(g.h + 1) * G], smem);
            let mut m = full(f32[G], -inf);
            let mut l = zeros(f32[G]);
            let mut acc = zeros(f32[G, D]);
            for w in tile(lo..hi, BK, pad = 0.0) {
                #[via(cp_async), buffers(3)]
                let kt = reshard(k[w, g.h], smem swizzle(2, 4, 3));
                #[via(cp_async), buffers(3)]
                let vt = reshard(v[w, g.h], smem swizzle(2, 4, 3));
                let raw = matmul(qs, kt, transpose_b = true, out = f32);
                let s = where(unsqueeze(w.valid, dim = 0), raw * SCALE, -inf);
                let mn = maximum(m, max(s, dim = 1));
                let c = exp(m - mn);
                let p = exp(s - unsqueeze(mn, dim = 1));
                l = l * c + sum(p, dim = 1);
                acc = acc * unsqueeze(c, dim = 1);
                acc = acc + matmul(cast(p, bf16), vt, out = f32);
                m = mn;
            }
            ms[g.h, g.s] = m;
            ls[g.h, g.s] = l;
            accs[g.h, g.s] = acc;
        }
        combine(ms, ls, accs)
    }

    pub func logical(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[1, H] {
        let q = enter(x, cos, sin, inout kc, inout vc);
        leave(attend_whole(q, kc[..ctx], vc[..ctx]))
    }

    pub func heads(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[1, H] {
        let q = enter(x, cos, sin, inout kc, inout vc);
        leave(attend_heads(q, kc[..ctx], vc[..ctx]))
    }

    pub func split(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[1, H] {
        let q = enter(x, cos, sin, inout kc, inout vc);
        leave(attend_split(q, kc[..ctx], vc[..ctx]))
    }

    pub func streamed(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[1, H] {
        let q = enter(x, cos, sin, inout kc, inout vc);
        leave(attend_streamed(q, kc[..ctx], vc[..ctx]))
    }

    entry func step(
        x: bf16[1, H],
        cos: f32[1, D / 2],
        sin: f32[1, D / 2],
        inout kc: bf16[MAX, NKV, D],
        inout vc: bf16[MAX, NKV, D],
    ) -> bf16[1, H] {
        let q = enter(x, cos, sin, inout kc, inout vc);
        let o = match ctx {
            1..=1815 => attend_heads(q, kc[..ctx], vc[..ctx]),
            1816..=MAX => attend_streamed(q, kc[..ctx], vc[..ctx]),
        };
        leave(o)
    }
}

//! Attention of one decode step over a paged KV cache. A block table says which pages a sequence
//! has and `lens` how many tokens of them are real, so that data decides what is read and how long
//! a loop runs.
//!
//! `Logical` gathers all pages and masks. `Placed` has a CTA for each sequence, KV head and part of
//! the pages, every NS-th one. A page goes to smem, and from there to registers with the 32 lanes of
//! a warp over the head dimension; each query head has a warp. A score is a sum over lanes,
//! completed among them. A second launch puts the parts together.

const B = 16; // sequences
const NKV = 8;
const G = 4; // query heads of one KV head
const D = 128;
const PAGE = 16; // tokens
const PAGES = 16384;
const MAXP = 512; // pages of one sequence
const NS = 8; // parts of a sequence
const LANES = 32;
const SCALE = 1.0 / sqrt(D);

module Logical {
    target "nvidia.h200_sxm";

    entry func decode(
        q: bf16[B, NKV, G, D],
        kc: bf16[PAGES, PAGE, NKV, D],
        vc: bf16[PAGES, PAGE, NKV, D],
        table: i32[B, MAXP] range 0..PAGES,
        lens: i32[B] range 1..=MAXP * PAGE,
    ) -> bf16[B, NKV, G, D] {
        let pages = reshape(table, [B * MAXP]);
        let k = reshape(index_select(kc, pages), [B, MAXP * PAGE, NKV, D]);
        let v = reshape(index_select(vc, pages), [B, MAXP * PAGE, NKV, D]);
        let real = unsqueeze(arange(MAXP * PAGE, dtype = i32), dim = 0) < unsqueeze(lens, dim = 1);
        let raw = einsum("bhgd,bkhd->bhgk", q, k, out = f32) * SCALE;
        let s = where(reshape(real, [B, 1, 1, MAXP * PAGE]), raw, -inf);
        let e = exp(s - max(s, dim = -1, keepdim = true));
        let p = e / sum(e, dim = -1, keepdim = true);
        einsum("bhgk,bkhd->bhgd", cast(p, bf16), v)
    }
}

module Placed {
    target "nvidia.h200_sxm";
    topology cta, thread = G * LANES;

    entry func decode(
        q: bf16[B, NKV, G, D],
        kc: bf16[PAGES, PAGE, NKV, D],
        vc: bf16[PAGES, PAGE, NKV, D],
        table: i32[B, MAXP] range 0..PAGES,
        lens: i32[B] range 1..=MAXP * PAGE,
    ) -> bf16[B, NKV, G, D] {
        let mut pm = empty(f32[B, NKV, NS, G, 1]);
        let mut pl = empty(f32[B, NKV, NS, G, 1]);
        let mut po = empty(f32[B, NKV, NS, G, D]);
        mesh g = cta[b: B, h: NKV, s: NS], t = thread[w: G, lane: LANES] {
            let qr = reshard(q[g.b, g.h], rmem[G @ t.w, D @ t.lane]);
            let mut m: f32[G, 1] in rmem[G @ t.w, 1] = full(f32[G, 1], -inf);
            let mut l: f32[G, 1] in rmem[G @ t.w, 1] = zeros(f32[G, 1]);
            let mut acc: f32[G, D] in rmem[G @ t.w, D @ t.lane] = zeros(f32[G, D]);
            // a part without a page leaves m = -inf, which the combine weighs 0
            for i in g.s..ceil_div(lens[g.b], PAGE) step NS {
                let page = table[g.b, i];
                #[via(cp_async), buffers(3)]
                let kt = reshard(kc[page, .., g.h], smem);
                #[via(cp_async), buffers(3)]
                let vt = reshard(vc[page, .., g.h], smem);
                let kr = reshard(kt, rmem[PAGE, D @ t.lane]);
                let vr = reshard(vt, rmem[PAGE, D @ t.lane]);
                // each lane has the products of its part of the head, summed over the lanes
                let raw = complete(matmul(qr, kr, transpose_b = true, out = f32)) * SCALE;
                // which of the page's tokens are real
                let real = arange(PAGE, dtype = i32) + i * PAGE < lens[g.b];
                let s = where(real, raw, -inf);
                let mn = maximum(m, max(s, dim = 1, keepdim = true));
                let c = exp(m - mn);
                let p = exp(s - mn);
                l = l * c + sum(p, dim = 1, keepdim = true);
                acc = acc * c + matmul(cast(p, bf16), vr, out = f32);
                m = mn;
            }
            pm[g.b, g.h, g.s] = m;
            pl[g.b, g.h, g.s] = l;
            po[g.b, g.h, g.s] = acc;
        }

        let mut o = empty(bf16[B, NKV, G, D]);
        mesh g = cta[b: B, h: NKV], t = thread[w: G, lane: LANES] {
            let m = reshard(pm[g.b, g.h], rmem[NS, G @ t.w, 1]);
            let c = exp(m - max(m, dim = 0, keepdim = true));
            let l = sum(c * pl[g.b, g.h], dim = 0);
            let acc = sum(c * reshard(po[g.b, g.h], rmem[NS, G @ t.w, D @ t.lane]), dim = 0);
            o[g.b, g.h] = cast(acc / l, bf16);
        }
        o
    }
}

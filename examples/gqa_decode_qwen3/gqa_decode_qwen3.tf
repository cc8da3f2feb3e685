//! Decode attention with the heads of Qwen3-1.7B: one new token, 16 query and 8 KV heads of 128, over
//! a cache of `ctx` tokens. `Logical` says what is computed. `Decode` is the structure of the kernel
//! in flash.cu: a cluster for each KV head, whose CTAs take parts of the context and put their softmax
//! states together, all in one launch; `match ctx` chooses into how many parts. The twin `Flash`
//! launches the kernel.

use std::nn::{attention};

const NH = 16;
const NKV = 8;
const D = 128;
const G = NH / NKV;
const SCALE = 1.0 / sqrt(D);
const BK = 8 * 16; // tokens of a CTA's tile, 16 for each of its 8 warps
dim ctx in 1..=65536;

module Logical {
    target "nvidia.h200_sxm";

    entry func attend(
        q: bf16[1, 1, NH, D],
        k: bf16[1, ctx, NKV, D],
        v: bf16[1, ctx, NKV, D],
    ) -> bf16[1, 1, NH, D] {
        attention(q, k, v, scale = SCALE)
    }
}

/// Softmax over the keys lo..hi of one KV head, unfinished: running maximum, sum of exponentials, and
/// values weighted by them. Two tiles of keys and of values are in flight.
func attend_range(
    q: bf16[G, D],
    k: bf16[ctx, D],
    v: bf16[ctx, D],
    lo: index,
    hi: index,
) -> (f32[G], f32[G], f32[G, D]) {
    let qs = reshard(q, smem);
    let mut m = full(f32[G], -inf);
    let mut l = zeros(f32[G]);
    let mut acc = zeros(f32[G, D]);
    for w in tile(lo..hi, BK, pad = 0.0) {
        #[via(cp_async), buffers(2)]
        let kt = reshard(k[w], smem swizzle(3, 4, 3));
        #[via(cp_async), buffers(2)]
        let vt = reshard(v[w], smem swizzle(3, 4, 3));
        let raw = matmul(qs, kt, transpose_b = true, out = f32);
        // padded keys read as 0.0, which is a score like any other until it is masked
        let s = where(unsqueeze(w.valid, dim = 0), raw * SCALE, -inf);
        let mn = maximum(m, max(s, dim = 1));
        let c = exp(m - mn);
        let p = exp(s - unsqueeze(mn, dim = 1));
        l = l * c + sum(p, dim = 1);
        acc = acc * unsqueeze(c, dim = 1);
        acc = acc + matmul(cast(p, bf16), vt, out = f32);
        m = mn;
    }
    (m, l, acc)
}

module Decode {
    target "nvidia.h200_sxm";
    topology cluster = 8, cta = 8, thread = 256;

    entry func attend(
        q: bf16[1, 1, NH, D],
        k: bf16[1, ctx, NKV, D],
        v: bf16[1, ctx, NKV, D],
    ) -> bf16[1, 1, NH, D] {
        match ctx {
            1..=128 => whole(q, k, v),
            129..=65536 => split(q, k, v),
        }
    }

    /// 8 CTAs of 8 warps for each KV head.
    func split(
        q: bf16[1, 1, NH, D],
        k: bf16[1, ctx, NKV, D],
        v: bf16[1, ctx, NKV, D],
    ) -> bf16[1, 1, NH, D] {
        mesh c = cluster[h: NKV], g = cta[s: 8] {
            let size = ceil_div(ctx, 8);
            let lo = min(g.s * size, ctx);
            let heads = c.h * G..(c.h + 1) * G;
            let (m, l, acc) = attend_range(
                q[0, 0, heads],
                k[0, .., c.h],
                v[0, .., c.h],
                lo,
                min(lo + size, ctx),
            );
            let ms = collect(m, c.h, g.s);
            let ls = collect(l, c.h, g.s);
            let accs = collect(acc, c.h, g.s);
            let scale = exp(ms - complete(max(ms, dim = 1, keepdim = true)));
            let den = complete(sum(ls * scale, dim = 1));
            let num = complete(sum(accs * unsqueeze(scale, dim = -1), dim = 1));
            let o = cast(num / unsqueeze(den, dim = -1), bf16);
            reshard(reshape(o, [1, 1, NH, D]), gmem)
        }
    }

    /// A CTA of 8 warps for each KV head.
    func whole(
        q: bf16[1, 1, NH, D],
        k: bf16[1, ctx, NKV, D],
        v: bf16[1, ctx, NKV, D],
    ) -> bf16[1, 1, NH, D] {
        let mut o = empty(bf16[1, 1, NH, D]);
        mesh g = cta[h: NKV] {
            let heads = g.h * G..(g.h + 1) * G;
            let (_, l, acc) = attend_range(q[0, 0, heads], k[0, .., g.h], v[0, .., g.h], 0, ctx);
            o[0, 0, heads] = cast(acc / unsqueeze(l, dim = 1), bf16);
        }
        o
    }
}

const WARPS = 8;
const RING = 4 * 16 * D * 2; // bytes of a warp's ring: four tiles of 16 keys or values
const STATE = (G * D + 2 * G) * 4; // of a softmax state: values, maxima and sums in f32

twin Flash for Decode {
    extern kernel flash_decode(
        q: in bf16[1, 1, NH, D],
        k: in bf16[1, ctx, NKV, D],
        v: in bf16[1, ctx, NKV, D],
        o: out bf16[1, 1, NH, D],
        tokens: u32,
        scale: f32,
    ) from "flash.ptx" entry "flash_decode";

    func attend(q, k, v) {
        let o = alloc(bf16[1, 1, NH, D]);
        match ctx {
            1..=128 => {
                launch flash_decode(q, k, v, o, ctx, SCALE)
                    grid(1, NKV) block(WARPS * 32) smem(WARPS * RING + STATE);
            },
            129..=65536 => {
                launch flash_decode(q, k, v, o, ctx, SCALE)
                    grid(8, NKV) block(WARPS * 32) smem(WARPS * RING + 8 * STATE) cluster(8);
            },
        }
        o
    }
}

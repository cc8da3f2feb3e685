//! Factors of an axis, major to minor; `N @ axis` leaves the rest to each position.

// reveal: a: f32[64, 128] in rmem[(8 @ g.r, 8), (4 @ t.x, 32)]
// reveal: b: f32[64, 128] in rmem[(8 @ g.r, 8 @ t.y), (4 @ t.x, 32)]
// reveal: c: f32[64, 128] in rmem[(2, 8 @ t.y, 4), (4 @ t.x, 32)]
// reveal: d: f32[64, 128] in smem[(8 @ g.r, 8), 128]
module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 32;

    entry func f(x: f32[64, 128]) -> f32[64, 128] {
        mesh g = cta[r: 8], t = thread[x: 4, y: 8] {
            let a = reshard(x, rmem[64 @ g.r, 128 @ t.x]);
            let b = reshard(x, rmem[64 @ (g.r, t.y), 128 @ t.x]);
            let c = reshard(x, rmem[(2, 8 @ t.y, 4), (4 @ t.x, 32)]);
            let d = reshard(x, smem[64 @ g.r, 128]);
            let whole = reshard(a, gmem) + reshard(b, gmem) + reshard(c, gmem) + reshard(d, gmem);
            reshard(whole, gmem)
        }
    }
}

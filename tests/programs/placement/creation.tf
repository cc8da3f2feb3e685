//! Creation ops and masks take the placement of their use.

// reveal: z: f32[64] in rmem[(32 @ t.x, 2)]
// reveal: i: i32[64] in rmem[(32 @ t.x, 2)]
// reveal: keep: bool[64] in rmem[(32 @ t.x, 2)]
// reveal: c: f32[64] in rmem[(32 @ t.x, 2)]
// reveal: alone: f32[64] in rmem
module M {
    target "nvidia.h200_sxm";
    topology cta = 1, thread = 32;

    entry func f(x: f32[64]) -> (f32[64], f32[64]) {
        mesh g = cta[r: 1], t = thread[x: 32] {
            let a = reshard(x, rmem[64 @ t.x]);
            let z = zeros(f32[64]);
            let i = arange(64, dtype = i32);
            let keep = i < 10;
            let c = where(keep, a + z, 0.0);
            // nothing splits it: every thread has a whole one
            let alone = full(f32[64], 1.0);
            (reshard(c, gmem), reshard(alone, gmem))
        }
    }
}

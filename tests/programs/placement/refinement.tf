//! Operands agree up to refinement, and a whole operand is read in part.

// reveal: c: f32[512] in rmem[(8 @ g.r, 2, 32 @ t.x)]
// reveal: d: f32[4, 512] in rmem[4, (8 @ g.r, 2, 32 @ t.x)]
// reveal: e: f32[512] in rmem[(8 @ g.r, 2, 32 @ t.x)]
module M {
    target "nvidia.h200_sxm";
    topology cta = 8, thread = 32;

    entry func f(x: f32[512], y: f32[512], z: f32[4, 512]) -> (f32[512], f32[4, 512], f32[512]) {
        mesh g = cta[r: 8], t = thread[x: 32] {
            let a = reshard(x, rmem[(8 @ g.r, 2, 32 @ t.x)]);
            let b = reshard(y, smem[512 @ g.r]);
            let c = a + b;
            let d = reshard(z, smem) * unsqueeze(c, dim = 0);
            let e = c * y;
            (reshard(c, gmem), reshard(d, gmem), reshard(e, gmem))
        }
    }
}

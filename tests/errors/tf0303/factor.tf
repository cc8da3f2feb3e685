//! One factor of several does not divide; padding it alone would not help.
// no fix: any of the factors may be the mistake

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[96, 64]) -> f32[96, 64] {
        mesh g = cta[r: 4] {
            reshard(reshard(x, smem[(2, 3 @ g.r, 16), 64]), gmem) // error[TF0303]: `3` is not divided evenly by the 4 positions of `g.r`
        }
    }
}

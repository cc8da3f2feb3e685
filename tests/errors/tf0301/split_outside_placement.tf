//! `@` splits an axis in a placement and means nothing elsewhere.
// no fix: where the split belongs is not known

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem);
            let t = reshape(s, [4 @ g.r, 8]); // error[TF0301]: `@` splits an axis in a placement
            reshard(t, gmem)
        }
    }
}

//! A placement has one entry for each axis of the value.
// no fix: the missing entry is the author's

module M {
    target "nvidia.h200_sxm";
    topology cta = 4, thread = 128;

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        mesh g = cta[r: 4] {
            let s = reshard(x, smem[4 @ g.r]); // error[TF0207]: the placement has 1 axes, the value has 2
            reshard(s + s, gmem)
        }
    }
}

//! Levels stand coarse to fine.
// no fix: the whole list is written anew

module M {
    target "nvidia.h200_sxm";
    topology thread = 128, cta = 132; // error[TF0321]: `cta` is not finer than `thread`

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

//! An annotation of another rank.
// no fix: the declaration may be the mistake

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4] {
        sum(x, dim = 1, keepdim = true) // error[TF0207]: the result is `f32[4]`, found `f32[4, 1]`
    }
}

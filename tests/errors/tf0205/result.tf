//! The result's dtype is the declared one.
// no fix: the declaration may be the mistake

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f16[4]) -> f32[4] {
        x + x // error[TF0205]: the result is `f32[4]`, found `f16[4]`
    }
}

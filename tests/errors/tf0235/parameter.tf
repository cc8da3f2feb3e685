//! A parameter is updated where it says `inout`, which changes its callers too.
// no fix: `inout` changes the callers too, a `let mut` copy does not

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x = x + x; // error[TF0235]: `x` is not `mut`
        x
    }
}

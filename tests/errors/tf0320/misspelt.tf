//! A target that no document describes: the nearest is offered.
// fixed

module M {
    target "nvidia.h200_sxn"; // error[TF0320]: there is no target `nvidia.h200_sxn`

    entry func f(x: f32[64]) -> f32[64] {
        x + x
    }
}

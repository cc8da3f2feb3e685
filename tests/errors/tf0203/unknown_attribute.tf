//! An attribute that the op does not have: the nearest is offered.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4] {
        sum(x, dims = 1) // error[TF0203]: `sum` has no attribute `dims`
    }
}

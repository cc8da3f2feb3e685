//! `inout` at the call of a function that updates nothing.
// fixed

module M {
    target "nvidia.h200_sxm";

    func twice(x: f32[4]) -> f32[4] {
        x + x
    }

    entry func f(inout x: f32[4]) -> f32[4] {
        twice(inout x) // error[TF0228]: `x` is not `inout` in `twice`
    }
}

//! An argument's shape is that of the parameter; both are shown.
// no fix: the declaration or the argument may be the mistake

module M {
    target "nvidia.h200_sxm";

    func twice(x: f32[8]) -> f32[8] {
        x + x
    }

    entry func f(x: f32[4]) -> f32[8] {
        twice(x) // error[TF0206]: `f32[8]`, found `f32[4]`
    }
}

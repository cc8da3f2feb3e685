//! Attributes of functions are checked alike.
// fixed

module M {
    target "nvidia.h200_sxm";

    func shifted(x: f32[4], offset: f32 = 1.0) -> f32[4] {
        x + offset
    }

    entry func f(x: f32[4]) -> f32[4] {
        shifted(x, ofset = 2.0) // error[TF0203]: `shifted` has no attribute `ofset`
    }
}

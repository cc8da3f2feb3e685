//! A parameter with a default is an attribute: it is given by name.
// fixed

module M {
    target "nvidia.h200_sxm";

    func shifted(x: f32[4], offset: f32 = 1.0) -> f32[4] {
        x + offset
    }

    entry func f(x: f32[4]) -> f32[4] {
        shifted(x, 2.0) // error[TF0204]: `offset` is given by name
    }
}

//! The parameters of a function have different names.
// no fix: the name is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], x: f32[4]) -> f32[4] { // error[TF0215]: `x` is declared twice
        x + x
    }
}

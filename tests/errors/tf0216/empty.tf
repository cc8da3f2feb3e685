//! A dim whose bounds leave no value.
// no fix: the bounds are the author's

dim n in 8..=4; // error[TF0216]: the bounds of dim `n` are 8..=4

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}

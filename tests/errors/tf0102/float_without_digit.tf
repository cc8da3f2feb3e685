//! A float has digits on both sides of its dot, so that `1..4` is a range.
// fixed

const EPS = 1.; // error[TF0102]: `1.` is not a number

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + EPS
    }
}

//! A `;` after the last expression drops the result.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x; // error[TF0230]: the body has no value
    }
}

//! A number stuck to letters is neither a number nor a name.
// no fix: what was meant is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + 32x // error[TF0102]: `32x` is neither a number nor a name
    }
}

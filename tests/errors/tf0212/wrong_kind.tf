//! `keepdim` is a bool.
// no fix: the value is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4, 1] {
        sum(x, dim = 1, keepdim = 1) // error[TF0212]: `keepdim` takes `true` or `false`, found an integer
    }
}

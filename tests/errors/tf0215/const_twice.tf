//! Names of a file are unique.
// no fix: which of the two is meant is not known

const N = 4;
const N = 8; // error[TF0215]: `N` is declared twice

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[N]) -> f32[N] {
        x + x
    }
}

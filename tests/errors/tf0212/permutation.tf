//! A transpose takes a permutation of the axes.
// no fix: the permutation is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[8, 4] {
        transpose(x, 1) // error[TF0212]: found an integer
    }
}

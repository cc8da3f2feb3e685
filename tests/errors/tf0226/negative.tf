//! Indices do not count from the end.
// no fix: the index is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8, 4]) -> f32[4] {
        x[-1] // error[TF0226]: index -1 is negative
    }
}

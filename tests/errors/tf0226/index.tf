//! The first index is 0, the last one less than the extent.
// no fix: the index is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8, 4]) -> f32[4] {
        x[8] // error[TF0226]: index 8 is past the end of an axis of 8
    }
}

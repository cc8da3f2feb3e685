//! A reshape keeps the number of elements.
// no fix: the new extents are the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4, 4] {
        reshape(x, [4, 4]) // error[TF0208]: `reshape`
    }
}

//! Axes run from 0 to rank - 1, or from -rank to -1.
// no fix: the axis is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4] {
        sum(x, dim = 2) // error[TF0211]: `dim` is 2, the tensor has rank 2
    }
}

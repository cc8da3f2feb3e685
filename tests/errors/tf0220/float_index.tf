//! A subscript is an integer.
// no fix: the index is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8, 4]) -> f32[4] {
        x[1.5] // error[TF0220]: expected an integer
    }
}

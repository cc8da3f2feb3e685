//! More subscripts than the tensor has axes.
// no fix: which subscript is one too many is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[8] {
        x[0, .., 0] // error[TF0207]: 3 subscripts for a tensor of rank 2
    }
}

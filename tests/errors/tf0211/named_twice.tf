//! A permutation names each axis once.
// no fix: the permutation is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[4, 8] {
        max(x, dim = [0, 0], keepdim = true) // error[TF0211]: axis 0 is named twice
    }
}

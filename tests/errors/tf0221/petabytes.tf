//! A tensor of 2^50 elements.
// no fix: the extents are the author's

const N = 1_048_576;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[N, 1024, N] {
        zeros(f32[N, 1024, N]) // error[TF0221]: more than 2^46 elements
    }
}

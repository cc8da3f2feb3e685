//! An extent below zero.
// no fix: the extent is the author's

const N = 4;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[N - 8] { // error[TF0224]: the extent `-4` is negative
        x
    }
}

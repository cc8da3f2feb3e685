//! Integers have 64 bits.
// no fix: no smaller number is meant

const N = 99_999_999_999_999_999_999; // error[TF0102]: does not fit into 64 bits

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + N
    }
}

//! A const is a number, a bool or a string, never a tensor.
// no fix: a `prepare` of a module holds tensors

const TABLE = zeros(f32[4]); // error[TF0217]: which is no compile-time value

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + TABLE
    }
}

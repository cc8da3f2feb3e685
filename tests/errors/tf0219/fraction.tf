//! A fraction with integers is not one of their values.
// no fix: a cast of the tensor or an integer, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(x: i32[4]) -> i32[4] {
        x * 0.5 // warning[TF0219]: `0.5` is no value of i32
    }
}

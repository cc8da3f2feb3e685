//! A const is not a variable of the function.
// no fix: a `let mut` is another declaration

const N = 4;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        N = 5; // error[TF0234]: `N` is not a variable of this function
        x
    }
}

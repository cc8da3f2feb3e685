//! Only `let mut` variables and `inout` parameters change.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let y = x;
        y = y + x; // error[TF0235]: `y` is not `mut`
        y
    }
}

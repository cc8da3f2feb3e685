//! A sum is no variable.
// no fix: which variable is meant is not known

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut a = x;
        a + x = x; // error[TF0234]: this cannot be assigned
        a
    }
}

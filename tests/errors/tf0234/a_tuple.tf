//! Variables are assigned one by one.
// no fix: the names in between are the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        let mut a = x;
        let mut b = x;
        (a, b) = (b, a); // error[TF0234]: several variables cannot be assigned at once
        a + b
    }
}

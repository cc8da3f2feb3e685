//! Two functions that call each other.
// no fix: a `for` loop is another program

func even(x: f32[4]) -> f32[4] {
    odd(x)
}

func odd(x: f32[4]) -> f32[4] {
    even(x) // error[TF0227]: `even` calls itself
}

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        even(x)
    }
}

//! Functions that call each other, and that nothing else calls.
// no fix: a `for` loop is another program

func even(x: f32[4]) -> f32[4] {
    odd(x)
}

func odd(x: f32[4]) -> f32[4] {
    even(x) // error[TF0227]: `even` calls itself
}

//! A `return` before the end of a function.
// no fix: what follows it may be the mistake

func f(x: f32[4]) -> f32[4] {
    return x; // error[TF0230]: a `return` stands last in a function
    x * 2.0
}

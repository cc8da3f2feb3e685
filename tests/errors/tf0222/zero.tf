//! A division by the number zero.
// no fix: what was meant is not known

const N = 1 / 0; // error[TF0222]: division by zero

func f(x: f32[4]) -> f32[4] {
    x * N
}

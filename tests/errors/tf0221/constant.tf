//! A constant that leaves 64 bits.
// no fix: what was meant is not known

const N = 9223372036854775807 + 1; // error[TF0221]: `9223372036854775807 + 1` does not fit into 64 bits

func f(x: f32[4]) -> f32[4] {
    x * N
}

//! A parameter that no machine holds.
// no fix: what was meant is not known

func f(x: f32[4611686018427387904, 8]) -> f32[8] { // error[TF0221]: a tensor of this type has more than 2^46 elements
    x[0]
}

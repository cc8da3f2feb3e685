//! `/` on integer tensors.
// no fix: rounding down, or floats, may be meant

func f(x: i32[4]) -> i32[4] {
    x / 2 // error[TF0210]: `/` divides floats, found i32
}

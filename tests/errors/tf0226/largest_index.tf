//! An index whose successor does not fit into 64 bits.
// no fix: the index or the axis may be the mistake

func f(x: f32[4]) -> f32 {
    x[9223372036854775807] // error[TF0226]: index 9223372036854775807 is past the end of an axis of 4
}

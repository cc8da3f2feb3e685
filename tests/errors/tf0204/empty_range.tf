//! A range of values without one.
// no fix: either bound may be the mistake

func f(
    l: i32[2] range 5..2, // error[TF0204]: this range has no values
) -> i32[2] {
    l
}

//! Data is an index where its parameter states a range.
// no fix: the range is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8, 4], row: i32) -> f32[4] {
        x[row] // error[TF0220]: `row` has no bounds
    }
}

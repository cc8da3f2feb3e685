//! The range of one parameter ends at the value of another, which is known only in the run.
// no fix: a bound of sizes and constants is the author's
// run: check FILE --inputs random:1 --fn finite

module M {
    target "nvidia.h200_sxm";

    // error[TF0410] at 9: the range of `at` has no value at these sizes
    entry func f(x: f32[4], last: i32 range 0..=3, at: i32[4] range 0..=last) -> f32 {
        x[at[3]]
    }
}

//! A write to a row that a tensor names, one past the last.
// no fix: the range of the element is the author's
// run: check FILE --inputs tests/errors/tf0401/x.npy tests/errors/tf0401/equal.npy --fn finite

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], at: i32[4] range 0..=3) -> f32[3] {
        let mut y = zeros(f32[3]);
        for i in 0..4 {
            y[at[i]] = x[i]; // error[TF0403]: index 3 lies outside
        }
        y
    }
}

//! The indices of a gather are data.
// no fix: the indices are the caller's
// run: check FILE --inputs tests/errors/tf0401/x.npy tests/errors/tf0401/equal.npy --fn finite

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], at: i32[4]) -> f32[4] {
        gather(x, at + 1, dim = 0) // error[TF0405]: index 4 at [3] is outside 0..4
    }
}

//! A window starts at an element of a tensor, whose range allows it to pass the end of its axis.
// no fix: the range of the element is the author's
// run: check FILE --inputs tests/errors/tf0401/x.npy tests/errors/tf0401/equal.npy --fn finite

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], at: i32[4] range 0..=3) -> f32[2] {
        let s = at[3];
        x[s..s + 2] // error[TF0403]: window 3..5 lies outside axis 0 of `x`, which has extent 4
    }
}

//! The bounds of a dim are constants.
// no fix: the bounds are the author's

dim n in 1..=64;
dim m in 1..=n; // error[TF0216]: the bounds of a dim are constants

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n]) -> f32[n] {
        x + x
    }
}

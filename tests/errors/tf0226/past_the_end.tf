//! A window past the end of its axis.
// no fix: the window is the author's

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8]) -> f32[5] {
        x[4..9] // error[TF0226]: the window `4..9` reaches past the end of an axis of `8`
    }
}

//! There is no `if`: `match` chooses by numbers, `where` by data.
// no fix: whether numbers or data are meant decides what to write

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4]) -> f32[4] {
        let m = if x { x } else { y }; // error[TF0107]: `if`
        m
    }
}

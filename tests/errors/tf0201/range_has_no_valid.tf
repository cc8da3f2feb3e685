//! Only the windows of `tile` know which of their elements exist.
// no fix: the loop must be over `tile`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[8]) -> f32[4] {
        let w = 0..4;
        where(w.valid, x[w], 0.0) // error[TF0201]: a range has no `valid`
    }
}

//! An arm after `_` is never chosen.
// no fix: the arms may be in the wrong order

dim ctx in 1..=8192;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[ctx]) -> f32 {
        match ctx {
            _ => sum(x, dim = 0),
            1..=16 => max(x, dim = 0), // warning[TF0238]: this arm is never chosen
        }
    }
}

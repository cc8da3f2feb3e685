//! An arm outside the bounds of the dim.
// no fix: the bounds of the dim may be the mistake

dim ctx in 1..=64;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[ctx]) -> f32 {
        match ctx {
            1..=64 => sum(x, dim = 0),
            65..=128 => max(x, dim = 0), // warning[TF0238]: this arm is never chosen
        }
    }
}

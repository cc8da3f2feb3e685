//! A dim that may be 0 divides nothing.
// no fix: a bound of 1 or a `match` arm, both are possible

dim n in 0..=64;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x * (64 / n) // error[TF0222]: `n` may be zero here
    }
}

//! A closing bracket with no partner.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x) // error[TF0104]: this `)` closes nothing
    }
}

//! A closing bracket with no partner.
// no fix: an opening bracket may be missing as well

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x) // error[TF0104]: this `)` closes nothing
    }
}

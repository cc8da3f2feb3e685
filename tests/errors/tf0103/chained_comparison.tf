//! Comparisons do not chain.
// no fix: `&&` of two comparisons or brackets, both are possible

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], y: f32[4], z: f32[4]) -> f32[4] {
        where(x < y < z, x, z) // error[TF0103]
    }
}

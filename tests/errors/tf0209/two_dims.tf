//! Two dims may differ: whether the operands fit is not decided, and both extents are shown.
// no fix: one dim for both is a change of the signature

dim n in 1..=64;
dim m in 1..=64;

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[n], y: f32[m]) -> f32[n] {
        x + y // error[TF0209]: `n`
    }
}

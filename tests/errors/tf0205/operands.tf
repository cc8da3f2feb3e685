//! There is no implicit conversion between dtypes.
// no fix: which operand is cast decides the precision of the result

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f16[4], y: f32[4]) -> f32[4] {
        x + y // error[TF0205]: one dtype
    }
}

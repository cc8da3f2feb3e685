//! Operands broadcast right-aligned: extents are equal or 1.
// no fix: either shape may be the mistake

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8], y: f32[4]) -> f32[4, 8] {
        x + y // error[TF0206]: cannot broadcast `a` f32[4, 8] with `b` f32[4]
    }
}

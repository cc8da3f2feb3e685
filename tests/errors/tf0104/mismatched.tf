//! A `[` that meets the `)` of an outer call.
// fixed

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> f32[8, 4] {
        reshape(x, [8, 4) // error[TF0104]: `[` is not closed
    }
}

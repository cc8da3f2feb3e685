//! Scales of another group size: the argument is the place.
// no fix: the scales or the group may be the mistake

use std::quant::{dequantize_groups};

module M {
    target "nvidia.h200_sxm";

    entry func f(q: f8e4m3[4, 256], s: f32[4, 8]) -> f32[4, 256] {
        dequantize_groups(q, s) // error[TF0206]: `f32[4, 2]`, found `f32[4, 8]`
    }
}

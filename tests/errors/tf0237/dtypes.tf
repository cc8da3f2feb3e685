//! A `match` of a dtype without an arm for it, in the library: f16 is no target of a quantizer.
// no fix: what the arm gives is not known

use std::quant::{quantize_rows};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 8]) -> (f16[4, 8], f32[4, 1]) {
        quantize_rows(x, to = f16) // error[TF0237]: no arm of this `match` covers `f16`
    }
}

//! A row that is no multiple of the group, in a function of the library: the place is the call.
// no fix: another group may be meant, or a padded row

use std::quant::{quantize_groups};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: bf16[4, 100]) -> (f8e4m3[4, 100], f32[4, 1]) {
        quantize_groups(x) // error[TF0223]: `100` is not a multiple of `128`
    }
}

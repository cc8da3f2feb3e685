//! A name that the library module does not have.
// fixed

use std::nn::{rms_nrm}; // error[TF0213]: `std::nn` has no `rms_nrm`

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4]) -> f32[4] {
        x + x
    }
}

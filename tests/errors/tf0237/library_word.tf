//! A word that a library function does not know.
// no fix: which of the words is meant is not known

use std::nn::{rms_norm};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4], w: f32[4]) -> f32[4] {
        rms_norm(x, w, round = "later") // error[TF0237]: no arm of this `match` covers `"later"`
    }
}

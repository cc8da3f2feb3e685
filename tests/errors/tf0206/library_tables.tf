//! Tables of angles that are not of half the features.
// no fix: the tables or the features may be the mistake

use std::nn::{rope};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[4, 2, 8], c: f32[4, 5]) -> f32[4, 2, 8] {
        rope(x, c, c, interleaved = true) // error[TF0206]: f32[4, 1, 10]: at axis -1 8 is not 10
    }

    pub func g(x: f32[4, 2, 8], c: f32[4, 1]) -> f32[4, 2, 8] {
        rope(x, c, c) // error[TF0206]: f32[4, 1, 2]: at axis -1 8 is not 2
    }
}

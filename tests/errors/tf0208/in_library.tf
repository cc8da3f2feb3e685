//! What goes wrong inside a library function is shown at the call that gave it what does not fit.
// no fix: the groups or the channels may be the mistake

use std::nn::{group_norm};

module M {
    target "nvidia.h200_sxm";

    entry func f(x: f32[2, 4, 3], w: f32[4], b: f32[4]) -> f32[2, 4, 3] {
        group_norm(x, 3, w, b) // error[TF0208]: 4 elements, to [3, 1], which has 3
    }
}

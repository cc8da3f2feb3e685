//! An argument of a library function whose shape is not that of its parameter.
// no fix: the sinks or the heads may be the mistake

use std::attention::{attention};

module M {
    target "nvidia.h200_sxm";

    entry func f(q: f32[1, 4, 2, 8], s: f32[3]) -> f32[1, 4, 2, 8] {
        attention(q, q, q, sink = s) // error[TF0206]: `sink` of `attention` is `f32[2]`, found `f32[3]`
    }
}

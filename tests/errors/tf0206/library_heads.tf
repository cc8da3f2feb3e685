//! Three query heads cannot serve four value heads: one message, at the call, with what the
//! function asks for.
// no fix: the number of heads is the mistake

use std::ssm::{gated_delta_rule};

module M {
    target "nvidia.h200_sxm";

    entry func f(
        q: f32[7, 3, 16],
        v: f32[7, 4, 8],
        g: f32[7, 4],
        inout s: f32[4, 16, 8],
    ) -> f32[7, 4, 8] {
        gated_delta_rule(q, q, v, g, g, inout s) // error[TF0206]: `f32[7, 3, 8]`, found `f32[7, 4, 8]`
    }
}

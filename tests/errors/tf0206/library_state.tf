//! A state whose axes stand the other way round.
// no fix: the state or the operands may be the mistake

use std::ssm::{gated_delta_rule};

module M {
    target "nvidia.h200_sxm";

    entry func f(
        q: bf16[2, 7, 4, 16],
        v: bf16[2, 7, 4, 8],
        g: f32[2, 7, 4],
        beta: f32[2, 7, 4],
        inout s: f32[2, 4, 8, 16],
    ) -> bf16[2, 7, 4, 8] {
        // error[TF0206] at 17:50: `f32[2, 4, 16, 8]`, found `f32[2, 4, 8, 16]`
        gated_delta_rule(q, q, v, g, beta, inout s)
    }
}

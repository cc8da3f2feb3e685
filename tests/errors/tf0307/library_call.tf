//! Two operands split over one axis of the mesh in different dimensions, in a function of the
//! library: the place is the call.
// no fix: either operand may be moved

use std::ssm::{rms_norm_gated};

module M {
    target "nvidia.h200_sxm";
    topology cta;

    entry func f(x: bf16[8, 64], gate: bf16[8, 64], w: bf16[64]) -> bf16[8, 64] {
        let mut y = empty(bf16[8, 64]);
        mesh g = cta[r: 4] {
            let a = reshard(x, rmem[8 @ g.r, 64]);
            let b = reshard(gate, rmem[8, 64 @ g.r]);
            y = reshard(rms_norm_gated(a, b, w), gmem); // error[TF0307]: `g.r` would split two different dimensions
        }
        y
    }
}

//! Three heads cannot share two groups.
// no fix: the number of heads or of groups is the mistake

use std::ssm::{ssd_step};

module M {
    target "nvidia.h200_sxm";

    entry func f(
        x: f32[3, 4],
        dt: f32[3],
        a: f32[3],
        b: f32[2, 5],
        c: f32[2, 5],
        inout h: f32[3, 4, 5],
    ) -> f32[3, 4] {
        ssd_step(x, dt, a, b, c, inout h) // error[TF0208]: `unflatten`
    }
}

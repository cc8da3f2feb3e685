//! Splits that meet inside a library function are shown at its call.
// no fix: either operand may be the one to gather

use std::attention::{attention};

module M {
    target "nvidia.h200_sxm";
    topology cta = 8;

    entry func f(q: f32[8, 8, 4], k: f32[8, 8, 4]) -> f32[8, 8, 4] {
        mesh g = cta[n: 8] {
            let qr = reshard(q, rmem[8 @ g.n, 8, 4]);
            let kr = reshard(k, rmem[8, 8 @ g.n, 4]);
            reshard(attention(qr, kr, kr), gmem) // error[TF0307]: `einsum`: `g.n` would split two
        }
    }
}

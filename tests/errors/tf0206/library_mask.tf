//! Through two library functions the error is still at the user's call.
// no fix: the mask or the keys may be the mistake

use std::attention::{mla};

module M {
    target "nvidia.h200_sxm";

    entry func f(
        q: f32[1, 4, 2, 8],
        c: f32[1, 5, 3],
        k: f32[1, 5, 8],
        w: f32[2, 12, 3],
        seen: bool[4, 4],
    ) -> f32[1, 4, 2, 4] {
        mla(q, q, c, k, w, mask = seen) // error[TF0206]: `where` cannot broadcast `cond` bool[4, 4]
    }
}

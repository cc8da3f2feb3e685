//! The heads of keys divide those of queries; one error says so, at the call.
// no fix: either number of heads may be the mistake

use std::attention::{attention};

module M {
    target "nvidia.h200_sxm";

    entry func f(q: f32[1, 4, 3, 8], kv: f32[1, 4, 2, 8]) -> f32[1, 4, 3, 8] {
        attention(q, kv, kv, causal = true) // error[TF0208]: 3 elements, to [2, 1], which has 2
    }
}

//! The op `causal_mask`.

use super::mask::Mask;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Mask {
    name: "causal_mask",
    doc: Doc {
        summary: "Which keys each query may see, when the last query is aligned with the last \
                  key.",
        details: "For `[queries, keys]`: true where key - keys <= query - queries. With as many \
                  queries as keys it is `tril_mask`. One integer operation an element.",
        examples: &[
            example("causal_mask([2, 2])", &[], ("bool[2, 2]", &[1.0, 0.0, 1.0, 1.0])),
            example("causal_mask([2, 3])", &[], ("bool[2, 3]", &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0])),
        ],
    },
    ends: true,
};

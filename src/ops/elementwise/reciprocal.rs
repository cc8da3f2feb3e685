//! The op `reciprocal`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "reciprocal",
    doc: Doc {
        summary: "One over each element.",
        details: "Correctly rounded. Counted as one special function.",
        examples: &[
            example("reciprocal(x)", &[("x", "f32[2]", &[2.0, -4.0])], ("f32[2]", &[0.5, -0.25])),
            example("reciprocal(x)", &[("x", "f16[1]", &[3.0])], ("f16[1]", &[0.333251953125])),
        ],
    },
    f32s: |x, o| map(x, o, |x| 1.0 / x),
    f64s: |x, o| map(x, o, |x| 1.0 / x),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

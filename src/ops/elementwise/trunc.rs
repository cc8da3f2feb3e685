//! The op `trunc`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "trunc",
    doc: Doc {
        summary: "Each element without its fraction.",
        details: "The result keeps the float dtype.",
        examples: &[
            example("trunc(x)", &[("x", "f32[2]", &[1.5, -1.5])], ("f32[2]", &[1.0, -1.0])),
            example("trunc(x)", &[("x", "f16[1]", &[2.75])], ("f16[1]", &[2.0])),
        ],
    },
    f32s: |x, o| map(x, o, f32::trunc),
    f64s: |x, o| map(x, o, f64::trunc),
    ints: None,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

//! The op `floor`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "floor",
    doc: Doc {
        summary: "The largest integer not above each element.",
        details: "The result keeps the float dtype.",
        examples: &[
            example("floor(x)", &[("x", "f32[2]", &[1.5, -1.5])], ("f32[2]", &[1.0, -2.0])),
            example("floor(x)", &[("x", "f16[1]", &[2.75])], ("f16[1]", &[2.0])),
        ],
    },
    f32s: |x, o| map(x, o, f32::floor),
    f64s: |x, o| map(x, o, f64::floor),
    ints: None,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

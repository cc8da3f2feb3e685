//! The op `ceil`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "ceil",
    doc: Doc {
        summary: "The least integer not below each element.",
        details: "The result keeps the float dtype.",
        examples: &[
            example("ceil(x)", &[("x", "f32[2]", &[1.5, -1.5])], ("f32[2]", &[2.0, -1.0])),
            example("ceil(x)", &[("x", "f16[1]", &[2.25])], ("f16[1]", &[3.0])),
        ],
    },
    f32s: |x, o| map(x, o, f32::ceil),
    f64s: |x, o| map(x, o, f64::ceil),
    ints: None,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

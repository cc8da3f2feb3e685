//! The op `abs`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "abs",
    doc: Doc {
        summary: "The magnitude of each element.",
        details: "Integers wrap: the magnitude of the least is itself.",
        examples: &[
            example("abs(x)", &[("x", "f32[3]", &[-1.5, 0.0, 2.0])], ("f32[3]", &[1.5, 0.0, 2.0])),
            example("abs(x)", &[("x", "i32[2]", &[-3.0, 4.0])], ("i32[2]", &[3.0, 4.0])),
        ],
    },
    f32s: |x, o| map(x, o, f32::abs),
    f64s: |x, o| map(x, o, f64::abs),
    ints: Some(|x, unsigned| if unsigned { x } else { x.wrapping_abs() }),
    cost: Cost::ONE,
    partial: PartialRule::None,
};

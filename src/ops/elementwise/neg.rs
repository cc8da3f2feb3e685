//! The op `neg`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "neg",
    doc: Doc {
        summary: "The negative of each element.",
        details: "Integers wrap: the negative of the least is itself.",
        examples: &[
            example(
                "neg(x)",
                &[("x", "f32[3]", &[1.0, -2.0, 0.5])],
                ("f32[3]", &[-1.0, 2.0, -0.5]),
            ),
            example("neg(x)", &[("x", "i32[2]", &[3.0, -4.0])], ("i32[2]", &[-3.0, 4.0])),
        ],
    },
    f32s: |x, o| map(x, o, |x| -x),
    f64s: |x, o| map(x, o, |x| -x),
    ints: Some(|x, _| x.wrapping_neg()),
    cost: Cost::ONE,
    partial: PartialRule::Linear,
};

//! The op `relu`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "relu",
    doc: Doc {
        summary: "Each element, or 0 where it is negative.",
        details: "NaN stays NaN.",
        examples: &[
            example("relu(x)", &[("x", "f32[3]", &[-1.0, 0.0, 2.0])], ("f32[3]", &[0.0, 0.0, 2.0])),
            example("relu(x)", &[("x", "i32[2]", &[-7.0, 9.0])], ("i32[2]", &[0.0, 9.0])),
        ],
    },
    f32s: |x, o| map(x, o, |x| if x < 0.0 { 0.0 } else { x }),
    f64s: |x, o| map(x, o, |x| if x < 0.0 { 0.0 } else { x }),
    ints: Some(|x, unsigned| if unsigned { x } else { x.max(0) }),
    cost: Cost::ONE,
    partial: PartialRule::None,
};

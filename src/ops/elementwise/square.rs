//! The op `square`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "square",
    doc: Doc {
        summary: "Each element times itself.",
        details: "One multiplication, rounded once; integers wrap.",
        examples: &[
            example("square(x)", &[("x", "f32[2]", &[3.0, -0.5])], ("f32[2]", &[9.0, 0.25])),
            example("square(x)", &[("x", "i32[2]", &[-3.0, 5.0])], ("i32[2]", &[9.0, 25.0])),
        ],
    },
    f32s: |x, o| map(x, o, |x| x * x),
    f64s: |x, o| map(x, o, |x| x * x),
    ints: Some(|x, _| x.wrapping_mul(x)),
    cost: Cost::ONE,
    partial: PartialRule::None,
};

//! The op `round`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "round",
    doc: Doc {
        summary: "The nearest integer, a tie to the even one.",
        details: "The result keeps the float dtype; ties go to even as in PyTorch.",
        examples: &[
            example("round(x)", &[("x", "f32[3]", &[0.5, 1.5, 2.5])], ("f32[3]", &[0.0, 2.0, 2.0])),
            example("round(x)", &[("x", "f16[1]", &[2.75])], ("f16[1]", &[3.0])),
        ],
    },
    f32s: |x, o| map(x, o, f32::round_ties_even),
    f64s: |x, o| map(x, o, f64::round_ties_even),
    ints: None,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

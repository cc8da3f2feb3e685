//! The op `div`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "div",
    doc: Doc {
        summary: "The quotient of two floats: `a / b`.",
        details: "Broadcasts; correctly rounded; division by zero gives an infinity or NaN. \
                  Integer tensors have `floor_div`. Counted as a reciprocal and a product.",
        examples: &[
            example(
                "div(a, b)",
                &[("a", "f32[2]", &[1.0, 1.0]), ("b", "f32[2]", &[4.0, 0.0])],
                ("f32[2]", &[0.25, f64::INFINITY]),
            ),
            example(
                "div(a, b)",
                &[("a", "f16[1]", &[1.0]), ("b", "f16[1]", &[3.0])],
                ("f16[1]", &[0.333251953125]),
            ),
        ],
    },
    floats: Some((|a, b, o| zip(a, b, o, |x, y| x / y), |a, b, o| zip(a, b, o, |x, y| x / y))),
    ints: None,
    ordered: false,
    cost: Cost { arith: 1, sfu: 1 },
    partial: PartialRule::None,
};

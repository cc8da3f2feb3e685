//! The op `sigmoid`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "sigmoid",
    doc: Doc {
        summary: "1 / (1 + exp(-x)).",
        details: "Rounded once. Counted as it is composed: a negation, an exponential, an \
                  addition, a reciprocal.",
        examples: &[
            example(
                "sigmoid(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.5, 0.7310585786300049]),
            ),
            example(
                "sigmoid(x)",
                &[("x", "f32[2]", &[f64::NEG_INFINITY, f64::INFINITY])],
                ("f32[2]", &[0.0, 1.0]),
            ),
        ],
    },
    f32s: math::over::sigmoid,
    f64s: |x, o| map(x, o, |x| 1.0 / (1.0 + libm::exp(-x))),
    ints: None,
    cost: Cost { arith: 2, sfu: 2 },
    partial: PartialRule::None,
};

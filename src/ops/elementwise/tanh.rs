//! The op `tanh`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "tanh",
    doc: Doc {
        summary: "The hyperbolic tangent.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example(
                "tanh(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, 0.7615941559557649]),
            ),
            example(
                "tanh(x)",
                &[("x", "f32[2]", &[100.0, f64::NEG_INFINITY])],
                ("f32[2]", &[1.0, -1.0]),
            ),
        ],
    },
    f32s: math::over::tanh,
    f64s: |x, o| map(x, o, libm::tanh),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

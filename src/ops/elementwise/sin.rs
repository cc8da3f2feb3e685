//! The op `sin`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "sin",
    doc: Doc {
        summary: "The sine of an angle in radians.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example(
                "sin(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, 0.8414709848078965]),
            ),
            example("sin(x)", &[("x", "f32[1]", &[f64::INFINITY])], ("f32[1]", &[f64::NAN])),
        ],
    },
    f32s: math::over::sin,
    f64s: |x, o| map(x, o, libm::sin),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

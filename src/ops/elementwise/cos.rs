//! The op `cos`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "cos",
    doc: Doc {
        summary: "The cosine of an angle in radians.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example(
                "cos(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[1.0, 0.5403023058681398]),
            ),
            example("cos(x)", &[("x", "f32[1]", &[f64::INFINITY])], ("f32[1]", &[f64::NAN])),
        ],
    },
    f32s: math::over::cos,
    f64s: |x, o| map(x, o, libm::cos),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

//! The op `log`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "log",
    doc: Doc {
        summary: "The natural logarithm.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example(
                "log(x)",
                &[("x", "f32[2]", &[1.0, 2.0])],
                ("f32[2]", &[0.0, std::f64::consts::LN_2]),
            ),
            example(
                "log(x)",
                &[("x", "f32[2]", &[0.0, -1.0])],
                ("f32[2]", &[f64::NEG_INFINITY, f64::NAN]),
            ),
        ],
    },
    f32s: math::over::log,
    f64s: |x, o| map(x, o, libm::log),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

//! The op `log2`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "log2",
    doc: Doc {
        summary: "The logarithm to base 2.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example("log2(x)", &[("x", "f32[2]", &[8.0, 0.5])], ("f32[2]", &[3.0, -1.0])),
            example("log2(x)", &[("x", "f32[1]", &[0.0])], ("f32[1]", &[f64::NEG_INFINITY])),
        ],
    },
    f32s: math::over::log2,
    f64s: |x, o| map(x, o, libm::log2),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

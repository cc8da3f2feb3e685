//! The op `exp`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "exp",
    doc: Doc {
        summary: "e to the power of each element.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example(
                "exp(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[1.0, std::f64::consts::E]),
            ),
            example("exp(x)", &[("x", "f16[1]", &[1.0])], ("f16[1]", &[2.71875])),
        ],
    },
    f32s: math::over::exp,
    f64s: |x, o| map(x, o, libm::exp),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

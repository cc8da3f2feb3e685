//! The op `exp2`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "exp2",
    doc: Doc {
        summary: "2 to the power of each element.",
        details: "Computed through f64 and rounded once; counted as one special function.",
        examples: &[
            example("exp2(x)", &[("x", "f32[2]", &[3.0, -1.0])], ("f32[2]", &[8.0, 0.5])),
            example("exp2(x)", &[("x", "f32[1]", &[0.5])], ("f32[1]", &[std::f64::consts::SQRT_2])),
        ],
    },
    f32s: math::over::exp2,
    f64s: |x, o| map(x, o, libm::exp2),
    ints: None,
    cost: Cost::SFU,
    partial: PartialRule::None,
};

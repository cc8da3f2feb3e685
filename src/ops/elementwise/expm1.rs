//! The op `expm1`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "expm1",
    doc: Doc {
        summary: "e to the power of each element, minus 1.",
        details: "Exact near 0, where `exp(x) - 1` cancels. Counted as one special function and \
                  one addition.",
        examples: &[
            example(
                "expm1(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, 1.718281828459045]),
            ),
            example("expm1(x)", &[("x", "f32[1]", &[f64::NEG_INFINITY])], ("f32[1]", &[-1.0])),
        ],
    },
    f32s: math::over::expm1,
    f64s: |x, o| map(x, o, libm::expm1),
    ints: None,
    cost: Cost { arith: 1, sfu: 1 },
    partial: PartialRule::None,
};

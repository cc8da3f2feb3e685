//! The op `erf`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Unary {
    name: "erf",
    doc: Doc {
        summary: "The error function.",
        details: "Counted as the usual polynomial of degree 9 in `abs(x)` with one exponential.",
        examples: &[
            example(
                "erf(x)",
                &[("x", "f32[2]", &[0.0, 1.0])],
                ("f32[2]", &[0.0, 0.8427007929497149]),
            ),
            example(
                "erf(x)",
                &[("x", "f32[2]", &[f64::NEG_INFINITY, f64::INFINITY])],
                ("f32[2]", &[-1.0, 1.0]),
            ),
        ],
    },
    f32s: math::over::erf,
    f64s: |x, o| map(x, o, libm::erf),
    ints: None,
    cost: Cost { arith: 10, sfu: 1 },
    partial: PartialRule::None,
};

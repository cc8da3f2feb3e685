//! The op `pow`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "pow",
    doc: Doc {
        summary: "a to the power of b.",
        details: "Broadcasts; computed through f64 and rounded once. Counted as it is composed: \
                  a logarithm, a product, an exponential.",
        examples: &[
            example(
                "pow(a, b)",
                &[("a", "f32[2]", &[2.0, 4.0]), ("b", "f32[2]", &[3.0, 0.5])],
                ("f32[2]", &[8.0, 2.0]),
            ),
            example(
                "pow(a, b)",
                &[("a", "f32", &[10.0]), ("b", "f32[2]", &[-1.0, 2.0])],
                ("f32[2]", &[0.1, 100.0]),
            ),
        ],
    },
    floats: Some((math::pow, |a, b, o| zip(a, b, o, libm::pow))),
    ints: None,
    ordered: false,
    cost: Cost { arith: 1, sfu: 2 },
    partial: PartialRule::None,
};

//! The op `mul`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "mul",
    doc: Doc {
        summary: "The product of two tensors, element by element: `a * b`.",
        details: "Broadcasts; rounds once; integers wrap.",
        examples: &[
            example(
                "mul(a, b)",
                &[("a", "f32[2]", &[1.0, 2.0]), ("b", "f32[2]", &[10.0, 20.0])],
                ("f32[2]", &[10.0, 40.0]),
            ),
            example(
                "mul(a, b)",
                &[("a", "f32[2, 1]", &[1.0, 2.0]), ("b", "f32[3]", &[1.0, 2.0, 3.0])],
                ("f32[2, 3]", &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0]),
            ),
        ],
    },
    floats: Some((|a, b, o| zip(a, b, o, |x, y| x * y), |a, b, o| zip(a, b, o, |x, y| x * y))),
    ints: Some(|a, b, o| zip(a, b, o, |x: i64, y| x.wrapping_mul(y))),
    ordered: false,
    cost: Cost::ONE,
    partial: PartialRule::Multilinear,
};

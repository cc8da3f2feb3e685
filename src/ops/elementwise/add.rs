//! The op `add`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "add",
    doc: Doc {
        summary: "The sum of two tensors: `a + b`.",
        details: "Broadcasts; rounds once; integers wrap.",
        examples: &[
            example(
                "add(a, b)",
                &[("a", "f32[2]", &[1.0, 2.0]), ("b", "f32[2]", &[10.0, 20.0])],
                ("f32[2]", &[11.0, 22.0]),
            ),
            example(
                "add(a, b)",
                &[("a", "f16[1]", &[2048.0]), ("b", "f16[1]", &[1.0])],
                ("f16[1]", &[2048.0]),
            ),
        ],
    },
    floats: Some((|a, b, o| zip(a, b, o, |x, y| x + y), |a, b, o| zip(a, b, o, |x, y| x + y))),
    ints: Some(|a, b, o| zip(a, b, o, |x: i64, y| x.wrapping_add(y))),
    ordered: false,
    cost: Cost::ONE,
    partial: PartialRule::Linear,
};

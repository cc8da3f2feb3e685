//! The op `sub`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "sub",
    doc: Doc {
        summary: "The difference of two tensors: `a - b`.",
        details: "Broadcasts; rounds once; integers wrap.",
        examples: &[
            example(
                "sub(a, b)",
                &[("a", "f32[2]", &[1.0, 2.0]), ("b", "f32[2]", &[10.0, 20.0])],
                ("f32[2]", &[-9.0, -18.0]),
            ),
            example(
                "sub(a, b)",
                &[("a", "i32[2]", &[1.0, 2.0]), ("b", "i32", &[1.0])],
                ("i32[2]", &[0.0, 1.0]),
            ),
        ],
    },
    floats: Some((|a, b, o| zip(a, b, o, |x, y| x - y), |a, b, o| zip(a, b, o, |x, y| x - y))),
    ints: Some(|a, b, o| zip(a, b, o, |x: i64, y| x.wrapping_sub(y))),
    ordered: false,
    cost: Cost::ONE,
    partial: PartialRule::Linear,
};

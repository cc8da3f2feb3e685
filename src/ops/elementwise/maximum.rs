//! The op `maximum`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "maximum",
    doc: Doc {
        summary: "The larger of two elements.",
        details: "Broadcasts; NaN if either is NaN. `max` is the reduction.",
        examples: &[
            example(
                "maximum(a, b)",
                &[("a", "f32[2]", &[1.0, f64::NAN]), ("b", "f32[2]", &[2.0, 0.0])],
                ("f32[2]", &[2.0, f64::NAN]),
            ),
            example(
                "maximum(a, b)",
                &[("a", "i32[2]", &[1.0, 5.0]), ("b", "i32", &[3.0])],
                ("i32[2]", &[3.0, 5.0]),
            ),
        ],
    },
    floats: Some((
        |a, b, o| zip(a, b, o, |x: f32, y: f32| if y > x || y.is_nan() { y } else { x }),
        |a, b, o| zip(a, b, o, |x: f64, y: f64| if y > x || y.is_nan() { y } else { x }),
    )),
    ints: Some(|a, b, o| zip(a, b, o, |x: i64, y| x.max(y))),
    ordered: true,
    cost: Cost::ONE,
    partial: PartialRule::Monotone,
};

//! The op `min`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "min",
    doc: Doc {
        summary: "The smallest element along some axes, or of all.",
        details: "NaN if any is NaN. No elements have no smallest: the evaluation stops. \
                  `minimum` takes two tensors.",
        examples: &[
            example(
                "min(x, dim = 1)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                ("f32[2]", &[1.0, 3.0]),
            ),
            example("min(x)", &[("x", "i32[3]", &[2.0, -3.0, 4.0])], ("i32", &[-3.0])),
        ],
    },
    takes: Takes::Numbers,
    kind: Reduction::Min,
    f32s: Some(monoid!(f32::INFINITY, |a: f32, b: f32| if b < a || b.is_nan() { b } else { a })),
    f64s: Some(monoid!(f64::INFINITY, |a: f64, b: f64| if b < a || b.is_nan() { b } else { a })),
    ints: Some(monoid!(i64::MAX, |a: i64, b: i64| a.min(b))),
    mean: false,
    out: false,
    empty: false,
    abs: false,
    partial: PartialRule::Monotone,
};

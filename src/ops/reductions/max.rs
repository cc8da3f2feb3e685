//! The op `max`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "max",
    doc: Doc {
        summary: "The largest element along some axes, or of all.",
        details: "NaN if any is NaN. No elements have no largest: the evaluation stops. \
                  `maximum` takes two tensors.",
        examples: &[
            example(
                "max(x, dim = 1)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                ("f32[2]", &[2.0, 4.0]),
            ),
            example(
                "max(x, dim = 0, keepdim = true)",
                &[("x", "f32[2, 2]", &[1.0, f64::NAN, 3.0, 4.0])],
                ("f32[1, 2]", &[3.0, f64::NAN]),
            ),
        ],
    },
    takes: Takes::Numbers,
    kind: Reduction::Max,
    f32s: Some(monoid!(f32::NEG_INFINITY, |a: f32, b: f32| if b > a || b.is_nan() {
        b
    } else {
        a
    })),
    f64s: Some(monoid!(f64::NEG_INFINITY, |a: f64, b: f64| if b > a || b.is_nan() {
        b
    } else {
        a
    })),
    ints: Some(monoid!(i64::MIN, |a: i64, b: i64| a.max(b))),
    mean: false,
    out: false,
    empty: false,
    abs: false,
    partial: PartialRule::Monotone,
};

//! The op `abs_max`.

use crate::ops::support::order::{Monoid, block};
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "abs_max",
    doc: Doc {
        summary: "The largest magnitude along some axes, or of all.",
        details: "NaN if any is NaN; 0 for no elements; integers wrap as in `abs`. The scale of a \
                  quantizer. One operation an element: the magnitude is a modifier of the \
                  comparison.",
        examples: &[
            example(
                "abs_max(x, dim = 1)",
                &[("x", "f32[2, 2]", &[1.0, -2.0, -4.0, 3.0])],
                ("f32[2]", &[2.0, 4.0]),
            ),
            example(
                "abs_max(x, dim = [0, 1], keepdim = true)",
                &[("x", "f32[2, 2]", &[1.0, -2.0, -4.0, 3.0])],
                ("f32[1, 1]", &[4.0]),
            ),
        ],
    },
    takes: Takes::Numbers,
    kind: Reduction::Max,
    f32s: Some(Monoid {
        identity: 0.0,
        join: |a: f32, b: f32| if b > a || b.is_nan() { b } else { a },
        block: |x| block(x, 0.0, |a: f32, b: f32| if b > a || b.is_nan() { b } else { a }),
    }),
    f64s: Some(Monoid {
        identity: 0.0,
        join: |a: f64, b: f64| if b > a || b.is_nan() { b } else { a },
        block: |x| block(x, 0.0, |a: f64, b: f64| if b > a || b.is_nan() { b } else { a }),
    }),
    // in the order of the dtype; magnitudes wrap as those of `abs` do
    ints: Some(Monoid {
        identity: i64::MIN,
        join: |a: i64, b: i64| a.max(b),
        block: |x| block(x, i64::MIN, |a: i64, b: i64| a.max(b)),
    }),
    mean: false,
    out: false,
    empty: true,
    abs: true,
    partial: PartialRule::None,
};

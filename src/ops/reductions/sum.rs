//! The op `sum`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "sum",
    doc: Doc {
        summary: "The sum over some axes, or over all.",
        details: "Accumulates in f32 (f64 for f64) and rounds once to `out`, or to the dtype of \
                  x; integers wrap. The order is fixed by index: lanes of 16 in blocks of 512, \
                  then trees.",
        examples: &[
            example(
                "sum(x, dim = 1)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                ("f32[2]", &[3.0, 7.0]),
            ),
            example(
                "sum(x, dim = -1, keepdim = true, out = f32)",
                &[("x", "f16[1, 2]", &[2048.0, 1.0])],
                ("f32[1, 1]", &[2049.0]),
            ),
        ],
    },
    takes: Takes::Numbers,
    kind: Reduction::Sum,
    f32s: Some(monoid!(0.0, |a: f32, b: f32| a + b)),
    f64s: Some(monoid!(0.0, |a: f64, b: f64| a + b)),
    ints: Some(monoid!(0, |a: i64, b: i64| a.wrapping_add(b))),
    mean: false,
    out: true,
    empty: true,
    abs: false,
    partial: PartialRule::Linear,
};

//! The op `prod`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "prod",
    doc: Doc {
        summary: "The product over some axes, or over all.",
        details: "Accumulates in f32 (f64 for f64) and rounds once to `out`, or to the dtype of \
                  x; integers wrap. The order is fixed by index: lanes of 16 in blocks of 512, \
                  then trees.",
        examples: &[
            example(
                "prod(x, dim = 1)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                ("f32[2]", &[2.0, 12.0]),
            ),
            example("prod(x)", &[("x", "i32[3]", &[2.0, -3.0, 4.0])], ("i32", &[-24.0])),
        ],
    },
    takes: Takes::Numbers,
    kind: Reduction::Prod,
    f32s: Some(monoid!(1.0, |a: f32, b: f32| a * b)),
    f64s: Some(monoid!(1.0, |a: f64, b: f64| a * b)),
    ints: Some(monoid!(1, |a: i64, b: i64| a.wrapping_mul(b))),
    mean: false,
    out: true,
    empty: true,
    abs: false,
    partial: PartialRule::None,
};

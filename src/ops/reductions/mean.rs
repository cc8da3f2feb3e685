//! The op `mean`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "mean",
    doc: Doc {
        summary: "The mean over some axes, or over all.",
        details: "The sum in f32 (f64 for f64), divided once by the number of elements, rounded \
                  once to `out`, or to the dtype of x. The order is fixed by index: lanes of 16 \
                  in blocks of 512, then trees. A sum of N elements and the scaling count as N \
                  operations.",
        examples: &[
            example(
                "mean(x, dim = 0)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                ("f32[2]", &[2.0, 3.0]),
            ),
            example("mean(x)", &[("x", "bf16[4]", &[1.0, 2.0, 3.0, 5.0])], ("bf16", &[2.75])),
        ],
    },
    takes: Takes::Floats,
    kind: Reduction::Sum,
    f32s: Some(monoid!(0.0, |a: f32, b: f32| a + b)),
    f64s: Some(monoid!(0.0, |a: f64, b: f64| a + b)),
    ints: None,
    mean: true,
    out: true,
    empty: true,
    abs: false,
    partial: PartialRule::Linear,
};

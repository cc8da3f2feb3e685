//! The op `all`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "all",
    doc: Doc {
        summary: "Whether every element along some axes is true.",
        details: "Bools only; true for no elements. A partial over a split axis is of kind \
                  `min`.",
        examples: &[
            example(
                "all(x, dim = 1)",
                &[("x", "bool[2, 2]", &[0.0, 1.0, 1.0, 1.0])],
                ("bool[2]", &[0.0, 1.0]),
            ),
            example("all(x)", &[("x", "bool[2]", &[1.0, 1.0])], ("bool", &[1.0])),
        ],
    },
    takes: Takes::Bools,
    kind: Reduction::Min,
    f32s: None,
    f64s: None,
    ints: Some(monoid!(1, |a: i64, b: i64| a & b)),
    mean: false,
    out: false,
    empty: true,
    abs: false,
    partial: PartialRule::None,
};

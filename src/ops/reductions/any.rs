//! The op `any`.

use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Reduce {
    name: "any",
    doc: Doc {
        summary: "Whether any element along some axes is true.",
        details: "Bools only; false for no elements. A partial over a split axis is of kind \
                  `max`.",
        examples: &[
            example(
                "any(x, dim = 1)",
                &[("x", "bool[2, 2]", &[0.0, 1.0, 0.0, 0.0])],
                ("bool[2]", &[1.0, 0.0]),
            ),
            example("any(x)", &[("x", "bool[2]", &[0.0, 0.0])], ("bool", &[0.0])),
        ],
    },
    takes: Takes::Bools,
    kind: Reduction::Max,
    f32s: None,
    f64s: None,
    ints: Some(monoid!(0, |a: i64, b: i64| a | b)),
    mean: false,
    out: false,
    empty: true,
    abs: false,
    partial: PartialRule::None,
};

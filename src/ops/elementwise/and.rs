//! The op `and`.

use crate::ops::support::compare::Logic;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Logic {
    name: "and",
    doc: Doc {
        summary: "Whether both are true: `a && b`.",
        details: "Broadcasts; bools only. Both operands are evaluated.",
        examples: &[
            example(
                "and(a, b)",
                &[("a", "bool[4]", &[0.0, 0.0, 1.0, 1.0]), ("b", "bool[4]", &[0.0, 1.0, 0.0, 1.0])],
                ("bool[4]", &[0.0, 0.0, 0.0, 1.0]),
            ),
            example(
                "a && b",
                &[("a", "bool[2, 1]", &[0.0, 1.0]), ("b", "bool[2]", &[0.0, 1.0])],
                ("bool[2, 2]", &[0.0, 0.0, 0.0, 1.0]),
            ),
        ],
    },
    bools: |a, b, o| zip(a, b, o, |x, y| x & y),
};

//! The op `floor_div`.

use super::guarded::Guarded;
use crate::ops::support::prelude::*;
use crate::types::dim::floor_div;

pub static OP: &dyn Op = &Guarded {
    name: "floor_div",
    doc: Doc {
        summary: "The quotient of two integers, rounded towards minus infinity.",
        details: "Broadcasts. Division by zero stops the evaluation and names its index.",
        examples: &[
            example(
                "floor_div(a, b)",
                &[("a", "i32[3]", &[7.0, -7.0, 6.0]), ("b", "i32", &[2.0])],
                ("i32[3]", &[3.0, -4.0, 3.0]),
            ),
            example(
                "floor_div(a, b)",
                &[("a", "i64[2]", &[9.0, 10.0]), ("b", "i64[2]", &[3.0, -3.0])],
                ("i64[2]", &[3.0, -4.0]),
            ),
        ],
    },
    signed: |a, b, o| zip(a, b, o, |x, y| if y == -1 { x.wrapping_neg() } else { floor_div(x, y) }),
    unsigned: |a, b, o| zip(a, b, o, |x, y| (x as u64).checked_div(y as u64).unwrap_or(0) as i64),
    takes: |n, _| n != 0,
    refusal: |_, b| format!(": division by zero, `b` is {b}"),
};

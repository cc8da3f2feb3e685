//! The op `rem`.

use super::guarded::Guarded;
use crate::ops::support::prelude::*;
use crate::types::dim::floor_div;

pub static OP: &dyn Op = &Guarded {
    name: "rem",
    doc: Doc {
        summary: "The remainder of `floor_div`, with the sign of the divisor: `a % b`.",
        details: "Broadcasts; `a == floor_div(a, b) * b + rem(a, b)`, as in Python and PyTorch. \
                  Division by zero stops the evaluation and names its index.",
        examples: &[
            example(
                "rem(a, b)",
                &[("a", "i32[3]", &[7.0, -7.0, 6.0]), ("b", "i32", &[2.0])],
                ("i32[3]", &[1.0, 1.0, 0.0]),
            ),
            example(
                "rem(a, b)",
                &[("a", "i64[2]", &[9.0, 10.0]), ("b", "i64[2]", &[4.0, -3.0])],
                ("i64[2]", &[1.0, -2.0]),
            ),
        ],
    },
    signed: |a, b, o| {
        zip(
            a,
            b,
            o,
            |x, y| if y == -1 { 0 } else { x.wrapping_sub(floor_div(x, y).wrapping_mul(y)) },
        )
    },
    unsigned: |a, b, o| zip(a, b, o, |x, y| (x as u64).checked_rem(y as u64).unwrap_or(0) as i64),
    takes: |n, _| n != 0,
    refusal: |_, b| format!(": division by zero, `b` is {b}"),
};

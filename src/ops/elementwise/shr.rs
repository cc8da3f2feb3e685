//! The op `shr`.

use super::guarded::{Guarded, amount, beyond};
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Guarded {
    name: "shr",
    doc: Doc {
        summary: "The bits of `a` moved down by `b`; the sign comes in, or zeros.",
        details: "Broadcasts; integers of one dtype, as in PyTorch's `bitwise_right_shift`: \
                  arithmetic on signed integers, so `shr(a, b)` is `floor_div(a, 2^b)`; on \
                  unsigned ones zeros come in. An amount below 0, or not below the bits of the \
                  dtype, stops the evaluation and is named with its index. One integer operation \
                  an element.",
        examples: &[
            example(
                "shr(a, 1)",
                &[("a", "i32[3]", &[7.0, -7.0, -1.0])],
                ("i32[3]", &[3.0, -4.0, -1.0]),
            ),
            example(
                "bit_and(shr(a, b), 15)",
                &[("a", "u8[1]", &[161.0]), ("b", "u8[2]", &[0.0, 4.0])],
                ("u8[2]", &[1.0, 10.0]),
            ),
        ],
    },
    signed: |a, b, o| zip(a, b, o, |x, n| x.wrapping_shr(n as u32)),
    unsigned: |a, b, o| zip(a, b, o, |x, n| (x as u64).wrapping_shr(n as u32) as i64),
    takes: amount,
    refusal: beyond,
};

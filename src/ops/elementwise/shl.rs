//! The op `shl`.

use super::guarded::{Guarded, amount, beyond};
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Guarded {
    name: "shl",
    doc: Doc {
        summary: "The bits of `a` moved up by `b`; zeros come in.",
        details: "Broadcasts; integers of one dtype, as in PyTorch's `bitwise_left_shift`: bits \
                  that leave are lost, so `shl(a, b)` is `a` times 2^b, wrapped. An amount below \
                  0, or not below the bits of the dtype, stops the evaluation and is named with \
                  its index. One integer operation an element.",
        examples: &[
            example(
                "shl(a, 1)",
                &[("a", "i8[3]", &[3.0, -3.0, 64.0])],
                ("i8[3]", &[6.0, -6.0, -128.0]),
            ),
            example(
                "shl(a, b)",
                &[("a", "u32[2]", &[1.0, 3.0]), ("b", "u32[2]", &[31.0, 4.0])],
                ("u32[2]", &[2147483648.0, 48.0]),
            ),
        ],
    },
    signed: |a, b, o| zip(a, b, o, |x, n| x.wrapping_shl(n as u32)),
    unsigned: |a, b, o| zip(a, b, o, |x, n| x.wrapping_shl(n as u32)),
    takes: amount,
    refusal: beyond,
};

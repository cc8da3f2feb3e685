//! The op `bit_or`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "bit_or",
    doc: Doc {
        summary: "The bits that either has.",
        details: "Broadcasts; integers of one dtype, whose bits are those of two's complement, as \
                  in PyTorch's `bitwise_or`. Bools have `or`. One integer operation an \
                  element.",
        examples: &[
            example(
                "bit_or(a, b)",
                &[("a", "u8[3]", &[12.0, 255.0, 7.0]), ("b", "u8", &[10.0])],
                ("u8[3]", &[14.0, 255.0, 15.0]),
            ),
            example(
                "bit_or(a, b)",
                &[("a", "i32[2]", &[-1.0, -8.0]), ("b", "i32[2]", &[6.0, 12.0])],
                ("i32[2]", &[-1.0, -4.0]),
            ),
        ],
    },
    floats: None,
    ints: Some(|a, b, o| zip(a, b, o, |x, y| x | y)),
    ordered: false,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

//! The op `bit_xor`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Binary {
    name: "bit_xor",
    doc: Doc {
        summary: "The bits that exactly one of the two has.",
        details: "Broadcasts; integers of one dtype, whose bits are those of two's complement, as \
                  in PyTorch's `bitwise_xor`. Bools have `!=`. One integer operation an \
                  element.",
        examples: &[
            example(
                "bit_xor(a, b)",
                &[("a", "u8[3]", &[12.0, 255.0, 7.0]), ("b", "u8", &[10.0])],
                ("u8[3]", &[6.0, 245.0, 13.0]),
            ),
            example(
                "bit_xor(a, b)",
                &[("a", "i32[2]", &[-1.0, -8.0]), ("b", "i32[2]", &[6.0, 12.0])],
                ("i32[2]", &[-7.0, -12.0]),
            ),
        ],
    },
    floats: None,
    ints: Some(|a, b, o| zip(a, b, o, |x, y| x ^ y)),
    ordered: false,
    cost: Cost::ONE,
    partial: PartialRule::None,
};

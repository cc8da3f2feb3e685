//! The op `ne`.

use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Compare {
    name: "ne",
    doc: Doc {
        summary: "Whether a and b are different: `a != b`.",
        details: "Broadcasts; a comparison with NaN is true.",
        examples: &[
            example(
                "ne(a, b)",
                &[("a", "f32[3]", &[1.0, 2.0, f64::NAN]), ("b", "f32", &[2.0])],
                ("bool[3]", &[1.0, 0.0, 1.0]),
            ),
            example(
                "ne(a, b)",
                &[("a", "i32[2]", &[1.0, 2.0]), ("b", "i32[2]", &[2.0, 2.0])],
                ("bool[2]", &[1.0, 0.0]),
            ),
        ],
    },
    f32s: |a, b, o| zip(a, b, o, |x, y| (x != y) as u8),
    f64s: |a, b, o| zip(a, b, o, |x, y| (x != y) as u8),
    ints: |a, b, o| zip(a, b, o, |x, y| (x != y) as u8),
    bools: true,
};

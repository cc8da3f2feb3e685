//! The op `empty`.

use super::typed::Typed;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Typed {
    name: "empty",
    doc: Doc {
        summary: "A value that is yet to be written.",
        details: "Costs nothing. Window writes fill it; reading an element that nobody wrote is \
                  an error.",
        examples: &[
            example(
                "let mut y = empty(f32[2]); y[0..1] = x; y[1..2] = x; y",
                &[("x", "f32[1]", &[3.0])],
                ("f32[2]", &[3.0, 3.0]),
            ),
            example(
                "let mut y = empty(f32[2, 2]); for i in 0..2 { y[i] = x * 2.0; } y",
                &[("x", "f32[2]", &[1.0, 2.0])],
                ("f32[2, 2]", &[2.0, 4.0, 2.0, 4.0]),
            ),
        ],
    },
    role: Role::Empty,
    value: 0.0,
};

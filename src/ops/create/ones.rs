//! The op `ones`.

use super::typed::Typed;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Typed {
    name: "ones",
    doc: Doc {
        summary: "One everywhere.",
        details: "A creation takes the placement of its use and counts no flop.",
        examples: &[
            example("ones(f32[2])", &[], ("f32[2]", &[1.0, 1.0])),
            example("ones(bool[1])", &[], ("bool[1]", &[1.0])),
        ],
    },
    role: Role::Create,
    value: 1.0,
};

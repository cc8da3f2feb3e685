//! The op `zeros`.

use super::typed::Typed;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Typed {
    name: "zeros",
    doc: Doc {
        summary: "Zero everywhere.",
        details: "A creation takes the placement of its use and counts no flop. f8e8m0 has no \
                  zero: there it is NaN.",
        examples: &[
            example("zeros(f32[2])", &[], ("f32[2]", &[0.0, 0.0])),
            example("zeros(i32)", &[], ("i32", &[0.0])),
        ],
    },
    role: Role::Create,
    value: 0.0,
};

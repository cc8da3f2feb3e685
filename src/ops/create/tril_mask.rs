//! The op `tril_mask`.

use super::mask::Mask;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Mask {
    name: "tril_mask",
    doc: Doc {
        summary: "True on and below the diagonal: where the column is not after the row.",
        details: "The first row is aligned with the first column. One integer operation an \
                  element.",
        examples: &[
            example("tril_mask([2, 2])", &[], ("bool[2, 2]", &[1.0, 0.0, 1.0, 1.0])),
            example("tril_mask([2, 3])", &[], ("bool[2, 3]", &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0])),
        ],
    },
    ends: false,
};

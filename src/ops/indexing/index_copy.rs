//! The op `index_copy`.

use super::through::Write;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Write {
    name: "index_copy",
    doc: Doc {
        summary: "z with slices replaced at indices of an axis.",
        details: "As in PyTorch: slice i of `src` along `dim` takes the place of slice \
                  `idx[i]` of z. Where an index stands twice the last one stays, as if \
                  written in index order. An index outside the axis stops the evaluation \
                  and is named. The axis `dim` of `src` cannot be split over a mesh. Only \
                  what is replaced is written where the old z is not used later; no flop.",
        examples: &[
            example(
                "index_copy(z, i, s, dim = 0)",
                &[
                    ("z", "f32[2]", &[1.0, 2.0]),
                    ("i", "i64[3]", &[0.0, 0.0, 1.0]),
                    ("s", "f32[3]", &[10.0, 20.0, 30.0]),
                ],
                ("f32[2]", &[20.0, 30.0]),
            ),
            example(
                "index_copy(z, i, s, dim = 1)",
                &[
                    ("z", "f32[1, 2]", &[0.0, 0.0]),
                    ("i", "i32[2]", &[1.0, 1.0]),
                    ("s", "f32[1, 2]", &[5.0, 6.0]),
                ],
                ("f32[1, 2]", &[0.0, 6.0]),
            ),
        ],
    },
    slices: true,
    add: false,
};

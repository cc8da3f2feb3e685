//! The op `scatter`.

use super::through::Write;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Write {
    name: "scatter",
    doc: Doc {
        summary: "z with elements replaced along an axis, an index for each.",
        details: "As in PyTorch: `z[idx[i][j]][j] = src[i][j]` for `dim = 0`. Where two \
                  meet, the last in row-major order of `idx` stays; PyTorch leaves that \
                  open. `idx` may be shorter than `src`, and than z in the other axes. \
                  An index outside the axis stops the evaluation and is named. The axis \
                  `dim` of `src` cannot be split over a mesh. Only what is replaced is \
                  written where the old z is not used later; no flop.",
        examples: &[
            example(
                "scatter(z, i, s, dim = 0)",
                &[
                    ("z", "f32[2]", &[1.0, 2.0]),
                    ("i", "i64[3]", &[0.0, 0.0, 1.0]),
                    ("s", "f32[3]", &[10.0, 20.0, 30.0]),
                ],
                ("f32[2]", &[20.0, 30.0]),
            ),
            example(
                "scatter(z, i, s, dim = 1)",
                &[
                    ("z", "f32[1, 2]", &[0.0, 0.0]),
                    ("i", "i64[1, 1]", &[1.0]),
                    ("s", "f32[1, 1]", &[5.0]),
                ],
                ("f32[1, 2]", &[0.0, 5.0]),
            ),
        ],
    },
    slices: false,
    add: false,
};

//! The op `scatter_add`.

use super::through::Write;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Write {
    name: "scatter_add",
    doc: Doc {
        summary: "z with elements added along an axis, an index for each.",
        details: "As in PyTorch: `z[idx[i][j]][j] += src[i][j]` for `dim = 0`, in \
                  row-major order, accumulated in f32 (f64 for f64) and rounded once; \
                  integers wrap. An index outside the axis stops the evaluation and is \
                  named. The axis `dim` of `src` cannot be split over a mesh. One \
                  addition an element of `idx`.",
        examples: &[
            example(
                "scatter_add(z, i, s, dim = 0)",
                &[
                    ("z", "f32[2]", &[1.0, 2.0]),
                    ("i", "i64[3]", &[0.0, 0.0, 1.0]),
                    ("s", "f32[3]", &[10.0, 20.0, 30.0]),
                ],
                ("f32[2]", &[31.0, 32.0]),
            ),
            example(
                "scatter_add(z, i, s, dim = 1)",
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
    add: true,
};

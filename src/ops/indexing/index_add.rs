//! The op `index_add`.

use super::through::Write;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Write {
    name: "index_add",
    doc: Doc {
        summary: "z with slices added at indices of an axis.",
        details: "As in PyTorch: slice i of `src` along `dim` is added to slice \
                  `idx[i]` of z, in index order, accumulated in f32 (f64 for f64) and \
                  rounded once; integers wrap. An index outside the axis stops the \
                  evaluation and is named. The axis `dim` of `src` cannot be split over \
                  a mesh. One addition an element of `src`.",
        examples: &[
            example(
                "index_add(z, i, s, dim = 0)",
                &[
                    ("z", "f32[2]", &[1.0, 2.0]),
                    ("i", "i64[3]", &[0.0, 0.0, 1.0]),
                    ("s", "f32[3]", &[10.0, 20.0, 30.0]),
                ],
                ("f32[2]", &[31.0, 32.0]),
            ),
            example(
                "index_add(z, i, s, dim = 1)",
                &[
                    ("z", "f32[1, 2]", &[0.0, 0.0]),
                    ("i", "i32[2]", &[1.0, 1.0]),
                    ("s", "f32[1, 2]", &[5.0, 6.0]),
                ],
                ("f32[1, 2]", &[0.0, 11.0]),
            ),
        ],
    },
    slices: true,
    add: true,
};

//! The op `argmax`.

use super::arg::Arg;
use crate::ops::support::prelude::*;

pub static OP: &dyn Op = &Arg {
    name: "argmax",
    doc: Doc {
        summary: "The index of the largest element along an axis, or of all.",
        details: "The first of equal elements; the first NaN where there is one, as in PyTorch. \
                  i64 unless `dtype = i32`. Without `dim` the index counts all elements in \
                  row-major order. An axis split over a mesh is refused.",
        examples: &[
            example(
                "argmax(x, dim = -1)",
                &[("x", "f32[2, 2]", &[1.0, 2.0, 4.0, 3.0])],
                ("i64[2]", &[1.0, 0.0]),
            ),
            example(
                "argmax(x, dim = 0, dtype = i32)",
                &[("x", "f32[3]", &[2.0, 5.0, 5.0])],
                ("i32", &[1.0]),
            ),
        ],
    },
    max: true,
};

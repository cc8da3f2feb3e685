//! The op `index_copy`.

use super::through::{check_slices, put_at, slice_targets, slices};
use crate::ops::support::prelude::*;

struct IndexCopy;

pub static OP: &dyn Op = &IndexCopy;

impl Op for IndexCopy {
    fn name(&self) -> &'static str {
        "index_copy"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
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
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("z"),
                Param::tensor("idx"),
                Param::tensor("src"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(0)),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check_slices("index_copy", call)?;
        let (z, src) = (call.input(0)?, call.input(2)?);
        let mut out = TensorTy::new(z.dtype, z.shape.clone());
        if z.range == src.range {
            out.range = z.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        slices("index_copy", call, outs, true)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let at = slice_targets("index_copy", cx)?;
        Ok(vec![put_at(cx.input(0)?, cx.input(2)?, &at)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

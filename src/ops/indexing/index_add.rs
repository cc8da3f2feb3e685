//! The op `index_add`.

use super::through::{check_slices, slice_targets, slices};
use crate::ops::support::gather::add_at;
use crate::ops::support::prelude::*;

struct IndexAdd;

pub static OP: &dyn Op = &IndexAdd;

impl Op for IndexAdd {
    fn name(&self) -> &'static str {
        "index_add"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
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
        check::takes("index_add", call, 0, "z", Takes::Numbers)?;
        check_slices("index_add", call)?;
        let z = call.input(0)?;
        Ok(vec![TensorTy::new(z.dtype, z.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        slices("index_add", call, outs, false)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |z| Cost::ONE.work(z.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let at = slice_targets("index_add", cx)?;
        Ok(vec![add_at(cx.input(0)?, cx.input(2)?, cx.out(0)?.dtype, |i| at[i])])
    }

    fn in_place(&self) -> bool {
        true
    }
}

//! The op `scatter_add`.

use super::through::{axis_in, check_indices, check_within, elements, targets};
use crate::ops::support::gather::add_at;
use crate::ops::support::prelude::*;

struct ScatterAdd;

pub static OP: &dyn Op = &ScatterAdd;

impl Op for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
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
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("z"),
                Param::tensor("idx"),
                Param::tensor("src"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("scatter_add", call, 0, "z", Takes::Numbers)?;
        check::same_dtype("scatter_add", call, (0, "z"), (2, "src"))?;
        let d = check_indices("scatter_add", call, 1, d_of(call)?)?;
        let z = call.input(0)?;
        check_within("scatter_add", call, (1, "idx"), (0, "z"), Some(d))?;
        check_within("scatter_add", call, (1, "idx"), (2, "src"), None)?;
        Ok(vec![TensorTy::new(z.dtype, z.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        elements(call, outs, d_of(call).unwrap_or(0), false)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |z| Cost::ONE.work(z.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (z, idx, src) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
        let at = targets("scatter_add", z.shape(), idx, axis_in(cx, z))?;
        let src = data::block(src, &vec![0; src.rank()], idx.shape())?;
        Ok(vec![add_at(z, &src, cx.out(0)?.dtype, |i| at[i])])
    }

    fn in_place(&self) -> bool {
        true
    }
}

fn d_of(call: &Call) -> Result<usize, OpError> {
    check::axis("scatter_add", call, 0, "dim")
}

//! The op `scatter`.

use super::through::{axis_in, check_indices, check_within, elements, put_at, targets};
use crate::ops::support::prelude::*;

struct Scatter;

pub static OP: &dyn Op = &Scatter;

impl Op for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
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
        check::same_dtype("scatter", call, (0, "z"), (2, "src"))?;
        let d = check_indices("scatter", call, 1, d_of(call)?)?;
        let (z, src) = (call.input(0)?, call.input(2)?);
        check_within("scatter", call, (1, "idx"), (0, "z"), Some(d))?;
        check_within("scatter", call, (1, "idx"), (2, "src"), None)?;
        let mut out = TensorTy::new(z.dtype, z.shape.clone());
        if z.range == src.range {
            out.range = z.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        elements(call, outs, d_of(call).unwrap_or(0), true)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (z, idx, src) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
        let at = targets("scatter", z.shape(), idx, axis_in(cx, z))?;
        let src = data::block(src, &vec![0; src.rank()], idx.shape())?;
        Ok(vec![put_at(z, &src, &at)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

fn d_of(call: &Call) -> Result<usize, OpError> {
    check::axis("scatter", call, 0, "dim")
}

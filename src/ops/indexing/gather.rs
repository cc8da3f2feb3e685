//! The op `gather`.

use super::through::{check_indices, check_within, targets, through};
use crate::ops::support::prelude::*;

struct Gather;

pub static OP: &dyn Op = &Gather;

impl Op for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Elements along an axis, an index for each element of the result.",
                details: "As in PyTorch: `out[i][j] = x[idx[i][j]][j]` for `dim = 0`. `idx` has \
                          the rank of x, and its other extents are at most those of x. An index \
                          outside the axis stops the evaluation and is named. A copy; no flop.",
                examples: &[
                    example(
                        "gather(x, i, dim = 1)",
                        &[
                            ("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                            ("i", "i64[2, 1]", &[1.0, 0.0]),
                        ],
                        ("f32[2, 1]", &[2.0, 3.0]),
                    ),
                    example(
                        "gather(x, i, dim = 0)",
                        &[
                            ("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                            ("i", "i64[1, 2]", &[1.0, 0.0]),
                        ],
                        ("f32[1, 2]", &[3.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::tensor("idx"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Multilinear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check_indices("gather", call)?;
        let (x, idx) = (call.input(0)?, call.input(1)?);
        check_within("gather", call, (1, "idx"), (0, "x"), Some(d))?;
        Ok(vec![check::moved(x, idx.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let d = d_of(call).unwrap_or(0);
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![through(x, &out.shape, d), Access::direct(0..out.rank())],
            writes: vec![Access::direct(0..out.rank())],
            exact: false,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, idx, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        let d =
            check::axes_of(cx.attrs, "dim", x.rank()).and_then(|d| d.first().copied()).unwrap_or(0);
        let at = targets("gather", x.shape(), idx, d)?;
        Ok(vec![data::pick(x, out.shape.clone(), &at)?])
    }
}

fn d_of(call: &Call) -> Result<usize, OpError> {
    check::axis("gather", call, 0, "dim")
}

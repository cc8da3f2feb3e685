//! The op `embedding`.

use crate::ops::support::gather::{positions, take_axis};
use crate::ops::support::prelude::*;

struct Embedding;

pub static OP: &dyn Op = &Embedding;

impl Op for Embedding {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Rows of a table, chosen by integers.",
                details: "The shape of `ids`, followed by the width of the table. An id outside \
                          the table stops the evaluation and is named. A copy; no flop.",
                examples: &[
                    example(
                        "embedding(ids, table)",
                        &[
                            ("ids", "i32[2]", &[1.0, 0.0]),
                            ("table", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                        ],
                        ("f32[2, 2]", &[3.0, 4.0, 1.0, 2.0]),
                    ),
                    example(
                        "embedding(ids, table)",
                        &[("ids", "i64[1, 1]", &[1.0]), ("table", "f16[2, 1]", &[1.0, 2.0])],
                        ("f16[1, 1, 1]", &[2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("ids"), Param::tensor("table")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("embedding", call, 0, "ids", Takes::Ints)?;
        check::rank("embedding", call, 1, "table", 2)?;
        let (ids, table) = (call.input(0)?, call.input(1)?);
        let mut shape = ids.shape.clone();
        shape.extend(table.shape.last().cloned());
        Ok(vec![check::moved(table, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(ids), Some(table), Some(out)) =
            (call.inputs.first(), call.inputs.get(1), outs.first())
        else {
            return access::create(outs);
        };
        let rows = table.shape.first().cloned().unwrap_or_default();
        let read = Access {
            axes: vec![
                access::some(&rows, &Expr::product(&ids.shape)),
                AxisAccess::Dims(vec![ids.rank()]),
            ],
        };
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![Access::direct(0..ids.rank()), read],
            writes: vec![Access::direct(0..out.rank())],
            exact: false,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (ids, table) = (cx.input(0)?, cx.input(1)?);
        let rows = table.shape().first().copied().unwrap_or(0);
        let at = positions("embedding", ids, rows)?;
        Ok(vec![take_axis(table, 0, &at, cx.out(0)?.shape.clone())?])
    }
}

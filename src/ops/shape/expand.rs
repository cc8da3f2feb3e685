//! The op `expand`.

use crate::ops::support::prelude::*;
use crate::ops::support::walk::broadcast_strides;

struct Expand;

pub static OP: &dyn Op = &Expand;

impl Op for Expand {
    fn name(&self) -> &'static str {
        "expand"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Axes of extent 1 repeated to another shape.",
                details: "The shapes align at the last axis, as elementwise ops broadcast. A \
                          view: it moves nothing and counts nothing.",
                examples: &[
                    example(
                        "expand(x, [2, 3])",
                        &[("x", "f32[2, 1]", &[1.0, 2.0])],
                        ("f32[2, 3]", &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
                    ),
                    example(
                        "expand(x, [2, 2])",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2, 2]", &[1.0, 2.0, 1.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("shape", ParamKind::Shape)] }
    }

    fn role(&self) -> Role {
        Role::View
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let shape = call.attrs.shape("shape").ok_or_else(|| check::missing("expand", "shape"))?;
        let x = call.input(0)?;
        let Some(skip) = shape.len().checked_sub(x.rank()) else {
            return Err(OpError::new(
                Code::RankMismatch,
                format!(
                    "`expand` of {} to {}, which has fewer axes",
                    check::show(call, 0),
                    check::show_dims(call, shape)
                ),
            )
            .at("shape", "too few extents"));
        };
        for (e, to) in x.shape.iter().zip(shape.iter().skip(skip)) {
            if !e.is_one() {
                check::equal(
                    "expand",
                    call,
                    ("an extent of `x`", e),
                    ("that of `shape`", to),
                    "only axes of extent 1 are repeated",
                )
                .map_err(|e| check::with_types(e, call, &[(0, "x")]))?;
            }
        }
        Ok(vec![check::moved(x, shape.to_vec())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let strides = broadcast_strides(x.shape(), &out.shape);
        Ok(vec![data::restride(x, out.shape.clone(), &strides, 0)?])
    }
}

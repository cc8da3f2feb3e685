//! The op `full_like`.

use super::full::{check_value, filled};
use crate::ops::support::prelude::*;

struct FullLike;

pub static OP: &dyn Op = &FullLike;

impl Op for FullLike {
    fn name(&self) -> &'static str {
        "full_like"
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "One value everywhere, in the dtype and shape of x.",
                details: "No element of x is read. The value is rounded once.",
                examples: &[
                    example(
                        "full_like(x, 7)",
                        &[("x", "i32[2]", &[1.0, 2.0])],
                        ("i32[2]", &[7.0, 7.0]),
                    ),
                    example(
                        "full_like(x, -inf)",
                        &[("x", "f16[1]", &[1.0])],
                        ("f16[1]", &[f64::NEG_INFINITY]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("value", ParamKind::Number)] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        check_value("full_like", call, "value", x.dtype)?;
        Ok(vec![TensorTy::new(x.dtype, x.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut d = access::create(outs);
        d.reads = call.inputs.iter().map(|t| access::untouched(t.rank())).collect();
        d
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![filled(cx)?])
    }
}

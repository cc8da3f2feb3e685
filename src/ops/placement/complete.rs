//! The op `complete`.

use super::reshard::same;
use crate::ops::support::prelude::*;

struct Complete;

pub static OP: &dyn Op = &Complete;

impl Op for Complete {
    fn name(&self) -> &'static str {
        "complete"
    }

    fn group(&self) -> &'static str {
        "placement"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The value, reduced over every mesh axis it is partial over.",
                details: "Keeps the rest of the placement; the identity where nothing is \
                          partial. What the positions exchange is counted as communication.",
                examples: &[
                    example(
                        "complete(x)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 2.0]),
                    ),
                    example("complete(sum(x))", &[("x", "f32[2]", &[1.0, 2.0])], ("f32", &[3.0])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x")] }
    }

    fn role(&self) -> Role {
        Role::Complete
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        same(call)
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![cx.input(0)?.clone()])
    }
}

//! The op `reshard`.

use crate::ops::support::prelude::*;

struct Reshard;

pub static OP: &dyn Op = &Reshard;

impl Op for Reshard {
    fn name(&self) -> &'static str {
        "reshard"
    }

    fn group(&self) -> &'static str {
        "placement"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The same value in another placement.",
                details: "Copies between storages, gathers, scatters, slices or completes, as \
                          source and target ask; what moves is counted as bytes and \
                          communication, never as flops. A reshard that changes nothing \
                          physical is free.",
                examples: &[
                    example(
                        "reshard(x, gmem)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 2.0]),
                    ),
                    example(
                        "reshard(x * x, gmem[2])",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("placement", ParamKind::Placement)] }
    }

    fn role(&self) -> Role {
        Role::Reshard
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

/// dtype, shape and bounds of the operand.
pub fn same(call: &Call) -> Result<Vec<TensorTy>, OpError> {
    let x = call.input(0)?;
    Ok(vec![check::moved(x, x.shape.clone())])
}

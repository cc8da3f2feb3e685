//! The op `not`.

use crate::ops::support::compare::bools;
use crate::ops::support::prelude::*;

struct Not;

pub static OP: &dyn Op = &Not;

impl Op for Not {
    fn name(&self) -> &'static str {
        "not"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The opposite of a bool: `!x`.",
                details: "One integer operation an element.",
                examples: &[
                    example("not(x)", &[("x", "bool[2]", &[0.0, 1.0])], ("bool[2]", &[1.0, 0.0])),
                    example("!x", &[("x", "bool[1]", &[1.0])], ("bool[1]", &[0.0])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("not", call, 0, "x", Takes::Bools)?;
        Ok(vec![TensorTy::new(DType::Bool, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        Cost::ONE.work(DType::Bool)
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let v = bools(x)?;
        let v = fill(x.len(), |at, part| map(&v[at..], part, |b| 1 - b));
        Ok(vec![data::tensor(DType::Bool, x.shape().to_vec(), Data::Bits8(v))?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

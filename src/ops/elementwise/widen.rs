//! The op `widen`.

use crate::ops::support::prelude::*;

struct Widen;

pub static OP: &dyn Op = &Widen;

impl Op for Widen {
    fn name(&self) -> &'static str {
        "widen"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A float in the dtype that sums of it accumulate in.",
                details: "f32 for every float narrower than f32; f32 and f64 stay as they are. \
                          A function over `T: float` computes with it as the accumulating ops \
                          do, and casts to `T` at its end. One conversion an element where the \
                          dtype changes.",
                examples: &[
                    example("widen(x)", &[("x", "f16[2]", &[1.0, 0.5])], ("f32[2]", &[1.0, 0.5])),
                    example("widen(x)", &[("x", "f64[1]", &[0.1])], ("f64[1]", &[0.1])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("widen", call, 0, "x", Takes::Floats)?;
        let to = if d == DType::F64 { d } else { DType::F32 };
        Ok(vec![TensorTy::new(to, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, outs: &[TensorTy]) -> Vec<Work> {
        match (call.inputs.first(), outs.first()) {
            (Some(x), Some(y)) if x.dtype != y.dtype => vec![Work::point(Resource::Cvt, 1)],
            _ => vec![],
        }
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![chunks::cast(cx.input(0)?, cx.out(0)?.dtype)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

//! The op `is_nan`.

use crate::ops::support::prelude::*;

struct IsNan;

pub static OP: &dyn Op = &IsNan;

impl Op for IsNan {
    fn name(&self) -> &'static str {
        "is_nan"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Whether an element is NaN.",
                details: "One comparison an element.",
                examples: &[
                    example(
                        "is_nan(x)",
                        &[("x", "f32[2]", &[1.0, f64::NAN])],
                        ("bool[2]", &[0.0, 1.0]),
                    ),
                    example("is_nan(x)", &[("x", "f16[1]", &[f64::INFINITY])], ("bool[1]", &[0.0])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("is_nan", call, 0, "x", Takes::Floats)?;
        Ok(vec![TensorTy::new(DType::Bool, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let v = match Class::of([x.dtype()]) {
            Class::F64 => {
                let x = x.to_f64s();
                fill(x.len(), |at, part| map(&x[at..], part, |v| v.is_nan() as u8))
            }
            _ => {
                let source = chunks::f32s(x);
                fill(x.len(), |at, part: &mut [u8]| {
                    let mut buffer = [0.0; CHUNK];
                    let x = source.read(at, part.len(), &mut buffer);
                    map(x, part, |v| v.is_nan() as u8);
                })
            }
        };
        Ok(vec![data::tensor(DType::Bool, x.shape().to_vec(), Data::Bits8(v))?])
    }
}

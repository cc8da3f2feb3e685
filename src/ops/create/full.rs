//! The op `full`.

use super::typed::typed;
use crate::ops::support::prelude::*;

struct Full;

pub static OP: &dyn Op = &Full;

/// A tensor of attribute `value`, rounded once.
pub fn filled(cx: &EvalCx) -> Result<Tensor, EvalError> {
    let out = cx.out(0)?;
    data::count(&out.shape)?;
    let one = match cx.attrs.num("value").and_then(|n| n.as_int()) {
        // an integer beyond 2^53 has no f64
        Some(e) => Tensor::scalar_i64(out.dtype, cx.expr(e)?),
        None => Tensor::scalar(out.dtype, cx.num("value")?.unwrap_or(0.0)),
    };
    data::restride(&one, out.shape.clone(), &vec![0; out.shape.len()], 0)
}

/// A real value has no place in an integer tensor.
pub fn check_value(op: &str, call: &Call, d: DType) -> Result<(), OpError> {
    let Some(n) = call.attrs.num("value") else { return Err(check::missing(op, "value")) };
    if d.is_float() || n.as_int().is_some() {
        return Ok(());
    }
    Err(OpError::new(
        Code::BadAttr,
        format!("`{op}` of {d} takes an integer, found {}", n.show(call.vars)),
    )
    .at("value", "a real number here"))
}

impl Op for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "One value everywhere.",
                details: "The value is rounded once. A creation takes the placement of its use \
                          and counts no flop.",
                examples: &[
                    example("full(f32[2], -inf)", &[], ("f32[2]", &[f64::NEG_INFINITY; 2])),
                    example("full(f16[1], 0.1)", &[], ("f16[1]", &[0.0999755859375])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::attr("type", ParamKind::Type), Param::attr("value", ParamKind::Number)] }
    }

    fn role(&self) -> Role {
        Role::Create
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let out = typed("full", call)?;
        if let Some(t) = out.first() {
            check_value("full", call, t.dtype)?;
        }
        Ok(out)
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::create(outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![filled(cx)?])
    }
}

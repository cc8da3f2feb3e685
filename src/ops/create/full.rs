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

/// Attribute `name`, a number that elements of dtype `d` are set to, must be one of its values,
/// apart from rounding.
pub fn check_value(op: &str, call: &Call, name: &str, d: DType) -> Result<(), OpError> {
    let Some(n) = call.attrs.num(name) else { return Err(check::missing(op, name)) };
    let shown = n.show(call.vars);
    if !d.is_float() && n.as_int().is_none() {
        return Err(OpError::new(
            Code::BadAttr,
            format!("`{op}` of {d} takes an integer, found {shown}"),
        )
        .at(name, "a real number here"));
    }
    let fits = match n.to_float().as_const() {
        Some(v) if d.is_float() => !v.is_finite() || Tensor::scalar(d, v).get_f64(0).is_finite(),
        Some(v) => d.holds(v),
        None => true,
    };
    if fits {
        return Ok(());
    }
    Err(OpError::new(Code::BadAttr, format!("`{op}` of {d} takes a value of {d}, found {shown}"))
        .at(name, format!("no value of {d}")))
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

    fn uniform(&self) -> bool {
        true
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let out = typed("full", call)?;
        if let Some(t) = out.first() {
            check_value("full", call, "value", t.dtype)?;
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

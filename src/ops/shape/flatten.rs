//! The op `flatten`.

use crate::ops::support::prelude::*;

struct Flatten;

pub static OP: &dyn Op = &Flatten;

impl Op for Flatten {
    fn name(&self) -> &'static str {
        "flatten"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Neighbouring axes joined to one.",
                details: "The axes `start` to `end`, both included; all of them by default. A \
                          view: it moves nothing and counts nothing.",
                examples: &[
                    example(
                        "flatten(x)",
                        &[("x", "f32[2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
                        ("f32[6]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ),
                    example(
                        "flatten(x, start = -2)",
                        &[("x", "f32[1, 2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[1, 4]", &[1.0, 2.0, 3.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("start", ParamKind::Int, DefaultValue::Int(0)),
                Param::named("end", ParamKind::Int, DefaultValue::Int(-1)),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::View
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        let end = |name: &str, default: i64| match call.attrs.int(name) {
            Some(_) => check::plain_int("flatten", call, name),
            None => Ok(default),
        };
        let rank = x.rank() as i64;
        let fix = |d: i64| if d < 0 { d + rank } else { d };
        let (s, e) = (fix(end("start", 0)?), fix(end("end", -1)?));
        if s < 0 || e >= rank || s > e {
            return Err(OpError::new(
                Code::BadAxis,
                format!("`flatten` of {} has no axes from {s} to {e}", check::show(call, 0)),
            )
            .at("x", format!("{rank} axes here"))
            .help("`start` and `end` are axes of `x`, in order, both included"));
        }
        let (s, e) = (s as usize, e as usize);
        let mut shape: Vec<Expr> = x.shape.iter().take(s).cloned().collect();
        shape.push(Expr::product(x.shape.iter().take(e + 1).skip(s)));
        shape.extend(x.shape.iter().skip(e + 1).cloned());
        Ok(vec![check::moved(x, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(y)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        access::reshape(&x.shape, &y.shape, call.vars)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![data::reshaped(cx.input(0)?, &cx.out(0)?.shape)?])
    }
}

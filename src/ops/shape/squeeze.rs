//! The op `squeeze`.

use crate::ops::support::prelude::*;

struct Squeeze;

pub static OP: &dyn Op = &Squeeze;

const PARAMS: &[Param] =
    &[Param::tensor("x"), Param::named("dim", ParamKind::Dims, DefaultValue::Required)];

impl Op for Squeeze {
    fn name(&self) -> &'static str {
        "squeeze"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Without axes of extent 1.",
                details: "`dim` names one axis or several; each must have extent 1. A view: it \
                          moves nothing and counts nothing.",
                examples: &[
                    example(
                        "squeeze(x, dim = -1)",
                        &[("x", "f32[2, 1]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 2.0]),
                    ),
                    example(
                        "squeeze(x, dim = [0, 2])",
                        &[("x", "f32[1, 2, 1]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
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
        let dims = check::axes("squeeze", call, 0, "dim")?
            .ok_or_else(|| check::missing("squeeze", "dim"))?;
        let x = call.input(0)?;
        for d in &dims {
            if let Some(e) = x.shape.get(*d) {
                check::equal(
                    "squeeze",
                    call,
                    (&format!("axis {d} of `x`"), e),
                    ("the extent", &Expr::one()),
                    "only an axis of extent 1 can go: a number in a subscript takes one index",
                )
                .map_err(|e| check::with_types(e, call, &[(0, "x")]))?;
            }
        }
        let kept = x.shape.iter().enumerate().filter(|(i, _)| !dims.contains(i));
        Ok(vec![check::moved(x, kept.map(|(_, e)| e.clone()).collect())])
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

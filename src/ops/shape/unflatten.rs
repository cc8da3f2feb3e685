//! The op `unflatten`.

use super::reshape::check_size;
use crate::ops::support::prelude::*;

struct Unflatten;

pub static OP: &dyn Op = &Unflatten;

impl Op for Unflatten {
    fn name(&self) -> &'static str {
        "unflatten"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "One axis taken apart into several.",
                details: "The axis `dim` becomes axes of these sizes, major first; their \
                          product must be its extent. A view: it moves nothing and counts \
                          nothing.",
                examples: &[
                    example(
                        "unflatten(x, [3, 1], dim = -1)",
                        &[("x", "f32[2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
                        ("f32[2, 3, 1]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ),
                    example(
                        "unflatten(x, [2, 2], dim = 0)",
                        &[("x", "f32[4]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::attr("sizes", ParamKind::Shape),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
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
        let sizes =
            call.attrs.shape("sizes").ok_or_else(|| check::missing("unflatten", "sizes"))?;
        let d = check::axis("unflatten", call, 0, "dim")?;
        let x = call.input(0)?;
        let extent = x.shape.get(d).cloned().unwrap_or_default();
        check_size("unflatten", call, std::slice::from_ref(&extent), sizes).map_err(|e| {
            // the usual mistake: groups that do not divide the axis
            let apart = |s: &&Expr| match (extent.as_int(), s.as_int()) {
                (Some(n), Some(s)) => s > 0 && n % s != 0,
                _ => false,
            };
            match sizes.iter().find(apart) {
                Some(s) => {
                    let (n, s) = (call.vars.show(&extent), call.vars.show(s));
                    let message = format!("{}: {n} is not a multiple of {s}", e.message);
                    OpError { message, ..e }
                }
                None => e,
            }
        })?;
        let mut shape = x.shape.clone();
        shape.splice(d..d + 1, sizes.iter().cloned());
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

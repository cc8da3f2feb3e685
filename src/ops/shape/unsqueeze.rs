//! The op `unsqueeze`.

use crate::ops::support::prelude::*;

struct Unsqueeze;

pub static OP: &dyn Op = &Unsqueeze;

impl Op for Unsqueeze {
    fn name(&self) -> &'static str {
        "unsqueeze"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "With a new axis of extent 1.",
                details: "The new axis is axis `dim` of the result; -1 puts it last. A view: it \
                          moves nothing and counts nothing.",
                examples: &[
                    example(
                        "unsqueeze(x, dim = 0)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[1, 2]", &[1.0, 2.0]),
                    ),
                    example(
                        "unsqueeze(x, dim = -1)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2, 1]", &[1.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::named("dim", ParamKind::Int, DefaultValue::Required)] }
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
        let d = new_axis("unsqueeze", call, x.rank())?;
        let mut shape = x.shape.clone();
        shape.insert(d, Expr::one());
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

/// The place of a new axis among those of a tensor of this rank.
pub fn new_axis(op: &str, call: &Call, rank: usize) -> Result<usize, OpError> {
    let d = check::plain_int(op, call, "dim")?;
    let at = if d < 0 { d + rank as i64 + 1 } else { d };
    usize::try_from(at).ok().filter(|at| *at <= rank).ok_or_else(|| {
        OpError::new(
            Code::BadAxis,
            format!("`{op}` cannot put an axis at {d} of {}", check::show(call, 0)),
        )
        .at("dim", "outside the result")
        .help(format!("places run from 0 to {rank}, or from -{} to -1", rank + 1))
    })
}

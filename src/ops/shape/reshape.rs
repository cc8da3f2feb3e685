//! The op `reshape`.

use crate::ops::support::prelude::*;

struct Reshape;

pub static OP: &dyn Op = &Reshape;

impl Op for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The same elements in row-major order under another shape.",
                details: "The number of elements must be the same for every value of the dims. \
                          A view: it moves nothing and counts nothing. A split axis may be \
                          reshaped where the new axes end at factor boundaries.",
                examples: &[
                    example(
                        "reshape(x, [3, 2])",
                        &[("x", "f32[2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
                        ("f32[3, 2]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                    ),
                    example(
                        "reshape(x, [1, 2, 1])",
                        &[("x", "i32[2]", &[7.0, 8.0])],
                        ("i32[1, 2, 1]", &[7.0, 8.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("shape", ParamKind::Shape)] }
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
        let shape = call.attrs.shape("shape").ok_or_else(|| check::missing("reshape", "shape"))?;
        let x = call.input(0)?;
        check_size("reshape", call, &x.shape, shape)?;
        Ok(vec![check::moved(x, shape.to_vec())])
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

/// A reshape keeps the number of elements.
pub fn check_size(op: &str, call: &Call, from: &[Expr], to: &[Expr]) -> Result<(), OpError> {
    let (n, m) = (Expr::product(from), Expr::product(to));
    let d = call.vars.equal(&n, &m);
    if d == Decision::Yes {
        return Ok(());
    }
    let (sn, sm) = (call.vars.show(&n), call.vars.show(&m));
    let (x, shape) = (check::show_dims(call, from), check::show_dims(call, to));
    let err = match d {
        Decision::Unknown => OpError::new(
            Code::Undecided,
            format!("`{op}` of {x} to {shape}: whether `{sn}` elements are `{sm}` is undecided"),
        ),
        _ => OpError::new(
            Code::ReshapeSize,
            format!("`{op}` of {x}, which has {sn} elements, to {shape}, which has {sm}"),
        ),
    };
    Err(err
        .at("x", format!("{sn} elements here"))
        .at("shape", format!("{sm} elements here"))
        .help("the product of the new extents must be that of the old ones"))
}

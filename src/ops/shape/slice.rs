//! The op `slice`, which subscripts make.

use super::window;
use crate::ops::support::prelude::*;

struct Slice;

pub static OP: &dyn Op = &Slice;

impl Op for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A window of a tensor: `x[a..b, i]`.",
                details: "A number drops its axis; a range or a tile window keeps it; trailing \
                          axes may be left off. A window of a `tile` with `pad` gives the \
                          padding past its end or the tensor's; without, an index outside stops \
                          the evaluation. It becomes an address and counts nothing by itself.",
                examples: &[
                    example(
                        "x[1..3]",
                        &[("x", "f32[4]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2]", &[2.0, 3.0]),
                    ),
                    example(
                        "x[.., 1]",
                        &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2]", &[2.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("subs", ParamKind::Subs)] }
    }

    fn role(&self) -> Role {
        Role::Read
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let subs = window::subs("slice", call)?;
        window::check_bounds("slice", call, subs)?;
        let x = call.input(0)?;
        let mut out = check::moved(x, window::shape(subs, &x.shape));
        if subs.iter().any(window::padded) {
            out.range = None;
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![window::access(call.attrs.subs("subs").unwrap_or(&[]), &x.shape)],
            writes: vec![Access::direct(0..out.rank())],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let subs = cx.attrs.subs("subs").unwrap_or(&[]);
        let p = window::place("slice", subs, x.shape(), cx.env)?;
        let block = data::block(x, &p.starts, &p.valid)?;
        if !p.is_cut() {
            return Ok(vec![data::reshaped(&block, &out.shape)?]);
        }
        data::count(&p.lens)?;
        let mut whole = Tensor::full(x.dtype(), p.lens.clone(), pad(subs, cx)?);
        data::put(&mut whole, &vec![0; p.lens.len()], &block)?;
        Ok(vec![data::reshaped(&whole, &out.shape)?])
    }
}

/// The value of what lies past the end; zero unless a window says otherwise.
fn pad(subs: &[Sub], cx: &EvalCx) -> Result<f64, EvalError> {
    let given = subs.iter().find_map(|s| match s {
        Sub::Window { pad, .. } => pad.as_ref(),
        Sub::At(_) => None,
    });
    match given {
        None => Ok(0.0),
        Some(n) => n.eval_f64(cx.env).ok_or_else(|| EvalError::new("a padding has no value")),
    }
}

//! The op `flip`.

use crate::ops::support::prelude::*;
use crate::ops::support::walk::strides as walk_strides;

struct Flip;

pub static OP: &dyn Op = &Flip;

const PARAMS: &[Param] =
    &[Param::tensor("x"), Param::named("dim", ParamKind::Dims, DefaultValue::Required)];

impl Op for Flip {
    fn name(&self) -> &'static str {
        "flip"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The elements in reverse order along axes.",
                details: "An axis split over a mesh is refused. A view: it moves nothing and \
                          counts nothing.",
                examples: &[
                    example(
                        "flip(x, dim = 0)",
                        &[("x", "f32[3]", &[1.0, 2.0, 3.0])],
                        ("f32[3]", &[3.0, 2.0, 1.0]),
                    ),
                    example(
                        "flip(x, dim = [0, 1])",
                        &[("x", "i32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("i32[2, 2]", &[4.0, 3.0, 2.0, 1.0]),
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

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::axes("flip", call, 0, "dim")?.ok_or_else(|| check::missing("flip", "dim"))?;
        let x = call.input(0)?;
        Ok(vec![check::moved(x, x.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut d = access::elementwise(call.inputs, outs);
        for i in check::axes_of(call.attrs, "dim", d.dims.len()).unwrap_or_default() {
            if let Some(dim) = d.dims.get_mut(i) {
                dim.splittable = false;
                let touched = dim.extent.clone();
                let axis = d.reads.first_mut().and_then(|r| r.axes.get_mut(i));
                if let Some(axis) = axis {
                    *axis = AxisAccess::Any { touched };
                }
            }
        }
        d
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let mut strides = walk_strides(x.shape());
        let mut start = 0;
        for d in check::axes_of(cx.attrs, "dim", x.rank()).unwrap_or_default() {
            if let (Some(s), Some(n)) = (strides.get_mut(d), x.shape().get(d)) {
                start += *s * (*n as isize - 1).max(0);
                *s = -*s;
            }
        }
        Ok(vec![data::restride(x, x.shape().to_vec(), &strides, start)?])
    }
}

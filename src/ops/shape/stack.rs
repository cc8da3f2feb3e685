//! The op `stack`.

use super::concat::check_alike;
use super::unsqueeze::new_axis;
use crate::ops::support::prelude::*;

struct Stack;

pub static OP: &dyn Op = &Stack;

impl Op for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Tensors of one shape, side by side along a new axis.",
                details: "The new axis is axis `dim` of the result and cannot be split over a \
                          mesh. A copy; no flop.",
                examples: &[
                    example(
                        "stack([x, y])",
                        &[("x", "f32[2]", &[1.0, 2.0]), ("y", "f32[2]", &[3.0, 4.0])],
                        ("f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                    ),
                    example(
                        "stack([x, y], dim = -1)",
                        &[("x", "f32[2]", &[1.0, 2.0]), ("y", "f32[2]", &[3.0, 4.0])],
                        ("f32[2, 2]", &[1.0, 3.0, 2.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param {
                    name: "xs",
                    kind: ParamKind::Tensors,
                    default: DefaultValue::Required,
                    positional: true,
                },
                Param::named("dim", ParamKind::Int, DefaultValue::Int(0)),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Linear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        if call.inputs.is_empty() {
            return Err(OpError::new(Code::BadArgs, "`stack` takes at least one tensor")
                .help("write `stack([a, b])`"));
        }
        let first = call.input(0)?;
        for i in 1..call.inputs.len() {
            check_alike(call, i, None)?;
        }
        let d = place(call)?;
        let mut shape = first.shape.clone();
        shape.insert(d, Expr::int(call.inputs.len() as i64));
        Ok(vec![TensorTy::new(first.dtype, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut domain = access::create(outs);
        let d = place(call).unwrap_or(0);
        if let Some(dim) = domain.dims.get_mut(d) {
            dim.splittable = false;
        }
        let read =
            |t: &TensorTy| Access::direct((0..t.rank()).map(|i| if i >= d { i + 1 } else { i }));
        domain.reads = call.inputs.iter().map(read).collect();
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        data::count(&out.shape)?;
        let d = cx.int("dim")?.unwrap_or(0);
        let d = (if d < 0 { d + out.shape.len() as i64 } else { d }) as usize;
        let dtype = cx.inputs.first().map_or(out.dtype, Tensor::dtype);
        let mut whole = Tensor::zeros(dtype, out.shape.clone());
        let mut starts = vec![0; out.shape.len()];
        for (i, t) in cx.inputs.iter().enumerate() {
            let mut shape = t.shape().to_vec();
            shape.insert(d.min(shape.len()), 1);
            if let Some(s) = starts.get_mut(d) {
                *s = i;
            }
            data::put(&mut whole, &starts, &t.reshape(shape))?;
        }
        Ok(vec![whole])
    }
}

fn place(call: &Call) -> Result<usize, OpError> {
    match call.attrs.int("dim") {
        Some(_) => new_axis("stack", call, call.input(0)?.rank()),
        None => Ok(0),
    }
}

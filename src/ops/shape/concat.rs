//! The op `concat`.

use crate::ops::support::prelude::*;

struct Concat;

pub static OP: &dyn Op = &Concat;

impl Op for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Tensors one after the other along an axis.",
                details: "All other extents and the dtype agree. An axis joined here cannot be \
                          split over a mesh. A copy; no flop.",
                examples: &[
                    example(
                        "concat([x, y], dim = 0)",
                        &[("x", "f32[1]", &[1.0]), ("y", "f32[2]", &[2.0, 3.0])],
                        ("f32[3]", &[1.0, 2.0, 3.0]),
                    ),
                    example(
                        "concat([x, y], dim = -1)",
                        &[("x", "f32[2, 1]", &[1.0, 2.0]), ("y", "f32[2, 1]", &[3.0, 4.0])],
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
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(0)),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Linear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = joined_axis(call)?;
        let first = call.input(0)?;
        let mut shape = first.shape.clone();
        for (i, t) in call.inputs.iter().enumerate().skip(1) {
            check_alike(call, i, Some(d))?;
            if let (Some(sum), Some(e)) = (shape.get_mut(d), t.shape.get(d)) {
                *sum = sum.add(e);
            }
        }
        Ok(vec![TensorTy::new(first.dtype, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut domain = access::create(outs);
        let d = check::axes_of(call.attrs, "dim", domain.dims.len())
            .and_then(|d| d.first().copied())
            .unwrap_or(0);
        if let Some(dim) = domain.dims.get_mut(d) {
            dim.splittable = false;
        }
        let read = |t: &TensorTy| {
            let mut a = Access::direct(0..t.rank());
            if let (Some(axis), Some(e)) = (a.axes.get_mut(d), t.shape.get(d)) {
                *axis = AxisAccess::Any { touched: e.clone() };
            }
            a
        };
        domain.reads = call.inputs.iter().map(read).collect();
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let d = check::axes_of(cx.attrs, "dim", out.shape.len())
            .and_then(|d| d.first().copied())
            .unwrap_or(0);
        data::count(&out.shape)?;
        let dtype = cx.inputs.first().map_or(out.dtype, Tensor::dtype);
        let mut whole = Tensor::zeros(dtype, out.shape.clone());
        let mut starts = vec![0; out.shape.len()];
        for t in cx.inputs {
            data::put(&mut whole, &starts, t)?;
            if let (Some(s), Some(n)) = (starts.get_mut(d), t.shape().get(d)) {
                *s += n;
            }
        }
        Ok(vec![whole])
    }
}

fn joined_axis(call: &Call) -> Result<usize, OpError> {
    if call.inputs.is_empty() {
        return Err(OpError::new(Code::BadArgs, "`concat` takes at least one tensor")
            .help("write `concat([a, b], dim = 0)`"));
    }
    match call.attrs.get("dim") {
        None if call.input(0)?.rank() > 0 => Ok(0),
        _ => check::axis("concat", call, 0, "dim"),
    }
}

/// Operand `i` has the dtype and shape of the first, one axis apart.
pub fn check_alike(call: &Call, i: usize, except: Option<usize>) -> Result<(), OpError> {
    let op = if except.is_some() { "concat" } else { "stack" };
    check::same_dtype(op, call, (0, "xs"), (i, "xs"))?;
    let (a, b) = (call.input(0)?, call.input(i)?);
    let both =
        format!("operand 0 is {}, operand {i} is {}", check::show(call, 0), check::show(call, i));
    if a.rank() != b.rank() {
        return Err(OpError::new(
            Code::RankMismatch,
            format!("`{op}` takes tensors of one rank: {both}"),
        )
        .at("xs", both));
    }
    for (k, (x, y)) in a.shape.iter().zip(&b.shape).enumerate() {
        if Some(k) != except {
            let (na, nb) = (format!("axis {k} of operand 0"), format!("axis {k} of operand {i}"));
            check::equal(op, call, (&na, x), (&nb, y), &both)
                .map_err(|e| e.at("xs", both.clone()))?;
        }
    }
    Ok(())
}

//! The op `pad`.

use crate::ops::create::full::{check_value, filled};
use crate::ops::support::prelude::*;

struct Pad;

pub static OP: &dyn Op = &Pad;

/// For each axis of `x` how many elements come before it and after it, none where it is not named.
fn margins(call: &Call) -> Result<Vec<[Expr; 2]>, OpError> {
    let dims = check::axes("pad", call, 0, "dim")?.ok_or_else(|| check::missing("pad", "dim"))?;
    let mut out = vec![[Expr::zero(), Expr::zero()]; call.input(0)?.rank()];
    for (side, name) in ["low", "high"].into_iter().enumerate() {
        let all = check::per_axis("pad", call, name, dims.len())?;
        for (d, e) in dims.iter().zip(all) {
            let shown = call.vars.show(&e);
            if call.vars.ge(&e, &Expr::zero()) != Decision::Yes {
                let known = e.as_int().is_some();
                return Err(OpError::new(
                    if known { Code::BadAttr } else { Code::Undecided },
                    format!("`pad` takes a `{name}` of at least 0 for axis {d}, found {shown}"),
                )
                .at(name, format!("{shown} here"))
                .help("a window of `x` takes elements away: `x[1..]`"));
            }
            if let Some(axis) = out.get_mut(*d) {
                axis[side] = e;
            }
        }
    }
    Ok(out)
}

impl Op for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "One value put before and after the elements of some axes.",
                details: "As `torch.nn.functional.pad` in its constant mode, with the axes named: \
                          `dim` lists them, `low` and `high` say how many elements come before \
                          and after, one number for each axis of `dim` or one for all. None are \
                          negative. An axis padded here cannot be split over a mesh, and partial \
                          operands are refused. A copy; no flop.",
                examples: &[
                    example(
                        "pad(x, dim = 0, low = 1, high = 2)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[5]", &[0.0, 1.0, 2.0, 0.0, 0.0]),
                    ),
                    example(
                        "pad(x, dim = [0, -1], low = [1, 0], high = [0, 1], value = -1)",
                        &[("x", "i32[1, 2]", &[1.0, 2.0])],
                        ("i32[2, 3]", &[-1.0, -1.0, -1.0, 1.0, 2.0, -1.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
                Param::named("low", ParamKind::PerAxis, DefaultValue::Int(0)),
                Param::named("high", ParamKind::PerAxis, DefaultValue::Int(0)),
                Param::named("value", ParamKind::Number, DefaultValue::Int(0)),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let (x, margins) = (call.input(0)?, margins(call)?);
        check_value("pad", call, x.dtype)?;
        let axes = x.shape.iter().zip(&margins);
        let shape = axes.map(|(e, [low, high])| low.add(e).add(high)).collect();
        Ok(vec![TensorTy::new(x.dtype, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut domain = access::create(outs);
        let Some(x) = call.inputs.first() else { return domain };
        let mut read = Access::direct(0..x.rank());
        for d in check::axes_of(call.attrs, "dim", x.rank()).unwrap_or_default() {
            if let (Some(dim), Some(axis), Some(e)) =
                (domain.dims.get_mut(d), read.axes.get_mut(d), x.shape.get(d))
            {
                dim.splittable = false;
                *axis = AxisAccess::Any { touched: e.clone() };
            }
        }
        domain.reads = vec![read];
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let mut starts = vec![0; x.rank()];
        let low = cx.attrs.shape("low").unwrap_or(&[]);
        for (i, d) in cx.dims("dim").into_iter().enumerate() {
            if let (Some(s), Some(e)) = (starts.get_mut(d), low.get(i).or(low.first())) {
                let n = cx.expr(e)?;
                *s = usize::try_from(n)
                    .map_err(|_| EvalError::new(format!("`pad` of {n} elements")))?;
            }
        }
        let mut out = filled(cx)?;
        data::put(&mut out, &starts, x)?;
        Ok(vec![out])
    }
}

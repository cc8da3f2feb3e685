//! The op `index_select`.

use crate::ops::create::full::check_value;
use crate::ops::support::gather::{index_list, positions, take_axis, take_axis_or};
use crate::ops::support::prelude::*;

struct IndexSelect;

pub static OP: &dyn Op = &IndexSelect;

impl Op for IndexSelect {
    fn name(&self) -> &'static str {
        "index_select"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Indices of an axis, chosen by a tensor of integers.",
                details: "As in PyTorch: the axis `dim` of the result is as long as `idx`. With \
                          `fill`, an index outside the axis gives that value; without it the \
                          evaluation stops and names the element. A copy; no flop.",
                examples: &[
                    example(
                        "index_select(x, i, dim = 0)",
                        &[("x", "f32[3]", &[10.0, 20.0, 30.0]), ("i", "i32[2]", &[2.0, 0.0])],
                        ("f32[2]", &[30.0, 10.0]),
                    ),
                    example(
                        "index_select(x, i, dim = 1, fill = 0.0)",
                        &[("x", "f32[1, 2]", &[1.0, 2.0]), ("i", "i32[2]", &[-1.0, 1.0])],
                        ("f32[1, 2]", &[0.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::tensor("idx"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(0)),
                Param::named("fill", ParamKind::Number, DefaultValue::Absent),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Multilinear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        index_list("index_select", call, 1, "idx")?;
        let x = call.input(0)?;
        let d = select_axis("index_select", call)?;
        let mut shape = x.shape.clone();
        if let (Some(e), Some(n)) = (shape.get_mut(d), call.input(1)?.shape.first()) {
            *e = n.clone();
        }
        let mut out = check::moved(x, shape);
        if call.attrs.num("fill").is_some() {
            check_value("index_select", call, "fill", x.dtype)?;
            out.range = None;
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let d = select_axis("index_select", call).unwrap_or(0);
        let mut read = Access::direct(0..x.rank());
        if let (Some(a), Some(n), Some(reads)) =
            (read.axes.get_mut(d), x.shape.get(d), out.shape.get(d))
        {
            *a = access::some(n, reads);
        }
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![read, Access::direct([d])],
            writes: vec![Access::direct(0..out.rank())],
            exact: false,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, idx, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        let d =
            check::axes_of(cx.attrs, "dim", x.rank()).and_then(|d| d.first().copied()).unwrap_or(0);
        let n = x.shape().get(d).copied().unwrap_or(0);
        let Some(fill) = cx.num("fill")? else {
            let at = positions("index_select", idx, n)?;
            return Ok(vec![take_axis(x, d, &at, out.shape.clone())?]);
        };
        let fill = Tensor::scalar(x.dtype(), fill);
        let inside = |k: &i64| usize::try_from(*k).ok().filter(|k| *k < n);
        let at: Vec<Option<usize>> = idx.to_i64s().iter().map(inside).collect();
        Ok(vec![take_axis_or(x, d, &at, out.shape.clone(), &fill)?])
    }
}

/// The axis that `dim` names, 0 by default.
pub fn select_axis(op: &str, call: &Call) -> Result<usize, OpError> {
    match call.attrs.get("dim") {
        None if call.input(0)?.rank() > 0 => Ok(0),
        _ => check::axis(op, call, 0, "dim"),
    }
}

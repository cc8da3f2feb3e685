//! The op `sort`.

use super::order::{axis, axis_of, depth, domain, ordered};
use crate::ops::support::prelude::*;

struct Sort;

pub static OP: &dyn Op = &Sort;

impl Op for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The elements along an axis in order, and their indices.",
                details: "Gives `(values, indices)`; stable. The last axis unless `dim` names \
                          another; indices in i64 unless `dtype = i32`. NaN is larger than \
                          every number, as in PyTorch. An axis split over a mesh is refused. \
                          Counted as log2(n) comparisons an element, an upper bound.",
                examples: &[
                    example(
                        "let (v, i) = sort(x, dim = 0); v",
                        &[("x", "f32[3]", &[3.0, 1.0, 2.0])],
                        ("f32[3]", &[1.0, 2.0, 3.0]),
                    ),
                    example(
                        "let (v, i) = sort(x, dim = -1, descending = true, dtype = i32); i",
                        &[("x", "i32[1, 3]", &[1.0, 2.0, 1.0])],
                        ("i32[1, 3]", &[1.0, 0.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(-1)),
                Param::named("descending", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("sort", call, 0, "x", Takes::Numbers)?;
        let d = axis("sort", call)?;
        let dtype = check::index_dtype("sort", call)?;
        let x = call.input(0)?;
        let n = x.shape.get(d).cloned().unwrap_or_default();
        Ok(vec![check::moved(x, x.shape.clone()), check::index_result(dtype, x.shape.clone(), &n)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Some(x) = call.inputs.first() else { return access::create(outs) };
        let d = axis_of(call.attrs, x.rank());
        domain(x, d, &x.shape.get(d).cloned().unwrap_or_default())
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(x) = call.inputs.first() else { return vec![] };
        let n = x.shape.get(axis_of(call.attrs, x.rank())).and_then(|e| call.vars.upper(e));
        Cost { arith: depth(n), sfu: 0 }.work(x.dtype)
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let d = axis_of(cx.attrs, x.rank());
        let n = x.shape().get(d).copied().unwrap_or(0);
        let order = ordered(x, d, n, cx.attrs.flag("descending"));
        let shape = x.shape().to_vec();
        Ok(vec![
            data::pick(x, shape.clone(), &order.at)?,
            Tensor::from_i64s(cx.out(1)?.dtype, shape, order.index),
        ])
    }
}

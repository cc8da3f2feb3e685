//! The op `topk`.

use super::order::{axis, axis_of, depth, domain, ordered};
use crate::ops::support::prelude::*;

struct TopK;

pub static OP: &dyn Op = &TopK;

impl Op for TopK {
    fn name(&self) -> &'static str {
        "topk"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The k largest elements along an axis, and their indices.",
                details: "Gives `(values, indices)`, the largest first; of equal elements the \
                          one with the lower index first. The last axis unless `dim` names \
                          another; indices in i64 unless `dtype = i32`. NaN is larger than \
                          every number, as in PyTorch. An axis split over a mesh is refused. \
                          Counted as 1 + log2(k) comparisons an element, an upper bound.",
                examples: &[
                    example(
                        "let (v, i) = topk(x, k = 2); v",
                        &[("x", "f32[4]", &[1.0, 4.0, 2.0, 3.0])],
                        ("f32[2]", &[4.0, 3.0]),
                    ),
                    example(
                        "let (v, i) = topk(x, k = 2, dim = -1, dtype = i32); i",
                        &[("x", "f32[1, 3]", &[5.0, 7.0, 7.0])],
                        ("i32[1, 2]", &[1.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("k", ParamKind::Int, DefaultValue::Required),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(-1)),
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("topk", call, 0, "x", Takes::Numbers)?;
        let d = axis("topk", call)?;
        let dtype = check::index_dtype("topk", call)?;
        let k = call.attrs.int("k").ok_or_else(|| check::missing("topk", "k"))?;
        let x = call.input(0)?;
        let n = x.shape.get(d).cloned().unwrap_or_default();
        if call.vars.ge(&n, k) != Decision::Yes || call.vars.ge(k, &Expr::zero()) != Decision::Yes {
            let unknown = call.vars.ge(&n, k) == Decision::Unknown;
            return Err(OpError::new(
                if unknown { Code::Undecided } else { Code::BadAttr },
                format!(
                    "`topk` of {} elements from an axis of {}",
                    call.vars.show(k),
                    call.vars.show(&n)
                ),
            )
            .at("x", format!("{} here", check::show(call, 0)))
            .at("k", "not within the axis for every value of the dims")
            .help("bound the dim by a `match`, or take a smaller k"));
        }
        let mut shape = x.shape.clone();
        if let Some(e) = shape.get_mut(d) {
            *e = k.clone();
        }
        Ok(vec![check::moved(x, shape.clone()), check::index_result(dtype, shape, &n)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(k)) = (call.inputs.first(), call.attrs.int("k")) else {
            return access::create(outs);
        };
        domain(x, axis_of(call.attrs, x.rank()), k)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(x) = call.inputs.first() else { return vec![] };
        let k = call.attrs.int("k").and_then(|k| call.vars.upper(k));
        Cost { arith: 1 + depth(k), sfu: 0 }.work(x.dtype)
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let d = axis_of(cx.attrs, x.rank());
        let (n, k) = (x.shape().get(d).copied().unwrap_or(0), cx.int("k")?.unwrap_or(0));
        let k = usize::try_from(k)
            .ok()
            .filter(|k| *k <= n)
            .ok_or_else(|| EvalError::new(format!("`topk` of {k} elements from an axis of {n}")))?;
        let order = ordered(x, d, k, true);
        Ok(vec![
            data::pick(x, out.shape.clone(), &order.at)?,
            Tensor::from_i64s(cx.out(1)?.dtype, out.shape.clone(), order.index),
        ])
    }
}

//! The op `bincount`.

use crate::ops::support::gather::positions;
use crate::ops::support::prelude::*;

struct BinCount;

pub static OP: &dyn Op = &BinCount;

impl Op for BinCount {
    fn name(&self) -> &'static str {
        "bincount"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "How often each of 0..n occurs.",
                details: "In the dtype of x unless `out` says otherwise. A value outside 0..n \
                          stops the evaluation and is named. One integer operation an element.",
                examples: &[
                    example(
                        "bincount(x, 3)",
                        &[("x", "i32[4]", &[2.0, 0.0, 2.0, 2.0])],
                        ("i32[3]", &[1.0, 0.0, 3.0]),
                    ),
                    example(
                        "bincount(x, 2, out = i64)",
                        &[("x", "i32[2, 1]", &[1.0, 1.0])],
                        ("i64[2]", &[0.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::attr("n", ParamKind::Int),
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("bincount", call, 0, "x", Takes::Ints)?;
        let n = call.attrs.int("n").ok_or_else(|| check::missing("bincount", "n"))?;
        let out = call.attrs.dtype("out").unwrap_or(d);
        if !out.is_int() {
            return Err(OpError::new(
                Code::BadDType,
                format!("`bincount` gives integers, found `out = {out}`"),
            )
            .at("out", format!("{out} here"))
            .help("write `out = i32`, and `cast` the result"));
        }
        Ok(vec![TensorTy::new(out, vec![n.clone()])])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let n = out.shape.first().cloned().unwrap_or_default();
        Domain {
            dims: x.shape.iter().map(|e| DomDim::reduce(e.clone(), Reduction::Sum)).collect(),
            reads: vec![Access::direct(0..x.rank())],
            writes: vec![Access { axes: vec![AxisAccess::Any { touched: n }] }],
            exact: false,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        data::count(&out.shape)?;
        let n = out.shape.first().copied().unwrap_or(0);
        let mut v = vec![0i64; n];
        for k in positions("bincount", x, n)? {
            v[k] += 1;
        }
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

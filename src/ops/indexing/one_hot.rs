//! The op `one_hot`.

use crate::ops::support::gather::positions;
use crate::ops::support::prelude::*;

struct OneHot;

pub static OP: &dyn Op = &OneHot;

impl Op for OneHot {
    fn name(&self) -> &'static str {
        "one_hot"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A row of n for each integer, 1 at its index and 0 elsewhere.",
                details: "i64 unless `dtype` says otherwise. A value outside 0..n stops the \
                          evaluation and is named. One integer operation an element.",
                examples: &[
                    example(
                        "one_hot(x, 3)",
                        &[("x", "i32[2]", &[2.0, 0.0])],
                        ("i64[2, 3]", &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
                    ),
                    example(
                        "one_hot(x, 2, dtype = f32)",
                        &[("x", "i32", &[1.0])],
                        ("f32[2]", &[0.0, 1.0]),
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
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("one_hot", call, 0, "x", Takes::Ints)?;
        let n = call.attrs.int("n").ok_or_else(|| check::missing("one_hot", "n"))?;
        let mut shape = call.input(0)?.shape.clone();
        shape.push(n.clone());
        Ok(vec![TensorTy::new(call.attrs.dtype("dtype").unwrap_or(DType::I64), shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![Access::direct(0..x.rank())],
            writes: vec![Access::direct(0..out.rank())],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    /// False: `n` tells the extent of the whole result.
    fn blockwise(&self) -> bool {
        false
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let n = out.shape.last().copied().unwrap_or(0);
        let mut v = vec![0i64; data::count(&out.shape)?];
        for (i, k) in positions("one_hot", x, n)?.into_iter().enumerate() {
            v[i * n + k] = 1;
        }
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

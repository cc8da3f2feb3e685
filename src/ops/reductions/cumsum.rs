//! The op `cumsum`.

use crate::ops::support::data::around;
use crate::ops::support::prelude::*;

struct CumSum;

pub static OP: &dyn Op = &CumSum;

impl Op for CumSum {
    fn name(&self) -> &'static str {
        "cumsum"
    }

    fn group(&self) -> &'static str {
        "reductions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The sums of the elements up to and including each, along an axis.",
                details: "Accumulates in index order in f32 (f64 for f64); each result is \
                          rounded once to `out`, or to the dtype of x; integers wrap. An axis \
                          split over a mesh is refused. One addition an element.",
                examples: &[
                    example(
                        "cumsum(x, dim = 0)",
                        &[("x", "f32[4]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[4]", &[1.0, 3.0, 6.0, 10.0]),
                    ),
                    example(
                        "cumsum(x, dim = 1, out = i32)",
                        &[("x", "i8[2, 2]", &[100.0, 100.0, 1.0, 2.0])],
                        ("i32[2, 2]", &[100.0, 200.0, 1.0, 3.0]),
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
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Linear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("cumsum", call, 0, "x", Takes::Numbers)?;
        check::axis("cumsum", call, 0, "dim")?;
        let out = check::out_dtype("cumsum", call, d, "x")?;
        Ok(vec![TensorTy::new(out, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut d = access::elementwise(call.inputs, outs);
        for i in check::axes_of(call.attrs, "dim", d.dims.len()).unwrap_or_default() {
            if let Some(dim) = d.dims.get_mut(i) {
                dim.splittable = false;
            }
        }
        d
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let axis = check::axes_of(cx.attrs, "dim", x.rank()).and_then(|d| d.first().copied());
        let (_, n, inner) = around(x.shape(), axis.unwrap_or(0));
        let shape = out.shape.clone();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F32 => {
                f32::store(out.dtype, shape, scan(x.to_f32s().into_owned(), n, inner, |a, b| a + b))
            }
            Class::F64 => {
                f64::store(out.dtype, shape, scan(x.to_f64s().into_owned(), n, inner, |a, b| a + b))
            }
            Class::Int => {
                let v = scan(x.to_i64s().into_owned(), n, inner, i64::wrapping_add);
                Tensor::from_i64s(out.dtype, shape, v)
            }
        }])
    }
}

fn scan<T: Copy>(mut v: Vec<T>, n: usize, inner: usize, add: impl Fn(T, T) -> T) -> Vec<T> {
    for block in v.chunks_mut((n * inner).max(1)) {
        for i in inner..block.len() {
            block[i] = add(block[i - inner], block[i]);
        }
    }
    v
}

//! The op `logsumexp`.

use crate::ops::support::order::{Monoid, block};
use crate::ops::support::prelude::*;
use crate::ops::support::reduce::{domain, left, reduced, rows};

struct LogSumExp;

pub static OP: &dyn Op = &LogSumExp;

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn group(&self) -> &'static str {
        "reductions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The logarithm of the sum of the exponentials, over some axes or all.",
                details: "`m + log(sum(exp(x - m)))` with m the largest element, so nothing \
                          overflows; in f32 (f64 for f64), rounded once. An axis split over a \
                          mesh is refused. Counted as it is composed: for each element a \
                          comparison, a subtraction, an exponential and an addition; for each \
                          result a logarithm and an addition.",
                examples: &[
                    example(
                        "logsumexp(x, dim = 0)",
                        &[("x", "f32[2]", &[0.0, 0.0])],
                        ("f32", &[std::f64::consts::LN_2]),
                    ),
                    example(
                        "logsumexp(x, dim = 1, keepdim = true)",
                        &[("x", "f32[2, 1]", &[1000.0, f64::NEG_INFINITY])],
                        ("f32[2, 1]", &[1000.0, f64::NEG_INFINITY]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Absent),
                Param::named("keepdim", ParamKind::Bool, DefaultValue::Bool(false)),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("logsumexp", call, 0, "x", Takes::Floats)?;
        check::axes("logsumexp", call, 0, "dim")?;
        let x = call.input(0)?;
        let gone = reduced(call.attrs, x.rank());
        Ok(vec![TensorTy::new(d, left(&x.shape, &gone, call.attrs.flag("keepdim")))])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Some(x) = call.inputs.first() else { return access::create(outs) };
        let gone = reduced(call.attrs, x.rank());
        domain(x, &gone, call.attrs.flag("keepdim"), 1, DomDim::whole)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(x) = call.inputs.first() else { return vec![] };
        let mut work = Cost { arith: 3, sfu: 1 }.work(x.dtype);
        work.push(Work::output(Resource::Sfu, 1));
        work.push(Work::output(Resource::arith(x.dtype), 1));
        work
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let (x, rows, n) = rows(x, &reduced(cx.attrs, x.rank()))?;
        let shape = out.shape.clone();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F64 => {
                let sum = Monoid {
                    identity: 0.0,
                    join: |a, b| a + b,
                    block: |x| block(x, 0.0, |a, b| a + b),
                };
                f64::store(out.dtype, shape, each(&x.to_f64s(), rows, n, &sum))
            }
            _ => {
                let sum = Monoid {
                    identity: 0.0f32,
                    join: |a, b| a + b,
                    block: |x| block(x, 0.0, |a, b| a + b),
                };
                f32::store(out.dtype, shape, each(&x.to_f32s(), rows, n, &sum))
            }
        }])
    }
}

fn each<T: Real>(x: &[T], rows: usize, n: usize, sum: &Monoid<T>) -> Vec<T> {
    if n == 0 {
        return vec![-T::INF; rows];
    }
    x.chunks(n)
        .map(|row| {
            let top =
                row.iter().copied().fold(-T::INF, |a, b| if b > a || b.nan() { b } else { a });
            // an infinite or NaN top is the result, and would make differences NaN
            if top == T::INF || top == -T::INF || top.nan() {
                return top;
            }
            let terms: Vec<T> = row.iter().map(|v| (*v - top).exp()).collect();
            top + sum.row(&terms).ln()
        })
        .collect()
}

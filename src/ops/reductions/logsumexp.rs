//! The op `logsumexp`.

use rayon::prelude::*;

use crate::ops::support::chunks::Source;
use crate::ops::support::order::monoid;
use crate::ops::support::prelude::*;
use crate::ops::support::reduce::{domain, left, reduced, rows};
use crate::ops::support::walk::spread;

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
            Class::F64 => f64::store(out.dtype, shape, each(&Source::Plain(x.to_f64s()), rows, n)),
            _ => f32::store(out.dtype, shape, each(&chunks::f32s(&x), rows, n)),
        }])
    }
}

fn each<T: Real>(x: &Source<T>, rows: usize, n: usize) -> Vec<T> {
    if n == 0 {
        return vec![-T::INF; rows];
    }
    let sum = monoid!(T::ZERO, |a: T, b: T| a + b);
    let max = monoid!(-T::INF, |a: T, b: T| if b > a || b.nan() { b } else { a });
    let one = |r: usize| {
        let mut buffer = vec![T::ZERO; n];
        let row = x.read(r * n, n, &mut buffer);
        let top = max.row(row);
        // an infinite or NaN top is the result, and would make differences NaN
        if top == T::INF || top == -T::INF || top.nan() {
            return top;
        }
        let mut terms = vec![T::ZERO; n];
        map(
            row,
            &mut terms,
            #[inline(always)]
            move |v| (v - top).exp(),
        );
        top + sum.row(&terms).ln()
    };
    match spread(rows.saturating_mul(n)) {
        true => (0..rows).into_par_iter().map(one).collect(),
        false => (0..rows).map(one).collect(),
    }
}

//! Indices of extreme elements.

use rayon::prelude::*;

use crate::ops::support::chunks::Source;
use crate::ops::support::order::{Monoid, monoid};
use crate::ops::support::prelude::*;
use crate::ops::support::reduce::{domain, has_elements, left, reduced, rows};
use crate::ops::support::walk::spread;

pub struct Arg {
    pub name: &'static str,
    pub doc: Doc,
    /// The largest, or the smallest.
    pub max: bool,
}

impl Op for Arg {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "reductions"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Absent),
                Param::named("keepdim", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes(self.name, call, 0, "x", Takes::Numbers)?;
        let dtype = check::index_dtype(self.name, call)?;
        if check::axes(self.name, call, 0, "dim")?.is_some() {
            check::axis(self.name, call, 0, "dim")?;
        }
        let x = call.input(0)?;
        let gone = reduced(call.attrs, x.rank());
        has_elements(self.name, call, &gone)?;
        let n = Expr::product(x.shape.iter().zip(&gone).filter(|(_, g)| **g).map(|(e, _)| e));
        let shape = left(&x.shape, &gone, call.attrs.flag("keepdim"));
        Ok(vec![check::index_result(dtype, shape, &n)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Some(x) = call.inputs.first() else { return access::create(outs) };
        let gone = reduced(call.attrs, x.rank());
        domain(x, &gone, call.attrs.flag("keepdim"), 1, DomDim::whole)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let (x, rows, n) = rows(x, &reduced(cx.attrs, x.rank()))?;
        if n == 0 && rows > 0 {
            return Err(EvalError::new(format!("`{}` of no elements has no value", self.name)));
        }
        let v = match Class::of([x.dtype()]) {
            Class::F32 => each(&chunks::f32s(&x), rows, n, &extreme::<f32>(self.max)),
            Class::F64 => each(&Source::Plain(x.to_f64s()), rows, n, &extreme::<f64>(self.max)),
            Class::Int => {
                let m = match self.max {
                    true => monoid!(i64::MIN, |a: i64, b: i64| a.max(b)),
                    false => monoid!(i64::MAX, |a: i64, b: i64| a.min(b)),
                };
                each(&chunks::i64s(&x, true), rows, n, &m)
            }
        };
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

/// The largest or smallest, NaN if any is.
fn extreme<T: Real>(max: bool) -> Monoid<T> {
    match max {
        true => monoid!(-T::INF, |a: T, b: T| if b > a || b.nan() { b } else { a }),
        false => monoid!(T::INF, |a: T, b: T| if b < a || b.nan() { b } else { a }),
    }
}

/// The first place in each row of the value that the row combines to; NaN is any NaN.
fn each<T: Copy + Default + PartialOrd + Send + Sync>(
    x: &Source<T>,
    rows: usize,
    n: usize,
    m: &Monoid<T>,
) -> Vec<i64> {
    let nan = |v: T| v.partial_cmp(&v).is_none();
    let one = |r: usize| {
        let mut buffer = vec![T::default(); n];
        let row = x.read(r * n, n, &mut buffer);
        let best = m.row(row);
        row.iter().position(|v| *v == best || nan(best) && nan(*v)).unwrap_or(0) as i64
    };
    match spread(rows.saturating_mul(n)) {
        true => (0..rows).into_par_iter().map(one).collect(),
        false => (0..rows).map(one).collect(),
    }
}

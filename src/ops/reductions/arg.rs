//! Indices of extreme elements.

use crate::ops::support::class::load_ordered;
use crate::ops::support::prelude::*;
use crate::ops::support::reduce::{domain, left, reduced, rows};

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
            Class::F32 => each(&x.to_f32s(), n, |a, b| self.better(a, b)),
            Class::F64 => each(&x.to_f64s(), n, |a, b| self.better(a, b)),
            Class::Int => each(&load_ordered(&x), n, |a, b| if self.max { a > b } else { a < b }),
        };
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

impl Arg {
    /// Whether `a` replaces the best so far.
    fn better<T: Real>(&self, a: T, b: T) -> bool {
        !b.nan() && (a.nan() || if self.max { a > b } else { a < b })
    }
}

fn each<T: Copy>(x: &[T], n: usize, better: impl Fn(T, T) -> bool) -> Vec<i64> {
    let best = |row: &[T]| {
        let mut at = 0;
        for (i, v) in row.iter().enumerate() {
            if row.get(at).is_some_and(|b| better(*v, *b)) {
                at = i;
            }
        }
        at as i64
    };
    x.chunks(n.max(1)).map(best).collect()
}

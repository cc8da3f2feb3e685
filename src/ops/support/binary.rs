//! Elementwise ops of two operands of one dtype, broadcast.

use super::chunks::{Source, broadcast2};
use super::prelude::*;

/// A function of two lanes.
pub type Zip<T, O> = fn(Lane<T>, Lane<T>, &mut [O]);

/// An elementwise function of two operands, with a result of their dtype.
pub struct Binary {
    pub name: &'static str,
    pub doc: Doc,
    /// On every float but f64, and on f64; the result is rounded once.
    pub floats: Option<(Zip<f32, f32>, Zip<f64, f64>)>,
    /// On integers; the result wraps.
    pub ints: Option<Zip<i64, i64>>,
    /// Whether the integers' order matters, and not only their bits.
    pub ordered: bool,
    pub cost: Cost,
    pub partial: PartialRule,
}

const PARAMS: &[Param] = &[Param::tensor("a"), Param::tensor("b")];

/// The broadcast shape of two operands of one dtype.
pub fn infer(op: &str, call: &Call, t: Takes) -> Result<(DType, Vec<Expr>), OpError> {
    check::takes(op, call, 0, "a", t)?;
    check::takes(op, call, 1, "b", t)?;
    let dtype = check::same_dtype(op, call, (0, "a"), (1, "b"))?;
    Ok((dtype, check::broadcast(op, call, &["a", "b"])?))
}

/// Writes a kernel of two operands that are broadcast to the first result's shape.
pub fn broadcast<'a, T: bytemuck::Pod + Default + Send + Sync, O: 'a>(
    cx: &EvalCx,
    a: &'a Source<'a, T>,
    b: &'a Source<'a, T>,
    f: Zip<T, O>,
) -> Result<impl Fn(usize, &mut [O]) + Sync + 'a, EvalError> {
    let shape = &cx.out(0)?.shape;
    data::count(shape)?;
    Ok(broadcast2(shape, (a, cx.input(0)?.shape()), (b, cx.input(1)?.shape()), f))
}

impl Binary {
    fn takes(&self) -> Takes {
        match (self.floats.is_some(), self.ints.is_some()) {
            (true, true) => Takes::Numbers,
            (true, false) => Takes::Floats,
            _ => Takes::Ints,
        }
    }
}

impl Op for Binary {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn partial_rule(&self) -> PartialRule {
        self.partial
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let (dtype, shape) = infer(self.name, call, self.takes())?;
        Ok(vec![TensorTy::new(dtype, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| self.cost.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (a, b, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        let (dtype, shape) = (out.dtype, out.shape.clone());
        let class = Class::of([a.dtype(), b.dtype(), dtype]);
        Ok(vec![match (class, self.floats, self.ints) {
            (Class::F32, Some((f, _)), _) => {
                let (a, b) = (chunks::f32s(a), chunks::f32s(b));
                chunks::of_f32s(dtype, shape, broadcast(cx, &a, &b, f)?)?
            }
            (Class::F64, Some((_, f)), _) => {
                let (a, b) = (Source::Plain(a.to_f64s()), Source::Plain(b.to_f64s()));
                let len = data::count(&shape)?;
                f64::store(dtype, shape, fill(len, broadcast(cx, &a, &b, f)?))
            }
            (Class::Int, _, Some(f)) => {
                let (a, b) = (chunks::i64s(a, self.ordered), chunks::i64s(b, self.ordered));
                chunks::of_i64s(dtype, shape, self.ordered, broadcast(cx, &a, &b, f)?)?
            }
            _ => return Err(EvalError::new(format!("`{}` takes no {}", self.name, a.dtype()))),
        }])
    }

    fn lanes(&self) -> Option<Lanes> {
        self.floats.map(|(f, _)| Lanes::Two(f))
    }

    fn in_place(&self) -> bool {
        true
    }
}

//! Elementwise comparisons and logic, which give bools.

use std::borrow::Cow;

use super::binary::{Zip, broadcast, infer};
use super::chunks::Source;
use super::prelude::*;

/// A comparison of two operands of one dtype.
pub struct Compare {
    pub name: &'static str,
    pub doc: Doc,
    pub f32s: Zip<f32, u8>,
    pub f64s: Zip<f64, u8>,
    pub ints: Zip<i64, u8>,
    /// Whether bools may be compared.
    pub bools: bool,
}

impl Op for Compare {
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
        const { &[Param::tensor("a"), Param::tensor("b")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let t = if self.bools { Takes::All } else { Takes::Numbers };
        let (_, shape) = infer(self.name, call, t)?;
        Ok(vec![TensorTy::new(DType::Bool, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (a, b, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        let len = data::count(&out.shape)?;
        let v = match Class::of([a.dtype(), b.dtype()]) {
            Class::F32 => {
                let (a, b) = (chunks::f32s(a), chunks::f32s(b));
                fill(len, broadcast(cx, &a, &b, self.f32s)?)
            }
            Class::F64 => {
                let (a, b) = (Source::Plain(a.to_f64s()), Source::Plain(b.to_f64s()));
                fill(len, broadcast(cx, &a, &b, self.f64s)?)
            }
            Class::Int => {
                let (a, b) = (chunks::i64s(a, true), chunks::i64s(b, true));
                fill(len, broadcast(cx, &a, &b, self.ints)?)
            }
        };
        Ok(vec![data::tensor(DType::Bool, out.shape.clone(), Data::Bits8(v))?])
    }
}

/// A function of two bools.
pub struct Logic {
    pub name: &'static str,
    pub doc: Doc,
    pub bools: Zip<u8, u8>,
}

impl Op for Logic {
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
        const { &[Param::tensor("a"), Param::tensor("b")] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let (_, shape) = infer(self.name, call, Takes::Bools)?;
        Ok(vec![TensorTy::new(DType::Bool, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        Cost::ONE.work(DType::Bool)
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let lent = |t| Ok(Source::Plain(Cow::Borrowed(bools(t)?)));
        let (a, b, shape) = (lent(cx.input(0)?)?, lent(cx.input(1)?)?, &cx.out(0)?.shape);
        let v = fill(data::count(shape)?, broadcast(cx, &a, &b, self.bools)?);
        Ok(vec![data::tensor(DType::Bool, shape.clone(), Data::Bits8(v))?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

/// The elements of a bool tensor.
pub fn bools(t: &Tensor) -> Result<&[u8], EvalError> {
    match (t.data(), t.dtype()) {
        (Slice::Bits8(v), DType::Bool) => Ok(v),
        (_, d) => Err(EvalError::new(format!("a bool is needed, found {d}"))),
    }
}

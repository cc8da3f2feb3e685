//! Elementwise comparisons and logic, which give bools.

use super::binary::{Zip, apply, infer};
use super::class::load_ordered;
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
        let v = match Class::of([a.dtype(), b.dtype()]) {
            Class::F32 => apply(cx, &a.to_f32s(), &b.to_f32s(), self.f32s)?,
            Class::F64 => apply(cx, &a.to_f64s(), &b.to_f64s(), self.f64s)?,
            Class::Int => apply(cx, &load_ordered(a), &load_ordered(b), self.ints)?,
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
        let (a, b) = (bools(cx.input(0)?)?, bools(cx.input(1)?)?);
        let v = apply(cx, a, b, self.bools)?;
        Ok(vec![data::tensor(DType::Bool, cx.out(0)?.shape.clone(), Data::Bits8(v))?])
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

//! Shifts of integers, which have a result where the amount is one of the dtype's bits.

use crate::ops::support::binary::{Zip, apply, infer};
use crate::ops::support::data::at_index;
use crate::ops::support::prelude::*;

/// A shift of an integer.
pub struct Shift {
    pub name: &'static str,
    pub doc: Doc,
    pub signed: Zip<i64, i64>,
    /// On unsigned integers; u64 is given by its bits.
    pub unsigned: Zip<i64, i64>,
}

impl Op for Shift {
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
        let (dtype, shape) = infer(self.name, call, Takes::Ints)?;
        Ok(vec![TensorTy::new(dtype, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (a, b, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        let amounts = b.to_i64s();
        let bits = a.dtype().bits() as i64;
        let outside = amounts.iter().position(|n| !(0..bits).contains(n));
        if let (Some(i), false) = (outside, out.shape.contains(&0)) {
            return Err(EvalError::new(format!(
                "`{}` of {}: the amount {}{} is outside 0..{bits}",
                self.name,
                a.dtype(),
                data::shown_int(b, i),
                at_index(i, b.shape())
            )));
        }
        let f = if a.dtype().is_signed() { self.signed } else { self.unsigned };
        let v = apply(cx, &a.to_i64s(), &amounts, f)?;
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }

    fn in_place(&self) -> bool {
        true
    }
}

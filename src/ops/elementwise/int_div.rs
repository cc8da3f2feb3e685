//! Integer division, which has no result for a divisor of zero.

use crate::ops::support::binary::{Zip, apply, infer};
use crate::ops::support::prelude::*;

/// A function of an integer and a divisor that is not 0.
pub struct IntDiv {
    pub name: &'static str,
    pub doc: Doc,
    pub signed: Zip<i64, i64>,
    /// On u64, whose bits are given as i64.
    pub unsigned: Zip<i64, i64>,
}

impl Op for IntDiv {
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
        let divisors = b.to_i64s();
        let zero = divisors.iter().position(|d| *d == 0);
        if let (Some(i), false) = (zero, out.shape.contains(&0)) {
            return Err(EvalError::new(format!(
                "`{}`: division by zero, `b` is 0{}",
                self.name,
                data::at_index(i, b.shape())
            )));
        }
        let f = if b.dtype() == DType::U64 { self.unsigned } else { self.signed };
        let v = apply(cx, &a.to_i64s(), &divisors, f)?;
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }

    fn in_place(&self) -> bool {
        true
    }
}

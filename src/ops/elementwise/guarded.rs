//! Integer functions that have no result for some second operands: division by zero, shifts by
//! more bits than there are.

use crate::ops::support::binary::{Zip, broadcast, infer};
use crate::ops::support::chunks::Source;
use crate::ops::support::prelude::*;

/// A function of two integers that refuses some second ones.
pub struct Guarded {
    pub name: &'static str,
    pub doc: Doc,
    pub signed: Zip<i64, i64>,
    /// On unsigned integers; u64 is given by its bits.
    pub unsigned: Zip<i64, i64>,
    /// Whether there is a result for a second operand, in a dtype of so many bits.
    pub takes: fn(i64, i64) -> bool,
    /// Why not, told after the op's name: of the dtype, and the operand with its index.
    pub refusal: fn(DType, &str) -> String,
}

impl Op for Guarded {
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
        let seconds = b.to_i64s();
        let bits = a.dtype().bits() as i64;
        let bad = seconds.iter().position(|n| !(self.takes)(*n, bits));
        if let (Some(i), false) = (bad, out.shape.contains(&0)) {
            let shown = format!("{}{}", data::shown_int(b, i), data::at_index(i, b.shape()));
            let why = (self.refusal)(a.dtype(), &shown);
            return Err(EvalError::new(format!("`{}`{why}", self.name)));
        }
        let f = if a.dtype().is_signed() { self.signed } else { self.unsigned };
        let (a, b) = (chunks::i64s(a, false), Source::Plain(seconds));
        let f = broadcast(cx, &a, &b, f)?;
        Ok(vec![chunks::of_i64s(out.dtype, out.shape.clone(), false, f)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

/// An amount of a shift is one of the dtype's bits.
pub fn amount(n: i64, bits: i64) -> bool {
    (0..bits).contains(&n)
}

/// What is said of another amount.
pub fn beyond(dtype: DType, amount: &str) -> String {
    format!(" of {dtype}: the amount {amount} is outside 0..{}", dtype.bits())
}

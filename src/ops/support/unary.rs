//! Elementwise ops of one operand.

use super::prelude::*;

/// An elementwise function of one operand, with a result of its dtype.
pub struct Unary {
    pub name: &'static str,
    pub doc: Doc,
    /// On every float but f64; the result is rounded once.
    pub f32s: fn(&[f32], &mut [f32]),
    pub f64s: fn(&[f64], &mut [f64]),
    /// On integers, where the op takes them; true for u64, whose values wrap in an i64.
    pub ints: Option<fn(i64, bool) -> i64>,
    pub cost: Cost,
    pub partial: PartialRule,
}

impl Op for Unary {
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
        const { &[Param::tensor("x")] }
    }

    fn partial_rule(&self) -> PartialRule {
        self.partial
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let t = if self.ints.is_some() { Takes::Numbers } else { Takes::Floats };
        let dtype = check::takes(self.name, call, 0, "x", t)?;
        Ok(vec![TensorTy::new(dtype, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| self.cost.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let shape = x.shape().to_vec();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F32 => chunks::map_f32s(x, out.dtype, self.f32s)?,
            Class::F64 => {
                let x = x.to_f64s();
                let f = |at, part: &mut [f64]| (self.f64s)(&x[at..at + part.len()], part);
                f64::store(out.dtype, shape, fill(x.len(), f))
            }
            Class::Int => {
                let f = self
                    .ints
                    .ok_or_else(|| EvalError::new(format!("`{}` takes no integers", self.name)))?;
                let unsigned = x.dtype() == DType::U64;
                let x = chunks::i64s(x, false);
                chunks::of_i64s(out.dtype, shape, false, |at, part| {
                    let mut buffer = [0; CHUNK];
                    let x = x.read(at, part.len(), &mut buffer);
                    map(x, part, |x| f(x, unsigned));
                })?
            }
        }])
    }

    fn lanes(&self) -> Option<Lanes> {
        Some(Lanes::One(self.f32s))
    }

    fn in_place(&self) -> bool {
        true
    }
}

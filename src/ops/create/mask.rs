//! Bool matrices of what a row may see.

use crate::ops::support::prelude::*;

pub struct Mask {
    pub name: &'static str,
    pub doc: Doc,
    /// Whether the last row is aligned with the last column, and not the first with the first.
    pub ends: bool,
}

impl Op for Mask {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::attr("shape", ParamKind::Shape)] }
    }

    fn role(&self) -> Role {
        Role::Create
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let shape = call.attrs.shape("shape").ok_or_else(|| check::missing(self.name, "shape"))?;
        if shape.len() != 2 {
            return Err(OpError::new(
                Code::RankMismatch,
                format!(
                    "`{}` takes a shape of two extents, found {}",
                    self.name,
                    check::show_dims(call, shape)
                ),
            )
            .at("shape", format!("{} extents here", shape.len()))
            .help(format!(
                "write `{}([N, M])`: a mask of N rows broadcasts over more",
                self.name
            )));
        }
        Ok(vec![TensorTy::new(DType::Bool, shape.to_vec())])
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::create(outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let shape = cx.out(0)?.shape.clone();
        let len = data::count(&shape)?;
        let (n, m) = match shape.as_slice() {
            [n, m] => (*n, (*m).max(1)),
            _ => (0, 1),
        };
        // row i sees column j where j <= i + shift
        let shift = if self.ends { m as i64 - n as i64 } else { 0 };
        let v = fill(len, |at, part: &mut [u8]| {
            for (k, o) in part.iter_mut().enumerate() {
                let (i, j) = ((at + k) / m, (at + k) % m);
                *o = (j as i64 <= i as i64 + shift) as u8;
            }
        });
        Ok(vec![data::tensor(DType::Bool, shape, Data::Bits8(v))?])
    }
}

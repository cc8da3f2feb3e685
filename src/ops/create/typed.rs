//! Constants of a type that is written out.

use crate::ops::support::prelude::*;

pub struct Typed {
    pub name: &'static str,
    pub doc: Doc,
    pub role: Role,
    pub value: f64,
}

impl Op for Typed {
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
        const { &[Param::attr("type", ParamKind::Type)] }
    }

    fn role(&self) -> Role {
        self.role
    }

    fn uniform(&self) -> bool {
        true
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        typed(self.name, call)
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::create(outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        data::count(&out.shape)?;
        Ok(vec![Tensor::full(out.dtype, out.shape.clone(), self.value)])
    }
}

/// The type that attribute `type` gives.
pub fn typed(op: &str, call: &Call) -> Result<Vec<TensorTy>, OpError> {
    match call.attrs.get("type") {
        Some(Attr::Type(d, shape)) => Ok(vec![TensorTy::new(*d, shape.clone())]),
        _ => Err(check::missing(op, "type").help(format!("write `{op}(f32[128])`"))),
    }
}

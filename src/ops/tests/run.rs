//! Runs one op on concrete tensors.

use crate::ops::registry::find;
use crate::ops::{Attr, Attrs, Call, DefaultValue, EvalCx, Op, OpError, OutTy, ParamKind};
use crate::types::dim::{Env, Expr, VarTable};
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};
use crate::types::ty::TensorTy;
use crate::types::value::Tensor;

/// An op with its operands and attributes.
pub struct Case {
    pub op: &'static dyn Op,
    pub inputs: Vec<Tensor>,
    pub attrs: Attrs,
    pub wide: bool,
    pub exact_order: bool,
}

/// Starts a case; attributes that have a default get it.
pub fn op(name: &str, inputs: &[&Tensor]) -> Case {
    let op = find(name).unwrap_or_else(|| panic!("no op `{name}`"));
    let rank = inputs.first().map_or(0, |t| t.rank()) as i64;
    let mut attrs = Attrs::default();
    for p in op.params() {
        let attr = match (p.default, p.kind) {
            (DefaultValue::Int(i), ParamKind::Dims) => {
                Attr::Ints(vec![if i < 0 { i + rank } else { i }])
            }
            (DefaultValue::Int(i), ParamKind::Number) => Attr::Num(Num::Int(Expr::int(i))),
            (DefaultValue::Int(i), ParamKind::PerAxis) => Attr::Shape(vec![Expr::int(i)]),
            (DefaultValue::Int(i), _) => Attr::Int(Expr::int(i)),
            (DefaultValue::Float(f), _) => Attr::Num(Num::Float(Float::Const(f))),
            (DefaultValue::Bool(b), _) => Attr::Bool(b),
            (DefaultValue::Str(s), _) => Attr::Str(s.into()),
            (DefaultValue::Required | DefaultValue::Absent, _) => continue,
        };
        attrs.0.push((p.name, attr));
    }
    let inputs = inputs.iter().map(|t| (*t).clone()).collect();
    Case { op, inputs, attrs, wide: false, exact_order: false }
}

impl Case {
    pub fn attr(mut self, name: &'static str, attr: Attr) -> Case {
        self.attrs.0.retain(|(n, _)| *n != name);
        self.attrs.0.push((name, attr));
        self
    }

    pub fn int(self, name: &'static str, v: i64) -> Case {
        self.attr(name, Attr::Int(Expr::int(v)))
    }

    pub fn num(self, name: &'static str, v: f64) -> Case {
        self.attr(name, Attr::Num(Num::Float(Float::Const(v))))
    }

    pub fn dims(self, v: &[i64]) -> Case {
        self.attr("dim", Attr::Ints(v.to_vec()))
    }

    pub fn flag(self, name: &'static str) -> Case {
        self.attr(name, Attr::Bool(true))
    }

    pub fn dtype(self, name: &'static str, d: DType) -> Case {
        self.attr(name, Attr::DType(d))
    }

    pub fn shape(self, name: &'static str, v: &[usize]) -> Case {
        self.attr(name, Attr::Shape(exprs(v)))
    }

    pub fn types(&self) -> Vec<TensorTy> {
        self.inputs.iter().map(ty).collect()
    }

    pub fn infer(&self) -> Result<Vec<TensorTy>, OpError> {
        let vars = VarTable::default();
        self.op.infer(&Call { inputs: &self.types(), attrs: &self.attrs, vars: &vars })
    }

    /// The results, held against what was inferred; the message where the op refuses.
    pub fn results(&self) -> Result<Vec<Tensor>, String> {
        let types = self.infer().map_err(|e| e.message)?;
        let wide = |d: DType| if self.wide && d.is_float() { DType::F64 } else { d };
        let outs: Vec<OutTy> = types
            .iter()
            .map(|t| OutTy { dtype: wide(t.dtype), shape: concrete(&t.shape) })
            .collect();
        let inputs: Vec<Tensor> = self.inputs.iter().map(|t| t.cast(wide(t.dtype()))).collect();
        let declared: Vec<DType> = self.inputs.iter().map(Tensor::dtype).collect();
        let cx = EvalCx {
            inputs: &inputs,
            declared: &declared,
            attrs: &self.attrs,
            env: &Env::default(),
            outs: &outs,
            wide: self.wide,
            exact_order: self.exact_order,
        };
        let got = self.op.eval(&cx).map_err(|e| e.message)?;
        assert_eq!(got.len(), outs.len());
        for (g, o) in got.iter().zip(&outs) {
            assert_eq!((g.dtype(), g.shape()), (o.dtype, &o.shape[..]), "`{}`", self.op.name());
        }
        Ok(got)
    }

    pub fn get(&self) -> Tensor {
        self.results().unwrap_or_else(|e| panic!("`{}`: {e}", self.op.name())).remove(0)
    }

    pub fn values(&self) -> Vec<f64> {
        self.get().to_f64s().into_owned()
    }

    pub fn error(&self) -> String {
        match self.results() {
            Ok(_) => panic!("`{}` accepts this", self.op.name()),
            Err(e) => e,
        }
    }
}

pub fn exprs(v: &[usize]) -> Vec<Expr> {
    v.iter().map(|n| Expr::int(*n as i64)).collect()
}

pub fn concrete(v: &[Expr]) -> Vec<usize> {
    v.iter().map(|e| e.as_int().unwrap() as usize).collect()
}

pub fn ty(t: &Tensor) -> TensorTy {
    TensorTy::new(t.dtype(), exprs(t.shape()))
}

pub fn f32s(shape: &[usize], v: &[f64]) -> Tensor {
    tensor(DType::F32, shape, v)
}

pub fn i32s(shape: &[usize], v: &[i64]) -> Tensor {
    Tensor::from_i64s(DType::I32, shape.to_vec(), v.to_vec())
}

pub fn tensor(d: DType, shape: &[usize], v: &[f64]) -> Tensor {
    Tensor::from_f64s(d, shape.to_vec(), v.to_vec())
}

/// Values between -1 and 1 that repeat from run to run.
pub fn noise(d: DType, shape: &[usize], seed: u64) -> Tensor {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let n = shape.iter().product();
    let step = |_| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    Tensor::from_f64s(d, shape.to_vec(), (0..n).map(step).collect())
}

/// Whether two results are the same number, or both NaN.
pub fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

pub fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let ok = same(*g, *w) || (g - w).abs() <= tolerance * w.abs().max(1.0);
        assert!(ok, "element {i}: got {g}, want {w}");
    }
}

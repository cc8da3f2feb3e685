//! Numbers of the surface language: integers that may be symbolic, and floats folded from them.

use std::sync::Arc;

use super::dim::{Env, Expr, VarId, VarTable};

/// A real-valued number; it may use symbolic integers.
#[derive(Clone, Debug, PartialEq)]
pub enum Float {
    Const(f64),
    Int(Expr),
    Neg(Arc<Float>),
    Bin(FloatOp, Arc<(Float, Float)>),
    Fun(FloatFn, Arc<Float>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Pow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatFn {
    Sqrt,
    Exp,
    Log,
    Log2,
    Exp2,
}

impl Float {
    pub fn negated(self) -> Float {
        match self {
            Float::Const(c) => Float::Const(-c),
            f => Float::Neg(Arc::new(f)),
        }
    }

    pub fn bin(op: FloatOp, a: Float, b: Float) -> Float {
        match (a.as_const(), b.as_const()) {
            (Some(x), Some(y)) => Float::Const(apply(op, x, y)),
            _ => Float::Bin(op, Arc::new((a, b))),
        }
    }

    pub fn fun(f: FloatFn, a: Float) -> Float {
        match a.as_const() {
            Some(x) => Float::Const(call(f, x)),
            None => Float::Fun(f, Arc::new(a)),
        }
    }

    pub fn as_const(&self) -> Option<f64> {
        match self {
            Float::Const(c) => Some(*c),
            Float::Int(e) => e.as_int().map(|i| i as f64),
            _ => None,
        }
    }

    pub fn eval(&self, env: &Env) -> Option<f64> {
        Some(match self {
            Float::Const(c) => *c,
            Float::Int(e) => e.eval(env)? as f64,
            Float::Neg(a) => -a.eval(env)?,
            Float::Bin(op, ab) => apply(*op, ab.0.eval(env)?, ab.1.eval(env)?),
            Float::Fun(f, a) => call(*f, a.eval(env)?),
        })
    }

    fn vars_into(&self, out: &mut Vec<VarId>) {
        match self {
            Float::Const(_) => {}
            Float::Int(e) => out.extend(e.vars()),
            Float::Neg(a) | Float::Fun(_, a) => a.vars_into(out),
            Float::Bin(_, ab) => {
                ab.0.vars_into(out);
                ab.1.vars_into(out);
            }
        }
    }
}

fn apply(op: FloatOp, x: f64, y: f64) -> f64 {
    match op {
        FloatOp::Add => x + y,
        FloatOp::Sub => x - y,
        FloatOp::Mul => x * y,
        FloatOp::Div => x / y,
        FloatOp::Min => x.min(y),
        FloatOp::Max => x.max(y),
        FloatOp::Pow => x.powf(y),
    }
}

fn call(f: FloatFn, x: f64) -> f64 {
    match f {
        FloatFn::Sqrt => x.sqrt(),
        FloatFn::Exp => x.exp(),
        FloatFn::Log => x.ln(),
        FloatFn::Log2 => x.log2(),
        FloatFn::Exp2 => x.exp2(),
    }
}

/// An integer or real number.
#[derive(Clone, Debug, PartialEq)]
pub enum Num {
    Int(Expr),
    Float(Float),
}

impl Num {
    pub fn as_int(&self) -> Option<&Expr> {
        match self {
            Num::Int(e) => Some(e),
            Num::Float(_) => None,
        }
    }

    pub fn to_float(&self) -> Float {
        match self {
            Num::Int(e) => match e.as_int() {
                Some(i) => Float::Const(i as f64),
                None => Float::Int(e.clone()),
            },
            Num::Float(f) => f.clone(),
        }
    }

    pub fn eval_f64(&self, env: &Env) -> Option<f64> {
        match self {
            Num::Int(e) => e.eval(env).map(|i| i as f64),
            Num::Float(f) => f.eval(env),
        }
    }

    pub fn vars(&self) -> Vec<VarId> {
        match self {
            Num::Int(e) => e.vars().into_iter().collect(),
            Num::Float(f) => {
                let mut out = vec![];
                f.vars_into(&mut out);
                out
            }
        }
    }

    pub fn show(&self, vars: &VarTable) -> String {
        match self {
            Num::Int(e) => vars.show(e),
            Num::Float(f) => show_float(f, vars),
        }
    }
}

fn show_float(f: &Float, vars: &VarTable) -> String {
    match f {
        Float::Const(c) => format!("{c:?}"),
        Float::Int(e) => vars.show(e),
        Float::Neg(a) => format!("-{}", show_float(a, vars)),
        Float::Bin(op, ab) => {
            let (x, y) = (show_float(&ab.0, vars), show_float(&ab.1, vars));
            match op {
                FloatOp::Add => format!("({x} + {y})"),
                FloatOp::Sub => format!("({x} - {y})"),
                FloatOp::Mul => format!("{x} * {y}"),
                FloatOp::Div => format!("{x} / {y}"),
                FloatOp::Min => format!("min({x}, {y})"),
                FloatOp::Max => format!("max({x}, {y})"),
                FloatOp::Pow => format!("pow({x}, {y})"),
            }
        }
        Float::Fun(g, a) => {
            let name = match g {
                FloatFn::Sqrt => "sqrt",
                FloatFn::Exp => "exp",
                FloatFn::Log => "log",
                FloatFn::Log2 => "log2",
                FloatFn::Exp2 => "exp2",
            };
            format!("{name}({})", show_float(a, vars))
        }
    }
}

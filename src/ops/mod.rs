//! What an operation is.
//!
//! An op is one file that declares one `static` implementing [`Op`], plus one line in
//! [`registry`]. It states its signature, result types, iteration domain with accesses, work per
//! point, and evaluation. Everything else (flops, bytes, distribution, liveness) is derived from
//! these by shared code that knows no op by name.

pub mod contractions;
pub mod create;
pub mod cuts;
pub mod elementwise;
pub mod facts;
pub mod indexing;
pub mod operators;
pub mod placement;
pub mod reductions;
pub mod registry;
pub mod shape;
mod support;

#[cfg(test)]
mod tests;

pub use support::walk::alone;

use crate::diag::Code;
use crate::types::dim::{Env, Expr, VarTable};
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::placement::{AxisId, Placement};
use crate::types::ty::TensorTy;
use crate::types::value::Tensor;
use facts::{Domain, Work};
pub use support::walk::Lane;

/// What a parameter of an op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A tensor; a number becomes a rank-0 constant of the other operands' dtype.
    Tensor,
    /// A tensor that may be left out.
    OptTensor,
    /// A list `[a, b]` of tensors; takes all operands that are left.
    Tensors,
    /// An integer, possibly symbolic.
    Int,
    /// An integer or real number.
    Number,
    Bool,
    Str,
    DType,
    /// A tensor type without placement: `f32[M, N]`. Gives two attributes' worth: dtype and shape.
    Type,
    /// `[M, N]`
    Shape,
    /// One axis or a list of axes of the first operand; negative counts from the end.
    Dims,
    /// A list of plain integers, such as a permutation.
    Ints,
    /// One integer for each of some axes, possibly symbolic; a lone one stands for all.
    PerAxis,
    /// The subscript of a window read or write; only the language's own syntax makes it.
    Subs,
    /// A placement; only `reshard` has it.
    Placement,
    /// Mesh axes; only `collect` has it.
    Axes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// Must be given.
    Required,
    /// May be left out; the attribute is then absent.
    Absent,
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: &'static str,
    pub kind: ParamKind,
    pub default: DefaultValue,
    /// Whether it may be given by position; attributes other than the one obvious are by name.
    pub positional: bool,
}

impl Param {
    /// A required tensor operand.
    pub const fn tensor(name: &'static str) -> Param {
        Param { name, kind: ParamKind::Tensor, default: DefaultValue::Required, positional: true }
    }

    /// A required positional attribute.
    pub const fn attr(name: &'static str, kind: ParamKind) -> Param {
        Param { name, kind, default: DefaultValue::Required, positional: true }
    }

    /// An attribute given by name, with a default.
    pub const fn named(name: &'static str, kind: ParamKind, default: DefaultValue) -> Param {
        Param { name, kind, default, positional: false }
    }
}

/// One subscript of a window read or write.
#[derive(Clone, Debug, PartialEq)]
pub enum Sub {
    /// One index; drops the axis.
    At(Expr),
    /// `len` indices from `start`. Where `end` is given, indices from it on are past the end of
    /// what exists: reads there give `pad`, writes are dropped.
    Window { start: Expr, len: Expr, end: Option<Expr>, pad: Option<Num> },
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// Not given and without a default.
    Absent,
    Int(Expr),
    Num(Num),
    Bool(bool),
    Str(String),
    DType(DType),
    Shape(Vec<Expr>),
    Type(DType, Vec<Expr>),
    /// Normalised axes (never negative, in the order given) or plain integers.
    Ints(Vec<i64>),
    Subs(Vec<Sub>),
    Placement(Placement),
    Axes(Vec<AxisId>),
    /// Index of an optional operand among the inputs.
    Operand(usize),
}

/// Attributes of one op instance, in the order of the signature.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs(pub Vec<(&'static str, Attr)>);

impl Attrs {
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, a)| a).filter(|a| **a != Attr::Absent)
    }

    pub fn int(&self, name: &str) -> Option<&Expr> {
        match self.get(name) {
            Some(Attr::Int(e)) => Some(e),
            _ => None,
        }
    }

    pub fn num(&self, name: &str) -> Option<&Num> {
        match self.get(name) {
            Some(Attr::Num(n)) => Some(n),
            _ => None,
        }
    }

    /// `false` where absent.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Attr::Bool(true)))
    }

    pub fn str(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Attr::Str(s)) => Some(s),
            _ => None,
        }
    }

    pub fn dtype(&self, name: &str) -> Option<DType> {
        match self.get(name) {
            Some(Attr::DType(d)) => Some(*d),
            _ => None,
        }
    }

    pub fn shape(&self, name: &str) -> Option<&[Expr]> {
        match self.get(name) {
            Some(Attr::Shape(s)) => Some(s),
            Some(Attr::Type(_, s)) => Some(s),
            _ => None,
        }
    }

    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.get(name) {
            Some(Attr::Ints(v)) => Some(v),
            _ => None,
        }
    }

    pub fn subs(&self, name: &str) -> Option<&[Sub]> {
        match self.get(name) {
            Some(Attr::Subs(v)) => Some(v),
            _ => None,
        }
    }

    /// Every symbolic integer in the attributes.
    pub fn exprs(&self) -> Vec<Expr> {
        let num = |n: &Num| n.vars().into_iter().map(Expr::var).collect::<Vec<_>>();
        let mut out = vec![];
        for (_, a) in &self.0 {
            match a {
                Attr::Int(e) => out.push(e.clone()),
                Attr::Num(n) => out.extend(num(n)),
                Attr::Shape(s) | Attr::Type(_, s) => out.extend(s.iter().cloned()),
                Attr::Subs(subs) => {
                    for s in subs {
                        match s {
                            Sub::At(e) => out.push(e.clone()),
                            Sub::Window { start, len, end, pad } => {
                                out.extend([start.clone(), len.clone()]);
                                out.extend(end.clone());
                                out.extend(pad.iter().flat_map(num));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// Operand types and attributes, as inference, domain and work see them.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub inputs: &'a [TensorTy],
    pub attrs: &'a Attrs,
    pub vars: &'a VarTable,
}

impl Call<'_> {
    /// The type of an operand; the signature was checked before, so it exists.
    pub fn input(&self, i: usize) -> Result<&TensorTy, OpError> {
        self.inputs
            .get(i)
            .ok_or_else(|| OpError::new(Code::Internal, format!("operand {i} is missing")))
    }
}

/// Why an op refuses its operands. The caller adds the spans.
#[derive(Clone, Debug)]
pub struct OpError {
    pub code: Code,
    pub message: String,
    /// The operand or attribute at fault, by the name of its parameter, with a remark.
    pub at: Vec<(String, String)>,
    pub help: Option<String>,
}

impl OpError {
    pub fn new(code: Code, message: impl Into<String>) -> OpError {
        OpError { code, message: message.into(), at: vec![], help: None }
    }

    pub fn at(mut self, param: impl Into<String>, remark: impl Into<String>) -> OpError {
        self.at.push((param.into(), remark.into()));
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> OpError {
        self.help = Some(text.into());
        self
    }
}

/// How an op treats operands that are not yet reduced over a mesh axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialRule {
    /// Refused: the operand must be completed first.
    None,
    /// Linear in all its operands together (add, sub, neg): all partial alike.
    Linear,
    /// Linear in each operand apart (mul, matmul): at most one is partial.
    Multilinear,
    /// A view: keeps what it gets.
    View,
    /// Monotone in each operand: passes `max` and `min` partials where the other operands are
    /// whole, or partial alike where the op itself takes that maximum or minimum.
    Monotone,
}

/// What the graph's engines must do beyond calling [`Op::eval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A function of its operands.
    Compute,
    /// Costs nothing: same elements, another shape or order of the axes. It becomes an address.
    View,
    /// Makes a value from attributes alone.
    Create,
    /// Makes a value whose elements may not be read before they are written.
    Empty,
    /// Reads a window (subscripts in attribute `subs`).
    Read,
    /// Writes the second operand into a window of the first.
    Write,
    /// Moves a value to another placement.
    Reshard,
    /// Finishes partial values.
    Complete,
    /// The piece of a split value that the position holds.
    Local,
    /// Puts the pieces of all positions together.
    Collect,
}

/// A result of an evaluation request: dtype and concrete shape.
#[derive(Clone, Debug)]
pub struct OutTy {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

/// What an evaluation sees. All extents are concrete here.
pub struct EvalCx<'a> {
    pub inputs: &'a [Tensor],
    /// The operands' declared dtypes; in wide mode those of `inputs` differ.
    pub declared: &'a [DType],
    pub attrs: &'a Attrs,
    pub env: &'a Env,
    /// Declared results; float dtypes are `f64` in wide mode.
    pub outs: &'a [OutTy],
    /// `--precision f64`: floats are f64 and nothing rounds in between.
    pub wide: bool,
    /// `--exact-order`: accumulate in index order on any machine.
    pub exact_order: bool,
}

impl<'a> EvalCx<'a> {
    pub fn input(&self, i: usize) -> Result<&'a Tensor, EvalError> {
        self.inputs.get(i).ok_or_else(|| EvalError::new(format!("operand {i} is missing")))
    }

    /// The declared dtype of an operand.
    pub fn declared(&self, i: usize) -> Result<DType, EvalError> {
        let d = self.declared.get(i).copied();
        d.ok_or_else(|| EvalError::new(format!("operand {i} is missing")))
    }

    pub fn out(&self, i: usize) -> Result<&'a OutTy, EvalError> {
        self.outs.get(i).ok_or_else(|| EvalError::new(format!("result {i} is missing")))
    }

    /// The value of a symbolic integer.
    pub fn expr(&self, e: &Expr) -> Result<i64, EvalError> {
        e.eval(self.env).ok_or_else(|| EvalError::new("an integer expression has no value"))
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>, EvalError> {
        self.attrs.int(name).map(|e| self.expr(e)).transpose()
    }

    pub fn num(&self, name: &str) -> Result<Option<f64>, EvalError> {
        match self.attrs.num(name) {
            None => Ok(None),
            Some(n) => n
                .eval_f64(self.env)
                .map(Some)
                .ok_or_else(|| EvalError::new(format!("attribute `{name}` has no value"))),
        }
    }

    pub fn dims(&self, name: &str) -> Vec<usize> {
        self.attrs.ints(name).map_or(vec![], |v| v.iter().map(|d| *d as usize).collect())
    }
}

/// Why an evaluation stopped: index out of range, division by zero.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalError {
    pub message: String,
}

impl EvalError {
    pub fn new(message: impl Into<String>) -> EvalError {
        EvalError { message: message.into() }
    }
}

/// A program that shows an op, with its result: both are tested.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The body of a function; `x`, `y`, ... are bound by `inputs`.
    pub code: &'static str,
    /// `("x", "f32[2]", &[1.0, 2.0])`
    pub inputs: &'static [(&'static str, &'static str, &'static [f64])],
    /// The result's type and elements.
    pub result: (&'static str, &'static [f64]),
}

/// The document of an op.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// One line.
    pub summary: &'static str,
    /// Formula, rounding, source of the name.
    pub details: &'static str,
    pub examples: &'static [Example],
}

/// A kernel of elements: the result's are written from the operands'.
#[derive(Clone, Copy)]
pub enum Lanes {
    One(fn(&[f32], &mut [f32])),
    Two(fn(Lane<f32>, Lane<f32>, &mut [f32])),
}

/// An operation.
pub trait Op: Sync {
    fn name(&self) -> &'static str;
    /// Where the book lists it: `elementwise`, `reductions`, ...
    fn group(&self) -> &'static str;
    fn doc(&self) -> Doc;
    fn params(&self) -> &'static [Param];

    fn role(&self) -> Role {
        Role::Compute
    }

    /// Whether a creation has one value everywhere.
    fn uniform(&self) -> bool {
        false
    }

    /// Whether a view has its operand's elements in the same order: it lies at the same address.
    fn keeps_order(&self) -> bool {
        false
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::None
    }

    /// The dtype that a number given as an operand takes, from the dtypes of the operands (`None`
    /// for a number): that of the first tensor, unless an operand is of a fixed dtype.
    fn number_dtype(&self, operands: &[Option<DType>]) -> Option<DType> {
        operands.iter().flatten().next().copied()
    }

    /// dtypes and shapes of the results. Placements are derived elsewhere.
    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError>;

    /// Iteration domain and accesses. `outs` are what [`Op::infer`] gave.
    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain;

    /// Work for each point of the domain or of a result.
    fn work(&self, call: &Call, outs: &[TensorTy]) -> Vec<Work>;

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError>;

    /// Whether [`Op::eval`] of blocks of the operands, cut along a parallel dimension of the
    /// domain, gives the blocks of the results. Not where an attribute tells an extent of an
    /// operand that may be cut.
    fn blockwise(&self) -> bool {
        true
    }

    /// The kernel of an elementwise op on f32, of which every narrower float is made by rounding.
    fn lanes(&self) -> Option<Lanes> {
        None
    }

    /// Whether the result may take a dying operand's place (elementwise ops).
    fn in_place(&self) -> bool {
        false
    }

    /// Whether it is a contraction: inside a mesh its result is in rmem, and an atom can do it.
    fn contraction(&self) -> bool {
        false
    }
}

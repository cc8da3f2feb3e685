//! The ops behind the language's own syntax: operators, subscripts, window writes.

use super::{Op, registry};
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::types::dtype::DType;

/// The op of a binary operator on tensors; `@` has none.
pub fn binary(op: BinaryOp) -> Option<&'static dyn Op> {
    registry::find(match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Rem => "rem",
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Lt => "lt",
        BinaryOp::Le => "le",
        BinaryOp::Gt => "gt",
        BinaryOp::Ge => "ge",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::At => return None,
    })
}

pub fn unary(op: UnaryOp) -> Option<&'static dyn Op> {
    registry::find(match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Not => "not",
    })
}

/// `x[a..b, i]`
pub fn read() -> Option<&'static dyn Op> {
    registry::find("slice")
}

/// `x[a..b] = tile`
pub fn write() -> Option<&'static dyn Op> {
    registry::find("window_write")
}

/// `w.valid`: attributes `n`, `start`, `end`; element `i` is `start + i < end`.
pub fn window_valid() -> Option<&'static dyn Op> {
    registry::find("window_valid")
}

/// The op of a method or function that PyTorch calls otherwise, or the same.
pub fn named_in_torch(name: &str) -> Option<&'static str> {
    let here = match name {
        "view" | "view_as" | "reshape_as" => "reshape",
        "permute" | "t" | "mT" | "T" | "movedim" => "transpose",
        "to" | "type" | "float" | "half" | "bfloat16" | "double" | "int" | "long" => "cast",
        "amax" => "max",
        "amin" => "min",
        "true_divide" => "div",
        "mm" | "bmm" | "linear" => "matmul",
        "cat" => "concat",
        "clip" => "clamp",
        "masked_fill" => "where",
        "repeat" => "expand",
        other => other,
    };
    registry::find(here).map(|op| op.name())
}

/// Functions of dtypes: `widen(T)` is the dtype that sums of T accumulate in.
pub fn of_dtype(name: &str, d: DType) -> Option<DType> {
    match name {
        "widen" if d.is_float() && d != DType::F64 => Some(DType::F32),
        "widen" => Some(d),
        _ => None,
    }
}

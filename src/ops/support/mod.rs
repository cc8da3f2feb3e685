//! What many ops share: checks of operands, domains, and loops over elements.

pub mod access;
pub mod bf16_product;
#[cfg(target_arch = "x86_64")]
mod bf16_unit;
pub mod binary;
pub mod check;
pub mod chunks;
pub mod class;
pub mod compare;
pub mod contract;
pub mod data;
pub mod gather;
pub mod gemm;
pub mod math;
pub mod order;
pub mod reduce;
pub mod unary;
pub mod walk;

/// What an op's file uses.
pub mod prelude {
    pub use super::access;
    pub use super::binary::Binary;
    pub use super::check::{self, Takes};
    pub use super::chunks;
    pub use super::class::{Class, Real};
    pub use super::compare::Compare;
    pub use super::data;
    pub use super::math;
    pub use super::reduce::Reduce;
    pub use super::unary::Unary;
    pub use super::walk::{CHUNK, Lane, fill, map, zip};
    pub use super::{Cost, example};
    pub use crate::diag::Code;
    pub use crate::ops::facts::{Access, AxisAccess, DomDim, Domain, Per, Resource, Work};
    pub use crate::ops::{
        Attr, Attrs, Call, DefaultValue, Doc, EvalCx, EvalError, Lanes, Op, OpError, Param,
        ParamKind, PartialRule, Role, Sub,
    };
    pub use crate::types::dim::{Decision, Expr};
    pub use crate::types::dtype::DType;
    pub use crate::types::placement::Reduction;
    pub use crate::types::ty::TensorTy;
    pub use crate::types::value::{Data, Slice, Tensor};
}

use super::Example;
use super::facts::{Resource, Work};
use crate::types::dtype::DType;

/// Names, types and elements of an example's inputs.
pub type Inputs = &'static [(&'static str, &'static str, &'static [f64])];

pub const fn example(
    code: &'static str,
    inputs: Inputs,
    result: (&'static str, &'static [f64]),
) -> Example {
    Example { code, inputs, result }
}

/// Work of one point: arithmetic of the operand's dtype, and special functions.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub arith: i64,
    pub sfu: i64,
}

impl Cost {
    /// One add, multiply, compare or select.
    pub const ONE: Cost = Cost { arith: 1, sfu: 0 };
    /// One special function.
    pub const SFU: Cost = Cost { arith: 0, sfu: 1 };

    /// As work per point on operands of `dtype`.
    pub fn work(self, dtype: DType) -> Vec<Work> {
        let mut out = vec![];
        if self.arith > 0 {
            out.push(Work::point(Resource::arith(dtype), self.arith));
        }
        if self.sfu > 0 {
            out.push(Work::point(Resource::Sfu, self.sfu));
        }
        out
    }
}

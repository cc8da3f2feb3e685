//! What is known of an op without running it: its iteration domain, which elements each point
//! reads and writes, and the work of a point.

use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::placement::Reduction;
use crate::types::ty::TensorTy;

/// One dimension of an iteration domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomDim {
    pub extent: Expr,
    /// What combines the points along it, where it is reduced.
    pub reduce: Option<Reduction>,
    /// Whether a mesh axis may split it. A reduction without a partial form may not be split.
    pub splittable: bool,
}

impl DomDim {
    pub fn parallel(extent: Expr) -> DomDim {
        DomDim { extent, reduce: None, splittable: true }
    }

    pub fn reduce(extent: Expr, kind: Reduction) -> DomDim {
        DomDim { extent, reduce: Some(kind), splittable: true }
    }

    /// A dimension along which every position needs all elements (argmax, sort, cumsum).
    pub fn whole(extent: Expr) -> DomDim {
        DomDim { extent, reduce: None, splittable: false }
    }
}

/// How one axis of an operand or result is indexed by the domain.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisAccess {
    /// By a mixed-radix number of these domain dimensions, major first. Empty: index 0, or an
    /// axis of extent 1 that is broadcast.
    Dims(Vec<usize>),
    /// By `start` plus a domain dimension.
    Window { dim: usize, start: Expr },
    /// By one index for the whole domain.
    At(Expr),
    /// By data or otherwise: at most `touched` of the axis' indices are read or written.
    Any { touched: Expr },
}

/// Which element of an operand or result a point of the domain touches.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub axes: Vec<AxisAccess>,
}

impl Access {
    /// Axis `i` indexed by domain dimension `dims[i]`.
    pub fn direct(dims: impl IntoIterator<Item = usize>) -> Access {
        Access { axes: dims.into_iter().map(|d| AxisAccess::Dims(vec![d])).collect() }
    }
}

/// The iteration domain of an op with its accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    pub dims: Vec<DomDim>,
    /// One for each operand.
    pub reads: Vec<Access>,
    /// One for each result.
    pub writes: Vec<Access>,
    /// False where the accesses are a bound (data-dependent gathers).
    pub exact: bool,
}

/// A unit of the device that does work, in the terms of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// Multiply-adds of a contraction, 2 flops each, on a matrix unit where the target has one.
    Tensor(DType),
    /// Adds, multiplies, compares, selects of a float dtype.
    Fma(DType),
    /// Exponentials, logarithms, roots, reciprocals, sines.
    Sfu,
    /// Integer, bool and index arithmetic.
    Int,
    /// Conversions between dtypes; no flop.
    Cvt,
}

impl Resource {
    /// `tensor.bf16`, `fma.f32`, `sfu`, `int`, `cvt`
    pub fn name(self) -> String {
        match self {
            Resource::Tensor(d) => format!("tensor.{d}"),
            Resource::Fma(d) => format!("fma.{d}"),
            Resource::Sfu => "sfu".into(),
            Resource::Int => "int".into(),
            Resource::Cvt => "cvt".into(),
        }
    }

    /// Arithmetic of one dtype: floats on `fma`, the rest on `int`.
    pub fn arith(d: DType) -> Resource {
        if d.is_float() { Resource::Fma(d) } else { Resource::Int }
    }

    /// The dtype whose flops it counts, if it does floating-point arithmetic.
    pub fn flops(self) -> Option<DType> {
        match self {
            Resource::Tensor(d) | Resource::Fma(d) => Some(d),
            _ => None,
        }
    }
}

/// Of what the work is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Each point of the domain.
    Point,
    /// Each combination of indices of some of the domain's dimensions: bit `i` is dimension `i`.
    /// A step of a longer computation that does not use all of them.
    Dims(u64),
    /// Each element of a result.
    Output(usize),
}

/// `amount` units of work on a resource for each point or result element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub resource: Resource,
    pub per: Per,
    pub amount: i64,
}

impl Work {
    pub fn point(resource: Resource, amount: i64) -> Work {
        Work { resource, per: Per::Point, amount }
    }

    pub fn output(resource: Resource, amount: i64) -> Work {
        Work { resource, per: Per::Output(0), amount }
    }

    /// Units of work of the whole op.
    pub fn total(&self, domain: &Domain, outs: &[TensorTy]) -> Expr {
        let count = match self.per {
            Per::Point => Expr::product(domain.dims.iter().map(|d| &d.extent)),
            Per::Dims(set) => Expr::product(
                domain
                    .dims
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| (set >> i) & 1 == 1)
                    .map(|(_, d)| &d.extent),
            ),
            Per::Output(i) => outs.get(i).map_or_else(Expr::zero, |t| Expr::product(&t.shape)),
        };
        count.scale(self.amount)
    }
}

//! Which dimensions of an op's domain can be cut into blocks, and where each cut shows on its
//! operands and results.
//!
//! Derived from the op's accesses alone: a parallel dimension may be cut where it is the major one
//! of every axis that it indexes, and where it indexes every result.

use super::facts::{Access, AxisAccess, Domain};
use crate::types::dim::{Env, Expr};

/// An axis of a value that a cut goes through: `unit` of its indices belong to one index of the
/// dimension that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct On {
    pub axis: usize,
    pub unit: usize,
}

/// A domain with its extents as numbers.
pub struct Shape {
    domain: Domain,
    extents: Vec<usize>,
}

/// Where a dimension cut into indices of `unit` shows.
pub struct Cut {
    /// For each operand; `None`: it is needed whole.
    pub reads: Vec<Option<On>>,
    /// For each result.
    pub writes: Vec<On>,
}

impl Shape {
    /// A domain at the sizes of `env`; `None` where an extent has no value.
    pub fn new(domain: Domain, env: &Env) -> Option<Shape> {
        let extent = |e: &Expr| e.eval(env).and_then(|n| usize::try_from(n).ok());
        let extents = domain.dims.iter().map(|d| extent(&d.extent)).collect::<Option<_>>()?;
        Some(Shape { domain, extents })
    }

    pub fn extent(&self, dim: usize) -> usize {
        self.extents.get(dim).copied().unwrap_or(1)
    }

    /// Dimensions that may be cut.
    pub fn free(&self) -> Vec<usize> {
        (0..self.extents.len()).filter(|d| self.cut(*d, 1).is_some()).collect()
    }

    /// What cutting `dim` does, `unit` of its indices to one of the cut.
    pub fn cut(&self, dim: usize, unit: usize) -> Option<Cut> {
        let d = self.domain.dims.get(dim)?;
        if d.reduce.is_some() || !d.splittable || self.extent(dim) < 2 {
            return None;
        }
        let reads = self.domain.reads.iter().map(|a| self.on(a, dim, unit));
        let reads = reads.collect::<Option<Vec<_>>>()?;
        let writes = self.domain.writes.iter().map(|a| self.on(a, dim, unit));
        let writes = writes.collect::<Option<Option<Vec<_>>>>()??;
        (!writes.is_empty()).then_some(Cut { reads, writes })
    }

    /// The dimension that is cut when an operand is, with its unit.
    pub fn dim(&self, operand: usize, on: On) -> Option<(usize, usize)> {
        let axis = self.domain.reads.get(operand)?.axes.get(on.axis)?;
        let AxisAccess::Dims(dims) = axis else { return None };
        let mut dims = dims.iter().copied().filter(|d| self.extent(*d) != 1);
        let major = dims.next()?;
        let minor: usize = dims.map(|d| self.extent(d)).product();
        (minor > 0 && on.unit.is_multiple_of(minor)).then(|| (major, on.unit / minor))
    }

    /// The axis that a dimension indexes as its major one. `None` where it indexes any axis
    /// otherwise.
    fn on(&self, access: &Access, dim: usize, unit: usize) -> Option<Option<On>> {
        let mut found = None;
        for (axis, a) in access.axes.iter().enumerate() {
            match a {
                AxisAccess::Dims(dims) if dims.contains(&dim) => {
                    let mut dims = dims.iter().copied().filter(|d| self.extent(*d) != 1);
                    if dims.next() != Some(dim) || found.is_some() {
                        return None;
                    }
                    let minor: usize = dims.map(|d| self.extent(d)).product();
                    if minor == 0 {
                        return None;
                    }
                    found = Some(On { axis, unit: unit.checked_mul(minor)? });
                }
                AxisAccess::Window { dim: d, .. } if *d == dim => return None,
                _ => {}
            }
        }
        Some(found)
    }
}

//! Iteration domains that many ops have.

use crate::ops::facts::{Access, AxisAccess, DomDim, Domain};
use crate::types::dim::{Decision, Expr, VarTable};
use crate::types::ty::TensorTy;

/// One parallel dimension for each axis.
pub fn parallel(shape: &[Expr]) -> Vec<DomDim> {
    shape.iter().cloned().map(DomDim::parallel).collect()
}

/// How an operand of `shape` is read where it is broadcast to `out`.
pub fn broadcast(shape: &[Expr], out: &[Expr]) -> Access {
    let skip = out.len().saturating_sub(shape.len());
    let axes = shape
        .iter()
        .enumerate()
        .map(|(i, e)| match out.get(skip + i) {
            Some(o) if e.is_one() && !o.is_one() => AxisAccess::Dims(vec![]),
            _ => AxisAccess::Dims(vec![skip + i]),
        })
        .collect();
    Access { axes }
}

/// Elementwise: a point for each element of the result.
pub fn elementwise(inputs: &[TensorTy], outs: &[TensorTy]) -> Domain {
    let shape = outs.first().map_or(&[][..], |t| &t.shape);
    Domain {
        dims: parallel(shape),
        reads: inputs.iter().map(|t| broadcast(&t.shape, shape)).collect(),
        writes: outs.iter().map(|t| Access::direct(0..t.rank())).collect(),
        exact: true,
    }
}

/// A result made from nothing.
pub fn create(outs: &[TensorTy]) -> Domain {
    elementwise(&[], outs)
}

/// Nothing of an operand is read.
pub fn untouched(rank: usize) -> Access {
    Access { axes: vec![AxisAccess::Any { touched: Expr::zero() }; rank] }
}

/// Any index of an axis, at most as many as there are reads of it.
pub fn some(extent: &Expr, reads: &Expr) -> AxisAccess {
    AxisAccess::Any { touched: extent.min_of(reads) }
}

/// Dimensions that index no axis of a result by themselves may not be split: a position would
/// write its part of the elements only, and nothing would put the parts together.
pub fn whole_unless_written(domain: &mut Domain) {
    let axes = domain.writes.iter().flat_map(|w| &w.axes);
    let written: Vec<usize> = axes
        .filter_map(|a| match a {
            AxisAccess::Dims(d) => Some(d.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    for (i, d) in domain.dims.iter_mut().enumerate() {
        d.splittable &= written.contains(&i) || d.reduce.is_some();
    }
}

/// The domain of a reshape: the finest common factors of both shapes, major first. Where they do
/// not fit each other, what is left between is one dimension that cannot be split.
pub fn reshape(from: &[Expr], to: &[Expr], vars: &VarTable) -> Domain {
    let mut r = Refine { vars, a: Side::new(from), b: Side::new(to), minor: vec![] };
    r.run();
    r.finish()
}

/// A shape whose axes are being taken apart from the last one on.
struct Side<'a> {
    shape: &'a [Expr],
    /// Axes from here on are done.
    next: usize,
    /// What is left of the axis before `next`.
    rest: Option<Expr>,
    /// The factors found for each axis, minor first, by their number.
    factors: Vec<Vec<usize>>,
}

impl<'a> Side<'a> {
    fn new(shape: &'a [Expr]) -> Side<'a> {
        Side { shape, next: shape.len(), rest: None, factors: vec![vec![]; shape.len()] }
    }

    /// What is left of the axis at hand; axes of extent 1 have no factors.
    fn rest(&mut self) -> Option<Expr> {
        loop {
            if let Some(r) = &self.rest {
                if !r.is_one() {
                    return Some(r.clone());
                }
                self.rest = None;
            }
            self.next = self.next.checked_sub(1)?;
            self.rest = self.shape.get(self.next).cloned();
        }
    }

    fn take(&mut self, factor: usize, left: Expr) {
        if let Some(f) = self.factors.get_mut(self.next) {
            f.push(factor);
        }
        self.rest = Some(left);
    }

    /// The access, where factor `i` is dimension `dim(i)`; axes not done are indexed somehow.
    fn access(&self, dim: impl Fn(usize) -> usize) -> Access {
        let axes = self
            .shape
            .iter()
            .zip(&self.factors)
            .enumerate()
            .map(|(i, (extent, f))| {
                let open = i < self.next || (i == self.next && self.rest.is_some());
                if open && !extent.is_one() {
                    return AxisAccess::Any { touched: extent.clone() };
                }
                AxisAccess::Dims(f.iter().rev().map(|k| dim(*k)).collect())
            })
            .collect();
        Access { axes }
    }
}

struct Refine<'a> {
    vars: &'a VarTable,
    a: Side<'a>,
    b: Side<'a>,
    /// Extents of the factors, minor first.
    minor: Vec<Expr>,
}

impl Refine<'_> {
    fn run(&mut self) {
        while let (Some(x), Some(y)) = (self.a.rest(), self.b.rest()) {
            let k = self.minor.len();
            let (factor, left_a, left_b) = if self.vars.equal(&x, &y) == Decision::Yes {
                (x, Expr::one(), Expr::one())
            } else if let Some(q) = y.exact_div(&x).filter(|q| !q.is_zero()) {
                (x, Expr::one(), q)
            } else if let Some(q) = x.exact_div(&y).filter(|q| !q.is_zero()) {
                (y, q, Expr::one())
            } else {
                return;
            };
            self.minor.push(factor);
            self.a.take(k, left_a);
            self.b.take(k, left_b);
        }
    }

    fn finish(mut self) -> Domain {
        let open = [self.a.rest(), self.b.rest()];
        let mut dims: Vec<DomDim> = vec![];
        if open.iter().any(Option::is_some) {
            // the product of what is left is the same on both sides: take a whole one
            let side = if self.a.rest.is_some() { &self.a } else { &self.b };
            let before = side.shape.iter().take(side.next);
            let left = Expr::product(before.chain(side.rest.as_ref()));
            dims.push(DomDim::whole(left));
        }
        let first = dims.len();
        let n = self.minor.len();
        dims.extend(self.minor.iter().rev().cloned().map(DomDim::parallel));
        let dim = |k: usize| first + n - 1 - k;
        Domain {
            reads: vec![self.a.access(dim)],
            writes: vec![self.b.access(dim)],
            dims,
            exact: true,
        }
    }
}

//! The iteration domain of one op as its positions see it.
//!
//! A mesh axis that splits an operand's or a result's axis splits the domain dimension that
//! indexes it; a position then runs `extent / product of the mesh axes that split it` points of
//! that dimension, padding counted. What no axis splits is whole in every position.

use super::cx::{Cx, OpNode};
use super::record::Certainty;
use crate::diag::Diagnostic;
use crate::graph::ValueId;
use crate::ops::facts::{Access, AxisAccess, DomDim, Domain};
use crate::ops::{Call, Role};
use crate::types::placement::{AxisId, AxisSplit, Storage};
use crate::types::ty::TensorTy;

/// One dimension of a domain.
struct Dim {
    logical: u128,
    padded: u128,
    axes: Vec<AxisId>,
}

/// One use of an operand, or one result.
pub(super) struct Touch {
    pub value: ValueId,
    pub access: Access,
    /// Where it is read or written: not where the value's type says for the window of a read
    /// (its base) and of a write.
    pub storage: Storage,
}

pub(super) struct Shape {
    dims: Vec<Dim>,
    pub reads: Vec<Touch>,
    pub writes: Vec<Touch>,
    pub is: Certainty,
}

/// At which granularity elements are counted.
#[derive(Clone, Copy)]
pub(super) enum Grain<'g> {
    /// The whole logical value, no padding.
    Logical,
    /// What one position has, where the axes for which it holds divide.
    Split(&'g dyn Fn(AxisId) -> bool),
}

impl Shape {
    /// The domain of an op that moves or computes; `active` axes run it.
    pub fn of(cx: &Cx, op: &OpNode, active: &[AxisId]) -> Result<Shape, Diagnostic> {
        let span = op.node.span;
        let (domain, reads, writes) = accesses(cx, op);
        let mut dims = vec![];
        for d in &domain.dims {
            let logical = cx.size(&d.extent, span)?;
            dims.push(Dim { logical, padded: logical, axes: vec![] });
        }
        let mut shape = Shape { dims, reads, writes, is: super::cx::certainty(domain.exact) };
        let target = op.node.outputs.first().map(|o| cx.graph.ty(*o).place.storage);
        for (touch, ty) in shape.placed(cx, op) {
            // what a copy to an owner gathers is not divided among that owner's parts
            let divides = |a: AxisId| {
                active.contains(&a)
                    && (op.op.role() != Role::Reshard
                        || touch.1
                        || target.is_some_and(|t| !cx.machine.apart(t, cx.rank(a))))
            };
            for (axis, split) in touch.0.axes.iter().zip(&ty.place.axes) {
                shape.apply(cx, axis, split, &divides);
            }
        }
        Ok(shape)
    }

    /// For each axis of a touched value, the split of the dimension that indexes it.
    pub fn splits<'c>(&self, cx: &'c Cx, t: &Touch) -> Vec<Option<&'c AxisSplit>> {
        let split = |access: &AxisAccess| {
            let AxisAccess::Dims(dims) = access else { return None };
            self.writes.iter().chain(&self.reads).find_map(|other| {
                let place = &cx.graph.ty(other.value).place;
                let mut axes = other.access.axes.iter().zip(&place.axes);
                axes.find(|(a, s)| *a == &AxisAccess::Dims(dims.clone()) && !s.is_whole())
                    .map(|(_, s)| s)
            })
        };
        t.access.axes.iter().map(split).collect()
    }

    /// Accesses with the types that place them; the flag tells results.
    fn placed<'c>(&self, cx: &'c Cx, op: &OpNode) -> Vec<((Access, bool), &'c TensorTy)> {
        let of = |t: &Touch, out: bool| ((t.access.clone(), out), cx.graph.ty(t.value));
        let mut all: Vec<_> = self.writes.iter().map(|t| of(t, true)).collect();
        if op.op.role() == Role::Write {
            all.clear();
        }
        all.extend(self.reads.iter().map(|t| of(t, false)));
        all
    }

    fn apply(
        &mut self,
        cx: &Cx,
        access: &AxisAccess,
        split: &AxisSplit,
        divides: &dyn Fn(AxisId) -> bool,
    ) {
        let dims: &[usize] = match access {
            AxisAccess::Dims(d) => d,
            AxisAccess::Window { dim, .. } => std::slice::from_ref(dim),
            AxisAccess::At(_) | AxisAccess::Any { .. } => return,
        };
        if let ([d], true) = (dims, split.padded)
            && let Some(dim) = self.dims.get_mut(*d)
        {
            dim.padded = dim.padded.max(cx.padded(split, dim.logical));
        }
        // factors and dimensions are both major first: a factor belongs to the dimension in which
        // it begins
        let mut at = 0usize;
        let mut room = dims.first().and_then(|d| self.dims.get(*d)).map_or(1, |d| d.padded);
        for f in &split.factors {
            while room <= 1 && at + 1 < dims.len() {
                at += 1;
                room = dims.get(at).and_then(|d| self.dims.get(*d)).map_or(1, |d| d.padded);
            }
            if let Some(a) = f.axis.filter(|a| divides(*a))
                && !self.dims.iter().any(|d| d.axes.contains(&a))
                && let Some(d) = dims.get(at).and_then(|d| self.dims.get_mut(*d))
            {
                d.axes.push(a);
            }
            let n = f.extent.eval(cx.env).unwrap_or(1).max(1) as u128;
            room = room.div_ceil(n);
        }
    }

    /// All axes that split the domain.
    pub fn split_axes(&self) -> Vec<AxisId> {
        self.dims.iter().flat_map(|d| d.axes.iter().copied()).collect()
    }

    /// The axes that divide what an access touches.
    pub fn axes_of(&self, t: &Touch) -> Vec<AxisId> {
        let dims = t.access.axes.iter().flat_map(|a| match a {
            AxisAccess::Dims(d) => d.as_slice(),
            AxisAccess::Window { dim, .. } => std::slice::from_ref(dim),
            AxisAccess::At(_) | AxisAccess::Any { .. } => &[],
        });
        dims.filter_map(|d| self.dims.get(*d)).flat_map(|d| d.axes.iter().copied()).collect()
    }

    fn dim(&self, cx: &Cx, d: usize, grain: Grain) -> u128 {
        let Some(dim) = self.dims.get(d) else { return 1 };
        match grain {
            Grain::Logical => dim.logical,
            Grain::Split(keep) => {
                let axes = dim.axes.iter().filter(|a| keep(**a));
                dim.padded.div_ceil(cx.extent_of(axes))
            }
        }
    }

    pub fn points(&self, cx: &Cx, grain: Grain) -> u128 {
        (0..self.dims.len()).map(|d| self.dim(cx, d, grain)).fold(1, u128::saturating_mul)
    }

    /// Combinations of indices of the dimensions in a set of bits.
    pub fn points_of(&self, cx: &Cx, set: u64, grain: Grain) -> u128 {
        let in_set = |d: &usize| u32::try_from(*d).is_ok_and(|b| b < 64 && (set >> b) & 1 == 1);
        let dims = (0..self.dims.len()).filter(in_set);
        dims.map(|d| self.dim(cx, d, grain)).fold(1, u128::saturating_mul)
    }

    /// Elements that one access touches: per axis what its dimensions reach, and never more than
    /// there is.
    pub fn touched(
        &self,
        cx: &Cx,
        t: &Touch,
        grain: Grain,
        span: crate::base::Span,
    ) -> Result<u128, Diagnostic> {
        let ty = cx.graph.ty(t.value);
        let extents = cx.shape(ty, span)?;
        // positions that share the storage reach all of it, however it is split
        let own = |keep: &dyn Fn(AxisId) -> bool, a: AxisId| {
            keep(a) && cx.machine.apart(t.storage, cx.rank(a))
        };
        let mut n = 1u128;
        for (i, access) in t.access.axes.iter().enumerate() {
            let extent = extents.get(i).copied().unwrap_or(1);
            let there = match (grain, ty.place.axes.get(i)) {
                (Grain::Split(keep), Some(s)) => cx.axis_local(s, extent, &|a| own(keep, a)),
                _ => extent,
            };
            let reached = match access {
                AxisAccess::Dims(ds) => {
                    ds.iter().map(|d| self.dim(cx, *d, grain)).fold(1, u128::saturating_mul)
                }
                AxisAccess::Window { dim, .. } => self.dim(cx, *dim, grain),
                AxisAccess::At(_) => 1,
                AxisAccess::Any { touched } => cx.size(touched, span).unwrap_or(there),
            };
            n = n.saturating_mul(reached.min(there));
        }
        match grain {
            Grain::Logical => self.at_most_source(cx, t.value, n, grain, span),
            Grain::Split(keep) => {
                let own = |a| own(keep, a);
                self.at_most_source(cx, t.value, n, Grain::Split(&own), span)
            }
        }
    }

    /// A view may show one stored element many times; it is read once.
    fn at_most_source(
        &self,
        cx: &Cx,
        value: ValueId,
        mut n: u128,
        grain: Grain,
        span: crate::base::Span,
    ) -> Result<u128, Diagnostic> {
        let mut at = value;
        while let Some(op) = cx.op_of(at) {
            let (Role::View, Some(from)) = (op.op.role(), op.node.inputs.first()) else { break };
            let ty = cx.graph.ty(*from);
            if ty.dtype.bits() != cx.graph.ty(at).dtype.bits() {
                // elements of another width are other elements
                break;
            }
            let source = match grain {
                Grain::Logical => cx.shape(ty, span)?.into_iter().fold(1, u128::saturating_mul),
                Grain::Split(keep) => cx.elements(ty, span, keep)?,
            };
            n = n.min(source);
            at = *from;
        }
        Ok(n)
    }
}

type Accesses = (Domain, Vec<Touch>, Vec<Touch>);

/// The domain of an op: its own where it computes, otherwise one point for each element it moves.
fn accesses(cx: &Cx, op: &OpNode) -> Accesses {
    let types =
        |vs: &[ValueId]| -> Vec<TensorTy> { vs.iter().map(|v| cx.graph.ty(*v).clone()).collect() };
    let (ins, outs) = (&op.node.inputs, &op.node.outputs);
    let stored = |v: &ValueId| cx.graph.ty(*v).place.storage;
    let moved = match op.op.role() {
        Role::Compute => {
            let (inputs, results) = (types(ins), types(outs));
            let call = Call { inputs: &inputs, attrs: op.attrs, vars: &cx.graph.vars };
            let domain = op.op.domain(&call, &results);
            let pair = |vs: &[ValueId], accesses: &[Access]| -> Vec<Touch> {
                let touch = |(v, a): (&ValueId, &Access)| Touch {
                    value: *v,
                    access: a.clone(),
                    storage: stored(v),
                };
                vs.iter().zip(accesses).map(touch).collect()
            };
            let (reads, writes) = (pair(ins, &domain.reads), pair(outs, &domain.writes));
            return (domain, reads, writes);
        }
        Role::Write => ins.get(1),
        _ => outs.first(),
    };
    let empty = Domain { dims: vec![], reads: vec![], writes: vec![], exact: true };
    let Some(moved) = moved else { return (empty, vec![], vec![]) };
    let shape = &cx.graph.ty(*moved).shape;
    let dims = shape.iter().cloned().map(DomDim::parallel).collect();
    let touch =
        |v: &ValueId, storage| Touch { value: *v, access: Access::direct(0..shape.len()), storage };
    let base = ins.first().map(&stored);
    let reads: Vec<Touch> = match (op.op.role(), base) {
        (Role::Create | Role::Empty, _) => vec![],
        // the window, not the base: the elements of the result, in the base's storage
        (Role::Read, Some(s)) => vec![touch(moved, s)],
        (Role::Write, _) => vec![touch(moved, stored(moved))],
        _ => ins.first().map(|v| touch(v, stored(v))).into_iter().collect(),
    };
    let writes = match (op.op.role(), base) {
        (Role::Empty, _) => vec![],
        (Role::Write, Some(s)) => vec![touch(moved, s)],
        _ => vec![touch(moved, stored(moved))],
    };
    (Domain { dims, ..empty }, reads, writes)
}

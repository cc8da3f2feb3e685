//! Runs a group of nodes once for each combination of coordinates, and puts the results together.
//!
//! Combinations run in parallel, each in a frame of its own; their results are taken in the order
//! of the coordinates, so neither values nor messages depend on the number of threads. Writes to
//! shared buffers are applied in that order too.

use std::sync::Arc;

use rayon::prelude::*;

use super::axes::{Axes, common, minus, union};
use super::fail::{Fail, Res, conflict, read_back};
use super::frame::{Frame, Many, Read, Slot};
use super::plan::Group;
use super::run::Cx;
use super::value::{Owner, Rec, Trace, Val};
use super::window::unravel;
use crate::diag::{Code, Diagnostic};
use crate::graph::ValueId;
use crate::types::dim::Env;
use crate::types::placement::AxisId;

/// Combinations that run before their results are taken: bounds what waits in memory.
const CHUNK: usize = 64;

/// What one combination gives.
struct Part {
    slots: Vec<Slot>,
    reads: Vec<Read>,
}

/// A value of the group as the frame around will have it.
struct Export {
    value: ValueId,
    /// Axes of the group that it varies over, with extents.
    axes: Axes,
    extents: Vec<usize>,
    items: Vec<Option<Slot>>,
    buffer: bool,
}

impl Cx<'_> {
    pub fn group(&self, frame: &mut Frame, group: &Group, dies: &[ValueId]) -> Res<()> {
        let extents = self.extents(frame, group)?;
        let total: usize = extents.iter().product();
        let mut exports = self.exports(group, &extents);
        let mut reads = vec![];
        let mut from = 0;
        while from < total {
            let to = (from + CHUNK).min(total);
            let seen = &*frame;
            let parts: Vec<Res<Part>> = (from..to)
                .into_par_iter()
                .map(|i| self.combination(seen, group, &unravel(i, &extents)))
                .collect();
            if to == total {
                // the buffers that are written next are then held by nobody else
                for v in dies {
                    frame.slots.remove(v);
                }
            }
            let mut failed: Option<Fail> = None;
            for (i, part) in (from..to).zip(parts) {
                match part {
                    Err(e) => {
                        failed = Some(e);
                        break;
                    }
                    Ok(part) => {
                        reads.extend(part.reads);
                        let at = unravel(i, &extents);
                        for (e, s) in exports.iter_mut().zip(part.slots) {
                            e.absorb(&group.axes, &at, s, frame.depth + 1);
                        }
                    }
                }
            }
            for e in &mut exports {
                self.apply(e, &group.axes, frame.depth + 1)?;
            }
            if let Some(e) = failed {
                return Err(e);
            }
            from = to;
        }
        self.check_reads(frame, &exports, reads)?;
        for e in exports {
            let slot = match (e.axes.is_empty(), e.items.into_iter()) {
                (true, mut items) => items.next().flatten(),
                (false, items) => Some(Slot::Many(Arc::new(Many {
                    axes: e.axes,
                    extents: e.extents,
                    items: items.collect(),
                }))),
            };
            if let Some(s) = slot {
                frame.slots.insert(e.value, s);
            }
        }
        Ok(())
    }

    fn extents(&self, frame: &Frame, group: &Group) -> Res<Vec<usize>> {
        let g = self.g;
        let mut out = vec![];
        for a in &group.axes {
            let n = g.meshes.axis_extent(*a).eval(&frame.env).filter(|n| *n > 0);
            let Some(n) = n.and_then(|n| usize::try_from(n).ok()) else {
                let span = g.meshes.axis(*a).and_then(|x| g.meshes.mesh(x.mesh)).map(|m| m.span);
                let span = span.unwrap_or_else(|| g.scope(crate::graph::ScopeId(0)).span);
                let text = format!(
                    "mesh axis `{}` has no position at these sizes",
                    g.meshes.axis_name(*a)
                );
                return Err(Box::new(Diagnostic::new(Code::EvalFailed, span, text)));
            };
            out.push(n);
        }
        Ok(out)
    }

    fn exports(&self, group: &Group, extents: &[usize]) -> Vec<Export> {
        let one = |v: &ValueId| {
            let axes = common(&group.axes, &self.deps.value[v.0 as usize]);
            let extents: Vec<usize> = group
                .axes
                .iter()
                .zip(extents)
                .filter(|(a, _)| axes.contains(a))
                .map(|(_, n)| *n)
                .collect();
            let items = vec![None; extents.iter().product()];
            Export { value: *v, axes, extents, items, buffer: self.deps.buffer[v.0 as usize] }
        };
        group.exports.iter().map(one).collect()
    }

    fn combination(&self, frame: &Frame, group: &Group, at: &[usize]) -> Res<Part> {
        let meshes = &self.g.meshes;
        let mut env: Env = frame.env.clone();
        for (a, c) in group.axes.iter().zip(at) {
            if let Some(axis) = meshes.axis(*a) {
                env.set(axis.var, *c as i64);
            }
        }
        let mut inner = Frame {
            parent: Some(frame),
            slots: Default::default(),
            env,
            bound: union(&frame.bound, &group.axes),
            depth: frame.depth + 1,
            loops: frame.loops.clone(),
            reads: vec![],
            muted: frame.muted,
        };
        self.plan(&mut inner, &group.plan)?;
        let mut slots = vec![];
        for v in &group.exports {
            let slot = inner.slots.remove(v).ok_or_else(|| {
                let text = "evaluation lost a value".to_string();
                Box::new(Diagnostic::new(Code::Internal, self.g.value(*v).span, text))
            })?;
            slots.push(slot);
        }
        Ok(Part { slots, reads: inner.reads })
    }

    /// Applies the writes that wait, where no position of a group around can still write.
    fn apply(&self, e: &mut Export, axes: &Axes, depth: u32) -> Res<()> {
        if !e.buffer {
            return Ok(());
        }
        for s in e.items.iter_mut().flatten() {
            self.apply_slot(s, axes, depth)?;
        }
        Ok(())
    }

    fn apply_slot(&self, slot: &mut Slot, axes: &Axes, depth: u32) -> Res<()> {
        match slot {
            Slot::One(val) => self.apply_val(val, axes, depth),
            Slot::Many(m) => {
                for s in Arc::make_mut(m).items.iter_mut().flatten() {
                    self.apply_slot(s, axes, depth)?;
                }
                Ok(())
            }
        }
    }

    fn apply_val(&self, val: &mut Val, axes: &Axes, depth: u32) -> Res<()> {
        let Some(trace) = val.trace.as_mut().map(Arc::make_mut) else { return Ok(()) };
        let open = minus(&trace.open, axes);
        if !open.is_empty() || trace.recs.iter().any(|r| r.depth < depth) {
            trace.recs.iter_mut().for_each(|r| r.depth = r.depth.min(depth - 1));
            trace.open = open;
            return Ok(());
        }
        let recs = std::mem::take(&mut trace.recs);
        trace.open = vec![];
        let shape = val.tensor.shape().to_vec();
        let root = trace.root;
        for r in &recs {
            val.apply(r).map_err(|c| conflict(self.g, &self.g.value_name(root), &shape, &c))?;
        }
        Ok(())
    }

    /// Holds what positions read back against what others wrote.
    fn check_reads(&self, frame: &mut Frame, exports: &[Export], reads: Vec<Read>) -> Res<()> {
        for r in reads {
            let vals = exports.iter().filter(|e| e.buffer).flat_map(|e| e.items.iter().flatten());
            let buffer = vals
                .filter_map(|s| match s {
                    Slot::One(v) => Some(v),
                    Slot::Many(_) => None,
                })
                .find(|v| v.trace.as_ref().is_some_and(|t| t.root == r.root));
            let Some(val) = buffer else {
                frame.reads.push(r);
                continue;
            };
            let Some(owners) = val.trace.as_ref().and_then(|t| t.owners.as_ref()) else {
                continue;
            };
            let shape = val.tensor.shape();
            let own = |o: &Owner| {
                let of = |a: AxisId| {
                    r.by.axes.binary_search(&a).ok().and_then(|i| r.by.coords.get(i)).copied()
                };
                o.readable(of)
            };
            if let Some((at, w)) = owners.find(&r.rect, shape, own) {
                let name = self.g.value_name(r.root);
                return Err(read_back(self.g, &name, shape, at, (&r.by, r.span), (&w.0, w.1)));
            }
        }
        Ok(())
    }
}

impl Export {
    /// Takes the result of the combination `at`. Values that do not vary over some axis of the
    /// group are the same for all its coordinates, so the first is kept.
    fn absorb(&mut self, axes: &[AxisId], at: &[usize], slot: Slot, depth: u32) {
        let mut i = 0;
        for (a, c) in axes.iter().zip(at) {
            if let Ok(k) = self.axes.binary_search(a) {
                i = i * self.extents[k] + c;
            }
        }
        let Some(entry) = self.items.get_mut(i) else { return };
        match entry {
            None => *entry = Some(slot),
            Some(entry) if self.buffer => {
                let first = |o: &Owner| {
                    axes.iter().zip(at).all(|(a, c)| *c == 0 || o.axes.binary_search(a).is_ok())
                };
                merge(entry, slot, depth, &first);
            }
            Some(_) => {}
        }
    }
}

/// Appends the writes of another position to a buffer, but for those that an earlier position
/// did alike (`first` tells).
fn merge(entry: &mut Slot, slot: Slot, depth: u32, first: &impl Fn(&Owner) -> bool) {
    match (entry, slot) {
        (Slot::One(val), Slot::One(other)) => {
            let Some(trace) = other.trace else { return };
            let new: Vec<Rec> = trace
                .recs
                .iter()
                .filter(|r| r.depth >= depth && first(&r.owner))
                .cloned()
                .collect();
            let into = val.trace.get_or_insert_with(|| {
                let owners = trace.owners.clone();
                Arc::new(Trace { owners, ..Trace::new(trace.root) })
            });
            let into = Arc::make_mut(into);
            super::axes::add(&mut into.open, &trace.open);
            into.recs.extend(new);
        }
        (Slot::Many(m), Slot::Many(other)) => {
            let items = Arc::make_mut(m).items.iter_mut();
            for (a, b) in items.zip(&other.items) {
                if let (Some(a), Some(b)) = (a, b) {
                    merge(a, b.clone(), depth, first);
                }
            }
        }
        _ => {}
    }
}

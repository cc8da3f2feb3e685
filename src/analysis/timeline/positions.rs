//! The grid positions of a launch, by how often their loops run and which parts of the grid's mesh
//! they are in; and which of them fall to which unit.
//!
//! Positions are handed out in launch order, the last axis fastest, each to the place on a unit
//! that is free first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::super::cost::OpCost;
use super::super::cx::Cx;
use super::super::trips::Trips;
use super::rates::Fs;
use crate::base::HashMap;
use crate::types::dim::Env;
use crate::types::placement::{AxisId, MeshId};

/// Positions that are told apart at most.
const POSITIONS: u64 = 1 << 16;

/// Positions whose loops run alike, and that run the same ops.
pub(super) struct Kind {
    /// The coordinates that loops depend on.
    pub env: Env,
    /// Parts of the grid's mesh that it is in.
    pub parts: Vec<MeshId>,
    pub count: u64,
    /// Runs of all its ops: the more, the longer.
    pub runs: u128,
}

pub(super) struct Positions {
    pub kinds: Vec<Kind>,
    /// The kind of each position, in launch order; empty where there is one kind.
    pub order: Vec<u32>,
    /// Whether all are taken for the one with most to do, since there are too many.
    pub bound: bool,
}

/// Where a coordinate comes from: position `p` has `p / outer % size - offset` along its mesh, and
/// of that `/ stride % extent` along the axis.
struct Axis {
    id: AxisId,
    place: Place,
    stride: u64,
    extent: u64,
}

/// A mesh within the launch's positions.
#[derive(Clone, Copy)]
struct Place {
    outer: u64,
    size: u64,
    offset: u64,
    len: u64,
}

impl Place {
    /// A position's index in the mesh, if it is in it.
    fn index(&self, p: u64) -> Option<u64> {
        let at = (p / self.outer.max(1)) % self.size.max(1);
        at.checked_sub(self.offset).filter(|i| *i < self.len)
    }
}

fn small(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The open meshes of a launch on one device, coarse to fine, as `(rank, positions)`.
fn levels(cx: &Cx, launch: usize) -> Vec<(usize, u64)> {
    let mut out: Vec<(usize, u64)> = vec![];
    let meshes = cx.walk.launches.get(launch).map(|l| l.meshes.as_slice()).unwrap_or_default();
    let device = cx.machine.owner(crate::types::placement::Storage::Gmem);
    for m in meshes.iter().filter_map(|m| cx.graph.meshes.mesh(*m)) {
        let rank = cx.machine.rank(m);
        if rank > cx.machine.grid || device.is_some_and(|d| rank <= d) || m.parent.is_some() {
            continue;
        }
        let n = small(cx.extent_of(&m.axes));
        match out.iter_mut().find(|(r, _)| *r == rank) {
            Some((_, most)) => *most = n.max(*most),
            None => out.push((rank, n)),
        }
    }
    out.sort_unstable();
    out
}

fn place(cx: &Cx, levels: &[(usize, u64)], mesh: MeshId) -> Option<Place> {
    let m = cx.graph.meshes.mesh(mesh)?;
    let rank = cx.machine.rank(m);
    let (_, size) = levels.iter().find(|(r, _)| *r == rank)?;
    let outer = levels.iter().filter(|(r, _)| *r > rank).map(|(_, n)| *n);
    let at = |e: &crate::types::dim::Expr| e.eval(cx.env).and_then(|n| u64::try_from(n).ok());
    let (offset, len) = match m.parent {
        Some(_) => (at(&m.offset)?, at(&m.size)?),
        None => (0, small(cx.extent_of(&m.axes))),
    };
    Some(Place { outer: outer.fold(1, u64::saturating_mul), size: *size, offset, len })
}

fn axis(cx: &Cx, levels: &[(usize, u64)], id: AxisId) -> Option<Axis> {
    let a = cx.graph.meshes.axis(id)?;
    let axes = &cx.graph.meshes.mesh(a.mesh)?.axes;
    let inner = axes.iter().skip_while(|x| **x != id).skip(1);
    let stride = small(cx.extent_of(inner));
    Some(Axis { id, place: place(cx, levels, a.mesh)?, stride, extent: small(cx.extent(id)) })
}

/// Runs by the axes that tell grid positions apart.
struct Runs {
    /// These axes, each with the stride of its coordinate in `counts`.
    strides: Vec<(usize, usize)>,
    counts: Vec<u128>,
    part: Option<usize>,
}

/// The positions of a launch of `n`.
pub(super) fn positions(cx: &Cx, ops: &[&OpCost], launch: usize, n: u64) -> Positions {
    let levels = levels(cx, launch);
    let mut ids: Vec<AxisId> =
        ops.iter().flat_map(|o| o.run.trips.axes().iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let axes: Vec<Axis> = ids.iter().filter_map(|a| axis(cx, &levels, *a)).collect();
    let mut base = cx.env.clone();
    for a in &ids {
        set(cx, &mut base, *a, 0);
    }
    let coarse = |p: &MeshId| cx.mesh_rank(*p).is_some_and(|r| r <= cx.machine.grid);
    let mut parts: Vec<MeshId> = ops.iter().filter_map(|o| o.run.part).filter(coarse).collect();
    parts.sort_unstable();
    parts.dedup();
    let places: Vec<Option<Place>> = parts.iter().map(|p| place(cx, &levels, *p)).collect();
    let tables = tables(ops, &axes, &parts);
    let mut out = Positions { kinds: vec![], order: vec![], bound: false };
    let mut seen: HashMap<(Vec<u128>, Vec<bool>), u32> = HashMap::default();
    let told = if axes.is_empty() && parts.is_empty() { 1 } else { n.min(POSITIONS) };
    for p in 0..told {
        let coord = |a: &Axis| a.place.index(p).map(|i| (i / a.stride.max(1) % a.extent) as usize);
        let at: Vec<Option<usize>> = axes.iter().map(coord).collect();
        let inside: Vec<bool> =
            places.iter().map(|x| x.is_none_or(|x| x.index(p).is_some())).collect();
        let runs: Vec<u128> = tables.iter().map(|t| t.of(&at, &inside)).collect();
        let all = runs.iter().copied().fold(0, u128::saturating_add);
        let next = out.kinds.len() as u32;
        let k = *seen.entry((runs, inside)).or_insert(next);
        if k == next {
            let mut env = base.clone();
            for (a, c) in axes.iter().zip(&at) {
                set(cx, &mut env, a.id, c.unwrap_or(0) as i64);
            }
            let in_part = |(m, x): (&MeshId, &Option<Place>)| {
                x.is_none_or(|x| x.index(p).is_some()).then_some(*m)
            };
            let parts = parts.iter().zip(&places).filter_map(in_part).collect();
            out.kinds.push(Kind { env, parts, count: 0, runs: all });
        }
        if let Some(kind) = out.kinds.get_mut(k as usize) {
            kind.count += 1;
        }
        out.order.push(k);
    }
    settle(&mut out, told, n);
    out
}

/// One kind needs no order; of positions that were not all looked at, the longest kind is taken.
fn settle(out: &mut Positions, told: u64, n: u64) {
    if out.kinds.len() > 1 && told < n {
        let most = out.kinds.iter().map(|k| k.runs).max();
        out.kinds.retain(|k| Some(k.runs) == most);
        out.kinds.truncate(1);
        out.bound = true;
    }
    if let [one] = out.kinds.as_mut_slice() {
        one.count = n;
        out.order.clear();
    }
}

fn set(cx: &Cx, env: &mut Env, a: AxisId, v: i64) {
    if let Some(x) = cx.graph.meshes.axis(a) {
        env.set(x.var, v);
    }
}

/// One table for each nest of loops and part.
fn tables(ops: &[&OpCost], axes: &[Axis], parts: &[MeshId]) -> Vec<Runs> {
    let mut seen: Vec<(&Arc<Trips>, Option<MeshId>)> = vec![];
    let mut out = vec![];
    for o in ops {
        let of = (&o.run.trips, o.run.part);
        if seen.iter().any(|(t, p)| Arc::ptr_eq(t, of.0) && *p == of.1) {
            continue;
        }
        seen.push(of);
        let index = |a: &AxisId| axes.iter().position(|x| x.id == *a);
        let by = o.run.trips.by(|a| index(&a).is_some());
        out.push(Runs {
            strides: by.axes.iter().filter_map(index).zip(by.strides()).collect(),
            counts: by.counts,
            part: o.run.part.and_then(|p| parts.iter().position(|x| *x == p)),
        });
    }
    out
}

impl Runs {
    fn of(&self, at: &[Option<usize>], inside: &[bool]) -> u128 {
        if self.part.and_then(|p| inside.get(p)) == Some(&false) {
            return 0;
        }
        let index: Option<usize> =
            self.strides.iter().map(|(i, by)| Some(at.get(*i).copied()?? * by)).sum();
        index.and_then(|i| self.counts.get(i).copied()).unwrap_or(0)
    }
}

/// The kinds that fall to the unit that ends last, in the order in which they begin there.
/// `times` are those of the kinds, `places` how many run at once on a unit.
pub(super) fn last_unit(order: &[u32], times: &[Fs], places: u64, units: u64) -> Vec<u32> {
    let all = places.saturating_mul(units).min(order.len() as u64);
    let mut free: BinaryHeap<Reverse<(Fs, u64)>> = (0..all).map(|i| Reverse((0, i))).collect();
    let mut unit_of: Vec<u64> = Vec::with_capacity(order.len());
    let mut latest = (0, 0);
    for k in order {
        let Some(Reverse((at, place))) = free.pop() else { break };
        let end = at.saturating_add(times.get(*k as usize).copied().unwrap_or(0));
        let unit = place % units.max(1);
        if end > latest.0 {
            latest = (end, unit);
        }
        unit_of.push(unit);
        free.push(Reverse((end, place)));
    }
    let here = order.iter().zip(&unit_of).filter(|(_, u)| **u == latest.1);
    here.map(|(k, _)| *k).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units of one place, positions of 3, 1, 1 and 2: the first unit runs 3 and then, both
    /// units being free at 3, nothing: 1, 1 and 2 follow each other on the second, but 2 goes to
    /// the unit that is free at 2, its own.
    #[test]
    fn positions_go_to_the_place_that_is_free_first() {
        assert_eq!(last_unit(&[0, 1, 1, 2], &[3, 1, 2], 1, 2), [1, 1, 2]);
        // places of one unit are `units` apart: four alike take two rounds of two
        assert_eq!(last_unit(&[0, 0, 0, 0, 0], &[4], 2, 1).len(), 5);
        assert_eq!(last_unit(&[0, 0, 0, 0, 0], &[4], 2, 2), [0, 0, 0]);
    }
}

//! What one op costs: work by resource, bytes by storage, bytes between units.
//!
//! Who runs it. An op runs once for each position of the open axes at or above the level that owns
//! its result's storage (all of them for `rmem`), and of finer axes that split it, on which it
//! varies, over which it is partial, or on whose coordinate its loops depend. Finishing a partial
//! runs at every position that holds a share: each reads its own and adds it to the result. Finer axes that do none of that share the work
//! of one run: a copy into `smem` is made by the threads of a CTA together.
//!
//! * total = local cost x sum of trips over those positions
//! * logical = whole cost x sum of trips over the axes on which it varies
//! * grid = the same as total with the axes finer than the grid level joined: what they split is
//!   whole again, what they repeat is counted once
//!
//! Bytes: each operand use is one read of what the op touches, each result one write. Views,
//! windows read in place and reshards that change nothing physical cost nothing. A read or write
//! of `gmem` or `host` is counted at `grid`: threads of one grid position that use the same byte
//! in one op fetch it once. An element that is used as a number, in a subscript or as a bound, is
//! a read too.

use std::sync::Arc;

use super::cx::{Cx, OpNode, certainty};
use super::record::Certainty;
use super::shape::{Grain, Shape, Touch};
use super::trips::Trips;
use super::walk::{self, FrameId, Step};
use super::window;
use crate::diag::{Code, Diagnostic};
use crate::graph::ValueId;
use crate::ops::facts::{AxisAccess, Per, Resource};
use crate::ops::{Call, Role};
use crate::types::dim::VarKind;
use crate::types::dtype::DType;
use crate::types::placement::{AxisId, MeshId, Storage};
use crate::types::ty::TensorTy;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Work(Resource),
    Read(Storage),
    Write(Storage),
}

/// The positions that run an op, and how often.
#[derive(Clone)]
pub(super) struct Run {
    pub frame: FrameId,
    pub launch: Option<usize>,
    pub part: Option<MeshId>,
    /// All positions that take part.
    pub active: Vec<AxisId>,
    /// Axes whose positions each run it.
    pub each: Vec<AxisId>,
    /// Axes on which it varies.
    pub varying: Vec<AxisId>,
    pub trips: Arc<Trips>,
}

impl Run {
    /// Runs of all positions over `axes`, and over those that the trips depend on.
    pub fn count(&self, cx: &Cx, axes: &[AxisId]) -> u128 {
        let rest = axes.iter().filter(|a| !self.trips.axes().contains(a));
        self.trips.sum().saturating_mul(cx.extent_of(rest))
    }

    pub fn logical(&self, cx: &Cx) -> u128 {
        self.count(cx, &self.varying)
    }
}

/// One quantity of one op.
#[derive(Clone)]
pub(super) struct Entry {
    pub key: Key,
    pub logical: u128,
    pub total: u128,
    pub grid: u128,
    pub is: Certainty,
    /// Of one run at one position, with the axes whose positions each do it.
    pub local: u128,
    /// Bytes that one run may have under way at once.
    pub flight: u128,
    /// The part of `local` that is left, `(num, den)`, where the effect of a change is asked for.
    pub left: (u128, u128),
    /// What is read or written, for bytes: of a window read its result, of a window write its source.
    pub value: Option<ValueId>,
    pub each: Vec<AxisId>,
    /// Axes over which some positions, not the first, do less than `local`: their part is past the
    /// end of what exists.
    pub cut: Vec<AxisId>,
    /// Whether data decides which elements are touched.
    pub by_data: bool,
    /// Multiply-adds of this dtype that a placement keeps from the matrix unit: 2 flops each.
    pub by_hand: Option<DType>,
}

/// Bytes between the units of a level.
#[derive(Clone)]
pub(super) struct Comm {
    pub rank: usize,
    pub per_unit: u128,
    pub total: u128,
    pub is: Certainty,
}

#[derive(Clone)]
pub(super) struct OpCost<'a> {
    pub op: OpNode<'a>,
    pub run: Run,
    pub entries: Vec<Entry>,
    pub comm: Vec<Comm>,
    /// Axes whose positions repeat the work.
    pub replicated: Vec<AxisId>,
    /// Runs that may be under way at once: the depth of a copy's ring.
    pub ring: u64,
}

/// The costs of a step; none for constants.
pub(super) fn of<'a>(cx: &Cx<'a>, step: &Step) -> Result<Option<OpCost<'a>>, Diagnostic> {
    let Some(op) = OpNode::of(cx.graph.node(step.node)) else { return Ok(None) };
    let run = run_of(cx, &op, step.frame)?;
    let ring = if op.op.role() == Role::Reshard { op.buffers() } else { 1 };
    let mut cost = OpCost { op, run, entries: vec![], comm: vec![], replicated: vec![], ring };
    if cx.is_free(&op) || op.op.role() == Role::Empty {
        number(cx, &mut cost)?;
        return Ok(Some(cost));
    }
    let shape = Shape::of(cx, &op, &cost.run.active)?;
    settle_each(cx, &op, &shape, &mut cost);
    let fused = cx.accumulates(&op);
    let mut entries = vec![];
    if op.op.role() == Role::Compute && fused.is_none() {
        work(cx, &cost, &shape, &mut entries)?;
    }
    for t in &shape.reads {
        if !cx.is_const(t.value) && fused != Some(t.value) {
            entries.push(traffic(cx, &cost, &shape, t, true)?);
        }
    }
    for t in &shape.writes {
        if !cx.is_fused(t.value) {
            entries.push(traffic(cx, &cost, &shape, t, false)?);
        }
    }
    cost.entries = entries;
    cost.comm = communication(cx, &cost)?;
    Ok(Some(cost))
}

/// The read of an element of `gmem` that a launch uses as a number, such as a page in a subscript:
/// each grid position loads it for itself.
fn number(cx: &Cx, cost: &mut OpCost) -> Result<(), Diagnostic> {
    let read = cost.op.op.role() == Role::Read && cost.run.launch.is_some();
    let used = cost.op.node.outputs.first().filter(|v| read && cx.is_number(**v));
    if used.is_none_or(|v| cx.graph.ty(*v).place.storage != Storage::Gmem) {
        return Ok(());
    }
    let shape = Shape::of(cx, &cost.op, &cost.run.active)?;
    let coarse = |a: &AxisId| cx.rank(*a) <= cx.machine.grid;
    cost.run.each = cost.run.active.iter().copied().filter(coarse).collect();
    for t in &shape.reads {
        let read = traffic(cx, cost, &shape, t, true)?;
        cost.entries.push(read);
    }
    Ok(())
}

/// Every axis that a value's placement names.
fn named(ty: &TensorTy) -> Vec<AxisId> {
    let p = &ty.place;
    let partial = p.partial.iter().map(|(a, _)| *a);
    p.split_axes().into_iter().chain(partial).chain(p.varying.iter().copied()).collect()
}

fn run_of(cx: &Cx, op: &OpNode, frame_id: FrameId) -> Result<Run, Diagnostic> {
    let frame = cx.walk.frame(frame_id).cloned().unwrap_or_default();
    // results first: a copy between parts runs where it lands
    let values = || op.node.outputs.iter().chain(&op.node.inputs).map(|v| cx.graph.ty(*v));
    let names: Vec<AxisId> = values().flat_map(named).collect();
    let active = walk::active_axes(cx.graph, &frame, &names);
    let part = frame.meshes.iter().find_map(|m| walk::part_of(cx.graph, &frame, *m, &names));
    let trips = cx.trips(&frame, &active)?;
    let mut varying: Vec<AxisId> = values().flat_map(|t| t.place.varying.clone()).collect();
    for e in op.attrs.exprs() {
        for v in e.vars() {
            if let Some(VarKind::Coord(a)) = cx.graph.vars.get(v).map(|i| i.kind) {
                varying.push(AxisId(a));
            }
        }
    }
    varying.retain(|a| active.contains(a));
    varying.sort_unstable();
    varying.dedup();
    Ok(Run { frame: frame_id, launch: frame.launch, part, each: vec![], active, varying, trips })
}

/// Fills in who runs it each for itself, and who repeats.
fn settle_each(cx: &Cx, op: &OpNode, shape: &Shape, cost: &mut OpCost) {
    let split = shape.split_axes();
    let unfinished = |vs: &[ValueId]| -> Vec<AxisId> {
        vs.iter().flat_map(|v| cx.graph.ty(*v).place.partial.iter().map(|(a, _)| *a)).collect()
    };
    let (shares, mut partial) = (unfinished(&op.node.inputs), unfinished(&op.node.outputs));
    if matches!(op.op.role(), Role::Reshard | Role::Complete) {
        // who holds a share of what is finished here brings it in
        partial.extend(&shares);
    }
    let apart = |a: AxisId| shape.writes.iter().any(|w| cx.machine.apart(w.storage, cx.rank(a)));
    let run = &mut cost.run;
    let each = |a: &AxisId| {
        apart(*a)
            || split.contains(a)
            || partial.contains(a)
            || run.varying.contains(a)
            || run.trips.axes().contains(a)
    };
    run.each = run.active.iter().copied().filter(|a| each(a)).collect();
    let repeats = |a: &AxisId| {
        !split.contains(a)
            && !partial.contains(a)
            && !shares.contains(a)
            && !run.varying.contains(a)
            && !run.trips.axes().contains(a)
            && cx.extent(*a) > 1
    };
    cost.replicated = run.each.iter().copied().filter(|a| repeats(a)).collect();
}

fn work(cx: &Cx, cost: &OpCost, shape: &Shape, out: &mut Vec<Entry>) -> Result<(), Diagnostic> {
    let node = cost.op.node;
    let types =
        |vs: &[ValueId]| -> Vec<TensorTy> { vs.iter().map(|v| cx.graph.ty(*v).clone()).collect() };
    let (inputs, outs) = (types(&node.inputs), types(&node.outputs));
    let call = Call { inputs: &inputs, attrs: cost.op.attrs, vars: &cx.graph.vars };
    let by_hand = !by_hand(cx, cost).is_empty();
    for w in cost.op.op.work(&call, &outs) {
        let amount = u128::try_from(w.amount).unwrap_or(0);
        let (resource, amount, kept) = match w.resource {
            Resource::Tensor(d) if by_hand => (scalar(d), amount / 2, Some(d)),
            r => (r, amount, None),
        };
        let count = |grain: Grain| -> Result<u128, Diagnostic> {
            let n = match w.per {
                Per::Point => shape.points(cx, grain),
                Per::Dims(set) => shape.points_of(cx, set, grain),
                Per::Output(i) => match shape.writes.get(i) {
                    Some(t) => shape.touched(cx, t, grain, node.span)?,
                    None => 0,
                },
            };
            Ok(n.saturating_mul(amount))
        };
        let e = entry(cx, cost, Key::Work(resource), shape.is, (&[], &[]), &count)?;
        out.push(Entry { by_hand: kept, ..e });
    }
    Ok(())
}

/// Where the multiply-adds of a dtype run without a matrix unit: narrow floats in `f32`.
fn scalar(d: DType) -> Resource {
    Resource::arith(if d.is_float() && d.bits() < 32 { DType::F32 } else { d })
}

/// The axes by which a contraction is split finer than the positions that issue any of the
/// target's matrix instructions for it together: each of them then has a product of its own.
pub(super) fn by_hand(cx: &Cx, cost: &OpCost) -> Vec<AxisId> {
    let target = cx.machine.target.filter(|_| cost.op.op.contraction());
    let (Some(target), Some([a, b])) = (target, cost.op.node.inputs.get(..2)) else {
        return vec![];
    };
    let (a, b) = (cx.graph.ty(*a).dtype, cx.graph.ty(*b).dtype);
    let forms = DType::ALL.iter().flat_map(|acc| target.matrix(a, b, *acc));
    let Some(finest) = forms.filter_map(|(i, _)| target.level_index(&i.level)).max() else {
        return vec![];
    };
    let apart = |a: &AxisId| cx.extent(*a) > 1 && !cost.replicated.contains(a);
    let fine = |a: &AxisId| cx.rank(*a) > finest;
    cost.run.each.iter().copied().filter(|a| apart(a) && fine(a)).collect()
}

/// One entry from a count at each granularity. `fine` are axes below the grid whose positions
/// each touch something else, `apart` those that divide what is touched in a storage they share.
fn entry(
    cx: &Cx,
    cost: &OpCost,
    key: Key,
    is: Certainty,
    (fine, apart): (&[AxisId], &[AxisId]),
    count: &dyn Fn(Grain) -> Result<u128, Diagnostic>,
) -> Result<Entry, Diagnostic> {
    let run = &cost.run;
    let coarse = |a: AxisId| cx.rank(a) <= cx.machine.grid;
    let local = count(Grain::Split(&|_| true))?;
    let joined = count(Grain::Split(&coarse))?;
    let mut grid_each: Vec<AxisId> = run.each.iter().copied().filter(|a| coarse(*a)).collect();
    grid_each.extend(fine);
    // positions that divide what they share are put together: a part that is cut short by the end
    // of what exists is no whole part
    let all = |each: &[AxisId], divides: &dyn Fn(AxisId) -> bool| -> Result<u128, Diagnostic> {
        let parted = |a: AxisId| {
            apart.contains(&a) && each.contains(&a) && divides(a) && !run.trips.axes().contains(&a)
        };
        let together = count(Grain::Split(&|a| divides(a) && !parted(a)))?;
        let rest: Vec<AxisId> = each.iter().copied().filter(|a| !parted(*a)).collect();
        Ok(together.saturating_mul(run.count(cx, &rest)))
    };
    let grid = all(&grid_each, &coarse)?;
    let total = all(&run.each, &|_| true)?;
    let logical = count(Grain::Logical)?.saturating_mul(run.logical(cx));
    let span = cost.op.node.span;
    for n in [grid, total, logical] {
        cx.checked(n, span)?;
    }
    let is = is.and(run.trips.is);
    let shared = matches!(key, Key::Read(s) | Key::Write(s) if at_grid(s));
    let (total, local, each) =
        if shared { (grid, joined, grid_each) } else { (total, local, run.each.clone()) };
    let mut cut: Vec<AxisId> = each.iter().copied().filter(|a| apart.contains(a)).collect();
    if total >= local.saturating_mul(run.count(cx, &each)) {
        cut.clear();
    }
    Ok(Entry {
        key,
        logical,
        total,
        grid,
        is,
        local,
        flight: local,
        left: (1, 1),
        value: None,
        each,
        cut,
        by_data: false,
        by_hand: None,
    })
}

/// The axes whose positions get a part by one load, where the op asks for that.
pub(super) fn multicast(cx: &Cx, cost: &OpCost) -> Option<Vec<AxisId>> {
    cost.op.node.hint("multicast")?;
    let target = cx.machine.target?;
    let level = target.instruction(cost.op.via()?)?.multicast.as_deref()?;
    let outer = target.level_index(level)?;
    let reached = |a: &AxisId| cx.rank(*a) > outer && cx.rank(*a) <= cx.machine.grid;
    Some(cost.replicated.iter().copied().filter(reached).collect())
}

/// How many positions one load reaches, where the op asks for it.
fn together(cx: &Cx, cost: &OpCost) -> Option<u128> {
    multicast(cx, cost).map(|axes| axes.iter().map(|a| cx.extent(*a)).product())
}

/// Storages whose traffic is that of grid positions, not of each of their threads.
fn at_grid(s: Storage) -> bool {
    matches!(s, Storage::Gmem | Storage::Host)
}

fn traffic(
    cx: &Cx,
    cost: &OpCost,
    shape: &Shape,
    t: &Touch,
    read: bool,
) -> Result<Entry, Diagnostic> {
    let ty = cx.graph.ty(t.value);
    let key = if read { Key::Read(t.storage) } else { Key::Write(t.storage) };
    let fine: Vec<AxisId> = cost
        .run
        .active
        .iter()
        .copied()
        .filter(|a| cx.rank(*a) > cx.machine.grid && ty.place.varying.contains(a))
        .collect();
    let bits = u128::from(ty.dtype.bits());
    let count = |grain: Grain| -> Result<u128, Diagnostic> {
        Ok(shape.touched(cx, t, grain, cost.op.node.span)?.saturating_mul(bits).div_ceil(8))
    };
    // only what is reached through data is a bound
    let by_data = t.access.axes.iter().any(|a| matches!(a, AxisAccess::Any { .. }));
    let is = if by_data { shape.is } else { Certainty::Exact };
    // threads whose windows overlap fetch once what they share
    let overlap = read && at_grid(t.storage) && !window::disjoint(cx, t.value, &fine);
    let is = is.and(certainty(!overlap));
    let mut apart = shape.axes_of(t);
    apart.retain(|a| !cx.machine.apart(t.storage, cx.rank(*a)));
    let mut entry = entry(cx, cost, key, is, (&fine, &apart), &count)?;
    if let Some(n) = together(cx, cost).filter(|_| read && at_grid(t.storage)) {
        if n < 2 {
            let hint = cost.op.node.hint("multicast").map_or(cost.op.node.span, |h| h.span);
            let msg = "no two positions that this load could reach need the same of it";
            let d = Diagnostic::new(Code::BadHint, hint, msg).label(
                cost.op.node.span,
                "positions copy other parts, run other trips, or do not run",
            );
            return Err(d.help("leave `multicast` out, or let positions of a cluster share a part"));
        }
        // each loads an n-th of the part, for all
        for x in [&mut entry.local, &mut entry.flight, &mut entry.total, &mut entry.grid] {
            *x = x.div_ceil(n);
        }
    }
    Ok(Entry { by_data: by_data && shape.is != Certainty::Exact, value: Some(t.value), ..entry })
}

/// Bytes that units send to each other.
///
/// * finishing a partial of `b` bytes over an axis of `n`: reduce-scatter, then all-gather, each
///   unit sends `2 b (n - 1) / n` and receives as many; no all-reduce sends less (Patarasu and
///   Yuan, "Bandwidth optimal all-reduce algorithms", 2009);
///   where the result is in a storage that they share, only the first half
/// * a reshard whose source is split over an axis of `n` that does not split the result the same
///   way: a unit lacks `(n - 1) / n` of its part of the result
///
/// Only axes whose positions own parts of both storages count: what goes through a shared storage
/// is traffic of that storage.
fn communication(cx: &Cx, cost: &OpCost) -> Result<Vec<Comm>, Diagnostic> {
    let (Some(from), Some(to)) = (cost.op.node.inputs.first(), cost.op.node.outputs.first()) else {
        return Ok(vec![]);
    };
    if !matches!(cost.op.op.role(), Role::Reshard | Role::Complete) {
        return Ok(vec![]);
    }
    let (from, to) = (cx.graph.ty(*from), cx.graph.ty(*to));
    let bits = u128::from(to.dtype.bits());
    let active = &cost.run.active;
    let mut out: Vec<Comm> = vec![];
    for a in active {
        let (n, rank) = (cx.extent(*a), cx.rank(*a));
        // a unit's part is that of all its finer positions together
        let keep = |x: AxisId| active.contains(&x) && cx.rank(x) <= rank;
        let local = cx.elements(to, cost.op.node.span, &keep)?.saturating_mul(bits).div_ceil(8);
        let apart = |s| cx.machine.apart(s, rank);
        let finished = from.place.partial_over(*a).is_some() && to.place.partial_over(*a).is_none();
        // shares that grid positions add to what they share are traffic of that storage
        let everywhere = apart(to.place.storage);
        let reduced = finished && rank > cx.machine.grid;
        if n < 2 || !(everywhere || reduced) || !apart(from.place.storage) {
            continue;
        }
        let split_by =
            |t: &TensorTy| t.place.axes.iter().position(|s| s.mesh_axes().any(|x| x == *a));
        let moved = split_by(from).is_some() && split_by(from) != split_by(to);
        let each = match (finished, moved) {
            (true, _) if everywhere => local.saturating_mul(2 * (n - 1)).div_ceil(n),
            (true, _) => local.saturating_mul(n - 1).div_ceil(n),
            (false, true) => local.saturating_mul(n - 1).div_ceil(n),
            _ => continue,
        };
        let coarse: Vec<AxisId> = active.iter().copied().filter(|x| cx.rank(*x) <= rank).collect();
        let runs = cost.run.count(cx, &coarse);
        let busiest = cost.run.trips.by(|x| cx.rank(x) <= rank).most();
        let is = if finished { Certainty::LowerBound } else { certainty(true) };
        let comm = Comm {
            rank,
            per_unit: each.saturating_mul(busiest),
            total: each.saturating_mul(runs),
            is: cost.run.trips.is.and(is),
        };
        match out.iter_mut().find(|c| c.rank == rank) {
            Some(c) => {
                c.per_unit += comm.per_unit;
                c.total += comm.total;
                c.is = c.is.and(comm.is);
            }
            None => out.push(comm),
        }
    }
    Ok(out)
}

//! Bytes of `gmem` that many positions load each for themselves.

use super::look::{Access, accesses, name, op_name};
use super::{Bytes, Draft, Edit, Program, Rule};
use crate::analysis::cost::{OpCost, multicast};
use crate::analysis::footprint::footprints;
use crate::analysis::record::Certainty;
use crate::ops::Role;
use crate::target::InstructionKind;
use crate::types::dim::{VarId, VarKind};
use crate::types::placement::{AxisId, Storage};

pub(super) static RULE: Rule = Rule {
    kind: "repeated-load",
    title: "the same bytes are loaded by many positions",
    means: "One op reads, over all positions of the grid and all its trips, at least twice as many \
            bytes of `gmem` as there are distinct ones, and what is read again is at least a quarter \
            of all `gmem` traffic.",
    size: "The bytes that the named edit does not read: with one load for n positions, all but an \
           n-th; with twice the tile, half. A cache between the units and `gmem` gives most of \
           them, so the bound counts them on that cache only.",
    remedy: "Share a load among the positions that need it (with the hint `multicast`), or give each \
             position a larger tile: twice the tile along one axis halves the loads of the other.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    let all: u128 = accesses(p, Storage::Gmem).iter().map(|a| a.e.total).sum();
    let reads = accesses(p, Storage::Gmem).into_iter().filter(|a| a.read);
    let in_launch = reads.filter(|a| p.ops.get(a.op).is_some_and(|o| o.run.launch.is_some()));
    in_launch.filter_map(|a| draft(p, &a, all)).collect()
}

fn draft(p: &Program, a: &Access, all: u128) -> Option<Draft> {
    let o = p.ops.get(a.op)?;
    let mut alone = o.clone();
    alone.entries = vec![a.e.clone()];
    alone.op = o.op;
    // several operands in gmem: which footprint is this one's is not said
    let reads = o.entries.iter().filter(|e| e.key == a.e.key).count();
    let prints = footprints(p.cx, std::iter::once(&alone));
    let print = prints.iter().find(|f| f.record.read > 0).filter(|_| reads == 1)?;
    let distinct = print.record.read;
    let excess = a.e.total.checked_sub(distinct).filter(|x| *x >= distinct)?;
    if excess.saturating_mul(4) < all {
        return None;
    }
    let axes = idle_axes(p, a);
    let times = a.e.total / distinct.max(1);
    let by: Vec<String> = axes
        .iter()
        .map(|x| format!("{} ({})", p.cx.graph.meshes.axis_name(*x), p.cx.extent(*x)))
        .collect();
    let value = name(p, a.value);
    let mut what = format!("{value} is loaded {times} times over");
    if !by.is_empty() {
        what.push_str(&format!(": positions along {} load the same part", by.join(", ")));
    }
    let (share, edit) = edit(p, o, &axes, &value, times);
    let left = a.e.total.div_ceil(share.max(1)).max(distinct);
    let mut d = Draft::new(what, edit);
    d.bytes = Some(Bytes { of: "gmem".into(), read: a.e.total - left, write: 0 });
    d.is = match print.record.read_is {
        Certainty::Exact => Certainty::Exact,
        _ => Certainty::UpperBound,
    };
    d.edits = vec![Edit::Scale { op: a.op, entry: a.entry, num: left, den: a.e.total }];
    Some(d.spot(o.op.node.span, format!("{} loads it", op_name(o))))
}

/// Mesh axes down to the grid along which positions load the same: no window start uses their
/// coordinate and no placement splits the value over them.
fn idle_axes(p: &Program, a: &Access) -> Vec<AxisId> {
    let Some(o) = p.ops.get(a.op) else { return vec![] };
    let mut vars: Vec<VarId> = vec![];
    let mut split: Vec<AxisId> = vec![];
    let mut at = a.e.value.into_iter().chain([a.value]).collect::<Vec<_>>();
    at.extend(o.op.node.outputs.iter().copied());
    for v in at {
        split.extend(p.cx.graph.ty(v).place.split_axes());
        let mut from = Some(v);
        while let Some(op) = from.and_then(|v| p.cx.op_of(v)) {
            if !matches!(op.op.role(), Role::Read | Role::View | Role::Reshard) {
                break;
            }
            vars.extend(op.attrs.exprs().iter().flat_map(|e| e.vars()));
            from = op.node.inputs.first().copied();
        }
    }
    let uses = |x: &AxisId| {
        let of = |v: &VarId| matches!(p.cx.graph.vars.get(*v).map(|i| i.kind), Some(VarKind::Coord(c)) if c == x.0);
        split.contains(x) || vars.iter().any(of) || o.run.trips.axes().contains(x)
    };
    let wide = |x: &&AxisId| p.cx.rank(**x) <= p.cx.machine.grid && p.cx.extent(**x) > 1;
    let shared = multicast(p.cx, o).unwrap_or_default();
    let idle = o.run.active.iter().filter(wide).filter(|x| !uses(x) && !shared.contains(x));
    idle.copied().collect()
}

/// How many positions along an axis one load could reach: as many as a group of the target holds,
/// besides those that it holds already.
fn reach(p: &Program, o: &OpCost, axis: AxisId) -> Option<u128> {
    let target = p.cx.machine.target?;
    let groups = target.instructions().iter().filter(|i| i.kind == InstructionKind::Group);
    let (most, level) = groups.filter_map(|i| Some((i.max_group?, &i.level))).max()?;
    let outer = target.level_index(level)?;
    let inner = |x: &&AxisId| (outer + 1..=p.cx.machine.grid).contains(&p.cx.rank(**x));
    let held = match inner(&&axis) {
        true => 1,
        false => p.cx.extent_of(o.run.active.iter().filter(inner)),
    };
    // groups are alike: as many positions as divide the axis
    let (extent, most) = (p.cx.extent(axis), u128::from(most) / held);
    (2..=most.min(extent)).rev().find(|n| extent.is_multiple_of(*n))
}

/// The edit to try, and by what it divides the loads.
fn edit(p: &Program, o: &OpCost, axes: &[AxisId], value: &str, times: u128) -> (u128, String) {
    let half = times.div_ceil(2);
    let reached = axes.iter().rev().filter_map(|a| Some((*a, reach(p, o, *a)?)));
    match (axes.first(), reached.max_by_key(|r| r.1)) {
        (Some(_), Some((a, n))) => {
            let along = p.cx.graph.meshes.axis_name(a);
            let copies = p.cx.machine.target.map(|t| t.instructions()).unwrap_or_default();
            let how = copies.iter().find(|i| i.multicast.is_some()).map_or(String::new(), |i| {
                format!(
                    ", as a {} with `#[via({}), multicast]`",
                    i.multicast.as_deref().unwrap_or_default(),
                    i.hint
                )
            });
            let edit = format!(
                "let {n} positions along {along} share one load of {value}{how} ({n} times less); \
                 twice the tile along it would halve the loads ({half} instead of {times})"
            );
            (n, edit)
        }
        (Some(a), None) => {
            let along = p.cx.graph.meshes.axis_name(*a);
            (
                2,
                format!(
                    "double the tile along {along}: {half} loads of {value} instead of {times}"
                ),
            )
        }
        (None, _) => (
            2,
            format!(
                "double the tile along the axis that {value} does not have: {half} loads of it \
                 instead of {times}"
            ),
        ),
    }
}

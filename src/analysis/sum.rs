//! Adds up the entries of ops, and spreads them over the units of each level.
//!
//! A unit of level L does, of one op, `local x runs` with the runs of the finer positions in it.
//! Positions that share one run share its cost. The busiest unit of a launch is found over the
//! coordinates that trips depend on; where these are too many, the busiest of each op are added.

use std::collections::BTreeMap;

use super::cost::{Comm, Entry, Key, OpCost, Run};
use super::cx::Cx;
use super::record::{
    Amount, Certainty, CommRecord, Costs, FlopRecord, PerUnit, Ratio, TrafficRecord, WorkRecord,
};
use super::trips::{Table, advance};
use super::walk;
use crate::ops::facts::Resource;
use crate::types::dtype::DType;
use crate::types::placement::{AxisId, MeshId, Storage};

/// Coordinates times ops over which the busiest unit is searched.
const COMBINATIONS: u128 = 1 << 22;

/// What the units of one level do of one entry.
struct Load {
    /// By the coarse axes that it depends on.
    by: Table,
    part: Option<MeshId>,
}

impl Load {
    fn of(cx: &Cx, run: &Run, e: &Entry, rank: usize) -> Load {
        let coarse = |a: AxisId| cx.rank(a) <= rank;
        let inside = e.each.iter().filter(|a| !coarse(**a) && !run.trips.axes().contains(a));
        let sharing = run.active.iter().filter(|a| coarse(**a) && !e.each.contains(a));
        let sharing = sharing.filter(|a| !run.trips.axes().contains(a));
        let (times, share) = (cx.extent_of(inside), cx.extent_of(sharing));
        let (left, of) = e.left;
        let all = |n: u128| e.local.saturating_mul(n).saturating_mul(times).saturating_mul(left);
        let amount = |n: u128| all(n).div_ceil(share.saturating_mul(of).max(1));
        let mut by = run.trips.by(coarse);
        by.counts.iter_mut().for_each(|n| *n = amount(*n));
        Load { by, part: run.part }
    }
}

/// The most that one unit does of several loads, which are added.
fn busiest(cx: &Cx, loads: &[Load], rank: usize) -> (u128, Certainty) {
    let parted = |l: &&Load| l.part.and_then(|p| cx.mesh_rank(p)).is_some_and(|r| r <= rank);
    let reach = |m: Option<MeshId>| {
        let mesh = m.and_then(|m| cx.graph.meshes.mesh(m))?;
        let (at, n) = (mesh.offset.eval(cx.env)?, mesh.size.eval(cx.env)?);
        Some((cx.machine.rank(mesh), at, at + n))
    };
    // parts may overlap: the most is found where one of them begins
    let mut begins: Vec<(usize, i64)> =
        loads.iter().filter(parted).filter_map(|l| reach(l.part)).map(|(r, a, _)| (r, a)).collect();
    begins.sort_unstable();
    begins.dedup();
    if begins.is_empty() {
        return busiest_of(cx, &loads.iter().collect::<Vec<_>>());
    }
    let mut best = (0, Certainty::Exact);
    for (level, unit) in begins {
        let runs = |l: &&Load| {
            // parts of different levels may meet in one unit
            !parted(l)
                || reach(l.part).is_none_or(|(r, a, b)| r != level || (a <= unit && unit < b))
        };
        let here: Vec<&Load> = loads.iter().filter(runs).collect();
        let found = busiest_of(cx, &here);
        if found.0 >= best.0 {
            best = found;
        }
    }
    best
}

fn busiest_of(cx: &Cx, loads: &[&Load]) -> (u128, Certainty) {
    let mut axes: Vec<AxisId> = loads.iter().flat_map(|l| l.by.axes.iter().copied()).collect();
    axes.sort_unstable();
    axes.dedup();
    let combos = cx.extent_of(&axes);
    if combos.saturating_mul(loads.len() as u128) > COMBINATIONS {
        return (loads.iter().map(|l| l.by.most()).sum(), Certainty::UpperBound);
    }
    let extents: Vec<i64> = axes.iter().map(|a| cx.extent(*a) as i64).collect();
    let added = added(loads);
    let place = |a: &AxisId| axes.iter().position(|x| x == a);
    // the counts of a table, and by how much each coordinate moves in it
    type Strided<'t> = (&'t [u128], Vec<(usize, usize)>);
    let tables: Vec<Strided> = added
        .iter()
        .map(|t| (&t.counts[..], t.axes.iter().filter_map(place).zip(t.strides()).collect()))
        .collect();
    let mut coords = vec![0; axes.len()];
    let mut most = 0;
    for _ in 0..combos {
        let at = |(i, by): &(usize, usize)| coords.get(*i).map_or(0, |c| *c as usize * by);
        let here = tables.iter().map(|(counts, strides)| {
            counts.get(strides.iter().map(at).sum::<usize>()).copied().unwrap_or(0)
        });
        most = most.max(here.sum());
        advance(&mut coords, &extents);
    }
    (most, Certainty::Exact)
}

/// The loads that depend on the same axes as one table.
fn added(loads: &[&Load]) -> Vec<Table> {
    let mut out: Vec<Table> = vec![];
    for l in loads {
        match out.iter_mut().find(|t| t.axes == l.by.axes) {
            Some(t) => t.counts.iter_mut().zip(&l.by.counts).for_each(|(n, more)| *n += more),
            None => out.push(l.by.clone()),
        }
    }
    out
}

/// Positions of a level in a launch: of all open meshes down to it.
pub(super) fn units(cx: &Cx, launch: usize, rank: usize) -> u128 {
    let Some(l) = cx.walk.launches.get(launch) else { return 1 };
    let meshes = l.meshes.iter().filter_map(|m| cx.graph.meshes.mesh(*m));
    // a level that two meshes of one launch arrange has the positions of the larger
    let mut by_rank: BTreeMap<usize, u128> = BTreeMap::new();
    for m in meshes.filter(|m| cx.machine.rank(m) <= rank && m.parent.is_none()) {
        let n = cx.extent_of(&m.axes);
        let at = by_rank.entry(cx.machine.rank(m)).or_insert(1);
        *at = (*at).max(n);
    }
    by_rank.values().copied().fold(1, u128::saturating_mul)
}

/// Ranks of the levels that a launch opens.
fn ranks(cx: &Cx, launch: usize) -> Vec<usize> {
    let meshes = cx.walk.launches.get(launch).map(|l| l.meshes.as_slice()).unwrap_or_default();
    let mut r: Vec<usize> = meshes.iter().filter_map(|m| cx.mesh_rank(*m)).collect();
    r.sort_unstable();
    r.dedup();
    r
}

/// One quantity over a set of ops, with what units do of it: of one level, or of each.
fn amount(cx: &Cx, entries: &[(&Run, &Entry)], level: Option<usize>) -> Amount {
    let sum = |f: fn(&Entry) -> u128| entries.iter().map(|(_, e)| f(e)).sum();
    let mut out = Amount {
        logical: sum(|e| e.logical),
        total: sum(|e| e.total),
        grid: sum(|e| e.grid),
        is: entries.iter().fold(Certainty::Exact, |c, (_, e)| c.and(e.is)),
        per_unit: vec![],
    };
    let mut levels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for launch in 0..cx.walk.launches.len() {
        for r in ranks(cx, launch).into_iter().filter(|r| level.is_none_or(|l| l == *r)) {
            levels.entry(r).or_default().push(launch);
        }
    }
    for (rank, launches) in levels {
        let mut unit = PerUnit {
            level: cx.machine.level(rank).to_string(),
            units: 1,
            max: 0,
            max_is: Certainty::Exact,
            mean: Ratio::ZERO,
        };
        let mut seen = 0;
        for launch in launches {
            let of_launch = entries.iter().filter(|(r, _)| r.launch == Some(launch));
            // below the grid there is nothing to say of what grid positions do together
            let here: Vec<&(&Run, &Entry)> =
                of_launch.filter(|(_, e)| known(cx, e.key, rank)).collect();
            if here.is_empty() {
                continue;
            }
            let loads: Vec<Load> = here.iter().map(|(r, e)| Load::of(cx, r, e, rank)).collect();
            let (max, mut is) = busiest(cx, &loads, rank);
            // the position that runs most may have a part that is cut short, as may one within it
            let cut = here.iter().flat_map(|(_, e)| &e.cut);
            if cut.clone().any(|a| cx.rank(*a) > rank)
                || (cut.count() > 0 && loads.iter().any(|l| !l.by.axes.is_empty()))
            {
                is = is.and(Certainty::UpperBound);
            }
            let n = units(cx, launch, rank);
            let total: u128 = here.iter().map(|(_, e)| e.total).sum();
            unit.units = unit.units.max(n);
            unit.max += max;
            unit.max_is = unit.max_is.and(is);
            unit.mean = unit.mean.plus(Ratio::new(total, n));
            seen += 1;
        }
        if seen > 1 {
            unit.max_is = Certainty::UpperBound;
        }
        if seen > 0 {
            out.per_unit.push(unit);
        }
    }
    out
}

fn known(cx: &Cx, key: Key, rank: usize) -> bool {
    match key {
        Key::Read(s) | Key::Write(s) if matches!(s, Storage::Gmem | Storage::Host) => {
            rank <= cx.machine.grid
        }
        _ => true,
    }
}

/// What ops do of several kinds together, at one level: the busiest unit is one that does most of
/// their sum.
pub(super) fn together(cx: &Cx, ops: &[&OpCost], keys: &[Key], level: usize) -> Amount {
    let mut entries: Vec<(&Run, &Entry)> = vec![];
    for o in ops {
        let of = o.entries.iter().filter(|e| keys.contains(&e.key));
        entries.extend(of.map(|e| (&o.run, e)));
    }
    amount(cx, &entries, Some(level))
}

/// The work of ops by resource, at one level.
pub(super) fn work(cx: &Cx, ops: &[&OpCost], level: usize) -> Vec<(Resource, Amount)> {
    let work = by_key(ops).into_iter().filter_map(|(key, entries)| match key {
        Key::Work(r) => Some((r, amount(cx, &entries, Some(level)))),
        _ => None,
    });
    work.collect()
}

fn by_key<'o>(ops: &[&'o OpCost]) -> BTreeMap<Key, Vec<(&'o Run, &'o Entry)>> {
    let mut by_key: BTreeMap<Key, Vec<(&Run, &Entry)>> = BTreeMap::new();
    for o in ops {
        for e in &o.entries {
            by_key.entry(e.key).or_default().push((&o.run, e));
        }
    }
    by_key
}

/// The costs of a set of ops.
pub(super) fn costs(cx: &Cx, ops: &[&OpCost]) -> Costs {
    let by_key = by_key(ops);
    let mut out = Costs::default();
    for (key, entries) in &by_key {
        if let Key::Work(r) = key {
            let a = amount(cx, entries, None);
            if let Some(dtype) = r.flops() {
                entries.iter().for_each(|(_, e)| add_flops(&mut out.flops, dtype, e));
            }
            out.work.push(WorkRecord { resource: r.name(), amount: a });
        }
    }
    for s in Storage::ALL {
        let of = |key: Key| by_key.get(&key).map(|e| amount(cx, e, None));
        let (read, write) = (of(Key::Read(s)), of(Key::Write(s)));
        if read.is_some() || write.is_some() {
            let (read, write) = (read.unwrap_or_default(), write.unwrap_or_default());
            out.traffic.push(TrafficRecord { storage: s.name().into(), read, write });
        }
    }
    out.communication = communication(cx, ops.iter().flat_map(|o| &o.comm));
    out
}

fn add_flops(flops: &mut Vec<FlopRecord>, dtype: DType, e: &Entry) {
    let each = if e.by_hand.is_some() { 2 } else { 1 };
    let (logical, total, grid) = (e.logical * each, e.total * each, e.grid * each);
    match flops.iter_mut().find(|f| f.dtype == dtype) {
        Some(f) => {
            f.logical += logical;
            f.total += total;
            f.grid += grid;
            f.is = f.is.and(e.is);
        }
        None => flops.push(FlopRecord { dtype, logical, total, grid, is: e.is }),
    }
}

fn communication<'c>(cx: &Cx, all: impl Iterator<Item = &'c Comm>) -> Vec<CommRecord> {
    let mut by_rank: BTreeMap<usize, (u128, u128, Certainty)> = BTreeMap::new();
    for c in all {
        let e = by_rank.entry(c.rank).or_default();
        e.0 += c.per_unit;
        e.1 += c.total;
        e.2 = e.2.and(c.is);
    }
    let record = |(rank, (per_unit, total, is))| CommRecord {
        level: cx.machine.level(rank).to_string(),
        per_unit,
        total,
        is,
    };
    by_rank.into_iter().map(record).collect()
}

/// The name of a launch for people: its meshes.
pub(super) fn launch_name(cx: &Cx, l: &walk::Launch) -> String {
    let mesh = |m: &MeshId| cx.graph.meshes.mesh(*m).map(|x| x.name.clone());
    l.meshes.iter().filter_map(mesh).collect::<Vec<_>>().join(", ")
}

//! One launch on the unit with most to do.
//!
//! Positions that all run alike stream through it. Where they differ, each kind is simulated with
//! as many of its kind beside it as a unit holds; with these times the positions are handed out,
//! and what falls to the unit that ends last is simulated in its turn.

use super::super::cost::OpCost;
use super::super::cx::Cx;
use super::super::record::{Bound, Certainty, LaunchRecord, Ratio, Site};
use super::super::{roofline, sum};
use super::picoseconds;
use super::positions::{self, Kind, Positions};
use super::program::{self, Misses, Program};
use super::rates::{Fs, Pipe, Rates};
use super::record::{BusyRecord, LaunchPrediction};
use super::sim::{Found, Load};
use super::steady;
use super::time::LATENCY;
use super::trace::{self, Seen};
use crate::graph::NodeKind;
use crate::types::dim::Env;

/// Tasks that one simulation of a launch runs at most.
const EVENTS: u64 = 40_000;

/// Kinds of positions that are simulated each before they are handed out; others take their share,
/// by their runs, of the next longer one's time.
const KINDS: usize = 24;

/// Whether a loop stands in a launch: in a mesh over the grid or finer.
pub(super) fn inside(cx: &Cx, l: usize) -> bool {
    let Some(mut at) = cx.walk.loops.get(l).map(|l| cx.graph.node(l.node).region) else {
        return false;
    };
    while let Some(owner) = cx.graph.region(at).owner {
        let node = cx.graph.node(owner);
        if let NodeKind::Mesh { meshes, .. } = &node.kind
            && meshes.iter().any(|m| cx.mesh_rank(*m).is_some_and(|r| r >= cx.machine.grid))
        {
            return true;
        }
        at = node.region;
    }
    false
}

/// What is asked of one launch.
pub(super) struct Asked<'a> {
    pub launch: usize,
    /// Its ops, among those of the program.
    pub which: &'a [usize],
    /// Loops around it.
    pub outside: usize,
    pub misses: Misses,
    pub record: &'a LaunchRecord,
    /// What no prediction is below, with all runs of the launch.
    pub floor: &'a Bound,
    pub runs: u64,
}

/// The prediction of a launch.
pub(super) fn predict<'c>(
    cx: &Cx<'c>,
    rates: &Rates<'c>,
    ops: &[OpCost<'c>],
    a: &Asked,
) -> (LaunchPrediction, Certainty) {
    let barrier = if a.record.barrier.is_some() { rates.cost("grid_barrier") } else { 0 };
    let program = program::build(cx, rates, ops, a.which, a.outside, a.misses, barrier);
    let all = sum::units(cx, a.launch, cx.machine.grid).div_ceil(roofline::devices(cx));
    let all = u64::try_from(all).unwrap_or(u64::MAX).max(1);
    let resident = a.record.resident.unwrap_or(1).max(1).min(all.div_ceil(rates.units));
    let here: Vec<&OpCost> = a.which.iter().filter_map(|i| ops.get(*i)).collect();
    let positions = positions::positions(cx, &here, a.launch, all);
    let places = resident.saturating_mul(rates.units);
    let waves = all.div_ceil(places);
    let load = Load { positions: all.div_ceil(rates.units), resident, all, units: rates.units };
    let found = match positions.kinds.as_slice() {
        [one] => {
            let mut own = of_kind(&program, ops, one);
            steady::time(cx, &mut own, &[&one.env], load, EVENTS)
        }
        _ => spread(cx, &program, ops, &positions, load),
    };
    let simulated = u128::from(found.time.at);
    let floor = floor(a);
    let overhead = u128::from(rates.cost("launch"));
    let time = simulated.max(floor).saturating_add(overhead);
    let mut critical: Vec<BusyRecord> = found
        .time
        .of
        .iter()
        .enumerate()
        .map(|(i, t)| share(name(rates, i), (*t).into(), time))
        .collect();
    critical.push(share("launch".into(), overhead, time));
    if floor > simulated {
        let rest = format!("bound of {}", a.floor.binds);
        critical.push(share(rest, floor - simulated, time));
    }
    let busy = found.busy.iter().enumerate();
    let busy = busy.map(|(i, t)| share(name(rates, i), (*t).into(), time)).collect();
    let (busy, critical) = (largest(busy), largest(critical));
    let mut is = here.iter().fold(Certainty::Exact, |is, o| is.and(o.run.trips.is));
    if found.bound || positions.bound {
        is = is.and(Certainty::UpperBound);
    }
    let lanes = lanes(cx, &program, ops, &found);
    let found = LaunchPrediction {
        launch: a.launch,
        name: a.record.name.clone(),
        site: a.record.site.clone(),
        ps: picoseconds(time),
        overhead_ps: picoseconds(overhead),
        serial_ps: picoseconds(u128::from(found.serial).saturating_add(overhead)),
        runs: a.runs,
        positions: all,
        resident,
        waves,
        tail: all - (waves - 1) * places,
        limit: critical.first().map_or("nothing rated".to_string(), |b| b.resource.clone()),
        busy,
        critical,
        lanes,
    };
    (found, is)
}

/// Femtoseconds of the bound of one run, rounded up.
fn floor(a: &Asked) -> u128 {
    let ps = a.floor.ps.unwrap_or(Ratio::ZERO);
    let runs = u128::from(a.runs.max(1));
    ps.num.saturating_mul(1000).div_ceil(ps.den.saturating_mul(runs).max(1))
}

/// The name of a part of the time.
fn name(rates: &Rates, i: usize) -> String {
    match Pipe::ALL.get(i) {
        Some(p) => rates.label(*p),
        None if i == LATENCY => "latency".to_string(),
        None => "grid barrier".to_string(),
    }
}

fn share(resource: String, t: u128, of: u128) -> BusyRecord {
    let per_mille = u64::try_from(t.saturating_mul(1000) / of.max(1)).unwrap_or(u64::MAX);
    BusyRecord { resource, ps: picoseconds(t), per_mille }
}

/// Those above zero, the largest first.
fn largest(mut all: Vec<BusyRecord>) -> Vec<BusyRecord> {
    all.retain(|b| b.ps > Ratio::ZERO);
    all.sort_by(|a, b| b.ps.cmp(&a.ps).then_with(|| a.resource.cmp(&b.resource)));
    all
}

/// The program without what other parts of the grid run.
fn of_kind(p: &Program, ops: &[OpCost], kind: &Kind) -> Program {
    let mut own = p.clone();
    let elsewhere = |op: usize| {
        let part = ops.get(op).and_then(|o| o.run.part);
        part.is_some_and(|m| !kind.parts.contains(&m)) && !kind.parts.is_empty()
    };
    let gone: Vec<bool> = own.tasks.iter().map(|t| t.on_grid && elsewhere(t.op)).collect();
    let is_gone = |t: usize| gone.get(t).copied().unwrap_or(false);
    for (i, t) in own.tasks.iter_mut().enumerate() {
        if is_gone(i) {
            (t.uses, t.deps, t.ring) = (vec![], vec![], None);
            (t.latency, t.barrier) = (0, 0);
        }
        t.deps.retain(|d| !is_gone(d.task));
        if let Some(r) = &mut t.ring {
            r.readers.retain(|d| !is_gone(d.task));
        }
    }
    own
}

/// Positions of several kinds.
fn spread(cx: &Cx, p: &Program, ops: &[OpCost], all: &Positions, load: Load) -> Found {
    let mut own: Vec<Program> = all.kinds.iter().map(|k| of_kind(p, ops, k)).collect();
    // the kinds that are simulated: some, and the longest
    let mut by_runs: Vec<usize> = (0..all.kinds.len()).collect();
    by_runs.sort_by_key(|k| all.kinds.get(*k).map_or(0, |k| k.runs));
    let step = by_runs.len().div_ceil(KINDS).max(1);
    let mut times: Vec<Fs> = vec![0; all.kinds.len()];
    let mut bound = false;
    for group in by_runs.rchunks(step).rev() {
        let Some(longest) = group.last().copied() else { continue };
        let (Some(k), Some(p)) = (all.kinds.get(longest), own.get_mut(longest)) else { continue };
        let beside = Load { positions: load.resident, ..load };
        let beside = Load { all: load.all.min(load.units.saturating_mul(load.resident)), ..beside };
        let found = steady::time(cx, p, &[&k.env], beside, EVENTS / 16);
        bound |= found.bound;
        for of in group {
            let runs = all.kinds.get(*of).map_or(0, |k| k.runs);
            let part = u128::from(found.time.at).saturating_mul(runs) / k.runs.max(1);
            if let Some(t) = times.get_mut(*of) {
                *t = Fs::try_from(part).unwrap_or(Fs::MAX);
            }
        }
    }
    let here = positions::last_unit(&all.order, &times, load.resident, load.units);
    let envs: Vec<&Env> =
        here.iter().filter_map(|k| all.kinds.get(*k as usize)).map(|k| &k.env).collect();
    let load = Load { positions: here.len() as u64, ..load };
    let first = here.first().map_or(0, |k| *k as usize);
    let Some(p) = own.get_mut(first) else { return Found::default() };
    let mut found = steady::time(cx, p, &envs, load, EVENTS);
    found.bound |= bound;
    found
}

/// What the lanes of the first position do.
fn lanes(cx: &Cx, p: &Program, ops: &[OpCost], found: &Found) -> Vec<trace::Lane> {
    let level = cx.machine.level(cx.machine.grid).to_string();
    let many = |part| p.lanes.iter().filter(|l| l.part == part && !l.copies).count() > 1;
    let names: Vec<String> = p
        .lanes
        .iter()
        .map(|l| {
            let part = l.part.and_then(|m| cx.graph.meshes.mesh(m)).map(|m| m.name.clone());
            let mut name = part.unwrap_or_else(|| level.clone());
            if l.copies {
                name.push_str(", copies");
            } else if many(l.part) {
                name.push_str(&format!(" {}", l.sub));
            }
            name
        })
        .collect();
    let seen = |s: &super::sim::Span| {
        let task = p.tasks.get(s.task)?;
        let o = ops.get(task.op)?;
        Some(Seen {
            lane: task.lane,
            op: o.op.op.name().into(),
            site: Site::new(o.op.node.span),
            trips: s.trips.clone(),
            start: s.start,
            end: s.end,
        })
    };
    let seen: Vec<Seen> = found.spans.iter().filter_map(seen).collect();
    trace::lanes(&names, &seen, found.first)
}

//! The predicted time of a program: a simulation over the target's resources.
//!
//! Comes in: what each op costs, who runs it and how often. Goes out: a [`Prediction`].
//!
//! Launches and ops outside meshes follow each other. An op outside meshes is the whole device's:
//! it takes the latency of what it reads and the longest of its times on the resources. A launch
//! is simulated on the unit with most to do (`launch`, `sim`), from a program of lanes (`program`)
//! with times at the target's rates (`rates`).

mod edges;
mod export;
mod lanes;
mod launch;
mod positions;
mod program;
mod rates;
pub mod record;
mod scale;
mod sim;
mod steady;
mod text;
mod time;
mod trace;
mod with;

pub use export::{chrome, svg};
pub(super) use text::{lines, timeline, unrated};
pub(super) use with::{Join, with};

use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::footprint::Print;
use super::record::{Bound, Certainty, LaunchRecord, Ratio, Site};
use super::roofline::{self, Group, Groups, Placed, Rows, Traffic};
use crate::ops::Role;
use crate::target::Target;
use crate::types::dim::Env;
use crate::types::placement::Storage;
use launch::Asked;
use program::{Misses, bounds};
use rates::{Fs, Pipe, Rates};
use record::{LaunchPrediction, Prediction, StageRecord};

/// Femtoseconds of a simulation, in picoseconds.
fn picoseconds(t: u128) -> Ratio {
    Ratio::new(t, 1000)
}

/// A prediction with what it takes to price a change of the program.
pub(super) struct Predicted {
    pub record: Prediction,
    /// Cold time of each group.
    of_groups: Vec<u128>,
    /// Bytes at `gmem` of the whole program, where they are known.
    lru: Option<u128>,
}

/// The prediction; none where the target does not say how many units it has. `lru` are the bytes at
/// `gmem` of the whole program where the last cache drops the least recently used.
pub(super) fn predict<'c>(
    cx: &Cx<'c>,
    target: &'c Target,
    ops: &[OpCost<'c>],
    (groups, placed): (&Groups, &Placed),
    launches: &[LaunchRecord],
    footprints: &[Print],
    lru: Option<u128>,
) -> Option<Predicted> {
    let groups = (groups.all.as_slice(), placed.each.as_slice());
    let traffic = missed(placed.traffic.clone(), lru);
    let cold = play(cx, target, ops, launches, (groups, &traffic, false))?;
    let kept = roofline::last_cache(target).map_or(0, |(_, n)| n);
    let fits = traffic.iter().map(|t| t.moved).sum::<u128>() <= kept;
    let warm = match fits {
        true => play(cx, target, ops, launches, (groups, &in_cache(&traffic), true))?.total,
        false => cold.total,
    };
    let measured = (target, roofline::MEASURED);
    let (rates, unrated) = cold.rates.records();
    let record = Prediction {
        ps: picoseconds(cold.total),
        warm_ps: picoseconds(warm),
        is: cold.is,
        bound_ps: placed.bound(measured, footprints, false).ps,
        form: "cold".into(),
        rates,
        unrated,
        stages: cold.stages,
        launches: cold.predicted,
    };
    Some(Predicted { record, of_groups: cold.of_groups, lru })
}

/// What each group moves, where `lru` says what one launch misses.
fn missed(mut traffic: Vec<Traffic>, lru: Option<u128>) -> Vec<Traffic> {
    // of several launches it is not said which of them misses
    if let ([t], Some(n)) = (traffic.as_mut_slice(), lru) {
        let through = t.moved + t.again;
        t.moved = t.moved.max(n).min(through);
        t.again = through - t.moved;
    }
    traffic
}

/// The traffic where nothing comes from `gmem` or has to reach it before the end.
fn in_cache(traffic: &[Traffic]) -> Vec<Traffic> {
    let kept = |t: &Traffic| Traffic {
        moved: 0,
        least: 0,
        written: 0,
        again: t.moved + t.again,
        is: t.is,
    };
    traffic.iter().map(kept).collect()
}

/// Plays all groups, one after the other.
fn play<'a, 'c>(
    cx: &'a Cx<'c>,
    target: &'c Target,
    ops: &'a [OpCost<'c>],
    launches: &'a [LaunchRecord],
    ((groups, rows), traffic, warm): ((&[Group], &[Rows]), &[Traffic], bool),
) -> Option<Predictor<'a, 'c>> {
    let mut p = Predictor::new(cx, target, ops, launches)?;
    let mut at = 0;
    for ((group, rows), t) in groups.iter().zip(rows).zip(traffic) {
        let which: Vec<usize> = (at..at + group.1.len()).collect();
        at += group.1.len();
        p.group(group, &which, (t, rows), warm);
    }
    Some(p)
}

struct Predictor<'a, 'c> {
    cx: &'a Cx<'c>,
    rates: Rates<'c>,
    ops: &'a [OpCost<'c>],
    launches: &'a [LaunchRecord],
    total: u128,
    of_groups: Vec<u128>,
    is: Certainty,
    stages: Vec<StageRecord>,
    predicted: Vec<LaunchPrediction>,
}

impl<'a, 'c> Predictor<'a, 'c> {
    fn new(
        cx: &'a Cx<'c>,
        target: &'c Target,
        ops: &'a [OpCost<'c>],
        launches: &'a [LaunchRecord],
    ) -> Option<Predictor<'a, 'c>> {
        Some(Predictor {
            cx,
            rates: Rates::new(target)?,
            ops,
            launches,
            total: 0,
            of_groups: vec![],
            is: Certainty::Exact,
            stages: vec![],
            predicted: vec![],
        })
    }

    /// Plays a group of the ops `which`, whose rows are its bound's.
    fn group(&mut self, group: &Group, which: &[usize], (t, rows): (&Traffic, &Rows), warm: bool) {
        let before = self.total;
        match group.0 {
            Some(l) => {
                let rates = (self.rates.target, roofline::MEASURED);
                let floor = roofline::group_bound(rates, rows, t, warm);
                self.launch(l, which, t, &floor);
            }
            None => which.iter().for_each(|i| self.op(*i, t)),
        }
        self.of_groups.push(self.total - before);
    }

    /// An op outside meshes, all its runs: the latency of each, and the work at the device's rate.
    fn op(&mut self, i: usize, t: &Traffic) {
        let Some(o) = self.ops.get(i) else { return };
        let devices = roofline::devices(self.cx);
        let mut longest: Fs = 0;
        let mut take = |t: Option<Fs>| longest = longest.max(t.unwrap_or(0));
        let mut reads = false;
        let mut of_pipe = [0; Pipe::ALL.len()];
        for e in &o.entries {
            let share = e.total.div_ceil(devices);
            match e.key {
                Key::Work(r) => {
                    if let Some((p, t)) = self.rates.work(r, share)
                        && let Some(at) = of_pipe.get_mut(p.index())
                    {
                        *at = Fs::saturating_add(*at, t);
                    }
                }
                Key::Read(s) => reads |= s == Storage::Gmem && e.total > 0,
                Key::Write(_) => {}
            }
            let host = matches!(e.key, Key::Read(Storage::Host) | Key::Write(Storage::Host));
            if host {
                take(self.rates.bytes(Pipe::Host, share));
            }
        }
        of_pipe.into_iter().for_each(|t| take(Some(t)));
        if t.moved > 0 {
            take(self.rates.bytes(Pipe::Gmem, t.moved));
        }
        if t.moved + t.again > 0 {
            take(self.rates.bytes(Pipe::Cache, t.moved + t.again));
        }
        let outer = |rank: usize| self.cx.machine.owner(Storage::Gmem).is_some_and(|g| rank <= g);
        for c in o.comm.iter().filter(|c| outer(c.rank)) {
            take(self.rates.bytes(Pipe::Link, c.per_unit.saturating_mul(2)));
        }
        let runs = o.run.trips.sum();
        let latency =
            if t.moved > t.written { self.rates.gmem_latency } else { self.rates.cache_latency };
        let wait =
            if reads && o.op.op.role() != Role::View { u128::from(latency) * runs } else { 0 };
        let time = u128::from(longest) + wait;
        if time == 0 {
            return;
        }
        self.total += time;
        self.is = self.is.and(o.run.trips.is);
        self.stages.push(StageRecord {
            name: o.op.op.name().into(),
            site: Site::new(o.op.node.span),
            launch: None,
            runs: u64::try_from(runs).unwrap_or(u64::MAX),
            ps: picoseconds(time),
        });
    }

    fn launch(&mut self, l: usize, which: &[usize], t: &Traffic, floor: &Bound) {
        let reads = |want: Key| -> u128 {
            let all = which.iter().filter_map(|i| self.ops.get(*i)).flat_map(|o| &o.entries);
            all.filter(|e| e.key == want).map(|e| e.grid).sum()
        };
        let devices = roofline::devices(self.cx);
        let misses = Misses {
            miss: (t.moved - t.written) * devices,
            of: reads(Key::Read(Storage::Gmem)),
            written: t.written * devices,
            of_written: reads(Key::Write(Storage::Gmem)),
        };
        let outside = self.outside(which);
        let runs = self.runs(which, outside);
        let Some(record) = self.launches.get(l) else { return };
        let asked = Asked { launch: l, which, outside, misses, record, floor, runs };
        let (found, is) = launch::predict(self.cx, &self.rates, self.ops, &asked);
        let time = Ratio::new(found.ps.num.saturating_mul(u128::from(runs)), found.ps.den);
        self.total += time.num.saturating_mul(1000) / time.den;
        self.is = self.is.and(is);
        self.stages.push(StageRecord {
            name: record.name.clone(),
            site: record.site.clone(),
            launch: Some(l),
            runs,
            ps: time,
        });
        self.predicted.push(found);
    }

    /// Loops around a launch: those of its ops that no mesh over the grid contains.
    fn outside(&self, which: &[usize]) -> usize {
        let first = which.first().and_then(|i| self.ops.get(*i));
        let frame = first.and_then(|o| self.cx.walk.frame(o.run.frame));
        let loops = frame.map(|f| f.loops.as_slice()).unwrap_or_default();
        loops.iter().take_while(|l| !launch::inside(self.cx, **l)).count()
    }

    /// How often the loops around a launch run it.
    fn runs(&self, which: &[usize], outside: usize) -> u64 {
        let first = which.first().and_then(|i| self.ops.get(*i));
        let frame = first.and_then(|o| self.cx.walk.frame(o.run.frame));
        let loops = frame.map(|f| f.loops.as_slice()).unwrap_or_default();
        let loops: Vec<usize> = loops.iter().take(outside).copied().collect();
        let mut env: Env = self.cx.env.clone();
        let mut runs = 1u64;
        for l in loops {
            let Some(b) = bounds(self.cx, l) else { continue };
            let (start, _, trips) = b.eval(self.cx, &env);
            env.set(b.var, start);
            runs = runs.saturating_mul(trips);
        }
        runs
    }
}

//! Long loops: simulated until they repeat, then continued.
//!
//! Tasks that wait for each other and for pipes they take in a fixed order make a max-plus linear
//! system: from some trip on, `T(n + c) = T(n) + c x period`. What is too long to be run whole is
//! run with few trips of its longest loops (and few positions), at `n`, `n + c` and `n + 2c` of
//! each. Where both steps are alike, the rest is added exactly; otherwise the answer says that it
//! is a bound: all tasks one after the other.

use super::super::cx::Cx;
use super::program::Program;
use super::rates::Fs;
use super::sim::{Found, Load, simulate};
use super::time::{BARRIER, LATENCY};
use super::trace::Trip;
use crate::types::dim::Env;

/// Loops that are continued at once; each takes three runs.
const LOOPS: usize = 3;

/// Trips before a loop is taken to repeat, besides those of its rings.
const START: u64 = 6;

/// One count that is continued: trips of a body, or positions of the unit.
#[derive(Clone, Copy, Debug)]
struct Long {
    /// None for the positions.
    body: Option<usize>,
    /// How many there are.
    count: u64,
    /// Fewest that are run, and the step to the next; `count - least` is a multiple of `step`.
    least: u64,
    step: u64,
    /// Whether every run of the loop has as many trips.
    even: bool,
}

/// Runs of each body in one position: sums over its outer trips.
fn runs(cx: &Cx, p: &Program, env: &Env) -> Vec<u128> {
    let mut out = vec![0u128; p.bodies.len()];
    let mut env = env.clone();
    count(cx, p, 0, &mut env, 1, &mut out, &mut 100_000);
    out
}

/// Adds `times` passes of a body, and of the loops in it.
fn count(
    cx: &Cx,
    p: &Program,
    body: usize,
    env: &mut Env,
    times: u128,
    out: &mut [u128],
    fuel: &mut u64,
) {
    if let Some(n) = out.get_mut(body) {
        *n = n.saturating_add(times);
    }
    for inner in p.loops(body) {
        let Some(b) = p.bodies.get(inner).and_then(|b| b.bounds.as_ref()) else { continue };
        let (start, step, trips) = b.eval(cx, env);
        env.set(b.var, start);
        // passes differ only where a bound further in uses the variable
        let varies = p.uses_inside(inner, b.var);
        if !varies || u128::from(trips) > u128::from(*fuel) {
            count(cx, p, inner, env, times.saturating_mul(u128::from(trips)), out, fuel);
        } else {
            *fuel = fuel.saturating_sub(trips);
            for t in 0..trips {
                env.set(b.var, start.saturating_add((t as i64).saturating_mul(step)));
                count(cx, p, inner, env, times, out, fuel);
            }
        }
        env.unset(b.var);
    }
}

/// The time of a unit's load, whole where `events` suffice. `envs` are as in [`simulate`].
pub(super) fn time(cx: &Cx, p: &mut Program, envs: &[&Env], load: Load, events: u64) -> Found {
    let all: Vec<Vec<u128>> = envs.iter().map(|e| runs(cx, p, e)).collect();
    let tasks = |runs: &Vec<u128>| -> u128 {
        p.tasks.iter().map(|t| runs.get(t.body).copied().unwrap_or(0)).fold(0, u128::saturating_add)
    };
    let given = all.iter().map(tasks).fold(0, u128::saturating_add);
    let rest = u128::from(load.positions.saturating_sub(all.len() as u64));
    let more = rest.saturating_mul(all.last().map_or(0, tasks));
    let serial = serial(p, &all, load);
    if given.saturating_add(more) <= u128::from(events) {
        let found = simulate(cx, p, envs, load, events);
        return Found { serial: serial.time.at, ..found };
    }
    let longs = longs(p, &all, load);
    p.most = vec![u64::MAX; p.bodies.len()];
    let mut found = extend(cx, p, envs, load, &longs, events);
    p.most.clear();
    if found.cut {
        found = serial.clone();
    }
    Found { serial: serial.time.at, ..found }
}

/// All tasks of all positions one after the other: no schedule takes longer.
fn serial(p: &Program, runs: &[Vec<u128>], load: Load) -> Found {
    let mut found = Found { bound: true, ..Found::default() };
    let here = load.resident.min(load.positions);
    let fs = |t: u128| Fs::try_from(t).unwrap_or(Fs::MAX);
    for t in &p.tasks {
        let of = |r: &Vec<u128>| r.get(t.body).copied().unwrap_or(0);
        let given = runs.iter().map(of).fold(0, u128::saturating_add);
        let rest = u128::from(load.positions.saturating_sub(runs.len() as u64));
        let n = given.saturating_add(rest.saturating_mul(runs.last().map_or(0, of)));
        let mut longest = (0, 0);
        for (pipe, amount) in &t.uses {
            let one = load.share(*pipe, *amount, here, load.positions <= here);
            longest = longest.max((one, pipe.index()));
            if let Some(busy) = found.busy.get_mut(pipe.index()) {
                *busy = busy.saturating_add(fs(n.saturating_mul(one.into())));
            }
        }
        found.time = found
            .time
            .after(longest.1, fs(n.saturating_mul(longest.0.into())))
            .after(LATENCY, fs(n.saturating_mul(t.latency.into())))
            .after(BARRIER, fs(n.saturating_mul(t.barrier.into())));
    }
    found
}

/// The counts to continue, the largest first.
fn longs(p: &Program, all: &[Vec<u128>], load: Load) -> Vec<Long> {
    let depth = p.tasks.iter().filter_map(|t| t.ring.as_ref()).map(|r| r.depth.min(16)).max();
    let depth = depth.unwrap_or(1);
    let long = |body: Option<usize>, count: u64, even: bool, first: u64, step: u64| {
        let least = first + count.saturating_sub(first) % step;
        (count > least + 2 * step).then_some(Long { body, count, least, step, even })
    };
    let mut out = vec![];
    let sum =
        |b: usize| all.iter().filter_map(|r| r.get(b)).fold(0, |s: u128, n| s.saturating_add(*n));
    for (i, b) in p.bodies.iter().enumerate() {
        let Some(parent) = b.parent else { continue };
        let outer = sum(parent).max(1);
        let trips = u64::try_from(sum(i) / outer).unwrap_or(u64::MAX);
        let even = all.len() == 1 && sum(i).is_multiple_of(outer);
        // a slot of a ring is used again after as many trips as it is deep
        out.extend(long(Some(i), trips, even, START + 2 * depth, depth));
    }
    let side = load.resident.max(1);
    if all.len() == 1 {
        // the unit's last positions have more of the device to themselves: all of them are run
        out.extend(long(None, load.positions, true, 2 * side, side));
    }
    out.sort_by_key(|l| std::cmp::Reverse(l.count));
    out.truncate(LOOPS);
    out
}

/// The load with the first of `longs` continued, the others likewise.
fn extend(
    cx: &Cx,
    p: &mut Program,
    envs: &[&Env],
    load: Load,
    longs: &[Long],
    events: u64,
) -> Found {
    let Some((l, rest)) = longs.split_first() else { return simulate(cx, p, envs, load, events) };
    let mut run = |n: u64| {
        let mut load = load;
        match l.body.and_then(|b| p.most.get_mut(b)) {
            Some(most) => *most = n,
            None => load = load.first(n),
        }
        extend(cx, p, envs, load, rest, events)
    };
    let (a, b, c) = (run(l.least), run(l.least + l.step), run(l.least + 2 * l.step));
    let steps = (l.count - l.least) / l.step;
    let (first, second) = (b.time.at.wrapping_sub(a.time.at), c.time.at.wrapping_sub(b.time.at));
    // where the steps differ, the longer one
    let (from, to) = if second > first { (&b, &c) } else { (&a, &b) };
    let on = |of: &dyn Fn(&Found) -> Fs| {
        let step = of(to).saturating_sub(of(from));
        of(&a).saturating_add(step.saturating_mul(steps))
    };
    let mut out = a.clone();
    out.time.at = on(&|f| f.time.at);
    for (i, own) in out.time.of.iter_mut().enumerate() {
        *own = on(&|f| f.time.of.get(i).copied().unwrap_or(0));
    }
    for (i, own) in out.busy.iter_mut().enumerate() {
        *own = on(&|f| f.busy.get(i).copied().unwrap_or(0));
    }
    out.cut = a.cut || b.cut || c.cut;
    out.bound = first != second || !l.even || a.bound || b.bound || c.bound;
    // only the beginning is as it is in the whole
    for t in out.spans.iter_mut().flat_map(|s| &mut s.trips).filter(|t| Some(t.body) == l.body) {
        t.of = l.count;
    }
    out.spans.retain(|s| s.trips.iter().all(Trip::shown));
    out
}

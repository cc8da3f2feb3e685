//! How a lane walks through the program of its position.

use super::super::cx::Cx;
use super::program::{Item, Program};
use super::time::Time;
use super::trace::Trip;
use crate::types::dim::Env;

/// A loop that a lane is in; the first is the launch.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub body: usize,
    /// Items of the pass that are behind.
    pub at: usize,
    pub trip: u64,
    pub trips: u64,
    pub start: i64,
    pub step: i64,
}

impl Level {
    pub fn trip(&self) -> Trip {
        Trip { body: self.body, at: self.trip, of: self.trips }
    }
}

/// What a lane does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Unknown,
    Task(usize),
    /// Enters a loop once another lane has.
    Gate(usize, usize),
    Done,
}

pub(super) struct LaneRun {
    pub levels: Vec<Level>,
    pub env: Env,
    pub free: Time,
    /// Passes begun, by body.
    pub started: Vec<u64>,
    /// Times at which each body was entered.
    pub entered: Vec<Ends>,
    pub next: Next,
    /// When the next task can start, if that is known.
    pub ready: Option<Time>,
}

/// Times of consecutive runs.
#[derive(Clone, Default)]
pub(super) struct Ends {
    pub ends: Vec<Time>,
}

impl Ends {
    pub fn get(&self, run: u64) -> Option<&Time> {
        let i = usize::try_from(run).ok()?;
        self.ends.get(i)
    }

    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }
}

/// One grid position on a unit.
pub(super) struct Position {
    pub lanes: Vec<LaneRun>,
    /// Ends of the runs of each task.
    pub tasks: Vec<Ends>,
    pub end: Time,
    /// Whether it is the one that is shown.
    pub first: bool,
}

impl Position {
    pub fn new(p: &Program, env: &Env, start: Time, first: bool) -> Position {
        let bodies = p.bodies.len();
        let lane = |_| LaneRun {
            levels: vec![Level { body: 0, at: 0, trip: 0, trips: 1, start: 0, step: 1 }],
            env: env.clone(),
            free: start,
            started: (0..bodies).map(|b| u64::from(b == 0)).collect(),
            entered: vec![Ends::default(); bodies],
            next: Next::Unknown,
            ready: None,
        };
        let lanes = (0..p.lanes.len()).map(lane).collect();
        let tasks = p.tasks.iter().map(|_| Ends::default()).collect();
        Position { lanes, tasks, end: start, first }
    }

    /// Brings every lane to its next task, and finds when that can start.
    pub fn settle(&mut self, cx: &Cx, p: &Program) {
        let mut moved = true;
        // a lane that enters a loop lets another enter it
        while moved {
            moved = false;
            for i in 0..self.lanes.len() {
                moved |= advance(cx, p, self, i);
            }
        }
        for i in 0..self.lanes.len() {
            let ready = ready(p, self, i);
            if let Some(l) = self.lanes.get_mut(i) {
                l.ready = ready;
            }
        }
    }

    pub fn done(&self) -> bool {
        self.lanes.iter().all(|l| l.next == Next::Done)
    }
}

/// Brings a lane to its next task; whether it went into a loop.
fn advance(cx: &Cx, p: &Program, pos: &mut Position, lane: usize) -> bool {
    let gate = p.gates.get(lane).copied().flatten();
    let mut entered = false;
    loop {
        let Some(run) = pos.lanes.get(lane) else { return entered };
        match run.next {
            Next::Task(_) | Next::Done => return entered,
            Next::Gate(g, body) => {
                let before = run.entered.get(body).map_or(0, Ends::count);
                let other =
                    pos.lanes.get(g).and_then(|g| g.entered.get(body)?.get(before)).copied();
                let Some(at) = other else { return entered };
                let Some(run) = pos.lanes.get_mut(lane) else { return entered };
                run.free = run.free.max(at);
                enter(cx, p, run, body);
                entered = true;
            }
            Next::Unknown => {
                let Some(run) = pos.lanes.get_mut(lane) else { return entered };
                entered |= step(cx, p, run, lane, gate);
            }
        }
    }
}

/// One step of a lane through its program.
fn step(cx: &Cx, p: &Program, run: &mut LaneRun, lane: usize, gate: Option<usize>) -> bool {
    let Some(level) = run.levels.last_mut() else {
        run.next = Next::Done;
        return false;
    };
    let Some(body) = p.bodies.get(level.body) else {
        run.levels.pop();
        return false;
    };
    match body.items.get(level.at) {
        Some(Item::Task(t)) => {
            level.at += 1;
            if p.tasks.get(*t).is_some_and(|t| t.lane == lane) {
                run.next = Next::Task(*t);
            }
        }
        Some(Item::Loop(b)) => {
            level.at += 1;
            let has = |l: usize| {
                let body = p.bodies.get(*b);
                body.and_then(|x| x.of_lane.get(l)).copied().unwrap_or(false)
            };
            if !has(lane) {
                skip(cx, p, run, *b);
            } else if let Some(g) = gate.filter(|g| has(*g)) {
                run.next = Next::Gate(g, *b);
            } else {
                enter(cx, p, run, *b);
                return true;
            }
        }
        None if level.trip + 1 < level.trips => {
            level.trip += 1;
            level.at = 0;
            let value = level.start.saturating_add((level.trip as i64).saturating_mul(level.step));
            if let Some(b) = &body.bounds {
                run.env.set(b.var, value);
            }
            if let Some(n) = run.started.get_mut(level.body) {
                *n += 1;
            }
        }
        None => {
            if let Some(b) = &body.bounds {
                run.env.unset(b.var);
            }
            run.levels.pop();
        }
    }
    false
}

fn enter(cx: &Cx, p: &Program, run: &mut LaneRun, body: usize) {
    run.next = Next::Unknown;
    if let Some(e) = run.entered.get_mut(body) {
        e.ends.push(run.free);
    }
    let Some(bounds) = p.bodies.get(body).and_then(|b| b.bounds.as_ref()) else { return };
    let (start, step, trips) = bounds.eval(cx, &run.env);
    let trips = trips.min(p.most(body));
    if trips == 0 {
        return;
    }
    run.env.set(bounds.var, start);
    if let Some(n) = run.started.get_mut(body) {
        *n += 1;
    }
    run.levels.push(Level { body, at: 0, trip: 0, trips, start, step });
}

/// Counts the passes of a loop in which a lane has nothing to do.
fn skip(cx: &Cx, p: &Program, run: &mut LaneRun, body: usize) {
    let Some(b) = p.bodies.get(body) else { return };
    let Some(bounds) = &b.bounds else { return };
    let (start, step, trips) = bounds.eval(cx, &run.env);
    let trips = trips.min(p.most(body));
    if let Some(n) = run.started.get_mut(body) {
        *n += trips;
    }
    let inner = b.items.iter().any(|i| matches!(i, Item::Loop(_)));
    for trip in 0..if inner { trips } else { 0 } {
        run.env.set(bounds.var, start.saturating_add((trip as i64).saturating_mul(step)));
        for i in &b.items {
            if let Item::Loop(l) = i {
                skip(cx, p, run, *l);
            }
        }
    }
    run.env.unset(bounds.var);
}

/// When the next task of a lane can start; none while it waits for what has not run yet.
fn ready(p: &Program, pos: &Position, lane: usize) -> Option<Time> {
    let run = pos.lanes.get(lane)?;
    let Next::Task(t) = run.next else { return None };
    let task = p.tasks.get(t)?;
    let mut at = run.free;
    for d in &task.deps {
        let body = p.tasks.get(d.task)?.body;
        let begun = run.started.get(body).copied().unwrap_or(0);
        // before the first trip there is nothing to wait for
        let Some(of) = begun.checked_sub(1 + d.back) else { continue };
        at = at.max(*pos.tasks.get(d.task)?.get(of)?);
    }
    if let Some(ring) = &task.ring {
        let own = pos.tasks.get(t)?;
        if let Some(slot) = own.count().checked_sub(ring.depth) {
            for r in &ring.readers {
                at = at.max(*pos.tasks.get(r.task)?.get(slot + r.back)?);
            }
            if ring.readers.is_empty() {
                at = at.max(*own.get(slot)?);
            }
        }
    }
    Some(at)
}

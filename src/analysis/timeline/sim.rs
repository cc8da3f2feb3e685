//! One unit as it runs the grid positions that fall to it, event by event.
//!
//! Of all lanes, the one whose next task can start first goes on; a task takes its place in the
//! queue of each pipe it uses, and is done when the last of them and its latency are. A position
//! whose lanes are through makes room for the next.

use super::super::cx::Cx;
use super::lanes::{Level, Next, Position};
use super::program::Program;
use super::rates::{Fs, Pipe};
use super::time::{BARRIER, LATENCY, Time};
use super::trace::Trip;
use crate::types::dim::Env;

/// What falls to the unit with most to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Positions one after the other and side by side.
    pub positions: u64,
    /// Side by side at most.
    pub resident: u64,
    /// Positions of the whole device, and its units.
    pub all: u64,
    pub units: u64,
}

impl Load {
    /// Positions that run on the device while this unit runs `here`, which share its rates. `last`
    /// where no more wait: units that have one fewer then do.
    fn active(&self, here: u64, last: bool) -> u64 {
        if !last {
            return here.saturating_mul(self.units);
        }
        let top = (self.all.max(1) - 1) % self.units.max(1) + 1;
        (here.max(1) - 1).saturating_mul(self.units).saturating_add(top)
    }

    /// The time of a task on a pipe while this unit runs `here` positions.
    pub fn share(&self, pipe: Pipe, time: Fs, here: u64, last: bool) -> Fs {
        if !pipe.shared() {
            return time;
        }
        let all = u128::from(time) * u128::from(self.active(here, last));
        Fs::try_from(all.div_ceil(u128::from(here.max(1)))).unwrap_or(Fs::MAX)
    }

    /// The load with fewer positions on each unit.
    pub fn first(self, n: u64) -> Load {
        let fewer = self.positions.saturating_sub(n).saturating_mul(self.units);
        Load { positions: n, all: self.all.saturating_sub(fewer), ..self }
    }
}

/// A run of a task.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub task: usize,
    /// The loops around it, outermost first.
    pub trips: Vec<Trip>,
    pub start: Fs,
    pub end: Fs,
}

/// What a simulation found.
#[derive(Clone, Default)]
pub(super) struct Found {
    pub time: Time,
    /// By pipe, on this unit.
    pub busy: [Fs; Pipe::ALL.len()],
    /// Of the first position: the runs near the ends of every loop.
    pub spans: Vec<Span>,
    /// When the first position ended.
    pub first: Fs,
    /// Whether events ran out before the end.
    pub cut: bool,
    /// Whether the time is at most what is said.
    pub bound: bool,
    /// The time of all tasks one after the other.
    pub serial: Fs,
}

struct Sim<'a, 'c> {
    cx: &'a Cx<'c>,
    p: &'a Program,
    /// What each next position runs with; the last one's serve all that follow.
    envs: &'a [&'a Env],
    load: Load,
    begun: u64,
    slots: Vec<Option<Position>>,
    free: [Time; Pipe::ALL.len()],
    found: Found,
}

/// Runs a unit's load. `envs` have the coordinates that the loops of each position depend on, the
/// last one those of all that follow; at most `events` tasks run.
pub(super) fn simulate(cx: &Cx, p: &Program, envs: &[&Env], load: Load, events: u64) -> Found {
    let mut s = Sim {
        cx,
        p,
        envs,
        load,
        begun: 0,
        slots: vec![],
        free: [Time::default(); Pipe::ALL.len()],
        found: Found::default(),
    };
    for _ in 0..load.resident.min(load.positions) {
        let next = s.position(Time::default());
        s.slots.push(next);
    }
    s.run(events);
    s.found
}

impl Sim<'_, '_> {
    fn position(&mut self, start: Time) -> Option<Position> {
        let i = usize::try_from(self.begun).unwrap_or(usize::MAX);
        let env = self.envs.get(i).or(self.envs.last())?;
        let first = self.begun == 0;
        self.begun += 1;
        Some(Position::new(self.p, env, start, first))
    }

    fn waiting(&self) -> bool {
        self.begun < self.load.positions
    }

    fn run(&mut self, events: u64) {
        for i in 0..self.slots.len() {
            self.settle(i);
        }
        for _ in 0..events {
            match self.earliest() {
                Some((slot, lane)) => self.start(slot, lane),
                None => break,
            }
        }
        self.found.cut = self.slots.iter().any(Option::is_some);
    }

    /// The lane whose next task can start first.
    fn earliest(&self) -> Option<(usize, usize)> {
        let mut best: Option<(Fs, usize, usize)> = None;
        for (i, slot) in self.slots.iter().enumerate() {
            for (j, lane) in slot.iter().flat_map(|p| p.lanes.iter().enumerate()) {
                if let Some(at) = &lane.ready
                    && best.is_none_or(|(b, ..)| at.at < b)
                {
                    best = Some((at.at, i, j));
                }
            }
        }
        best.map(|(_, i, j)| (i, j))
    }

    /// Finds what the lanes of a position do next; where all are through, the next one begins.
    fn settle(&mut self, slot: usize) {
        while let Some(Some(pos)) = self.slots.get_mut(slot) {
            pos.settle(self.cx, self.p);
            if !pos.done() {
                return;
            }
            let end = pos.end;
            let free = pos.lanes.iter().fold(Time::default(), |t, l| t.max(l.free));
            self.found.time = self.found.time.max(end);
            if pos.first {
                self.found.first = end.at;
            }
            let next = if self.waiting() { self.position(free) } else { None };
            if let Some(s) = self.slots.get_mut(slot) {
                *s = next;
            }
        }
    }

    fn start(&mut self, slot: usize, lane: usize) {
        let here = self.slots.iter().filter(|s| s.is_some()).count() as u64;
        let last = !self.waiting();
        let Some(Some(pos)) = self.slots.get_mut(slot) else { return };
        let Some(run) = pos.lanes.get_mut(lane) else { return };
        let (Next::Task(t), Some(at)) = (run.next, run.ready) else { return };
        let Some(task) = self.p.tasks.get(t) else { return };
        let trips: Vec<Trip> = match pos.first {
            true => run.levels.iter().skip(1).map(Level::trip).collect(),
            false => vec![],
        };
        let mut end = at;
        for (pipe, time) in &task.uses {
            let time = self.load.share(*pipe, *time, here, last);
            let i = pipe.index();
            let (Some(free), Some(busy)) = (self.free.get_mut(i), self.found.busy.get_mut(i))
            else {
                continue;
            };
            *free = at.max(*free).after(i, time);
            *busy = busy.saturating_add(time);
            end = end.max(*free);
        }
        end = end.after(LATENCY, task.latency).after(BARRIER, task.barrier);
        run.free = if task.blocks { end } else { at };
        run.next = Next::Unknown;
        pos.end = pos.end.max(end);
        if let Some(ends) = pos.tasks.get_mut(t) {
            if pos.first && trips.iter().all(Trip::shown) {
                self.found.spans.push(Span { task: t, trips, start: at.at, end: end.at });
            }
            ends.ends.push(end);
        }
        self.settle(slot);
    }
}

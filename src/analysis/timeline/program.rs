//! One launch as its grid positions run it: tasks in loops, on lanes.
//!
//! A lane does its tasks in program order. There is one for each role (a part of a mesh, or the
//! whole position), one for each of its positions at the levels between the grid's and the finest
//! (two warpgroups of consumers), and one for the asynchronous copies of each role, which are
//! issued ahead of what reads them.

use std::collections::BTreeMap;

use super::super::cost::{Entry, Key, OpCost};
use super::super::cx::Cx;
use super::rates::{Fs, Pipe, Rates};
use crate::base::HashMap;
use crate::graph::{Def, HintArg, NodeId, NodeKind, ValueId};
use crate::ops::Role;
use crate::target::InstructionKind;
use crate::types::dim::{Env, Expr, VarId};
use crate::types::placement::{AxisId, MeshId, Storage};

/// More positions between the grid and the finest level than this share one lane.
const SUBS: u128 = 4;

/// Where the result of a task is waited for: by the latest run of `task` before this one in
/// program order; `back` is 1 where that is of the trip before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dep {
    pub task: usize,
    pub back: u64,
}

/// A ring that a copy fills.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub depth: u64,
    /// Tasks that read a slot, and how many trips after it was filled.
    pub readers: Vec<Dep>,
}

/// One op on one lane.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Index among the ops of the program.
    pub op: usize,
    pub body: usize,
    pub lane: usize,
    /// Whether its part is one of the grid's mesh.
    pub on_grid: bool,
    pub deps: Vec<Dep>,
    /// Time on each pipe; on those of all units, as if there were one unit.
    pub uses: Vec<(Pipe, Fs)>,
    /// After the last pipe is done.
    pub latency: Fs,
    /// After that, until all positions of the grid are there.
    pub barrier: Fs,
    /// Whether the lane waits until it is done: a load or store only has to be issued.
    pub blocks: bool,
    pub ring: Option<Ring>,
}

/// A loop's bounds.
#[derive(Clone)]
pub(super) struct Bounds {
    pub var: VarId,
    pub start: Expr,
    pub stop: Expr,
    pub step: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Task(usize),
    Loop(usize),
}

/// A loop's body; the first is the launch's.
#[derive(Clone)]
pub(super) struct Body {
    pub parent: Option<usize>,
    pub bounds: Option<Bounds>,
    /// In program order, all lanes.
    pub items: Vec<Item>,
    /// By lane: whether it has a task in here or further in.
    pub of_lane: Vec<bool>,
}

/// Who does tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    pub part: Option<MeshId>,
    pub copies: bool,
    pub sub: u64,
}

#[derive(Clone)]
pub(super) struct Program {
    pub tasks: Vec<Task>,
    pub bodies: Vec<Body>,
    pub lanes: Vec<Lane>,
    /// By lane of copies: the lane whose loops it does not enter before that one does.
    pub gates: Vec<Option<usize>>,
    /// By body: trips that are run at most, for a steady state is continued from few; empty where
    /// all are run.
    pub most: Vec<u64>,
}

impl Program {
    /// Trips of a loop that are run at most.
    pub fn most(&self, body: usize) -> u64 {
        self.most.get(body).copied().unwrap_or(u64::MAX)
    }

    /// The loops that stand in a body.
    pub fn loops(&self, body: usize) -> impl Iterator<Item = usize> {
        let items = self.bodies.get(body).map(|b| b.items.as_slice()).unwrap_or_default();
        items.iter().filter_map(|i| match i {
            Item::Loop(l) => Some(*l),
            Item::Task(_) => None,
        })
    }

    /// Whether a loop further in than `body` has a bound with the variable.
    pub fn uses_inside(&self, body: usize, var: VarId) -> bool {
        self.loops(body).any(|l| {
            let bounds = self.bodies.get(l).and_then(|b| b.bounds.as_ref());
            let here = bounds.is_some_and(|b| {
                [&b.start, &b.stop, &b.step].iter().any(|e| e.vars().contains(&var))
            });
            here || self.uses_inside(l, var)
        })
    }
}

/// The share of a launch's bytes that come from `gmem`; the rest is in the last cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misses {
    /// Of reads: `miss / of`.
    pub miss: u128,
    pub of: u128,
    /// Of writes.
    pub written: u128,
    pub of_written: u128,
}

/// How an op is issued.
struct Issue {
    /// By an asynchronous copy.
    copies: bool,
    /// By a matrix instruction that its lane does not wait for.
    ahead: bool,
    /// As a load or store, without work on it.
    moves: bool,
}

/// What one grid position does of an entry in one run.
pub(super) fn at_position(cx: &Cx, o: &OpCost, e: &Entry) -> u128 {
    let coarse = |a: &AxisId| cx.rank(*a) <= cx.machine.grid;
    let used = |a: &AxisId| o.run.trips.axes().contains(a);
    let inside = e.each.iter().filter(|a| !coarse(a));
    let sharing = o.run.active.iter().filter(|a| coarse(a) && !e.each.contains(a) && !used(a));
    let all = e.local.saturating_mul(cx.extent_of(inside)).saturating_mul(e.left.0);
    all.div_ceil(cx.extent_of(sharing).saturating_mul(e.left.1).max(1))
}

pub(super) struct Builder<'a, 'c> {
    pub cx: &'a Cx<'c>,
    rates: &'a Rates<'c>,
    pub ops: &'a [OpCost<'c>],
    misses: Misses,
    barrier: Fs,
    /// Loops around the launch.
    outside: usize,
    pub out: Program,
    /// Tasks of an op, by its node.
    pub tasks: HashMap<NodeId, Vec<usize>>,
    /// Grid barriers that an op's operands wait for.
    barriers: HashMap<NodeId, u64>,
    paid: u64,
}

/// The program of the ops `which`, that all stand in one launch.
pub(super) fn build<'c>(
    cx: &Cx<'c>,
    rates: &Rates<'c>,
    ops: &[OpCost<'c>],
    which: &[usize],
    outside: usize,
    misses: Misses,
    barrier: Fs,
) -> Program {
    let root = Body { parent: None, bounds: None, items: vec![], of_lane: vec![] };
    let out =
        Program { tasks: vec![], bodies: vec![root], lanes: vec![], gates: vec![], most: vec![] };
    let (tasks, barriers) = (HashMap::default(), HashMap::default());
    let mut b = Builder { cx, rates, ops, misses, barrier, outside, out, tasks, barriers, paid: 0 };
    b.all(which);
    b.out
}

impl Builder<'_, '_> {
    fn all(&mut self, which: &[usize]) {
        let subs = self.subs(which);
        let mut open: Vec<(usize, usize)> = vec![];
        for i in which {
            let Some(o) = self.ops.get(*i) else { continue };
            let frame = self.cx.walk.frame(o.run.frame);
            let loops = frame.map(|f| f.loops.get(self.outside..).unwrap_or_default());
            self.enter(&mut open, loops.unwrap_or_default());
            let body = open.last().map_or(0, |(_, b)| *b);
            self.op(*i, body, subs.get(&o.run.part).copied().unwrap_or(1));
        }
        self.edges();
        self.ahead();
        self.rings();
        self.finish();
    }

    /// Opens and closes bodies so that `open` has the loops asked for.
    fn enter(&mut self, open: &mut Vec<(usize, usize)>, loops: &[usize]) {
        let same = open.iter().zip(loops).take_while(|((l, _), want)| l == *want).count();
        open.truncate(same);
        for l in loops.iter().skip(same) {
            let parent = open.last().map_or(0, |(_, b)| *b);
            let id = self.out.bodies.len();
            let bounds = self.bounds(*l);
            let body = Body { parent: Some(parent), bounds, items: vec![], of_lane: vec![] };
            self.out.bodies.push(body);
            if let Some(p) = self.out.bodies.get_mut(parent) {
                p.items.push(Item::Loop(id));
            }
            open.push((*l, id));
        }
    }

    fn bounds(&self, l: usize) -> Option<Bounds> {
        bounds(self.cx, l)
    }

    /// Lanes of each role.
    fn subs(&self, which: &[usize]) -> BTreeMap<Option<MeshId>, u64> {
        let mut out = BTreeMap::new();
        let between = |a: &&AxisId| {
            let r = self.cx.rank(**a);
            r > self.cx.machine.grid && r < self.cx.machine.finest()
        };
        for o in which.iter().filter_map(|i| self.ops.get(*i)) {
            let n = self.cx.extent_of(o.run.active.iter().filter(between));
            let n = if n <= SUBS { n as u64 } else { 1 };
            let at = out.entry(o.run.part).or_insert(1);
            *at = n.max(*at);
        }
        out
    }

    fn lane(&mut self, lane: Lane) -> usize {
        match self.out.lanes.iter().position(|l| *l == lane) {
            Some(i) => i,
            None => {
                self.out.lanes.push(lane);
                self.out.lanes.len() - 1
            }
        }
    }

    fn op(&mut self, i: usize, body: usize, subs: u64) {
        let Some(o) = self.ops.get(i) else { return };
        let (uses, mut latency) = self.cost(o);
        let barriers = self.barrier_of(o);
        let barrier = if barriers > self.paid { self.barrier } else { 0 };
        self.paid = self.paid.max(barriers);
        if uses.is_empty() && latency == 0 && barrier == 0 {
            return;
        }
        let Issue { copies, ahead, moves } = self.issue(o);
        if !ahead && !copies && o.entries.iter().any(|e| e.key == Key::Read(Storage::Smem)) {
            latency = latency.max(self.rates.smem_latency);
        }
        let subs = if copies { 1 } else { subs.max(1) };
        let blocks = !(copies || ahead || (moves && barrier == 0));
        // what a copy fills is read before it is filled again
        let reused = copies || o.op.op.role() == Role::Reshard;
        let part = o.run.part;
        let rank = part.and_then(|m| self.cx.mesh_rank(m));
        for sub in 0..subs {
            let lane = self.lane(Lane { part, copies, sub });
            let id = self.out.tasks.len();
            self.out.tasks.push(Task {
                op: i,
                body,
                lane,
                on_grid: rank.is_some_and(|r| r <= self.cx.machine.grid),
                deps: vec![],
                uses: uses.iter().map(|(p, t)| (*p, t.div_ceil(subs))).collect(),
                latency,
                barrier,
                blocks,
                ring: reused.then(|| Ring { depth: o.ring.max(o.op.buffers()), readers: vec![] }),
            });
            self.tasks.entry(node_of(self.cx, o)).or_default().push(id);
            if let Some(b) = self.out.bodies.get_mut(body) {
                b.items.push(Item::Task(id));
            }
        }
    }

    /// How an op is issued, by the families that its hints ask for.
    fn issue(&self, o: &OpCost) -> Issue {
        let target = self.rates.target;
        let copy = o.op.via().and_then(|v| target.instruction(v));
        let atom = o.op.node.hint("atom").and_then(|h| {
            h.args.iter().find_map(|(_, a)| match a {
                HintArg::Word(w) => target.instruction(w),
                HintArg::Int(_) => None,
            })
        });
        let works = o.entries.iter().any(|e| matches!(e.key, Key::Work(_)));
        let far = |s: Storage| matches!(s, Storage::Gmem | Storage::Host);
        let moves = |e: &Entry| matches!(e.key, Key::Read(s) | Key::Write(s) if far(s));
        Issue {
            copies: copy.is_some_and(|i| i.asynchronous && i.kind == InstructionKind::Copy),
            ahead: o.op.op.contraction() && atom.is_some_and(|a| a.asynchronous),
            moves: !works && o.entries.iter().any(moves),
        }
    }

    /// Time on each pipe in one run of one position, and the latency of what it reads.
    fn cost(&self, o: &OpCost) -> (Vec<(Pipe, Fs)>, Fs) {
        let mut uses: BTreeMap<Pipe, Fs> = BTreeMap::new();
        let mut latency = 0;
        let units = self.rates.units;
        let mut add = |p: Pipe, t: Option<Fs>, k: u64| {
            let t = t.unwrap_or(0).saturating_mul(k);
            if t > 0 {
                let at = uses.entry(p).or_default();
                *at = at.saturating_add(t);
            }
        };
        for e in &o.entries {
            let n = at_position(self.cx, o, e);
            match e.key {
                Key::Work(r) => {
                    if let Some((p, t)) = self.rates.work(r, n) {
                        add(p, Some(t), units);
                    }
                }
                Key::Read(Storage::Smem) | Key::Write(Storage::Smem) => {
                    add(Pipe::Smem, self.rates.bytes(Pipe::Smem, n), units);
                }
                Key::Read(Storage::Gmem) | Key::Write(Storage::Gmem) if n == 0 => {}
                Key::Read(Storage::Gmem) => {
                    let m = &self.misses;
                    let miss = n.saturating_mul(m.miss).div_ceil(m.of.max(1));
                    add(Pipe::Gmem, self.rates.bytes(Pipe::Gmem, miss), 1);
                    add(Pipe::Cache, self.rates.bytes(Pipe::Cache, n), 1);
                    let here =
                        if miss > 0 { self.rates.gmem_latency } else { self.rates.cache_latency };
                    latency = latency.max(here);
                }
                Key::Write(Storage::Gmem) => {
                    let m = &self.misses;
                    let miss = n.saturating_mul(m.written).div_ceil(m.of_written.max(1));
                    add(Pipe::Gmem, self.rates.bytes(Pipe::Gmem, miss), 1);
                    add(Pipe::Cache, self.rates.bytes(Pipe::Cache, n), 1);
                    latency = latency.max(self.rates.cache_latency);
                }
                Key::Read(Storage::Host) | Key::Write(Storage::Host) => {
                    add(Pipe::Host, self.rates.bytes(Pipe::Host, n), 1);
                }
                Key::Read(_) | Key::Write(_) => {}
            }
        }
        let staged = |k: Key| matches!(k, Key::Read(Storage::Smem) | Key::Write(Storage::Smem));
        if !o.entries.iter().any(|e| staged(e.key)) {
            // what a unit loads into registers passes the port of its own memory too
            let far =
                |e: &&Entry| matches!(e.key, Key::Read(Storage::Gmem) | Key::Write(Storage::Gmem));
            let n = o.entries.iter().filter(far).map(|e| at_position(self.cx, o, e)).sum();
            if n > 0 {
                add(Pipe::Smem, self.rates.bytes(Pipe::Smem, n), units);
            }
        }
        for c in &o.comm {
            let runs = o.run.trips.by(|x| self.cx.rank(x) <= c.rank).most();
            let each = c.per_unit.div_ceil(runs.max(1));
            let outer = self.cx.machine.owner(Storage::Gmem).is_some_and(|g| c.rank <= g);
            if outer {
                add(Pipe::Link, self.rates.bytes(Pipe::Link, each.saturating_mul(2)), 1);
            } else if c.rank <= self.cx.machine.grid {
                // sent and received through the cache
                let t = self.rates.bytes(Pipe::Cache, each.saturating_mul(2));
                add(Pipe::Cache, t, 1);
                latency = latency.max(self.rates.cache_latency.saturating_mul(2));
            } else if o.op.op.role() == Role::Complete {
                latency = latency.max(self.rates.smem_latency.saturating_mul(2));
            }
        }
        (uses.into_iter().collect(), latency)
    }

    /// How many grid barriers are behind an op when it is done: one more than behind its operands
    /// where it completes a value over the grid.
    fn barrier_of(&mut self, o: &OpCost) -> u64 {
        let of = |v: &ValueId| match self.cx.graph.value(self.cx.walk.resolve(*v)).def {
            Def::Node(n, _) => self.barriers.get(&n).copied().unwrap_or(0),
            _ => 0,
        };
        let before = o.op.node.inputs.iter().map(of).max().unwrap_or(0);
        let over = |a: &AxisId| self.cx.rank(*a) == self.cx.machine.grid && self.cx.extent(*a) > 1;
        let partial = o.op.node.inputs.first().map(|v| &self.cx.graph.ty(*v).place.partial);
        let waits = o.op.op.role() == Role::Complete
            && partial.is_some_and(|p| p.iter().any(|(a, _)| over(a)));
        let n = before + u64::from(waits);
        self.barriers.insert(node_of(self.cx, o), n);
        if waits { n } else { 0 }
    }
}

/// The node of an op.
pub(super) fn node_of(cx: &Cx, o: &OpCost) -> NodeId {
    match o.op.node.outputs.first().map(|v| cx.graph.value(*v).def) {
        Some(Def::Node(n, _)) => n,
        _ => NodeId(u32::MAX),
    }
}

/// The bounds of a loop, with dims at their values.
pub(super) fn bounds(cx: &Cx, l: usize) -> Option<Bounds> {
    let node = cx.walk.loops.get(l)?.node;
    match &cx.graph.node(node).kind {
        NodeKind::Loop { var, start, stop, step, .. } => Some(Bounds {
            var: *var,
            start: start.bind(cx.env),
            stop: stop.bind(cx.env),
            step: step.bind(cx.env),
        }),
        _ => None,
    }
}

impl Bounds {
    /// The first value, the step and the trips; where data decides, the most trips there can be.
    pub fn eval(&self, cx: &Cx, env: &Env) -> (i64, i64, u64) {
        let value = |e: &Expr| e.eval(env).or_else(|| cx.vars.lower(&e.bind(env)));
        let len = self.stop.sub(&self.start);
        let len = len.eval(env).or_else(|| cx.vars.upper(&len.bind(env)));
        let (start, step) = (value(&self.start).unwrap_or(0), value(&self.step).unwrap_or(1));
        let len = len.unwrap_or(0).max(0) as u64;
        (start, step, len.div_ceil(step.max(1) as u64))
    }
}

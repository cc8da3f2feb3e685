//! Ops outside meshes that could run as one: which blocks of one need nothing of other blocks.
//!
//! Comes in: the uses of each buffer in `gmem`. Goes out: clusters of ops. All ops of a cluster
//! can be cut along one dimension, so that each value handed over is cut where it is made as where
//! it is read (through views). Two contractions share a cluster only where the cut divides all that
//! each reads; otherwise every block would read the rest again. Ops that no cut joins are one
//! cluster too if none is a contraction and all that they hand over fits one grid position.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Program;
use super::look::Access;
use crate::analysis::cx::OpNode;
use crate::base::HashMap;
use crate::graph::ValueId;
use crate::ops::cuts::{On, Shape};
use crate::ops::{Call, Role};
use crate::types::placement::Storage;
use crate::types::ty::TensorTy;

/// A dimension of an op's domain, with how many of its indices belong to one of the cut.
type Dim = (usize, usize);

/// One way to cut: the dimension of each op.
type Cut = BTreeMap<usize, Dim>;

/// Producer, consumer, and the consumer's operand.
type Edge = (usize, usize, ValueId);

/// Ops that can run as one.
pub(super) struct Cluster {
    pub ops: BTreeSet<usize>,
    /// None where one position must do all of it.
    cuts: Vec<Cut>,
}

impl Cluster {
    /// Blocks where all cuts are made together; 1 where there is none.
    pub fn blocks(&self, p: &Program) -> u128 {
        let Some(first) = self.ops.first() else { return 1 };
        let Some(shape) = shape(p, *first) else { return 1 };
        // cuts that go through one dimension of an op are one
        let dims: BTreeMap<usize, usize> =
            self.cuts.iter().filter_map(|c| c.get(first)).copied().collect();
        let blocks = |(dim, unit): (usize, usize)| (shape.extent(dim) / unit.max(1)) as u128;
        dims.into_iter().map(blocks).fold(1, u128::saturating_mul).max(1)
    }
}

/// Where an op runs: its launch, or itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Launch(usize),
    Op(usize),
}

pub(super) fn group(p: &Program, op: usize) -> Group {
    p.ops.get(op).and_then(|o| o.run.launch).map_or(Group::Op(op), Group::Launch)
}

struct Search<'p, 'c> {
    p: &'p Program<'p, 'c>,
    /// What is handed over, with its bytes, by either end, numbered.
    edges: BTreeMap<usize, Vec<(usize, Edge, u128)>>,
    /// Groups by the groups that they read from.
    next: BTreeMap<Group, BTreeSet<Group>>,
    /// Bytes that one grid position can hold.
    room: u128,
    /// By the first result of an op, each made once.
    shapes: RefCell<HashMap<ValueId, Option<Rc<Shape>>>>,
}

/// The clusters of more than one op.
pub(super) fn clusters(p: &Program, buffers: &BTreeMap<ValueId, Vec<Access>>) -> Vec<Cluster> {
    let s = Search::of(p, buffers);
    let mut out = Found::default();
    for (i, o) in p.ops.iter().enumerate() {
        if o.run.launch.is_none() && o.entries.iter().any(|e| e.total > 0) {
            s.join(&mut out, i);
        }
    }
    out.clusters.into_iter().flatten().filter(|c| c.ops.len() > 1).collect()
}

/// Clusters so far, the latest last; none where one went into a later one.
#[derive(Default)]
struct Found {
    clusters: Vec<Option<Cluster>>,
    /// The cluster of each op.
    of: BTreeMap<usize, usize>,
}

impl<'p, 'c> Search<'p, 'c> {
    fn of(p: &'p Program<'p, 'c>, buffers: &BTreeMap<ValueId, Vec<Access>>) -> Search<'p, 'c> {
        let mut edges: BTreeMap<usize, Vec<(usize, Edge, u128)>> = BTreeMap::new();
        let (mut n, mut next) = (0, BTreeMap::<Group, BTreeSet<Group>>::new());
        for all in buffers.values() {
            let writes: Vec<&Access> = all.iter().filter(|a| !a.read).collect();
            for w in &writes {
                for r in all.iter().filter(|r| r.read && r.op > w.op) {
                    let (a, b) = (group(p, w.op), group(p, r.op));
                    if a != b {
                        next.entry(a).or_default().insert(b);
                    }
                    // what several ops write is nobody's own
                    if writes.len() == 1 {
                        for end in [w.op, r.op] {
                            let edge = (n, (w.op, r.op, r.value), w.e.total);
                            edges.entry(end).or_default().push(edge);
                        }
                        n += 1;
                    }
                }
            }
        }
        let smem = p.cx.machine.target.and_then(|t| t.storage(Storage::Smem.name()));
        let room = smem.and_then(|s| s.capacity.known()).map_or(0, |f| u128::from(f.value));
        Search { p, edges, next, room, shapes: RefCell::default() }
    }

    fn shape(&self, op: usize) -> Option<Rc<Shape>> {
        self.shape_of(&self.p.ops.get(op)?.op)
    }

    fn shape_of(&self, op: &OpNode) -> Option<Rc<Shape>> {
        let made = op.node.outputs.first()?;
        let new = || shape_of(self.p, op).map(Rc::new);
        self.shapes.borrow_mut().entry(*made).or_insert_with(new).clone()
    }

    /// Puts an op into the clusters of those whose results it reads, else into one of its own.
    fn join(&self, found: &mut Found, op: usize) {
        let role = self.p.ops.get(op).map(|o| o.op.op.role());
        if !matches!(role, Some(Role::Compute | Role::Create)) {
            return;
        }
        let free = self.shape(op).map(|s| s.free()).unwrap_or_default();
        let cuts = free.into_iter().map(|d| Cut::from([(op, (d, 1))])).collect();
        let mut mine = Cluster { ops: [op].into(), cuts };
        while let Some((at, both)) = self.neighbours(found, &mine).into_iter().find_map(|at| {
            let c = found.clusters.get(at)?.as_ref()?;
            Some((at, self.joined(c, &mine)?))
        }) {
            found.clusters.get_mut(at).and_then(Option::take);
            mine = both;
        }
        let at = found.clusters.len();
        found.of.extend(mine.ops.iter().map(|o| (*o, at)));
        found.clusters.push(Some(mine));
    }

    /// The clusters that hand something to one or take something from it, in order.
    fn neighbours(&self, found: &Found, c: &Cluster) -> BTreeSet<usize> {
        let ends = c.ops.iter().flat_map(|o| self.over(o)).flat_map(|(_, (a, b, _), _)| [*a, *b]);
        ends.filter(|o| !c.ops.contains(o)).filter_map(|o| found.of.get(&o).copied()).collect()
    }

    /// What goes over an op.
    fn over(&self, op: &usize) -> &[(usize, Edge, u128)] {
        self.edges.get(op).map_or(&[], Vec::as_slice)
    }

    fn joined(&self, a: &Cluster, b: &Cluster) -> Option<Cluster> {
        let ops: BTreeSet<usize> = a.ops.union(&b.ops).copied().collect();
        let mut inside: BTreeMap<usize, (Edge, u128)> = BTreeMap::new();
        for (n, e, size) in ops.iter().flat_map(|o| self.over(o)) {
            if ops.contains(&e.0) && ops.contains(&e.1) {
                inside.insert(*n, (*e, *size));
            }
        }
        let across = |(p, c, _): &Edge| a.ops.contains(p) != a.ops.contains(c);
        let edges: Vec<Edge> = inside.values().map(|(e, _)| *e).filter(across).collect();
        let frame = |c: &Cluster| {
            let first = c.ops.first().and_then(|o| self.p.ops.get(*o));
            first.map(|o| o.run.frame)
        };
        if edges.is_empty() || frame(a) != frame(b) || self.detour(&ops) {
            return None;
        }
        let mut cuts = vec![];
        for x in &a.cuts {
            for y in &b.cuts {
                let mut all = x.clone();
                all.extend(y.iter().map(|(o, d)| (*o, *d)));
                let lone = (y.len() == 1).then(|| b.ops.first().copied()).flatten();
                if self.agree(&mut all, lone, &edges) && self.divided(&all) {
                    cuts.push(all);
                }
            }
        }
        let handed: u128 = inside.values().map(|(_, n)| n).sum();
        let contracts = ops.iter().any(|o| self.contracts(o));
        (!cuts.is_empty() || (!contracts && handed <= self.room)).then_some(Cluster { ops, cuts })
    }

    fn contracts(&self, op: &usize) -> bool {
        self.p.ops.get(*op).is_some_and(|o| o.op.op.contraction())
    }

    /// Whether a way leads from one of the ops through another group to one of them again.
    fn detour(&self, ops: &BTreeSet<usize>) -> bool {
        let inside = |g: &Group| matches!(g, Group::Op(o) if ops.contains(o));
        let last = ops.last().copied().unwrap_or(0);
        // ops read what earlier ones wrote: beyond the last there is no way back
        let back = |g: &Group| !matches!(g, Group::Op(o) if *o > last);
        let after = |g: &Group| self.next.get(g).into_iter().flatten().copied().filter(back);
        let starts = ops.iter().flat_map(|o| after(&Group::Op(*o)));
        let mut todo: Vec<Group> = starts.filter(|g| !inside(g)).collect();
        let mut seen: BTreeSet<Group> = todo.iter().copied().collect();
        while let Some(g) = todo.pop() {
            for n in after(&g) {
                if inside(&n) {
                    return true;
                }
                if seen.insert(n) {
                    todo.push(n);
                }
            }
        }
        false
    }

    /// Whether a cut goes through every edge alike. A lone consumer takes the unit it is given.
    fn agree(&self, cut: &mut Cut, lone: Option<usize>, edges: &[Edge]) -> bool {
        let passes = |cut: &Cut, e: &Edge| cut.get(&e.0).and_then(|at| self.follow(*at, *e));
        if let Some(e) = edges.first().filter(|e| Some(e.1) == lone)
            && let Some(found) = passes(cut, e)
            && cut.get(&e.1).is_some_and(|have| have.0 == found.0)
        {
            cut.insert(e.1, found);
        }
        edges.iter().all(|e| passes(cut, e).is_some_and(|d| cut.get(&e.1) == Some(&d)))
    }

    /// Whether a cut divides all operands of every contraction, where there are several.
    fn divided(&self, cut: &Cut) -> bool {
        let all: Vec<&usize> = cut.keys().filter(|o| self.contracts(o)).collect();
        let whole = |o: &usize| {
            let (dim, unit) = cut.get(o).copied().unwrap_or_default();
            let c = self.shape(*o).and_then(|s| s.cut(dim, unit));
            c.is_none_or(|c| c.reads.iter().any(Option::is_none))
        };
        all.len() < 2 || !all.into_iter().any(whole)
    }

    /// Where a producer's cut falls in the domain of the consumer, through views.
    fn follow(&self, (dim, unit): Dim, (from, to, v): Edge) -> Option<Dim> {
        let (producer, consumer) = (self.p.ops.get(from)?, self.p.ops.get(to)?);
        let (made, way) = through(self.p, v);
        let which = producer.op.node.outputs.iter().position(|o| *o == made)?;
        let mut on: On = *self.shape(from)?.cut(dim, unit)?.writes.get(which)?;
        for view in way.iter().rev() {
            match view.op.role() {
                Role::View => {
                    let s = self.shape_of(view)?;
                    let (dim, unit) = s.dim(0, on)?;
                    on = *s.cut(dim, unit)?.writes.first()?;
                }
                Role::Reshard | Role::Complete => {}
                _ => return None,
            }
        }
        let s = self.shape(to)?;
        let operand = consumer.op.node.inputs.iter().position(|i| *i == v)?;
        let (dim, unit) = s.dim(operand, on)?;
        s.cut(dim, unit).map(|_| (dim, unit))
    }
}

/// The value that was made first with these bytes, and the free ops on the way, the last first.
fn through<'p>(p: &'p Program, v: ValueId) -> (ValueId, Vec<OpNode<'p>>) {
    let mut at = p.cx.walk.resolve(v);
    let mut way = vec![];
    while let Some(op) = p.cx.op_of(at).filter(|o| p.cx.is_free(o)) {
        let Some(from) = op.node.inputs.first() else { break };
        at = p.cx.walk.resolve(*from);
        way.push(op);
    }
    (at, way)
}

fn shape(p: &Program, op: usize) -> Option<Shape> {
    shape_of(p, &p.ops.get(op)?.op)
}

fn shape_of(p: &Program, op: &OpNode) -> Option<Shape> {
    let types = |vs: &[ValueId]| -> Vec<TensorTy> {
        vs.iter().map(|v| p.cx.graph.ty(*v).clone()).collect()
    };
    let (inputs, outs) = (types(&op.node.inputs), types(&op.node.outputs));
    let call = Call { inputs: &inputs, attrs: op.attrs, vars: &p.cx.graph.vars };
    Shape::new(op.op.domain(&call, &outs), p.cx.env)
}

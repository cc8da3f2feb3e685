//! Which nodes run together, one block of their values after another, so that what passes between
//! them stays in cache.
//!
//! In: the parts of a plan in order. Out: the same, some nodes gathered into [`Tiles`]. A node
//! joins a group that makes one of its operands when the group can still be cut into blocks that
//! do not need each other; which dimensions those are follows from the accesses of its op. What
//! does not depend on an open group runs before it.
//!
//! Sizes of blocks depend on the program and its extents, never on the number of threads: a
//! library's contraction may round differently for another number of rows.

use super::plan::Part;
use super::value_dtype;
use crate::base::HashMap;
use crate::graph::{Graph, NodeId, NodeKind, ValueId};
use crate::ops::cuts::{Cut, On, Shape};
use crate::ops::{Call, Role};
use crate::types::dim::Env;

/// Bytes that the values of a block should take together: a part of a core's L2 cache.
const NEAR: usize = 256 << 10;
/// The same where the group contracts: an operand is packed again for each block of rows, so
/// blocks are larger.
const FAR: usize = 8 << 20;
/// Groups of fewer bytes are not worth it.
const SMALL: usize = 128 << 10;
/// Blocks wanted at least, so that there is work for every thread.
const BLOCKS: usize = 16;
/// Elements side by side that a block should have at least: each run of a block is kept track of.
const RUN: usize = 32;
/// Groups that may be open at once.
const OPEN: usize = 8;

/// Nodes that run together.
pub(super) struct Tiles {
    pub nodes: Vec<NodeId>,
    /// For each cut, its extent and how many of its indices a block has.
    pub cuts: Vec<(usize, usize)>,
    /// For each value that the nodes read or make, where the cuts go through it.
    pub at: HashMap<ValueId, Places>,
}

/// For each cut of a group, the axis of a value that it goes through.
pub(super) type Places = Vec<Option<On>>;

struct Open {
    nodes: Vec<NodeId>,
    /// The extent of each cut; 0 once a node cannot be cut there.
    cuts: Vec<usize>,
    made: Vec<ValueId>,
    at: HashMap<ValueId, Places>,
    contracts: bool,
    /// Bytes that contractions read again for each index of a cut.
    again: Vec<usize>,
}

pub(super) struct Tiler<'a> {
    pub g: &'a Graph,
    pub env: &'a Env,
    pub wide: bool,
    pub keep: &'a [ValueId],
    pub uses: &'a [Vec<ValueId>],
}

impl Tiler<'_> {
    pub fn gather(&self, parts: Vec<Part>) -> Vec<Part> {
        let mut open: Vec<Open> = vec![];
        let mut out: Vec<Part> = vec![];
        for part in parts {
            let used = self.used(&part);
            let mut wait: Vec<usize> = (0..open.len())
                .filter(|i| open[*i].made.iter().any(|v| used.contains(v)))
                .collect();
            if let Part::One(n) = &part
                && let Some(shape) = self.shape(*n)
            {
                let mut takers = wait.iter().copied();
                if let Some(i) = takers.find(|i| self.join(&mut open[*i], *n, &shape)) {
                    // the other groups that it reads run before this one
                    wait.retain(|w| *w != i);
                    self.close(&mut open, &wait, &mut out);
                    continue;
                }
                self.close(&mut open, &wait, &mut out);
                if let Some(o) = self.start(*n, &shape) {
                    if open.len() == OPEN {
                        self.close(&mut open, &[0], &mut out);
                    }
                    open.push(o);
                    continue;
                }
            } else {
                if !self.simple(&part) {
                    // it may change in place what a group reads
                    wait = (0..open.len())
                        .filter(|i| open[*i].at.keys().any(|v| used.contains(v)))
                        .collect();
                }
                self.close(&mut open, &wait, &mut out);
            }
            out.push(part);
        }
        let all: Vec<usize> = (0..open.len()).collect();
        self.close(&mut open, &all, &mut out);
        out
    }

    fn used(&self, part: &Part) -> Vec<ValueId> {
        let of = |n: &NodeId| self.uses.get(n.0 as usize).cloned().unwrap_or_default();
        match part {
            Part::One(n) => of(n),
            Part::Many(_, nodes) => nodes.iter().flat_map(of).collect(),
            Part::Tiles(t) => t.nodes.iter().flat_map(of).collect(),
        }
    }

    /// Whether it leaves its operands as they are.
    fn simple(&self, part: &Part) -> bool {
        let Part::One(n) = part else { return false };
        match &self.g.node(*n).kind {
            NodeKind::Op { op, .. } => op.role() != Role::Write,
            NodeKind::Const(_) => true,
            _ => false,
        }
    }

    /// The domain of a node that may join a group.
    fn shape(&self, n: NodeId) -> Option<Shape> {
        let node = self.g.node(n);
        let NodeKind::Op { op, attrs } = &node.kind else { return None };
        let role = op.role();
        let plain = matches!(role, Role::Compute | Role::View | Role::Reshard | Role::Complete);
        let seen = node.outputs.iter().any(|v| self.keep.contains(v));
        if !plain || seen || !op.blockwise() || !node.uses.is_empty() {
            return None;
        }
        let types = |v: &[ValueId]| v.iter().map(|v| self.g.ty(*v).clone()).collect::<Vec<_>>();
        let (ins, outs) = (types(&node.inputs), types(&node.outputs));
        let domain = op.domain(&Call { inputs: &ins, attrs, vars: &self.g.vars }, &outs);
        Shape::new(domain, self.env)
    }

    fn bytes(&self, v: ValueId) -> usize {
        let ty = self.g.ty(v);
        let extents = ty.shape.iter().map(|e| e.eval(self.env).unwrap_or(0).max(0) as usize);
        let n = extents.fold(1usize, usize::saturating_mul);
        n.saturating_mul(value_dtype(ty.dtype, self.wide).bits() as usize) / 8
    }

    fn contracts(&self, n: NodeId) -> bool {
        matches!(&self.g.node(n).kind, NodeKind::Op { op, .. } if op.contraction())
    }

    /// A group of one node, if it is worth opening.
    fn start(&self, n: NodeId, shape: &Shape) -> Option<Open> {
        let node = self.g.node(n);
        let size: usize = node.inputs.iter().chain(&node.outputs).map(|v| self.bytes(*v)).sum();
        if size < SMALL {
            return None;
        }
        let free = shape.free();
        let mut o = Open {
            nodes: vec![],
            cuts: free.iter().map(|d| shape.extent(*d)).collect(),
            made: vec![],
            at: HashMap::default(),
            contracts: false,
            again: vec![0; free.len()],
        };
        let cuts = free.iter().map(|d| shape.cut(*d, 1)).collect();
        self.add(&mut o, n, cuts).then_some(o)
    }

    /// Adds a node that reads a value of the group, where the group can still be cut with it.
    fn join(&self, o: &mut Open, n: NodeId, shape: &Shape) -> bool {
        // cuts of what only feeds a contraction are seldom those that keep its result small
        if self.contracts(n) && !o.contracts {
            return false;
        }
        let node = self.g.node(n);
        let cut = |c: usize| {
            let mut found = None;
            for (i, v) in node.inputs.iter().enumerate().filter(|(_, v)| o.made.contains(v)) {
                let on = (*o.at.get(v)?.get(c)?)?;
                let dim = shape.dim(i, on)?;
                if found.is_some_and(|f| f != dim) {
                    return None;
                }
                found = Some(dim);
            }
            let (dim, unit) = found?;
            let whole = o.cuts[c].checked_mul(unit) == Some(shape.extent(dim));
            shape.cut(dim, unit).filter(|_| whole)
        };
        let cuts = (0..o.cuts.len()).map(|c| if o.cuts[c] > 0 { cut(c) } else { None }).collect();
        self.add(o, n, cuts)
    }

    /// Adds a node that the group's cuts go through like this; false where too little is left.
    fn add(&self, o: &mut Open, n: NodeId, mut cuts: Vec<Option<Cut>>) -> bool {
        let node = self.g.node(n);
        // a value is cut in one way wherever it is read, also twice by one node
        for (c, cut) in cuts.iter_mut().enumerate() {
            let same = cut.as_ref().is_some_and(|cut| {
                let have = |v: &ValueId| o.at.get(v).and_then(|p| p.get(c));
                let mut reads = node.inputs.iter().zip(&cut.reads);
                let twice = |v: &ValueId, on| {
                    node.inputs.iter().zip(&cut.reads).all(|(w, also)| w != v || also == on)
                };
                reads.all(|(v, on)| have(v).is_none_or(|h| h == on) && twice(v, on))
            });
            if !same {
                *cut = None;
            }
        }
        let left: Vec<usize> =
            o.cuts.iter().zip(&cuts).map(|(n, c)| if c.is_some() { *n } else { 0 }).collect();
        let contracts = self.contracts(n);
        let reads = |i: usize| -> Places {
            cuts.iter()
                .map(|c| c.as_ref().and_then(|c| c.reads.get(i).copied().flatten()))
                .collect()
        };
        let writes = |k: usize| -> Places {
            cuts.iter().map(|c| c.as_ref().and_then(|c| c.writes.get(k).copied())).collect()
        };
        let part = |v: ValueId, at: &Places| {
            let parts = at.iter().zip(&left).filter(|(on, _)| on.is_some());
            self.bytes(v) / parts.fold(1usize, |n, (_, c)| n.saturating_mul(*c)).max(1)
        };
        let ins: Vec<(ValueId, Places)> =
            node.inputs.iter().enumerate().map(|(i, v)| (*v, reads(i))).collect();
        let outs: Vec<(ValueId, Places)> =
            node.outputs.iter().enumerate().map(|(k, v)| (*v, writes(k))).collect();
        // every operand of a contraction must lie in cache while blocks of the others pass
        let room = if contracts || o.contracts { FAR } else { 4 * NEAR };
        let counted = |(v, _): &&(ValueId, Places)| contracts || o.made.contains(v);
        let most = ins.iter().filter(counted).chain(&outs).map(|(v, at)| part(*v, at)).max();
        let shared = cuts.iter().flatten().any(|c| c.reads.iter().all(Option::is_some));
        if left.iter().all(|c| *c == 0) || most.unwrap_or(0) > room || contracts && !shared {
            return false;
        }
        for (v, at) in &ins {
            if contracts && !o.made.contains(v) {
                for (again, _) in o.again.iter_mut().zip(at).filter(|(_, on)| on.is_none()) {
                    *again = again.saturating_add(self.bytes(*v));
                }
            }
        }
        o.at.extend(ins.into_iter().chain(outs));
        o.made.extend(&node.outputs);
        o.cuts = left;
        o.contracts |= contracts;
        o.nodes.push(n);
        true
    }

    /// Ends groups: each becomes one part.
    fn close(&self, open: &mut Vec<Open>, which: &[usize], out: &mut Vec<Part>) {
        let mut rest = vec![];
        for (i, o) in std::mem::take(open).into_iter().enumerate() {
            if !which.contains(&i) {
                rest.push(o);
            } else if o.nodes.len() > 1 || o.contracts {
                out.push(Part::Tiles(self.tiles(o)));
            } else {
                out.extend(o.nodes.into_iter().map(Part::One));
            }
        }
        *open = rest;
    }

    /// How many elements of a value lie side by side for one index of a cut, at least 1.
    fn run(&self, v: ValueId, on: On) -> usize {
        let after = self.g.ty(v).shape.iter().skip(on.axis + 1);
        let extents = after.map(|e| e.eval(self.env).unwrap_or(0).max(1) as usize);
        extents.fold(on.unit.max(1), usize::saturating_mul)
    }

    /// Chooses how large blocks are.
    fn tiles(&self, o: Open) -> Tiles {
        let kept: Vec<usize> = (0..o.cuts.len()).filter(|c| o.cuts[*c] > 0).collect();
        let only = |p: &Places| -> Places { kept.iter().map(|c| p.get(*c).copied()?).collect() };
        let at: HashMap<ValueId, Places> = o.at.iter().map(|(v, p)| (*v, only(p))).collect();
        let mut cuts: Vec<(usize, usize)> = kept.iter().map(|c| (o.cuts[*c], o.cuts[*c])).collect();
        // bytes of what the nodes read and make, at the node where that is most
        let size = |cuts: &[(usize, usize)]| {
            let part = |v: &ValueId| {
                let through = at.get(v).into_iter().flatten().zip(cuts);
                let through = through.filter(|(on, _)| on.is_some());
                through.fold(self.bytes(*v) as f64, |b, (_, (n, t))| b * *t as f64 / *n as f64)
            };
            let node = |n: &NodeId| {
                let node = self.g.node(*n);
                let made = node.inputs.iter().filter(|v| o.made.contains(v));
                made.chain(&node.outputs).map(part).sum::<f64>()
            };
            o.nodes.iter().map(node).fold(0.0, f64::max)
        };
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by_key(|i| (o.again.get(kept[*i]).copied().unwrap_or(0), *i));
        let least = |i: usize| {
            let run =
                o.made.iter().filter_map(|v| Some(self.run(*v, at.get(v)?.get(i).copied()??)));
            run.fold(1, |t, n| t.max(RUN.div_ceil(n))).min(cuts[i].0)
        };
        let least: Vec<usize> = (0..cuts.len()).map(least).collect();
        let room = if o.contracts { FAR } else { NEAR } as f64;
        for i in order.iter().copied() {
            let over = size(&cuts) / room;
            if over > 1.0 {
                let (n, t) = cuts[i];
                let t = ((t as f64 / over) as usize).max(least[i]);
                cuts[i] = (n, n.div_ceil(n.div_ceil(t)));
            }
        }
        let blocks = |cuts: &[(usize, usize)]| -> usize {
            cuts.iter().map(|(n, t)| n.div_ceil(*t)).product()
        };
        while blocks(&cuts) < BLOCKS && size(&cuts) > SMALL as f64 {
            let Some(i) = order.iter().copied().find(|i| cuts[*i].1 > least[*i]) else { break };
            cuts[i].1 = cuts[i].1.div_ceil(2).max(least[i]);
        }
        Tiles { nodes: o.nodes, cuts, at }
    }
}

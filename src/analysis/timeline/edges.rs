//! What the tasks of a launch wait for: their operands, slots of rings, and loops of other lanes.

use std::collections::BTreeSet;

use super::super::cost::OpCost;
use super::program::{Builder, Dep, Lane};
use crate::graph::{Def, NodeId, NodeKind, ValueId};
use crate::ops::Role;
use crate::types::placement::Storage;

impl Builder<'_, '_> {
    /// The nodes whose results a value is made of, through what costs nothing; and whether a loop
    /// carried the value around.
    fn makers(
        &self,
        v: ValueId,
        carried: bool,
        seen: &mut BTreeSet<(ValueId, bool)>,
        out: &mut BTreeSet<(NodeId, bool)>,
    ) {
        let graph = self.cx.graph;
        let v = self.cx.walk.resolve(v);
        if !seen.insert((v, carried)) {
            return;
        }
        match graph.value(v).def {
            Def::Param(_) => {}
            Def::RegionParam(r, i) => {
                let region = graph.region(r);
                if let Some(start) = region.owner.and_then(|n| graph.node(n).inputs.get(i)) {
                    self.makers(*start, carried, seen, out);
                }
                if let Some(last) = region.results.get(i) {
                    self.makers(*last, true, seen, out);
                }
            }
            Def::Node(n, _) if self.tasks.contains_key(&n) => {
                out.insert((n, carried));
            }
            Def::Node(n, i) => match &graph.node(n).kind {
                NodeKind::Loop { body, .. } => {
                    let start = graph.node(n).inputs.get(i);
                    for from in start.into_iter().chain(graph.region(*body).results.get(i)) {
                        self.makers(*from, carried, seen, out);
                    }
                }
                NodeKind::Op { .. } => {
                    let node = graph.node(n);
                    for from in node.inputs.iter().chain(&node.uses) {
                        self.makers(*from, carried, seen, out);
                    }
                }
                _ => {}
            },
        }
    }

    pub(super) fn edges(&mut self) {
        for t in 0..self.out.tasks.len() {
            let Some(task) = self.out.tasks.get(t) else { continue };
            let Some(o) = self.ops.get(task.op) else { continue };
            let (mut seen, mut makers) = (BTreeSet::new(), BTreeSet::new());
            for v in o.op.node.inputs.iter().chain(&o.op.node.uses) {
                self.makers(*v, false, &mut seen, &mut makers);
            }
            let mut deps = vec![];
            for (m, carried) in &makers {
                let from = self.tasks.get(m).map(Vec::as_slice).unwrap_or_default();
                let own = self.own(t, o, from);
                deps.extend(
                    from.iter()
                        .filter(|f| own.is_none_or(|x| **f == x))
                        .map(|f| Dep { task: *f, back: self.back(*f, t, *carried) }),
                );
            }
            deps.retain(|d| d.task != t);
            if let Some(task) = self.out.tasks.get_mut(t) {
                task.deps = deps;
            }
        }
    }

    /// The one task among those of a maker that a lane waits for: its own, for what stays in its
    /// registers.
    fn own(&self, t: usize, o: &OpCost, from: &[usize]) -> Option<usize> {
        let lane = |i: usize| self.out.tasks.get(i).map(|t| t.lane);
        let mine = lane(t)?;
        let here = from.iter().copied().find(|f| lane(*f) == Some(mine))?;
        let maker = self.out.tasks.get(here).and_then(|x| self.ops.get(x.op))?;
        let out = maker.op.node.outputs.first().map(|v| self.cx.graph.ty(*v).place.storage);
        let gathers = o.op.op.role() == Role::Complete;
        (out == Some(Storage::Rmem) && !gathers).then_some(here)
    }

    /// 1 where the run of `from` that `to` waits for is of the trip before.
    fn back(&self, from: usize, to: usize, carried: bool) -> u64 {
        let body = |t: usize| self.out.tasks.get(t).map_or(0, |t| t.body);
        u64::from((carried || from >= to) && self.within(body(to), body(from)) && body(from) != 0)
    }

    /// Whether `inner` is `outer` or in it.
    fn within(&self, inner: usize, outer: usize) -> bool {
        let mut at = Some(inner);
        while let Some(b) = at {
            if b == outer {
                return true;
            }
            at = self.out.bodies.get(b).and_then(|x| x.parent);
        }
        false
    }

    /// Moves what only copies in a loop wait for, such as the page they fetch, to their lane.
    pub(super) fn ahead(&mut self) {
        for t in (0..self.out.tasks.len()).rev() {
            let mut users = self.out.tasks.iter().filter(|u| u.deps.iter().any(|d| d.task == t));
            let Some(task) = self.out.tasks.get(t) else { continue };
            let lane = |i: usize| self.out.lanes.get(i);
            let part = lane(task.lane).and_then(|l| l.part);
            let first = users.next().map(|u| u.lane);
            let same = users.all(|u| Some(u.lane) == first);
            let to = first.filter(|_| same && task.body != 0 && task.ring.is_none());
            let to = to.filter(|i| lane(*i).is_some_and(|l| l.copies && l.part == part));
            if let (Some(to), Some(task)) = (to, self.out.tasks.get_mut(t)) {
                task.lane = to;
            }
        }
    }

    pub(super) fn rings(&mut self) {
        for t in 0..self.out.tasks.len() {
            if self.out.tasks.get(t).is_none_or(|t| t.ring.is_none()) {
                continue;
            }
            let body = |t: usize| self.out.tasks.get(t).map(|t| t.body);
            let mut readers = vec![];
            for (u, user) in self.out.tasks.iter().enumerate() {
                for d in user.deps.iter().filter(|d| d.task == t && body(u) == body(t)) {
                    readers.push(Dep { task: u, back: d.back });
                }
            }
            // a slot that the trip after it is filled still reads is one more
            let late = readers.iter().filter(|r| r.task > t).map(|r| r.back).max().unwrap_or(0);
            if let Some(ring) = self.out.tasks.get_mut(t).and_then(|t| t.ring.as_mut()) {
                ring.depth += late;
                ring.readers = readers;
            }
        }
    }

    pub(super) fn finish(&mut self) {
        let lanes = self.out.lanes.len();
        for b in &mut self.out.bodies {
            b.of_lane = vec![false; lanes];
        }
        for t in 0..self.out.tasks.len() {
            let Some((lane, mut at)) = self.out.tasks.get(t).map(|t| (t.lane, Some(t.body))) else {
                continue;
            };
            while let Some(body) = at.and_then(|b| self.out.bodies.get_mut(b)) {
                if let Some(has) = body.of_lane.get_mut(lane) {
                    *has = true;
                }
                at = body.parent;
            }
        }
        let gate = |l: &Lane| {
            let same = |o: &Lane| o.part == l.part && !o.copies && o.sub == 0;
            self.out.lanes.iter().position(same).filter(|_| l.copies)
        };
        self.out.gates = self.out.lanes.iter().map(gate).collect();
    }
}

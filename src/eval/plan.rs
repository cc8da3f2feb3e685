//! The order in which a region's nodes run, and where each value is let go.
//!
//! Nodes that need coordinates which are not set yet run in groups: a group sets the axes that all
//! its nodes need, one combination after another, and runs all its nodes for each. What they need
//! beyond these is set by groups inside. A node that needs nothing more and does not wait for the
//! group before it runs ahead of that group.

use super::axes::{Axes, common, minus, union};
use super::deps::Deps;
use super::tiles::{Tiler, Tiles};
use crate::base::{HashMap, HashSet};
use crate::graph::{Graph, NodeId, ValueId};
use crate::types::dim::Env;

pub(super) struct Plan {
    pub steps: Vec<Step>,
}

pub(super) struct Step {
    pub kind: StepKind,
    /// Values of this frame not used after the step, sorted.
    pub dies: Vec<ValueId>,
}

pub(super) enum StepKind {
    Node(NodeId),
    Group(Group),
    Tiles(TileGroup),
}

/// Nodes that run once for each combination of coordinates.
pub(super) struct Group {
    pub axes: Axes,
    pub plan: Plan,
    /// Values made inside and used after it.
    pub exports: Vec<ValueId>,
}

/// Nodes that run together, block by block.
pub(super) struct TileGroup {
    pub tiles: Tiles,
    /// Values made inside and used after it.
    pub exports: Vec<ValueId>,
    /// For each node, the values of a block that are not used after it.
    pub dies: Vec<Vec<ValueId>>,
}

pub(super) struct Planner<'a> {
    pub graph: &'a Graph,
    pub deps: &'a Deps,
    pub keep: &'a [ValueId],
    pub env: &'a Env,
    pub wide: bool,
}

pub(super) enum Part {
    One(NodeId),
    Many(Axes, Vec<NodeId>),
    Tiles(Tiles),
}

impl Planner<'_> {
    /// Plans `nodes` with the coordinates of `bound` set. `own` are values of this frame made
    /// before; `live` is what must stand at the end.
    pub fn plan(
        &self,
        nodes: &[NodeId],
        own: &[ValueId],
        live: &HashSet<ValueId>,
        bound: &Axes,
    ) -> Plan {
        let tiler = Tiler {
            g: self.graph,
            env: self.env,
            wide: self.wide,
            keep: self.keep,
            uses: &self.deps.uses,
        };
        let parts = tiler.gather(self.parts(nodes, bound));
        let uses: Vec<Vec<ValueId>> = parts.iter().map(|p| self.uses(p)).collect();
        let defs: Vec<Vec<ValueId>> = parts.iter().map(|p| self.defs(p)).collect();
        let mut last: HashMap<ValueId, usize> = HashMap::default();
        for (i, used) in uses.iter().enumerate() {
            last.extend(used.iter().map(|v| (*v, i)));
        }
        let keeps = |v: &ValueId| live.contains(v) || self.keep.contains(v);
        let mut dies: Vec<Vec<ValueId>> = vec![vec![]; parts.len()];
        for v in own {
            if let Some(i) = last.get(v)
                && !live.contains(v)
            {
                dies[*i].push(*v);
            }
        }
        let mut exports: Vec<Vec<ValueId>> = vec![vec![]; parts.len()];
        for (i, made) in defs.iter().enumerate() {
            for v in made {
                let used_later = last.get(v).is_some_and(|l| *l > i);
                let in_group = !matches!(parts[i], Part::One(_));
                if in_group && (used_later || keeps(v)) {
                    exports[i].push(*v);
                }
                if !live.contains(v) && (used_later || !in_group || self.keep.contains(v)) {
                    dies[last.get(v).copied().unwrap_or(i).max(i)].push(*v);
                }
            }
        }
        let steps = parts
            .into_iter()
            .zip(dies)
            .zip(exports)
            .map(|((part, mut dies), exports)| {
                dies.sort_unstable();
                let kind = match part {
                    Part::One(n) => StepKind::Node(n),
                    Part::Many(axes, nodes) => {
                        let live = exports.iter().copied().collect();
                        let plan = self.plan(&nodes, &[], &live, &union(bound, &axes));
                        StepKind::Group(Group { axes, plan, exports })
                    }
                    Part::Tiles(tiles) => {
                        let inner = self.inner_dies(&tiles, &exports);
                        StepKind::Tiles(TileGroup { tiles, exports, dies: inner })
                    }
                };
                Step { kind, dies }
            })
            .collect();
        Plan { steps }
    }

    fn parts(&self, nodes: &[NodeId], bound: &Axes) -> Vec<Part> {
        let mut out: Vec<Part> = vec![];
        let mut open: Option<(Axes, Vec<NodeId>)> = None;
        let mut made: HashSet<ValueId> = HashSet::default();
        for n in nodes {
            let i = n.0 as usize;
            let rest = minus(&self.deps.need[i], bound);
            let shared = open.as_ref().map(|(axes, _)| common(axes, &rest));
            match (&mut open, shared) {
                (Some((axes, group)), Some(shared)) if !shared.is_empty() => {
                    *axes = shared;
                    group.push(*n);
                    made.extend(&self.graph.node(*n).outputs);
                    continue;
                }
                (Some(_), _)
                    if rest.is_empty() && !self.deps.uses[i].iter().any(|v| made.contains(v)) =>
                {
                    out.push(Part::One(*n));
                    continue;
                }
                _ => {}
            }
            if let Some((axes, group)) = open.take() {
                out.push(Part::Many(axes, group));
                made.clear();
            }
            if rest.is_empty() {
                out.push(Part::One(*n));
            } else {
                made.extend(&self.graph.node(*n).outputs);
                open = Some((rest, vec![*n]));
            }
        }
        out.extend(open.map(|(axes, group)| Part::Many(axes, group)));
        out
    }

    /// What a block need not keep after each node: operands without a later use.
    fn inner_dies(&self, tiles: &Tiles, exports: &[ValueId]) -> Vec<Vec<ValueId>> {
        let mut seen: HashSet<ValueId> = exports.iter().copied().collect();
        let mut out = vec![];
        for n in tiles.nodes.iter().rev() {
            let node = self.graph.node(*n);
            let touched = node.inputs.iter().chain(&node.outputs);
            out.push(touched.copied().filter(|v| seen.insert(*v)).collect());
        }
        out.reverse();
        out
    }

    fn uses(&self, part: &Part) -> Vec<ValueId> {
        match part {
            Part::One(n) => self.deps.uses[n.0 as usize].clone(),
            Part::Many(_, nodes) | Part::Tiles(Tiles { nodes, .. }) => {
                nodes.iter().flat_map(|n| self.deps.uses[n.0 as usize].iter().copied()).collect()
            }
        }
    }

    fn defs(&self, part: &Part) -> Vec<ValueId> {
        match part {
            Part::One(n) => self.graph.node(*n).outputs.clone(),
            Part::Many(_, nodes) | Part::Tiles(Tiles { nodes, .. }) => {
                nodes.iter().flat_map(|n| self.graph.node(*n).outputs.iter().copied()).collect()
            }
        }
    }
}

//! The program in order: each op with the meshes, the part and the loops it stands in.
//!
//! Comes in: a verified graph and values for its dims. Goes out: steps in program order, the
//! ranges of steps that loops and meshes cover, and which values are one buffer.

use super::machine::Machine;
use crate::base::{HashMap, Span};
use crate::diag::{Code, Diagnostic};
use crate::graph::{Arm, Graph, Node, NodeId, NodeKind, RegionId, ValueId};
use crate::types::dim::{Env, Expr};
use crate::types::placement::{AxisId, MeshId};

/// Index of a frame.
pub(super) type FrameId = usize;

/// Where ops run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    /// Open meshes, coarse to fine, one for each level; those of the module first.
    pub meshes: Vec<MeshId>,
    /// The innermost `on`.
    pub part: Option<MeshId>,
    /// Indices into [`Walk::loops`], outermost first.
    pub loops: Vec<usize>,
    /// The outermost mesh around it.
    pub launch: Option<usize>,
}

pub(super) struct Step {
    pub node: NodeId,
    pub frame: FrameId,
}

/// A loop with the step after its last.
pub(super) struct LoopSpan {
    pub node: NodeId,
    pub end: usize,
}

pub(super) struct Launch {
    pub meshes: Vec<MeshId>,
    pub span: Span,
}

/// When a value is defined or used: a step, or just after one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub step: usize,
    pub frame: FrameId,
}

pub(super) struct Walk {
    pub frames: Vec<Frame>,
    pub steps: Vec<Step>,
    pub loops: Vec<LoopSpan>,
    pub launches: Vec<Launch>,
    /// Where each value is defined; a loop's carried values at the loop's first step, its
    /// results just after its last.
    pub births: HashMap<ValueId, Birth>,
    /// Values that are other values under a new name: a region's results outside it.
    pub alias: HashMap<ValueId, ValueId>,
    /// What a carried value starts from, and the last value of a loop's result: `(param, start)`,
    /// `(output, result)`. One slot, but not one buffer while both are live.
    pub carried: Vec<(ValueId, ValueId)>,
    /// Uses that no step makes: results of regions and of the program.
    pub late_uses: Vec<(ValueId, usize, FrameId)>,
    /// What loops start from, used just before their first step.
    pub starts: Vec<(ValueId, usize, FrameId)>,
}

impl Walk {
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id)
    }

    /// The value that a name stands for.
    pub fn resolve(&self, v: ValueId) -> ValueId {
        let mut at = v;
        // a chain is as long as regions are nested
        while let Some(next) = self.alias.get(&at) {
            at = *next;
        }
        at
    }
}

pub(super) struct Walker<'a> {
    graph: &'a Graph,
    env: &'a Env,
    out: Walk,
    ids: HashMap<Frame, FrameId>,
}

/// Walks the graph. A `match` takes the arm that holds at `env`.
pub(super) fn walk(graph: &Graph, env: &Env, machine: &Machine) -> Result<Walk, Diagnostic> {
    let out = Walk {
        frames: vec![],
        steps: vec![],
        loops: vec![],
        launches: vec![],
        births: HashMap::default(),
        alias: HashMap::default(),
        carried: vec![],
        late_uses: vec![],
        starts: vec![],
    };
    let mut w = Walker { graph, env, out, ids: HashMap::default() };
    let mut base = Frame { meshes: module_meshes(graph), ..Frame::default() };
    sort_by_rank(graph, machine, &mut base.meshes);
    let root = w.intern(base.clone());
    for p in &graph.params {
        w.out.births.insert(p.value, Birth { step: 0, frame: root });
    }
    w.region(graph.root, &base, machine)?;
    let end = w.out.steps.len();
    for o in &graph.outputs {
        w.out.late_uses.push((o.value, end, root));
    }
    Ok(w.out)
}

/// Meshes that no mesh node opens and that are no part: those of the module, open everywhere.
fn module_meshes(graph: &Graph) -> Vec<MeshId> {
    let opened = |id: MeshId| {
        graph.nodes().any(|(_, n)| match &n.kind {
            NodeKind::Mesh { meshes, .. } => meshes.contains(&id),
            NodeKind::On { part, .. } => *part == id,
            _ => false,
        })
    };
    let free = graph.meshes.meshes().filter(|(id, m)| m.parent.is_none() && !opened(*id));
    free.map(|(id, _)| id).collect()
}

fn sort_by_rank(graph: &Graph, machine: &Machine, meshes: &mut [MeshId]) {
    meshes.sort_by_key(|m| graph.meshes.mesh(*m).map_or(0, |m| machine.rank(m)));
}

impl Walker<'_> {
    fn intern(&mut self, f: Frame) -> FrameId {
        if let Some(id) = self.ids.get(&f) {
            return *id;
        }
        let id = self.out.frames.len();
        self.out.frames.push(f.clone());
        self.ids.insert(f, id);
        id
    }

    fn region(&mut self, id: RegionId, frame: &Frame, m: &Machine) -> Result<(), Diagnostic> {
        let graph = self.graph;
        for n in &graph.region(id).nodes {
            self.node(*n, graph.node(*n), frame, m)?;
        }
        Ok(())
    }

    fn node(&mut self, id: NodeId, n: &Node, f: &Frame, m: &Machine) -> Result<(), Diagnostic> {
        match &n.kind {
            NodeKind::Op { .. } | NodeKind::Const(_) => {
                let frame = self.intern(f.clone());
                let step = self.out.steps.len();
                for o in &n.outputs {
                    self.out.births.insert(*o, Birth { step, frame });
                }
                self.out.steps.push(Step { node: id, frame });
                Ok(())
            }
            NodeKind::Loop { body, .. } => self.repeat(id, n, *body, f, m),
            NodeKind::Mesh { meshes, body } => {
                let inner = self.open(n, meshes, f, m);
                self.inside(n, *body, &inner, m)
            }
            NodeKind::On { part, body } => {
                let inner = Frame { part: Some(*part), ..f.clone() };
                self.inside(n, *body, &inner, m)
            }
            NodeKind::Match { value, arms } => {
                let region = self.arm(n, value, arms)?;
                self.inside(n, region, f, m)
            }
        }
    }

    /// A region that runs once: its results are the node's outputs.
    fn inside(
        &mut self,
        n: &Node,
        region: RegionId,
        f: &Frame,
        m: &Machine,
    ) -> Result<(), Diagnostic> {
        self.region(region, f, m)?;
        for (o, r) in n.outputs.iter().zip(&self.graph.region(region).results) {
            self.out.alias.insert(*o, *r);
        }
        Ok(())
    }

    fn open(&mut self, n: &Node, meshes: &[MeshId], f: &Frame, m: &Machine) -> Frame {
        let rank = |id: MeshId| self.graph.meshes.mesh(id).map(|x| m.rank(x));
        let mut inner = f.clone();
        let whole: Vec<MeshId> = meshes
            .iter()
            .copied()
            .filter(|id| self.graph.meshes.mesh(*id).is_some_and(|x| x.parent.is_none()))
            .collect();
        // a mesh takes the place of one of its level that is open already
        inner.meshes.retain(|old| !whole.iter().any(|new| rank(*new) == rank(*old)));
        inner.meshes.extend(&whole);
        sort_by_rank(self.graph, m, &mut inner.meshes);
        if f.launch.is_none() && whole.iter().any(|id| rank(*id).is_some_and(|r| r >= m.grid)) {
            inner.launch = Some(self.out.launches.len());
            self.out.launches.push(Launch { meshes: inner.meshes.clone(), span: n.span });
        } else if let Some(l) = inner.launch.and_then(|l| self.out.launches.get_mut(l)) {
            // a finer mesh opened further in belongs to the same launch
            let more = inner.meshes.iter().filter(|x| !l.meshes.contains(x));
            let more: Vec<MeshId> = more.copied().collect();
            l.meshes.extend(more);
        }
        inner
    }

    fn repeat(
        &mut self,
        id: NodeId,
        n: &Node,
        body: RegionId,
        f: &Frame,
        m: &Machine,
    ) -> Result<(), Diagnostic> {
        let outside = self.intern(f.clone());
        let first = self.out.steps.len();
        let index = self.out.loops.len();
        self.out.loops.push(LoopSpan { node: id, end: first });
        let mut inner = f.clone();
        inner.loops.push(index);
        let frame = self.intern(inner.clone());
        let region = self.graph.region(body);
        for (p, start) in region.params.iter().zip(&n.inputs) {
            self.out.births.insert(*p, Birth { step: first, frame });
            self.out.carried.push((*p, *start));
            // the start is in its slot when the first trip begins
            self.out.starts.push((*start, first.saturating_sub(1), outside));
        }
        self.region(body, &inner, m)?;
        let end = self.out.steps.len();
        if let Some(l) = self.out.loops.get_mut(index) {
            l.end = end;
        }
        for (o, r) in n.outputs.iter().zip(&region.results) {
            self.out.births.insert(*o, Birth { step: end, frame: outside });
            self.out.carried.push((*o, *r));
            self.out.late_uses.push((*r, end.saturating_sub(1), frame));
        }
        Ok(())
    }

    fn arm(&self, n: &Node, value: &Expr, arms: &[Arm]) -> Result<RegionId, Diagnostic> {
        let unbound = || {
            Diagnostic::new(
                Code::UnboundDim,
                n.span,
                format!("`match {}` has no value here", self.graph.vars.show(value)),
            )
            .help("give the dim a value: `--dim NAME=VALUE`")
        };
        let v = value.eval(self.env).ok_or_else(unbound)?;
        let holds = |a: &&Arm| {
            let (lo, hi) = (a.lo.eval(self.env), a.hi.eval(self.env));
            lo.is_some_and(|l| l <= v) && hi.is_some_and(|h| v <= h)
        };
        arms.iter().find(holds).map(|a| a.region).ok_or_else(|| {
            Diagnostic::new(
                Code::NoArm,
                n.span,
                format!("no arm of this `match` takes {} = {v}", self.graph.vars.show(value)),
            )
            .help("choose a value that one of the arms covers")
        })
    }
}

/// The axes whose positions run an op: those of its part where it has one or its values name one,
/// otherwise those of each open mesh. Coarse to fine.
pub(super) fn active_axes(graph: &Graph, frame: &Frame, named: &[AxisId]) -> Vec<AxisId> {
    let mut axes = vec![];
    for base in &frame.meshes {
        let mesh = part_of(graph, frame, *base, named).unwrap_or(*base);
        if let Some(m) = graph.meshes.mesh(mesh) {
            axes.extend(&m.axes);
        }
    }
    axes
}

/// The part of an open mesh on which an op runs.
pub(super) fn part_of(
    graph: &Graph,
    frame: &Frame,
    base: MeshId,
    named: &[AxisId],
) -> Option<MeshId> {
    let within = |id: MeshId| {
        let mut at = Some(id);
        while let Some(m) = at {
            if m == base {
                return id != base;
            }
            at = graph.meshes.mesh(m).and_then(|x| x.parent);
        }
        false
    };
    let by_name = || {
        let meshes = named.iter().filter_map(|a| graph.meshes.axis(*a)).map(|a| a.mesh);
        meshes.into_iter().find(|m| within(*m))
    };
    frame.part.filter(|p| within(*p)).or_else(by_name)
}

//! Which values depend on the position that computes them.
//!
//! In: a verified graph with its dims bound. Out, for each value, the mesh axes it varies over;
//! for each node, the axes whose coordinates must be set before it runs.
//!
//! A shared buffer is the exception to "what varying code makes varies": all positions write
//! their windows into the one buffer, so the value after the write varies no more than before.
//! The type of the written value tells: where it is not declared varying over an axis on which
//! window or tile depend, and its storage is not one of which each position along the axis has its
//! own, the positions along that axis share the buffer.

use super::axes::{Axes, add, common, minus, union};
use crate::base::{HashMap, HashSet};
use crate::graph::verify::{mesh_axes, node_exprs};
use crate::graph::{Def, Graph, Node, NodeId, NodeKind, RegionId, ValueId, node_regions};
use crate::ops::{Attr, Role};
use crate::types::dim::{Env, Expr, VarId, VarKind};
use crate::types::placement::{AxisId, Storage};
use crate::types::ty::TensorTy;

pub(super) struct Deps {
    /// Axes that each value varies over.
    pub value: Vec<Axes>,
    /// Values that positions share and write windows of.
    pub buffer: Vec<bool>,
    /// Axes whose coordinates are set before the node runs.
    pub need: Vec<Axes>,
    /// Axes that a `collect` in the node needs together.
    pub barrier: Vec<Axes>,
    /// Of a window write: the axes along which positions share the buffer.
    pub shared: Vec<Axes>,
    /// Of a loop: the axes that its bounds depend on.
    pub control: Vec<Axes>,
    /// Values of outside that the node uses, its regions included.
    pub uses: Vec<Vec<ValueId>>,
    /// Variables that stand for a value read as a number.
    pub data: HashMap<ValueId, Vec<VarId>>,
    var: Vec<Axes>,
}

impl Deps {
    pub fn new(g: &Graph, env: &Env) -> Deps {
        let (nv, nn) = (g.values().count(), g.node_count());
        let mut d = Deps {
            value: vec![vec![]; nv],
            buffer: vec![false; nv],
            need: vec![vec![]; nn],
            barrier: vec![vec![]; nn],
            shared: vec![vec![]; nn],
            control: vec![vec![]; nn],
            uses: vec![vec![]; nn],
            data: HashMap::default(),
            var: vec![vec![]; g.vars.len()],
        };
        for (id, a) in g.meshes.axes() {
            d.var[a.var.0 as usize] = vec![id];
        }
        for (id, v) in g.vars.iter() {
            if let VarKind::Data(value) = v.kind {
                d.data.entry(ValueId(value)).or_default().push(id);
            }
        }
        for _ in 0..=nv {
            if !d.pass(g, g.root, &[]) {
                break;
            }
        }
        d.plan_blocks(g, g.root, env);
        d
    }

    fn exprs(&self, exprs: &[Expr]) -> Axes {
        let mut out = vec![];
        for v in exprs.iter().flat_map(|e| e.vars()) {
            add(&mut out, &self.var[v.0 as usize]);
        }
        out
    }

    /// One round over a region; `ctrl` is what decides how often it runs. Says whether a set grew.
    fn pass(&mut self, g: &Graph, region: RegionId, ctrl: &[AxisId]) -> bool {
        let mut grew = false;
        for id in &g.region(region).nodes {
            let node = g.node(*id);
            let mut own = self.exprs(&node_exprs(node));
            for u in &node.uses {
                add(&mut own, &self.value[u.0 as usize]);
                for v in self.data.get(u).cloned().unwrap_or_default() {
                    let axes = self.value[u.0 as usize].clone();
                    grew |= add(&mut self.var[v.0 as usize], &axes);
                }
            }
            grew |= match &node.kind {
                NodeKind::Op { .. } | NodeKind::Const(_) => self.pass_op(g, *id, node, own, ctrl),
                NodeKind::Loop { var, body, .. } => {
                    self.control[id.0 as usize] = own.clone();
                    add(&mut self.var[var.0 as usize], &own)
                        | self.pass_loop(g, node, *body, &own, ctrl)
                }
                _ => self.pass_block(g, node, &own, ctrl),
            };
        }
        grew
    }

    fn pass_op(
        &mut self,
        g: &Graph,
        id: NodeId,
        node: &Node,
        mut need: Axes,
        ctrl: &[AxisId],
    ) -> bool {
        let i = id.0 as usize;
        for v in &node.inputs {
            add(&mut need, &self.value[v.0 as usize]);
        }
        match role(node) {
            Role::Write => {
                add(&mut need, ctrl);
                return self.pass_write(g, i, node, need);
            }
            Role::Collect => {
                let axes = collect_axes(node);
                need = minus(&need, &axes);
                self.barrier[i] = axes;
            }
            Role::Local => {
                if let Some(x) = node.inputs.first() {
                    add(&mut need, &g.ty(*x).place.split_axes());
                }
            }
            _ => {}
        }
        let mut grew = false;
        for o in &node.outputs {
            grew |= add(&mut self.value[o.0 as usize], &need);
        }
        self.need[i] = need;
        grew
    }

    fn pass_write(&mut self, g: &Graph, i: usize, node: &Node, need: Axes) -> bool {
        let (Some(base), Some(out)) = (node.inputs.first(), node.outputs.first()) else {
            return false;
        };
        let place = &g.ty(*out).place;
        let mut varies = union(&self.value[base.0 as usize], &common(&need, &place.varying));
        add(&mut varies, &own_copies(g, &need, place.storage));
        let shared = minus(&need, &varies);
        let grew = add(&mut self.value[out.0 as usize], &varies);
        let flag = &mut self.buffer[out.0 as usize];
        let grew = grew | (!*flag && !shared.is_empty());
        *flag |= !shared.is_empty();
        if self.buffer[base.0 as usize] {
            self.buffer[out.0 as usize] = true;
        }
        self.shared[i] = shared;
        self.need[i] = need;
        grew
    }

    fn pass_loop(
        &mut self,
        g: &Graph,
        node: &Node,
        body: RegionId,
        bounds: &[AxisId],
        ctrl: &[AxisId],
    ) -> bool {
        let mut grew = self.pass(g, body, &union(ctrl, bounds));
        let region = g.region(body);
        for (k, p) in region.params.iter().enumerate() {
            let (p, start) = (p.0 as usize, node.inputs[k].0 as usize);
            let (next, out) = (region.results[k].0 as usize, node.outputs[k].0 as usize);
            let mut axes = union(&self.value[start], &self.value[next]);
            if !self.buffer[next] && next != p {
                add(&mut axes, bounds);
            }
            grew |= add(&mut self.value[p], &axes);
            grew |= add(&mut self.value[out], &axes);
            for v in [p, out] {
                grew |= self.mark(v, self.buffer[next] || self.buffer[start]);
            }
        }
        grew
    }

    fn mark(&mut self, v: usize, buffer: bool) -> bool {
        let grew = buffer && !self.buffer[v];
        self.buffer[v] |= buffer;
        grew
    }

    fn pass_block(&mut self, g: &Graph, node: &Node, own: &[AxisId], ctrl: &[AxisId]) -> bool {
        let closed = opened(g, node);
        let mut grew = false;
        for r in node_regions(&node.kind) {
            grew |= self.pass(g, r, &union(ctrl, own));
            for (o, v) in node.outputs.iter().zip(&g.region(r).results) {
                let (o, v) = (o.0 as usize, v.0 as usize);
                let mut axes = minus(&self.value[v], &closed);
                if !self.buffer[v] {
                    add(&mut axes, own);
                }
                grew |= add(&mut self.value[o], &axes);
                grew |= self.mark(o, self.buffer[v]);
            }
        }
        grew
    }

    /// Sets `need`, `barrier` and `uses` of the nodes that own regions, inside out, and gives what
    /// the region's nodes need with what they cost.
    fn plan_blocks(&mut self, g: &Graph, region: RegionId, env: &Env) -> Vec<(Axes, f64)> {
        let mut items = vec![];
        for id in &g.region(region).nodes {
            let node = g.node(*id);
            let i = id.0 as usize;
            let regions = node_regions(&node.kind);
            let mut used: Vec<ValueId> = node.inputs.iter().chain(&node.uses).copied().collect();
            if regions.is_empty() {
                items.push((self.need[i].clone(), op_cost(g, node, env)));
            } else {
                let inner: Vec<(Axes, f64)> =
                    regions.iter().flat_map(|r| self.plan_blocks(g, *r, env)).collect();
                let closed = opened(g, node);
                let mut barrier = vec![];
                for r in &regions {
                    for n in &g.region(*r).nodes {
                        add(&mut barrier, &self.barrier[n.0 as usize]);
                    }
                    used.extend(self.outer_uses(g, *r));
                }
                self.barrier[i] = minus(&barrier, &closed);
                let inner: Vec<(Axes, f64)> =
                    inner.into_iter().map(|(a, c)| (minus(&a, &closed), c)).collect();
                let mut must = self.exprs(&node_exprs(node));
                for u in &node.uses {
                    add(&mut must, &self.value[u.0 as usize]);
                }
                let need =
                    minus(&choose(g, &inner, &must, &self.barrier[i], env), &self.barrier[i]);
                let trips = trips(node, env);
                let cost =
                    inner.iter().map(|(a, c)| c * positions(g, &minus(a, &need), env)).sum::<f64>();
                items.push((need.clone(), cost * trips));
                self.need[i] = need;
            }
            used.sort_unstable();
            used.dedup();
            self.uses[i] = used;
        }
        items
    }

    /// Values that a region uses and does not define.
    fn outer_uses(&self, g: &Graph, region: RegionId) -> Vec<ValueId> {
        let r = g.region(region);
        let mut inside: HashSet<ValueId> = r.params.iter().copied().collect();
        for n in &r.nodes {
            inside.extend(&g.node(*n).outputs);
        }
        let used = r.nodes.iter().flat_map(|n| &self.uses[n.0 as usize]).chain(&r.results);
        used.filter(|v| !inside.contains(v)).copied().collect()
    }
}

pub(super) fn role(node: &Node) -> Role {
    match &node.kind {
        NodeKind::Op { op, .. } => op.role(),
        _ => Role::Compute,
    }
}

/// The axes that a `collect` puts together, in their order.
pub(super) fn collect_order(node: &Node) -> &[AxisId] {
    if let NodeKind::Op { attrs, .. } = &node.kind {
        for (_, a) in &attrs.0 {
            if let Attr::Axes(axes) = a {
                return axes;
            }
        }
    }
    &[]
}

fn collect_axes(node: &Node) -> Axes {
    let mut out = vec![];
    add(&mut out, collect_order(node));
    out
}

/// The axes whose positions each have their own copy of what is in a storage.
fn own_copies(g: &Graph, axes: &[AxisId], storage: Storage) -> Axes {
    let coarse = |a: &AxisId| {
        let mesh = g.meshes.axis(*a).and_then(|x| g.meshes.mesh(x.mesh));
        mesh.is_some_and(|m| matches!(m.level.as_str(), "gpu" | "cluster" | "cta"))
    };
    match storage {
        Storage::Host | Storage::Gmem => vec![],
        Storage::Smem | Storage::Tmem => axes.iter().copied().filter(coarse).collect(),
        Storage::Rmem => axes.to_vec(),
    }
}

/// The axes of the meshes that a node opens, parts included.
fn opened(g: &Graph, node: &Node) -> Axes {
    match &node.kind {
        NodeKind::Mesh { meshes, .. } => {
            let mut out = vec![];
            add(&mut out, &mesh_axes(g, meshes));
            out
        }
        _ => vec![],
    }
}

/// How many combinations of coordinates there are.
fn positions(g: &Graph, axes: &[AxisId], env: &Env) -> f64 {
    axes.iter().map(|a| g.meshes.axis_extent(*a).eval(env).unwrap_or(1).max(1) as f64).product()
}

fn trips(node: &Node, env: &Env) -> f64 {
    match &node.kind {
        NodeKind::Loop { start, stop, step, .. } => {
            match (start.eval(env), stop.eval(env), step.eval(env)) {
                (Some(a), Some(b), Some(s)) if s > 0 => ((b - a).max(0) as f64 / s as f64).max(1.0),
                _ => 8.0,
            }
        }
        _ => 1.0,
    }
}

/// A rough cost, only to weigh repeating a node against storing its results for each position.
fn op_cost(g: &Graph, node: &Node, env: &Env) -> f64 {
    let size = |ty: &TensorTy| -> f64 {
        ty.shape.iter().map(|e| e.eval(env).unwrap_or(1).max(1) as f64).product()
    };
    let out: f64 = node.outputs.iter().map(|v| size(g.ty(*v))).sum();
    let NodeKind::Op { op, .. } = &node.kind else { return 1.0 };
    let ins: Vec<f64> = node.inputs.iter().map(|v| size(g.ty(*v))).collect();
    match op.role() {
        Role::Compute if op.contraction() => {
            (ins.iter().product::<f64>() * out).powf(1.0 / (ins.len() as f64)).max(out)
        }
        Role::Compute => ins.iter().copied().fold(out, f64::max),
        Role::View | Role::Reshard | Role::Complete | Role::Empty => 1.0,
        _ => out / 4.0,
    }
}

/// The axes to set before a block or loop runs as a whole. Setting all that its nodes need keeps
/// a position's values together; it also repeats the nodes that need fewer, so where that would
/// cost much only the axes that all costly nodes share are set, and the block splits inside.
fn choose(
    g: &Graph,
    items: &[(Axes, f64)],
    must: &[AxisId],
    barrier: &[AxisId],
    env: &Env,
) -> Axes {
    let mut all = must.to_vec();
    for (a, _) in items {
        add(&mut all, a);
    }
    let all = minus(&all, barrier);
    let whole = positions(g, &all, env);
    let needed: f64 = items.iter().map(|(a, c)| c * positions(g, a, env)).sum();
    let repeated: f64 = items.iter().map(|(_, c)| c * whole).sum();
    if repeated <= 1.5 * needed {
        return all;
    }
    let mut shared: Option<Axes> = None;
    for (a, c) in items {
        if c * positions(g, a, env) > 0.01 * needed || c * whole > 0.2 * needed {
            shared = Some(shared.map_or_else(|| a.clone(), |s| common(&s, a)));
        }
    }
    union(must, &minus(&shared.unwrap_or(all), barrier))
}

/// Whether a value is made directly in a region.
pub(super) fn defined_in(g: &Graph, v: ValueId, region: RegionId) -> bool {
    match g.value(v).def {
        Def::Node(n, _) => g.node(n).region == region,
        Def::RegionParam(r, _) => r == region,
        Def::Param(_) => false,
    }
}

/// The value that a buffer was before loops and writes handed it on.
pub(super) fn buffer_of(g: &Graph, v: ValueId) -> ValueId {
    let mut at = v;
    loop {
        let from = match g.value(at).def {
            Def::Param(_) => None,
            Def::RegionParam(r, i) => {
                g.region(r).owner.and_then(|n| g.node(n).inputs.get(i).copied())
            }
            Def::Node(n, i) => {
                let node = g.node(n);
                match &node.kind {
                    NodeKind::Loop { .. } => node.inputs.get(i).copied(),
                    NodeKind::Op { op, .. } if op.role() == Role::Write => {
                        node.inputs.first().copied()
                    }
                    NodeKind::Mesh { body, .. } | NodeKind::On { body, .. } => {
                        g.region(*body).results.get(i).copied()
                    }
                    _ => None,
                }
            }
        };
        match from {
            Some(f) => at = f,
            None => return at,
        }
    }
}

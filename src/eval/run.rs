//! Runs plans: the program, its regions, loops and matches.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::axes::{minus, subset};
use super::deps::{Deps, defined_in};
use super::fail::{Fail, Res, fail, internal, placed, uninit};
use super::frame::{Frame, Slot};
use super::plan::{Plan, Planner, StepKind};
use super::value::Val;
use super::{Options, Outcome, shape_of, unbound, value_dtype};
use crate::base::{HashMap, HashSet};
use crate::diag::{Code, Diagnostic};
use crate::graph::verify::mesh_axes;
use crate::graph::{Arm, Graph, Node, NodeId, NodeKind, RegionId, ValueId};
use crate::types::dim::{Env, Expr, VarId};
use crate::types::placement::MeshId;
use crate::types::value::Tensor;

/// What is the same throughout a run.
pub(super) struct Cx<'a> {
    pub g: &'a Graph,
    pub opts: &'a Options<'a>,
    pub deps: Deps,
    done: AtomicU64,
    total: u64,
    kept: Mutex<HashMap<ValueId, Tensor>>,
    pub whole: AtomicU64,
}

pub(super) fn run(g: &Graph, env: &Env, inputs: Vec<Tensor>, opts: &Options<'_>) -> Res<Outcome> {
    if let Some(d) = unbound(g, env) {
        return Err(d);
    }
    let deps = Deps::new(g, env);
    let total = total(g, g.root, env);
    let cx = Cx {
        g,
        opts,
        deps,
        done: AtomicU64::new(0),
        total,
        kept: Mutex::default(),
        whole: AtomicU64::new(0),
    };
    let mut frame = Frame::root(env.clone());
    cx.bind_inputs(&mut frame, inputs)?;
    let params: Vec<ValueId> = g.params.iter().map(|p| p.value).collect();
    let live: HashSet<ValueId> = g.outputs.iter().map(|o| o.value).collect();
    let plan = cx.planner(env).plan(&g.region(g.root).nodes, &params, &live, &frame.bound);
    cx.plan(&mut frame, &plan)?;
    let mut out = Outcome { whole: cx.whole.load(Ordering::Relaxed), ..Outcome::default() };
    for o in &g.outputs {
        out.outputs.push(cx.output(&frame, o.value, &o.name)?);
    }
    let kept = cx.kept.into_inner().unwrap_or_default();
    out.kept = opts.keep.iter().filter_map(|v| Some((*v, kept.get(v)?.clone()))).collect();
    Ok(out)
}

/// About how many nodes will run.
fn total(g: &Graph, region: RegionId, env: &Env) -> u64 {
    let mut sum = 0u64;
    for n in &g.region(region).nodes {
        let times = match &g.node(*n).kind {
            NodeKind::Loop { start, stop, step, .. } => {
                match (start.eval(env), stop.eval(env), step.eval(env)) {
                    (Some(a), Some(b), Some(s)) if s > 0 => {
                        ((b - a).max(0) as u64).div_ceil(s as u64)
                    }
                    _ => 1,
                }
            }
            _ => 1,
        };
        let inner: u64 = crate::graph::node_regions(&g.node(*n).kind)
            .iter()
            .map(|r| total(g, *r, env))
            .fold(0, u64::saturating_add);
        sum = sum.saturating_add(1).saturating_add(inner.saturating_mul(times));
    }
    sum
}

/// A value that varies as one tensor with its axes in front.
fn stack(slot: &Slot) -> Option<Tensor> {
    match slot {
        Slot::One(v) => Some(v.tensor.clone()),
        Slot::Many(m) => {
            let items: Vec<Tensor> =
                m.items.iter().map(|i| stack(i.as_ref()?)).collect::<Option<_>>()?;
            let first = items.first()?;
            let mut flat = vec![items.len()];
            flat.extend(first.shape());
            let mut shape = m.extents.clone();
            shape.extend(first.shape());
            let mut out = Tensor::full(first.dtype(), flat.clone(), 1.0);
            flat[0] = 1;
            for (i, t) in items.iter().enumerate() {
                let mut at = vec![0; flat.len()];
                at[0] = i;
                out.write_block(&at, &t.reshape(flat.clone()));
            }
            Some(out.reshape(shape))
        }
    }
}

impl<'a> Cx<'a> {
    pub fn planner<'p>(&'p self, env: &'p Env) -> Planner<'p> {
        let (keep, wide) = (&self.opts.keep[..], self.opts.wide);
        Planner { graph: self.g, deps: &self.deps, keep, env, wide }
    }

    fn bind_inputs(&self, frame: &mut Frame, inputs: Vec<Tensor>) -> Res<()> {
        let g = self.g;
        if inputs.len() != g.params.len() {
            let text =
                format!("`{}` takes {} inputs, {} are given", g.name, g.params.len(), inputs.len());
            let span = g.scope(crate::graph::ScopeId(0)).span;
            return Err(Box::new(Diagnostic::new(Code::BadInput, span, text)));
        }
        for (p, t) in g.params.iter().zip(inputs) {
            let ty = g.ty(p.value);
            let shape = shape_of(g, p.value, &frame.env);
            if shape.as_deref() != Some(t.shape()) || ty.dtype != t.dtype() {
                let declared = shape.map_or_else(|| ty.show(&g.vars), |s| show(ty.dtype, &s));
                let text = format!(
                    "input `{}` is {}, declared as {declared}",
                    p.name,
                    show(t.dtype(), t.shape())
                );
                let d = Diagnostic::new(Code::BadInput, g.value(p.value).span, text);
                return Err(Box::new(d));
            }
            let t = t.cast(value_dtype(ty.dtype, self.opts.wide));
            frame.slots.insert(p.value, Slot::One(Val::plain(t)));
        }
        Ok(())
    }

    fn output(&self, frame: &Frame, v: ValueId, name: &str) -> Res<Tensor> {
        let g = self.g;
        let span = g.value(v).span;
        let lost = |text: &str| {
            let text = format!("`{name}` {text}");
            Err(Box::new(Diagnostic::new(Code::Internal, span, text)))
        };
        match frame.slot(v) {
            Some(Slot::One(val)) => match &val.gaps {
                Some(gaps) => Err(uninit(g, frame, span, name, val.tensor.shape(), gaps)),
                None => Ok(val.tensor.clone()),
            },
            Some(Slot::Many(_)) => lost("leaves its mesh varying"),
            None => lost("has no value"),
        }
    }

    /// Runs the steps of a plan in a frame.
    pub fn plan(&self, frame: &mut Frame, plan: &Plan) -> Res<()> {
        for step in &plan.steps {
            match &step.kind {
                StepKind::Node(n) => {
                    self.node(frame, *n, &step.dies)?;
                    self.tick(self.g.node(*n).label());
                }
                StepKind::Group(group) => self.group(frame, group, &step.dies)?,
                StepKind::Tiles(group) => self.tiles(frame, group)?,
            }
            if !self.opts.keep.is_empty() && frame.depth == 0 {
                self.keep(frame, &step.kind);
            }
            for v in &step.dies {
                frame.slots.remove(v);
            }
        }
        Ok(())
    }

    /// Notes the values that were asked for.
    fn keep(&self, frame: &Frame, made: &StepKind) {
        let made = match made {
            StepKind::Node(n) => &self.g.node(*n).outputs,
            StepKind::Group(g) => &g.exports,
            StepKind::Tiles(g) => &g.exports,
        };
        for v in made.iter().filter(|v| self.opts.keep.contains(v)) {
            if let Some(t) = frame.slot(*v).and_then(stack)
                && let Ok(mut kept) = self.kept.lock()
            {
                kept.insert(*v, t);
            }
        }
    }

    pub fn tick(&self, what: &str) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(p) = self.opts.progress {
            p.step(done.min(self.total), self.total, what);
        }
    }

    pub fn node(&self, frame: &mut Frame, id: NodeId, dies: &[ValueId]) -> Res<()> {
        let node = self.g.node(id);
        self.bind_data(frame, node)?;
        match &node.kind {
            NodeKind::Op { op, attrs } => self.op(frame, id, node, *op, attrs, dies),
            NodeKind::Const(n) => self.constant(frame, node, n),
            NodeKind::Loop { var, start, stop, step, body } => {
                self.each_trip(frame, id, *var, (start, stop, step), *body, dies)
            }
            NodeKind::Mesh { meshes, body } => {
                self.block(frame, node, *body)?;
                let mut closed = mesh_axes(self.g, meshes);
                closed.sort_unstable();
                let results = &self.g.region(*body).results;
                let mut axes = results.iter().flat_map(|v| &self.deps.value[v.0 as usize]);
                if axes.any(|a| closed.binary_search(a).is_ok()) {
                    return Err(internal(node, "a result varies over the mesh"));
                }
                for o in &node.outputs {
                    if let Some(s) = frame.slots.get_mut(o) {
                        close(s);
                    }
                }
                Ok(())
            }
            NodeKind::On { part, body } => {
                let before = frame.muted;
                frame.muted |= !self.takes_part(frame, *part);
                let done = self.block(frame, node, *body);
                frame.muted = before;
                done
            }
            NodeKind::Match { value, arms } => {
                let body = self.arm(frame, node, value, arms)?;
                self.block(frame, node, body)
            }
        }
    }

    /// Whether a frame's position can be in a part. Coordinates of the meshes around the part may
    /// be set as well as its own; they must be those of one position of the part.
    fn takes_part(&self, frame: &Frame, part: MeshId) -> bool {
        let t = &self.g.meshes;
        let at = |e: &Expr| e.eval(&frame.env).unwrap_or(0);
        let mut set = vec![];
        let mut mesh = Some(part);
        while let Some(m) = mesh.and_then(|m| t.mesh(m)) {
            for a in m.axes.iter().filter_map(|a| t.axis(*a)) {
                if let Some(c) = frame.env.get(a.var) {
                    set.push((at(&m.offset), at(&a.stride).max(1), at(&a.extent).max(1), c));
                }
            }
            mesh = m.parent;
        }
        let Some(m) = t.mesh(part).filter(|_| !set.is_empty()) else { return true };
        let mut positions = vec![at(&m.offset)];
        for a in m.axes.iter().filter_map(|a| t.axis(*a)) {
            let (n, stride) = (at(&a.extent), at(&a.stride));
            positions =
                positions.iter().flat_map(|p| (0..n).map(move |c| p + c * stride)).collect();
        }
        positions.iter().any(|p| set.iter().all(|(o, s, n, c)| (p - o).div_euclid(*s) % n == *c))
    }

    /// Sets the variables that stand for tensors read as numbers.
    fn bind_data(&self, frame: &mut Frame, node: &Node) -> Res<()> {
        for u in &node.uses {
            let val = self.settle(frame, node, *u, None)?;
            self.no_gaps(frame, node, *u, &val)?;
            if val.tensor.len() != 1 {
                return Err(internal(node, "a number is read from a tensor that is none"));
            }
            let value = val.tensor.get_i64(0);
            for v in self.deps.data.get(u).map_or(&[][..], Vec::as_slice) {
                self.in_range(frame, node, *u, value, *v)?;
                frame.env.set(*v, value);
            }
        }
        Ok(())
    }

    fn in_range(&self, frame: &Frame, node: &Node, u: ValueId, value: i64, var: VarId) -> Res<()> {
        let g = self.g;
        let Some((lo, hi)) = &g.ty(u).range else { return Ok(()) };
        let (lo, hi) = (lo.eval(&frame.env), hi.eval(&frame.env));
        if lo.is_none_or(|l| value >= l) && hi.is_none_or(|h| value <= h) {
            return Ok(());
        }
        let side = |b: Option<i64>| b.map_or(String::new(), |b| b.to_string());
        let text = format!(
            "`{}` is {value}, outside its declared range {}..={}",
            g.vars.name(var),
            side(lo),
            side(hi)
        );
        let d = Diagnostic::new(Code::ValueOutOfRange, node.span, text)
            .label(g.value(u).span, "read here");
        Err(Box::new(placed(g, frame, d)))
    }

    fn arm(&self, frame: &Frame, node: &Node, value: &Expr, arms: &[Arm]) -> Res<RegionId> {
        let Some(v) = value.eval(&frame.env) else {
            return Err(internal(node, "the value has no number"));
        };
        let inside = |a: &&Arm| {
            a.lo.eval(&frame.env).is_some_and(|l| l <= v)
                && a.hi.eval(&frame.env).is_some_and(|h| v <= h)
        };
        match arms.iter().find(inside) {
            Some(a) => Ok(a.region),
            None => {
                let text = format!("no arm covers `{}` = {v}", self.g.vars.show(value));
                Err(fail(self.g, frame, node, Code::NoArm, text))
            }
        }
    }

    /// Runs a region once; its results become the node's outputs.
    fn block(&self, frame: &mut Frame, node: &Node, body: RegionId) -> Res<()> {
        let region = self.g.region(body);
        let live = region.results.iter().copied().collect();
        let plan = self.planner(&frame.env).plan(&region.nodes, &[], &live, &frame.bound);
        self.plan(frame, &plan)?;
        let slots = self.results(frame, node, body)?;
        for (o, s) in node.outputs.iter().zip(slots) {
            frame.slots.insert(*o, s);
        }
        Ok(())
    }

    /// Takes a region's results out of the frame.
    fn results(&self, frame: &mut Frame, node: &Node, body: RegionId) -> Res<Vec<Slot>> {
        let results = &self.g.region(body).results;
        let mut out = vec![];
        for (k, v) in results.iter().enumerate() {
            let last = !results[k + 1..].contains(v);
            let own = last && defined_in(self.g, *v, body);
            let slot = frame.pass(*v, own, &self.g.meshes);
            out.push(slot.ok_or_else(|| internal(node, "a result has no value"))?);
        }
        Ok(out)
    }

    fn each_trip(
        &self,
        frame: &mut Frame,
        id: NodeId,
        var: VarId,
        bounds: (&Expr, &Expr, &Expr),
        body: RegionId,
        dies: &[ValueId],
    ) -> Res<()> {
        let g = self.g;
        let node = g.node(id);
        let (start, stop, step) = self.bounds(frame, id, bounds)?;
        let region = g.region(body);
        let inner = &self.deps.uses[id.0 as usize];
        let mut carried = vec![];
        for (k, v) in node.inputs.iter().enumerate() {
            let again = node.inputs[k + 1..].contains(v) || node.uses.contains(v);
            let used_inside = inner.binary_search(v).is_ok() && self.used_in(body, *v);
            let own = dies.binary_search(v).is_ok() && !again && !used_inside;
            let slot = frame.pass(*v, own, &g.meshes);
            carried.push(slot.ok_or_else(|| internal(node, "a carried value has no start"))?);
        }
        let live = region.results.iter().copied().collect();
        let plan =
            self.planner(&frame.env).plan(&region.nodes, &region.params, &live, &frame.bound);
        frame.loops.push(var);
        let mut at = start;
        while at < stop {
            frame.env.set(var, at);
            for (p, s) in region.params.iter().zip(carried) {
                frame.slots.insert(*p, s);
            }
            self.plan(frame, &plan)?;
            carried = self.results(frame, node, body)?;
            for p in &region.params {
                frame.slots.remove(p);
            }
            let Some(next) = at.checked_add(step) else { break };
            at = next;
        }
        frame.env.unset(var);
        frame.loops.pop();
        for (o, s) in node.outputs.iter().zip(carried) {
            frame.slots.insert(*o, s);
        }
        Ok(())
    }

    /// Whether a region uses a value of outside by itself, apart from its start as a carried one.
    fn used_in(&self, body: RegionId, v: ValueId) -> bool {
        let r = self.g.region(body);
        r.results.contains(&v)
            || r.nodes.iter().any(|n| self.deps.uses[n.0 as usize].binary_search(&v).is_ok())
    }

    fn bounds(
        &self,
        frame: &Frame,
        id: NodeId,
        (start, stop, step): (&Expr, &Expr, &Expr),
    ) -> Res<(i64, i64, i64)> {
        let (g, node) = (self.g, self.g.node(id));
        let control = &self.deps.control[id.0 as usize];
        if !subset(control, &frame.bound) {
            let names: Vec<&str> =
                minus(control, &frame.bound).iter().map(|a| g.meshes.axis_name(*a)).collect();
            let text = format!(
                "the bounds of this loop depend on {}, over which a value is collected inside it",
                names.join(", ")
            );
            return Err(fail(g, frame, node, Code::CollectInLoop, text));
        }
        let value = |e: &Expr| -> Result<i64, Fail> {
            e.eval(&frame.env).ok_or_else(|| internal(node, "a bound has no value"))
        };
        let (a, b, s) = (value(start)?, value(stop)?, value(step)?);
        if s < 1 && a < b {
            let text = format!("the step of this loop is {s}");
            return Err(fail(g, frame, node, Code::BadStep, text));
        }
        Ok((a, b, s))
    }
}

/// `f16[2, 3]`
fn show(dtype: crate::types::dtype::DType, shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    if dims.is_empty() { dtype.to_string() } else { format!("{dtype}[{}]", dims.join(", ")) }
}

/// A buffer that leaves its mesh: who wrote what does not matter any more.
fn close(slot: &mut Slot) {
    match slot {
        Slot::One(v) => {
            if v.trace.as_ref().is_some_and(|t| t.recs.is_empty() && t.open.is_empty()) {
                v.trace = None;
            }
        }
        Slot::Many(m) => {
            for s in std::sync::Arc::make_mut(m).items.iter_mut().flatten() {
                close(s);
            }
        }
    }
}

//! Placement of every value: forward from operands, backward from destinations, to a fixpoint.
//!
//! Values whose placement is written (parameters, `reshard`, annotations) are fixed. All others
//! follow [`super::split`]. A loop's carried variable has its start's placement, or, where the
//! start is split by nothing, that of the value the body gives it.

use super::split::{self, Conflict, Demand};
use crate::base::{HashMap, Span};
use crate::diag::{Code, Diagnostic, Label};
use crate::graph::{Def, Graph, NodeId, NodeKind, RegionId, ValueId};
use crate::ops::{Call, EvalCx, OutTy, Role};
use crate::types::dim::{Env, Expr, VarKind};
use crate::types::placement::{AxisId, AxisSplit, MeshId, Placement, Reduction, Storage};
use crate::types::ty::TensorTy;

/// Rounds after which a placement that still moves is reported as it stands.
const ROUNDS: usize = 12;

/// The mesh axes an expression depends on, through loop variables and data too.
pub fn coords(g: &Graph, e: &Expr) -> Vec<AxisId> {
    let mut out = vec![];
    let mut todo: Vec<_> = e.vars().into_iter().collect();
    let mut seen = crate::base::HashSet::default();
    while let Some(v) = todo.pop() {
        if !seen.insert(v) {
            continue;
        }
        let Some(info) = g.vars.get(v) else { continue };
        match info.kind {
            VarKind::Coord(a) => out.push(AxisId(a)),
            VarKind::Loop => todo.extend(info.lo.vars().into_iter().chain(info.hi.vars())),
            VarKind::Data(x) => out.extend(g.ty(ValueId(x)).place.varying.iter().copied()),
            VarKind::Dim => {}
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

struct Pass<'a> {
    g: &'a mut Graph,
    annotated: &'a HashMap<ValueId, (Placement, Span)>,
    demand: HashMap<ValueId, Demand>,
    diags: Vec<Diagnostic>,
    /// Reductions that are used before they are finished, with what was said of each.
    unfinished: Vec<(ValueId, usize)>,
    changed: bool,
}

/// Infers all placements of a graph.
pub fn run(g: &mut Graph, annotated: &HashMap<ValueId, (Placement, Span)>) -> Vec<Diagnostic> {
    let root = g.root;
    let (demand, diags, unfinished) = (HashMap::default(), vec![], vec![]);
    let mut p = Pass { g, annotated, demand, diags, unfinished, changed: true };
    // without a mesh every value is whole, as elaboration left it
    let rounds = if p.g.meshes.axes().next().is_none() { 0 } else { ROUNDS };
    for _ in 0..rounds {
        if !p.changed {
            break;
        }
        p.changed = false;
        p.demand.clear();
        p.diags.clear();
        p.unfinished.clear();
        p.seed();
        p.backward(root);
        p.forward(root, false);
    }
    p.check_annotations();
    p.check_outputs();
    p.diags
}

impl Pass<'_> {
    fn seed(&mut self) {
        for (v, (place, _)) in self.annotated {
            let d = Demand { axes: place.axes.clone(), hard: Some(place.clone()) };
            self.demand.insert(*v, d);
        }
    }

    fn ask(&mut self, v: ValueId, axes: Vec<AxisSplit>) {
        if axes.iter().all(AxisSplit::is_whole) {
            return;
        }
        self.demand.entry(v).or_insert(Demand { axes, hard: None });
    }

    /// Demands of uses on what they use, last node first.
    fn backward(&mut self, region: RegionId) {
        for n in self.g.region(region).nodes.clone().into_iter().rev() {
            let node = self.g.node(n).clone();
            match &node.kind {
                NodeKind::Const(_) => {}
                NodeKind::Op { op, attrs } => match op.role() {
                    Role::Reshard | Role::Local | Role::Collect | Role::Write => {}
                    Role::Complete => {
                        if let (Some(o), Some(i)) = (node.outputs.first(), node.inputs.first())
                            && let Some(d) = self.demand.get(o).cloned()
                        {
                            self.ask(*i, d.axes);
                        }
                    }
                    _ => {
                        let split = |v: &ValueId| self.g.ty(*v).place.is_split();
                        let asked = |v: &ValueId| self.demand.contains_key(v);
                        let some = node.inputs.iter().chain(&node.outputs).any(split);
                        if !some && !node.outputs.iter().any(asked) {
                            continue;
                        }
                        let ins = self.tys(&node.inputs);
                        let mut outs = self.tys(&node.outputs);
                        // what is asked of the result counts before it has been placed
                        for (t, o) in outs.iter_mut().zip(&node.outputs) {
                            if let Some(d) = self.demand.get(o)
                                && !t.place.is_split()
                            {
                                t.place.axes = d.axes.clone();
                            }
                        }
                        let call = Call { inputs: &ins, attrs, vars: &self.g.vars };
                        let domain = op.domain(&call, &outs);
                        let dims = split::domain_splits(self.g, &domain, &ins, &outs);
                        for ((v, t), access) in node.inputs.iter().zip(&ins).zip(&domain.reads) {
                            let axes = split::project(&domain, &dims, access, t.rank());
                            self.ask(*v, axes);
                        }
                    }
                },
                NodeKind::Loop { body, .. } => {
                    let (params, results) = {
                        let r = self.g.region(*body);
                        (r.params.clone(), r.results.clone())
                    };
                    for (j, p) in params.iter().enumerate() {
                        let place = self.g.ty(*p).place.clone();
                        let out = node.outputs.get(j).and_then(|o| self.demand.get(o)).cloned();
                        for v in [results.get(j), node.inputs.get(j)].into_iter().flatten() {
                            self.ask(*v, place.axes.clone());
                            if let Some(d) = &out {
                                self.ask(*v, d.axes.clone());
                            }
                        }
                    }
                    self.backward(*body);
                }
                NodeKind::Mesh { body, .. } | NodeKind::On { body, .. } => {
                    self.pass_down(&node.outputs, *body);
                    self.backward(*body);
                }
                NodeKind::Match { arms, .. } => {
                    for a in arms {
                        self.pass_down(&node.outputs, a.region);
                        self.backward(a.region);
                    }
                }
            }
        }
    }

    fn pass_down(&mut self, outputs: &[ValueId], body: RegionId) {
        let results = self.g.region(body).results.clone();
        for (o, r) in outputs.iter().zip(results) {
            if let Some(d) = self.demand.get(o).cloned() {
                match d.hard {
                    // an annotation of the block's value is one of the value inside
                    Some(_) => {
                        self.demand.entry(r).or_insert(d);
                    }
                    None => self.ask(r, d.axes),
                }
            }
        }
    }

    fn tys(&self, vs: &[ValueId]) -> Vec<TensorTy> {
        vs.iter().map(|v| self.g.ty(*v).clone()).collect()
    }

    fn set(&mut self, v: ValueId, place: Placement) {
        let slot = &mut self.g.value_mut(v).ty.place;
        if *slot != place {
            *slot = place;
            self.changed = true;
        }
    }

    fn forward(&mut self, region: RegionId, inside: bool) {
        for n in self.g.region(region).nodes.clone() {
            let node = self.g.node(n).clone();
            match &node.kind {
                NodeKind::Const(num) => {
                    let mut axes = vec![];
                    for v in num.vars() {
                        axes.extend(coords(self.g, &Expr::var(v)));
                    }
                    let s = if inside { Storage::Rmem } else { Storage::Gmem };
                    let mut p = Placement::whole(s, 0);
                    p.add_varying(axes);
                    for o in &node.outputs {
                        self.set(*o, p.clone());
                    }
                }
                NodeKind::Op { op, attrs } => {
                    let ins = self.tys(&node.inputs);
                    let outs = self.tys(&node.outputs);
                    let demand: Vec<Option<Demand>> =
                        node.outputs.iter().map(|o| self.demand.get(o).cloned()).collect();
                    let call = Call { inputs: &ins, attrs, vars: &self.g.vars };
                    let placed = split::forward(self.g, *op, &call, &outs, &demand, inside);
                    for c in placed.conflicts {
                        self.conflict(n, c);
                    }
                    for (o, p) in node.outputs.iter().zip(placed.placements) {
                        self.set(*o, p);
                    }
                }
                NodeKind::Loop { body, start, stop, step, .. } => {
                    let mut bound = vec![];
                    for e in [start, stop, step] {
                        bound.extend(coords(self.g, e));
                    }
                    self.loop_forward(&node.inputs, &node.outputs, *body, inside, bound, node.span);
                }
                NodeKind::Mesh { meshes, body } => {
                    self.forward(*body, true);
                    self.leave_mesh(meshes, *body, &node.outputs, !inside, node.span);
                }
                NodeKind::On { body, .. } => {
                    self.forward(*body, inside);
                    self.copy_results(*body, &node.outputs);
                }
                NodeKind::Match { arms, .. } => {
                    for a in arms {
                        self.forward(a.region, inside);
                    }
                    if let Some(a) = arms.first() {
                        self.copy_results(a.region, &node.outputs);
                    }
                    let mut varying = vec![];
                    for a in arms {
                        for r in &self.g.region(a.region).results {
                            varying.extend(self.g.ty(*r).place.varying.clone());
                        }
                    }
                    for o in &node.outputs {
                        let mut p = self.g.ty(*o).place.clone();
                        p.add_varying(varying.iter().copied());
                        self.set(*o, p);
                    }
                }
            }
        }
    }

    fn copy_results(&mut self, body: RegionId, outputs: &[ValueId]) {
        let results = self.g.region(body).results.clone();
        for (o, r) in outputs.iter().zip(results) {
            let p = self.g.ty(r).place.clone();
            self.set(*o, p);
        }
    }

    fn loop_forward(
        &mut self,
        inputs: &[ValueId],
        outputs: &[ValueId],
        body: RegionId,
        inside: bool,
        bound: Vec<AxisId>,
        span: Span,
    ) {
        let (params, results) = {
            let r = self.g.region(body);
            (r.params.clone(), r.results.clone())
        };
        for ((p, i), r) in params.iter().zip(inputs).zip(&results) {
            let start = self.g.ty(*i).place.clone();
            let next = self.g.ty(*r).place.clone();
            let mut place = start.clone();
            if !start.is_split() && next.is_split() && start.storage == next.storage {
                place.axes = next.axes.clone();
            }
            if start.partial.is_empty() && next.partial.iter().all(|(_, r)| self.starts(*i, *r)) {
                place.partial = next.partial.clone();
            }
            place.add_varying(next.varying.iter().copied());
            // a shared buffer keeps its one value; what is computed varies with the trips
            let buffer = start.storage == Storage::Gmem && self.written_only(*r, *p);
            if !buffer {
                place.add_varying(bound.iter().copied());
            }
            self.set(*p, place);
        }
        self.forward(body, inside);
        for (j, (p, o)) in params.iter().zip(outputs).enumerate() {
            let place = self.g.ty(*p).place.clone();
            if let Some(r) = results.get(j) {
                self.check_back_edge(*p, *r, span);
            }
            self.set(*o, place);
        }
    }

    /// Whether a carried value changes by window writes only, through nested loops too.
    fn written_only(&self, r: ValueId, p: ValueId) -> bool {
        let mut at = r;
        for _ in 0..10_000 {
            if at == p {
                return true;
            }
            let Def::Node(n, k) = self.g.value(at).def else { return false };
            let node = self.g.node(n);
            at = match &node.kind {
                NodeKind::Op { op, .. } if op.role() == Role::Write => match node.inputs.first() {
                    Some(v) => *v,
                    None => return false,
                },
                NodeKind::Loop { .. } => match node.inputs.get(k) {
                    Some(v) => *v,
                    None => return false,
                },
                NodeKind::On { body, .. } | NodeKind::Mesh { body, .. } => {
                    match self.g.region(*body).results.get(k) {
                        Some(v) => *v,
                        None => return false,
                    }
                }
                _ => return false,
            };
        }
        false
    }

    /// Whether every position may start a partial from a value of its own: the kind's identity,
    /// or, where repetition changes nothing, anything made from attributes alone.
    fn starts(&self, v: ValueId, r: Reduction) -> bool {
        let Def::Node(n, _) = self.g.value(v).def else { return false };
        let node = self.g.node(n);
        let identity = match r {
            Reduction::Sum => 0.0,
            Reduction::Prod => 1.0,
            _ => {
                return match &node.kind {
                    NodeKind::Op { op, .. } => matches!(op.role(), Role::Create | Role::Empty),
                    NodeKind::Const(_) => true,
                    _ => false,
                };
            }
        };
        let value = match &node.kind {
            NodeKind::Const(c) => c.eval_f64(&Env::default()),
            NodeKind::Op { op, attrs } if op.role() == Role::Create => match attrs.num("value") {
                Some(c) => c.eval_f64(&Env::default()),
                // what it gives at rank 0 it gives everywhere
                None => {
                    let outs = [OutTy { dtype: self.g.ty(v).dtype, shape: vec![] }];
                    let (inputs, env) = (&[][..], &Env::default());
                    let (wide, exact_order) = (false, false);
                    let declared = &[][..];
                    let outs = &outs;
                    let cx = EvalCx { inputs, declared, attrs, env, outs, wide, exact_order };
                    op.eval(&cx).ok().and_then(|t| {
                        t.first().filter(|t| t.shape().is_empty()).map(|t| t.get_f64(0))
                    })
                }
            },
            _ => None,
        };
        value == Some(identity)
    }

    fn check_back_edge(&mut self, p: ValueId, r: ValueId, span: Span) {
        let (a, b) = (self.g.ty(p).clone(), self.g.ty(r).clone());
        if same_axes(&a.place.axes, &b.place.axes) && a.place.partial == b.place.partial {
            return;
        }
        let at = self.g.value(r).span;
        if same_axes(&a.place.axes, &b.place.axes)
            && self
                .diags
                .iter()
                .any(|d| d.code == Code::PartialOperand && d.labels.iter().any(|l| l.span == at))
        {
            return; // the cause is said
        }
        let cause = Some(r).filter(|_| !b.place.partial.is_empty()).map(|r| self.reduced(r));
        if same_axes(&a.place.axes, &b.place.axes)
            && self.unfinished.iter().any(|(v, _)| Some(*v) == cause)
        {
            return;
        }
        let name = self.g.value_name(p);
        let show = |t: &TensorTy| t.place.show(&t.shape, &self.g.vars, &self.g.meshes);
        let (x, y) = (show(&a), show(&b));
        let d = Diagnostic::new(
            Code::LoopPlacement,
            self.g.value(r).span,
            format!("`{name}` starts a trip as `{x}` and ends it as `{y}`"),
        )
        .label(span, "carried by this loop")
        .help(format!("annotate the variable: `let mut {name}: .. in {y} = ..`"));
        self.diags.push(d);
    }

    /// What leaves a mesh block is whole over its axes.
    fn leave_mesh(
        &mut self,
        meshes: &[MeshId],
        body: RegionId,
        outputs: &[ValueId],
        outermost: bool,
        span: Span,
    ) {
        let results = self.g.region(body).results.clone();
        let inner: Vec<AxisId> = meshes
            .iter()
            .filter_map(|m| self.g.meshes.mesh(*m))
            .flat_map(|m| m.axes.clone())
            .collect();
        for (o, r) in outputs.iter().zip(results) {
            let t = self.g.ty(r).clone();
            self.check_leaves(r, &t, &inner, outermost, span);
            let mut p = t.place.clone();
            p.varying.retain(|a| !inner.contains(a));
            if outermost {
                p = Placement {
                    storage: Storage::Gmem,
                    ..Placement::whole(Storage::Gmem, t.rank())
                };
            }
            self.set(*o, p);
        }
    }

    fn check_leaves(
        &mut self,
        r: ValueId,
        t: &TensorTy,
        inner: &[AxisId],
        outermost: bool,
        span: Span,
    ) {
        let name = self.g.value_name(r);
        let at = self.g.value(r).span;
        let names = |axes: Vec<AxisId>| {
            axes.iter().map(|a| self.g.meshes.axis_name(*a).to_string()).collect::<Vec<_>>()
        };
        let varying: Vec<AxisId> =
            t.place.varying.iter().copied().filter(|a| inner.contains(a)).collect();
        let split: Vec<AxisId> =
            t.place.split_axes().into_iter().filter(|a| inner.contains(a)).collect();
        let partial: Vec<AxisId> =
            t.place.partial.iter().map(|(a, _)| *a).filter(|a| inner.contains(a)).collect();
        let d = if !varying.is_empty() {
            let axes = names(varying);
            Diagnostic::new(
                Code::LeavesVarying,
                at,
                format!("`{name}` has another value on each position of `{}`", axes.join("`, `")),
            )
            .help(format!("write each position's window, `out[window] = {name};`, or put them together: `collect({name}, {})`", axes.join(", ")))
        } else if !partial.is_empty() {
            let axes = names(partial);
            Diagnostic::new(
                Code::LeavesSplit,
                at,
                format!("`{name}` is partial over `{}`", axes.join("`, `")),
            )
            .help("finish it with `complete(..)` inside the block")
        } else if !split.is_empty() || (outermost && t.place.storage != Storage::Gmem) {
            let place = t.place.show(&t.shape, &self.g.vars, &self.g.meshes);
            Diagnostic::new(
                Code::LeavesSplit,
                at,
                format!("`{name}` is in `{place}` and would leave the mesh"),
            )
            .help("a value leaves a mesh whole and in gmem: `reshard(.., gmem)`")
            .edits(
                "reshard to gmem",
                vec![
                    (Span { end: at.start, ..at }, "reshard(".into()),
                    (Span { start: at.end, ..at }, ", gmem)".into()),
                ],
            )
        } else {
            return;
        };
        self.diags.push(d.label(span, "leaves this mesh block"));
    }

    fn conflict(&mut self, n: NodeId, c: Conflict) {
        let node = self.g.node(n).clone();
        let name = format!("`{}`", node.label());
        let msg =
            if c.message.contains(&name) { c.message } else { format!("{name}: {}", c.message) };
        let partial = c.code == Code::PartialOperand;
        let cause = c.operands.first().and_then(|(i, _)| node.inputs.get(*i));
        let cause = cause.filter(|_| partial).map(|v| self.reduced(*v));
        // of one reduction that is not finished, all uses are one mistake
        if let Some((_, i)) = self.unfinished.iter().find(|(v, _)| Some(*v) == cause)
            && let Some(said) = self.diags.get_mut(*i)
        {
            said.labels.push(Label { span: node.span, text: format!("and by {name}") });
            return;
        }
        let mut d = Diagnostic::new(c.code, node.span, msg).help(c.help);
        for (i, remark) in c.operands {
            if let Some(v) = node.inputs.get(i) {
                let value = self.g.value(*v);
                let who = value.name.clone().map_or(String::new(), |n| format!("`{n}`: "));
                d = d.label(value.span, format!("{who}{remark}"));
            }
        }
        let mut d = self.g.at_call(&node, d);
        if let Some(v) = cause {
            self.unfinished.push((v, self.diags.len()));
            if d.span() == Some(node.span) {
                d = d.here("expected a finished value");
            }
        }
        self.diags.push(d);
    }

    /// Where a partial value became so: back through what passes it on.
    fn reduced(&self, v: ValueId) -> ValueId {
        let mut at = v;
        // operands are defined before their uses
        for _ in 0..=self.g.node_count() {
            let Def::Node(n, _) = self.g.value(at).def else { break };
            let partial = |v: &&ValueId| !self.g.ty(**v).place.partial.is_empty();
            match self.g.node(n).inputs.iter().find(partial) {
                Some(from) => at = *from,
                None => break,
            }
        }
        at
    }

    /// An annotation places the result; it is no reshard.
    fn check_annotations(&mut self) {
        let mut all: Vec<_> = self.annotated.iter().collect();
        all.sort_by_key(|(v, _)| **v);
        for (v, (want, span)) in all {
            let t = self.g.ty(*v);
            let same = t.place.storage == want.storage
                && same_axes(&t.place.axes, &want.axes)
                && (want.partial.is_empty() || t.place.partial == want.partial)
                && (want.varying.is_empty() || t.place.varying == want.varying);
            if same {
                continue;
            }
            let shown = want.show(&t.shape, &self.g.vars, &self.g.meshes);
            let got = t.place.show(&t.shape, &self.g.vars, &self.g.meshes);
            let d = Diagnostic::new(
                Code::PlacementMismatch,
                *span,
                format!("this is annotated `{shown}` and is placed `{got}`"),
            )
            .label(self.g.value(*v).span, "the value")
            .help("an annotation places a result, it moves nothing: `reshard(.., placement)` does");
            self.diags.push(d);
        }
    }

    fn check_outputs(&mut self) {
        for o in self.g.outputs.clone() {
            let t = self.g.ty(o.value);
            if let Some((a, r)) = t.place.partial.first() {
                let msg = format!(
                    "`{}` is partial({}, {}) and would be a result",
                    o.name,
                    r.name(),
                    self.g.meshes.axis_name(*a)
                );
                let d = Diagnostic::new(Code::LeavesSplit, self.g.value(o.value).span, msg)
                    .help("finish it with `complete(..)`");
                self.diags.push(d);
            }
        }
    }
}

/// Whether two splits are the same, however they are written.
fn same_axes(a: &[AxisSplit], b: &[AxisSplit]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(x, y)| {
            if x.padded || y.padded {
                return x == y;
            }
            split::tidy(x.factors.clone()) == split::tidy(y.factors.clone())
        })
}

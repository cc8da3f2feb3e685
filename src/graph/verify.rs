//! Holds a graph against the rules that analysis and evaluation rely on.
//!
//! In: any graph. Out: nothing, or every broken rule in words. After it passes, values, nodes,
//! regions and axes named by the graph exist, so those who read it may index without asking.

use super::{Def, Graph, Node, NodeId, NodeKind, RegionId, ValueId, node_regions};
use crate::base::HashSet;
use crate::ops::{Attr, ParamKind};
use crate::types::dim::{Expr, VarId, VarKind};
use crate::types::placement::{AxisId, MeshId};
use crate::types::ty::TensorTy;

/// Checks every rule.
///
/// # Errors
/// One sentence for each broken rule, in program order.
pub fn verify(graph: &Graph) -> Result<(), Vec<String>> {
    let mut v = Verifier {
        g: graph,
        errors: vec![],
        visible: HashSet::default(),
        loops: HashSet::default(),
        seen_nodes: HashSet::default(),
        seen_regions: HashSet::default(),
    };
    v.run();
    if v.errors.is_empty() { Ok(()) } else { Err(v.errors) }
}

struct Verifier<'a> {
    g: &'a Graph,
    errors: Vec<String>,
    visible: HashSet<ValueId>,
    /// Variables of the loops around the place that is checked.
    loops: HashSet<VarId>,
    seen_nodes: HashSet<NodeId>,
    seen_regions: HashSet<RegionId>,
}

impl<'a> Verifier<'a> {
    fn err(&mut self, text: String) {
        self.errors.push(text);
    }

    fn run(&mut self) {
        if !self.g.is_acyclic() {
            self.err("the uses form a cycle".into());
        }
        self.meshes();
        for (i, p) in self.g.params.iter().enumerate() {
            if !self.exists(p.value) {
                self.err(format!("parameter `{}` names a value that does not exist", p.name));
            } else if self.g.value(p.value).def != Def::Param(i) {
                self.err(format!("parameter `{}` is not defined as parameter {i}", p.name));
            }
            self.visible.insert(p.value);
        }
        for v in 0..self.g.values.len() {
            self.value(ValueId(v as u32));
        }
        if self.g.regions.get(self.g.root.0 as usize).is_none() {
            return self.err("the root region does not exist".into());
        }
        if self.g.region(self.g.root).owner.is_some() {
            self.err("the root region has an owner".into());
        }
        let outputs: Vec<ValueId> = self.g.outputs.iter().map(|o| o.value).collect();
        self.region(self.g.root, &outputs);
        for (id, n) in self.g.nodes() {
            if !self.seen_nodes.contains(&id) {
                self.err(format!("node {} `{}` stands in no region", id.0, n.label()));
            }
        }
    }

    fn exists(&self, v: ValueId) -> bool {
        (v.0 as usize) < self.g.values.len()
    }

    fn meshes(&mut self) {
        let t = &self.g.meshes;
        let mut errors = vec![];
        for (id, m) in t.meshes() {
            for a in &m.axes {
                match t.axis(*a) {
                    None => {
                        errors.push(format!("mesh `{}` has an axis that does not exist", m.name))
                    }
                    Some(x) if x.mesh != id => errors
                        .push(format!("axis `{}` does not belong to mesh `{}`", x.name, m.name)),
                    Some(x) if self.g.vars.get(x.var).is_none() => errors
                        .push(format!("axis `{}` has a coordinate that does not exist", x.name)),
                    Some(_) => {}
                }
            }
            // parts come after what they are parts of, so chains of parents end
            if m.parent.is_some_and(|p| p.0 >= id.0) {
                errors.push(format!("mesh `{}` is part of a mesh that comes later", m.name));
            }
        }
        self.errors.append(&mut errors);
    }

    /// Type and definition of one value.
    fn value(&mut self, id: ValueId) {
        let v = self.g.value(id);
        let name = self.g.value_name_checked(id);
        let mut errors = self.ty_errors(&v.ty, &name);
        match v.def {
            Def::Param(i) if self.g.params.get(i).is_none_or(|p| p.value != id) => {
                errors.push(format!("`{name}` says it is parameter {i}, which it is not"));
            }
            Def::Node(n, i) => match self.node_at(n) {
                None => errors.push(format!("`{name}` is made by a node that does not exist")),
                Some(node) if node.outputs.get(i) != Some(&id) => {
                    errors.push(format!("`{name}` is not result {i} of `{}`", node.label()));
                }
                Some(_) => {}
            },
            Def::RegionParam(r, i) => {
                let region = self.g.regions.get(r.0 as usize);
                if region.and_then(|r| r.params.get(i)) != Some(&id) {
                    errors.push(format!("`{name}` is not parameter {i} of region {}", r.0));
                }
            }
            Def::Param(_) => {}
        }
        if v.span.end < v.span.start {
            errors.push(format!("`{name}` has no span"));
        }
        self.errors.append(&mut errors);
    }

    fn node_at(&self, id: NodeId) -> Option<&'a Node> {
        ((id.0 as usize) < self.g.node_count()).then(|| self.g.node(id))
    }

    fn ty_errors(&self, ty: &TensorTy, name: &str) -> Vec<String> {
        let mut out = vec![];
        if ty.place.axes.len() != ty.rank() {
            out.push(format!(
                "`{name}` has {} axes and a placement of {}",
                ty.rank(),
                ty.place.axes.len()
            ));
        }
        let axis = |a: AxisId| self.g.meshes.axis(a).is_some();
        if !ty.place.split_axes().into_iter().all(axis) {
            out.push(format!("`{name}` is split over a mesh axis that does not exist"));
        }
        if !ty.place.partial.iter().all(|(a, _)| axis(*a)) {
            out.push(format!("`{name}` is partial over a mesh axis that does not exist"));
        }
        if !ty.place.varying.iter().all(|a| axis(*a)) {
            out.push(format!("`{name}` varies over a mesh axis that does not exist"));
        }
        for e in &ty.shape {
            if e.vars().iter().any(|v| self.g.vars.get(*v).is_none()) {
                out.push(format!("an extent of `{name}` uses a variable that does not exist"));
            }
        }
        out
    }

    /// Walks a region; what it defines is visible inside only.
    fn region(&mut self, id: RegionId, extra: &[ValueId]) {
        if !self.seen_regions.insert(id) {
            return self.err(format!("region {} has two owners", id.0));
        }
        let region = self.g.region(id);
        let mut defined: Vec<ValueId> = vec![];
        for p in &region.params {
            if self.visible.insert(*p) {
                defined.push(*p);
            }
        }
        for n in &region.nodes {
            let Some(node) = self.node_at(*n) else {
                self.err(format!("region {} lists a node that does not exist", id.0));
                continue;
            };
            if !self.seen_nodes.insert(*n) {
                self.err(format!("node {} `{}` is listed twice", n.0, node.label()));
                continue;
            }
            if node.region != id {
                self.err(format!("node {} `{}` names another region", n.0, node.label()));
            }
            self.node(*n);
            for o in &self.g.node(*n).outputs {
                if self.visible.insert(*o) {
                    defined.push(*o);
                }
            }
        }
        for r in region.results.iter().chain(extra) {
            if !self.visible.contains(r) {
                let name = self.g.value_name_checked(*r);
                self.err(format!("result `{name}` is not visible at the end of region {}", id.0));
            }
        }
        for v in defined {
            self.visible.remove(&v);
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = self.g.node(id);
        let at = format!("node {} `{}`", id.0, node.label());
        for v in node.inputs.iter().chain(&node.uses) {
            if !self.exists(*v) {
                return self.err(format!("{at} uses a value that does not exist"));
            }
            if !self.visible.contains(v) {
                let name = self.g.value_name_checked(*v);
                self.err(format!("{at} uses `{name}`, which is not defined before it"));
            }
        }
        for (i, o) in node.outputs.iter().enumerate() {
            if !self.exists(*o) || self.g.value(*o).def != Def::Node(id, i) {
                self.err(format!("result {i} of {at} is defined elsewhere"));
            }
        }
        if node.span.end < node.span.start {
            self.err(format!("{at} has no span"));
        }
        for r in node_regions(&node.kind) {
            if self.g.regions.get(r.0 as usize).is_none() {
                return self.err(format!("{at} owns a region that does not exist"));
            }
            if self.g.region(r).owner != Some(id) {
                self.err(format!("{at} owns region {}, which says otherwise", r.0));
            }
        }
        self.exprs(node, &at);
        self.kind(node, &at);
    }

    /// Variables exist, loop variables are in scope, data variables are declared as used.
    fn exprs(&mut self, node: &Node, at: &str) {
        let vars: Vec<VarId> = node_exprs(node).iter().flat_map(|e| e.vars()).collect();
        for v in vars {
            let Some(info) = self.g.vars.get(v) else {
                self.err(format!("{at} uses variable {}, which does not exist", v.0));
                continue;
            };
            match info.kind {
                VarKind::Data(value) if !node.uses.contains(&ValueId(value)) => {
                    self.err(format!("{at} reads `{}` and does not list its value", info.name));
                }
                VarKind::Loop if !self.loops.contains(&v) => {
                    self.err(format!("{at} uses loop variable `{}` outside its loop", info.name));
                }
                _ => {}
            }
        }
    }

    fn kind(&mut self, node: &Node, at: &str) {
        match &node.kind {
            NodeKind::Op { op, .. } => {
                self.op_arity(node, op.params(), at);
                if node.outputs.is_empty() {
                    self.err(format!("{at} has no result"));
                }
            }
            NodeKind::Const(_) => {
                let scalar = node.outputs.iter().all(|o| self.g.ty(*o).rank() == 0);
                if !node.inputs.is_empty() || node.outputs.len() != 1 || !scalar {
                    self.err(format!("{at} must have no operand and one result of rank 0"));
                }
            }
            NodeKind::Loop { var, body, .. } => {
                if self.g.vars.get(*var).is_none_or(|i| i.kind != VarKind::Loop) {
                    self.err(format!("{at} has a variable that is no loop variable"));
                }
                self.loop_arity(node, *body, at);
                let fresh = self.loops.insert(*var);
                self.region(*body, &[]);
                if fresh {
                    self.loops.remove(var);
                }
            }
            NodeKind::Mesh { meshes, body } => {
                let missing = meshes.iter().any(|m| self.g.meshes.mesh(*m).is_none());
                self.block(node, *body, missing, at);
            }
            NodeKind::On { part, body } => {
                let missing = self.g.meshes.mesh(*part).is_none();
                self.block(node, *body, missing, at);
            }
            NodeKind::Match { arms, .. } => {
                if arms.is_empty() {
                    self.err(format!("{at} has no arm"));
                }
                for a in arms {
                    self.same_types(&self.g.region(a.region).results, &node.outputs, at);
                    self.no_params(a.region, at);
                    self.region(a.region, &[]);
                }
            }
        }
    }

    fn block(&mut self, node: &Node, body: RegionId, missing: bool, at: &str) {
        if missing {
            self.err(format!("{at} names a mesh that does not exist"));
        }
        if !node.inputs.is_empty() {
            self.err(format!("{at} has operands"));
        }
        self.no_params(body, at);
        self.same_types(&self.g.region(body).results, &node.outputs, at);
        self.region(body, &[]);
    }

    fn no_params(&mut self, region: RegionId, at: &str) {
        if !self.g.region(region).params.is_empty() {
            self.err(format!("the region of {at} has parameters"));
        }
    }

    fn loop_arity(&mut self, node: &Node, body: RegionId, at: &str) {
        let region = self.g.region(body);
        self.same_types(&node.inputs, &region.params, at);
        self.same_types(&region.params, &region.results, at);
        self.same_types(&region.results, &node.outputs, at);
    }

    /// Pairs of values agree in dtype and shape.
    fn same_types(&mut self, a: &[ValueId], b: &[ValueId], at: &str) {
        if a.len() != b.len() {
            return self.err(format!("{at} passes {} values where there are {}", a.len(), b.len()));
        }
        for (x, y) in a.iter().zip(b) {
            if !self.exists(*x) || !self.exists(*y) {
                self.err(format!("{at} passes a value that does not exist"));
                continue;
            }
            let (tx, ty) = (self.g.ty(*x), self.g.ty(*y));
            if tx.dtype != ty.dtype || tx.shape != ty.shape {
                let (sx, sy) = (tx.show(&self.g.vars), ty.show(&self.g.vars));
                self.err(format!("{at} passes a value of type `{sx}` as one of type `{sy}`"));
            }
        }
    }

    /// As many operands as the signature can take.
    fn op_arity(&mut self, node: &Node, params: &[crate::ops::Param], at: &str) {
        let count = |k: ParamKind| params.iter().filter(|p| p.kind == k).count();
        let (least, list) = (count(ParamKind::Tensor), count(ParamKind::Tensors) > 0);
        let most = least + count(ParamKind::OptTensor);
        let n = node.inputs.len();
        if n < least || (n > most && !list) {
            self.err(format!("{at} has {n} operands and takes {least} to {most}"));
        }
        if let NodeKind::Op { attrs, .. } = &node.kind {
            for (name, a) in &attrs.0 {
                if let Attr::Operand(i) = a
                    && *i >= n
                {
                    self.err(format!("attribute `{name}` of {at} names operand {i} of {n}"));
                }
                if let Attr::Axes(axes) = a
                    && axes.iter().any(|x| self.g.meshes.axis(*x).is_none())
                {
                    self.err(format!(
                        "attribute `{name}` of {at} names a mesh axis that does not exist"
                    ));
                }
            }
        }
    }
}

/// The symbolic integers of a node itself, nested regions apart.
pub fn node_exprs(node: &Node) -> Vec<Expr> {
    match &node.kind {
        NodeKind::Op { attrs, .. } => attrs.exprs(),
        NodeKind::Const(n) => n.vars().into_iter().map(Expr::var).collect(),
        NodeKind::Loop { start, stop, step, .. } => {
            vec![start.clone(), stop.clone(), step.clone()]
        }
        NodeKind::Mesh { .. } | NodeKind::On { .. } => vec![],
        NodeKind::Match { value, arms } => std::iter::once(value.clone())
            .chain(arms.iter().flat_map(|a| [a.lo.clone(), a.hi.clone()]))
            .collect(),
    }
}

/// The axes of meshes and of all their parts.
pub fn mesh_axes(graph: &Graph, meshes: &[MeshId]) -> Vec<AxisId> {
    let inside = |mut m: MeshId| {
        loop {
            if meshes.contains(&m) {
                return true;
            }
            match graph.meshes.mesh(m).and_then(|x| x.parent) {
                Some(p) => m = p,
                None => return false,
            }
        }
    };
    graph.meshes.axes().filter(|(_, a)| inside(a.mesh)).map(|(id, _)| id).collect()
}

impl Graph {
    /// As [`Graph::value_name`], for graphs that may be broken.
    fn value_name_checked(&self, id: ValueId) -> String {
        let known = (id.0 as usize) < self.values.len();
        let sound = known
            && match self.value(id).def {
                Def::Node(n, _) => (n.0 as usize) < self.node_count(),
                _ => true,
            };
        if sound { self.value_name(id) } else { format!("#{}", id.0) }
    }
}

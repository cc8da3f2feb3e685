//! A graph as text: one line for each node, regions indented. The same graph gives the same bytes.

use std::fmt::Write;

use super::{Graph, Hint, HintArg, Node, NodeId, NodeKind, ParamKind, RegionId, ScopeId, ValueId};
use crate::ops::{Attr, Attrs, Sub};
use crate::types::dim::Expr;
use crate::types::placement::MeshId;

/// The text of a graph.
pub fn print(graph: &Graph) -> String {
    let mut p = Printer { g: graph, out: String::new(), scope: ScopeId(0) };
    p.graph();
    p.out
}

/// The name of a value in prints: `%name.3` or `%12`; the number keeps names apart.
pub fn show_value(graph: &Graph, v: ValueId) -> String {
    match &graph.value(v).name {
        Some(n) => format!("%{n}.{}", v.0),
        None => format!("%{}", v.0),
    }
}

/// A hint as it is written.
pub fn show_hint(h: &Hint) -> String {
    if h.args.is_empty() {
        return h.name.clone();
    }
    let args: Vec<String> = h
        .args
        .iter()
        .map(|(n, a)| {
            let a = match a {
                HintArg::Word(w) => w.clone(),
                HintArg::Int(i) => i.to_string(),
            };
            n.as_ref().map_or(a.clone(), |n| format!("{n} = {a}"))
        })
        .collect();
    format!("{}({})", h.name, args.join(", "))
}

/// An attribute's value, or `None` where it is absent.
pub fn show_attr(g: &Graph, a: &Attr) -> Option<String> {
    let e = |e: &Expr| g.vars.show(e);
    let list = |s: &[Expr]| s.iter().map(e).collect::<Vec<_>>().join(", ");
    Some(match a {
        Attr::Absent | Attr::Operand(_) => return None,
        Attr::Int(x) => e(x),
        Attr::Num(n) => n.show(&g.vars),
        Attr::Bool(b) => b.to_string(),
        Attr::Str(s) => format!("{s:?}"),
        Attr::DType(d) => d.to_string(),
        Attr::Shape(s) => format!("[{}]", list(s)),
        Attr::Type(d, s) => format!("{d}[{}]", list(s)),
        Attr::Ints(v) => format!("{v:?}"),
        Attr::Subs(s) => {
            format!("[{}]", s.iter().map(|s| show_sub(g, s)).collect::<Vec<_>>().join(", "))
        }
        Attr::Placement(p) => p.storage.name().to_string(),
        Attr::Axes(v) => {
            v.iter().map(|a| g.meshes.axis_name(*a)).collect::<Vec<_>>().join(", ").to_string()
        }
    })
}

fn show_sub(g: &Graph, s: &Sub) -> String {
    match s {
        Sub::At(e) => g.vars.show(e),
        Sub::Window { start, len, end, pad } => {
            let mut t = format!("{}:+{}", g.vars.show(start), g.vars.show(len));
            if let Some(end) = end {
                let _ = write!(t, " to {}", g.vars.show(end));
            }
            if let Some(pad) = pad {
                let _ = write!(t, " pad {}", pad.show(&g.vars));
            }
            t
        }
    }
}

struct Printer<'a> {
    g: &'a Graph,
    out: String,
    /// Of the line before, so that a scope is named where it changes.
    scope: ScopeId,
}

impl Printer<'_> {
    fn graph(&mut self) {
        let g = self.g;
        let module = g.module.as_ref().map_or(String::new(), |m| format!("{m}."));
        self.line(0, &format!("graph {module}{}", g.name));
        if let Some(t) = &g.target {
            self.line(1, &format!("target {t}"));
        }
        for d in &g.dims {
            if let Some(i) = g.vars.get(*d) {
                let text =
                    format!("dim {} in {}..={}", i.name, g.vars.show(&i.lo), g.vars.show(&i.hi));
                self.line(1, &text);
            }
        }
        for p in &g.params {
            let kind = match &p.kind {
                ParamKind::Arg => "param".to_string(),
                ParamKind::Inout => "inout".to_string(),
                ParamKind::Weight { key: None } => "weight".to_string(),
                ParamKind::Weight { key: Some(k) } => format!("weight {k:?}"),
            };
            let text = format!("{kind} {}", self.typed(p.value));
            self.line(1, &text);
        }
        self.region(g.root, 1);
        for o in &g.outputs {
            let text = format!("{} = {}", o.name, show_value(g, o.value));
            self.line(1, &text);
        }
        for (_, text) in &g.assumed {
            self.line(1, &format!("assumed {text}"));
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", depth * 2);
    }

    /// `%a.3: f16[4096] in rmem, range 0..=7`
    fn typed(&self, v: ValueId) -> String {
        let ty = self.g.ty(v);
        let mut s =
            format!("{}: {}", show_value(self.g, v), ty.show_placed(&self.g.vars, &self.g.meshes));
        if let Some((lo, hi)) = &ty.range {
            let _ = write!(s, " range {}..={}", self.g.vars.show(lo), self.g.vars.show(hi));
        }
        s
    }

    fn values(&self, vs: &[ValueId]) -> String {
        vs.iter().map(|v| show_value(self.g, *v)).collect::<Vec<_>>().join(", ")
    }

    fn region(&mut self, r: RegionId, depth: usize) {
        let region = self.g.region(r);
        for n in &region.nodes {
            self.node(*n, depth);
        }
        if r != self.g.root && !region.results.is_empty() {
            let text = format!("yield {}", self.values(&region.results));
            self.line(depth, &text);
        }
    }

    fn node(&mut self, id: NodeId, depth: usize) {
        let node = self.g.node(id);
        if node.scope != self.scope {
            self.scope = node.scope;
            self.line(depth, &format!("// {}", self.g.scope_path(node.scope)));
        }
        let mut text = String::new();
        if !node.outputs.is_empty() {
            let outs: Vec<String> = node.outputs.iter().map(|o| self.typed(*o)).collect();
            let _ = write!(text, "{} = ", outs.join("; "));
        }
        text.push_str(&self.head(node));
        if !node.uses.is_empty() {
            let _ = write!(text, " uses {}", self.values(&node.uses));
        }
        if !node.hints.is_empty() {
            let hints: Vec<String> = node.hints.iter().map(show_hint).collect();
            let _ = write!(text, " #[{}]", hints.join(", "));
        }
        self.line(depth, &text);
        self.bodies(node, depth + 1);
    }

    fn head(&self, node: &Node) -> String {
        let e = |e: &Expr| self.g.vars.show(e);
        match &node.kind {
            NodeKind::Op { op, attrs } => {
                format!("{}({})", op.name(), self.args(&node.inputs, attrs))
            }
            NodeKind::Const(n) => format!("const {}", n.show(&self.g.vars)),
            NodeKind::Loop { var, start, stop, step, body } => {
                let carried: Vec<String> = self
                    .g
                    .region(*body)
                    .params
                    .iter()
                    .zip(&node.inputs)
                    .map(|(p, i)| format!("{} = {}", self.typed(*p), show_value(self.g, *i)))
                    .collect();
                let with = if carried.is_empty() {
                    String::new()
                } else {
                    format!(" carry ({})", carried.join("; "))
                };
                let name = self.g.vars.name(*var);
                format!("for {name} in {}..{} step {}{with}", e(start), e(stop), e(step))
            }
            NodeKind::Mesh { meshes, .. } => {
                let meshes: Vec<String> = meshes.iter().map(|m| self.mesh(*m)).collect();
                format!("mesh {}", meshes.join(", "))
            }
            NodeKind::On { part, .. } => format!("on {}", self.mesh(*part)),
            NodeKind::Match { value, .. } => format!("match {}", e(value)),
        }
    }

    fn bodies(&mut self, node: &Node, depth: usize) {
        match &node.kind {
            NodeKind::Op { .. } | NodeKind::Const(_) => {}
            NodeKind::Loop { body, .. }
            | NodeKind::Mesh { body, .. }
            | NodeKind::On { body, .. } => self.region(*body, depth),
            NodeKind::Match { arms, .. } => {
                for a in arms {
                    let text =
                        format!("{}..={} =>", self.g.vars.show(&a.lo), self.g.vars.show(&a.hi));
                    self.line(depth, &text);
                    self.region(a.region, depth + 1);
                }
            }
        }
    }

    fn args(&self, inputs: &[ValueId], attrs: &Attrs) -> String {
        let mut args: Vec<String> = inputs.iter().map(|v| show_value(self.g, *v)).collect();
        for (name, a) in &attrs.0 {
            if let Some(text) = show_attr(self.g, a) {
                args.push(format!("{name} = {text}"));
            }
        }
        args.join(", ")
    }

    /// `g = cta[p: 132]`
    fn mesh(&self, id: MeshId) -> String {
        let Some(m) = self.g.meshes.mesh(id) else { return "?".into() };
        let axes: Vec<String> = m
            .axes
            .iter()
            .filter_map(|a| self.g.meshes.axis(*a))
            .map(|a| {
                let short = a.name.rsplit('.').next().unwrap_or(&a.name);
                format!("{short}: {}", self.g.vars.show(&a.extent))
            })
            .collect();
        format!("{} = {}[{}]", m.name, m.level, axes.join(", "))
    }
}

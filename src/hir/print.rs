//! Names and types as the compiler sees them: `--emit hir`. Consts are folded, types resolved,
//! and every named value has its type and placement.

use std::fmt::Write;

use super::elab::{Cx, Elab};
use super::value::Val;
use super::{ItemRef, Program};
use crate::graph::{Def, Graph, ParamKind, ScopeId};
use crate::syntax::ast::{self, ItemKind, Vis};
use crate::types::dim::VarTable;

/// The root file. `graphs` are those of its functions that have one.
pub fn print(p: &Program, graphs: &[(ItemRef, &Graph)]) -> String {
    let mut w = Printer { p, graphs, out: String::new() };
    let Some(root) = p.files.first() else { return String::new() };
    if let Some(f) = p.sources.get(root.id) {
        w.line(0, &format!("file {}", f.name));
    }
    for (n, item) in root.ast.items.iter().enumerate() {
        w.item(ItemRef { file: 0, module: None, item: n }, item, 0);
    }
    w.out
}

/// `(x: f32[4] in gmem, inout y: f32[4] in gmem) -> f32[4] in gmem`
pub fn signature(g: &Graph) -> String {
    let ty = |v| g.ty(v).show_placed(&g.vars, &g.meshes);
    let params: Vec<String> = g
        .params
        .iter()
        .filter_map(|q| match q.kind {
            ParamKind::Arg => Some(format!("{}: {}", q.name, ty(q.value))),
            ParamKind::Inout => Some(format!("inout {}: {}", q.name, ty(q.value))),
            ParamKind::Weight { .. } => None,
        })
        .collect();
    let inout = |name: &str| g.params.iter().any(|q| q.kind == ParamKind::Inout && q.name == name);
    let outs: Vec<String> =
        g.outputs.iter().filter(|o| !inout(&o.name)).map(|o| ty(o.value)).collect();
    let ret = match outs.as_slice() {
        [] => String::new(),
        [one] => format!(" -> {one}"),
        many => format!(" -> ({})", many.join(", ")),
    };
    format!("({}){ret}", params.join(", "))
}

struct Printer<'a> {
    p: &'a Program,
    graphs: &'a [(ItemRef, &'a Graph)],
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", depth * 2);
    }

    fn item(&mut self, r: ItemRef, item: &ast::Item, depth: usize) {
        use ItemKind::*;
        match &item.kind {
            Const { name, .. } => {
                let text = self.folded(r, name);
                self.line(depth, &format!("const {} = {text}", name.text));
            }
            TypeAlias { name, .. } => {
                let text = self.folded(r, name);
                self.line(depth, &format!("type {} = {text}", name.text));
            }
            Dim { name, .. } => {
                let bounds = self.p.dims.get(&r).and_then(|v| self.p.vars.get(*v));
                let text = bounds.map_or("?".into(), |i| {
                    format!("{}..={}", self.p.vars.show(&i.lo), self.p.vars.show(&i.hi))
                });
                self.line(depth, &format!("dim {} in {text}", name.text));
            }
            Config { name, path } => {
                self.line(depth, &format!("config {} = {:?}", name.text, path.value));
            }
            Module { name, items } => {
                self.line(depth, &format!("module {}", name.text));
                self.inner(r, items, depth + 1);
            }
            Twin { name, of, items } => {
                let of = super::elab::show_path(of);
                self.line(depth, &format!("twin {} for {of}", name.text));
                self.inner(r, items, depth + 1);
            }
            Target(t) => self.line(depth, &format!("target {:?}", t.value)),
            Topology(_) => self.topology(r, depth),
            Weight { name, .. } => self.weight(r, name, depth),
            Prepare { name, .. } => {
                let text = self.folded(r, name);
                self.line(depth, &format!("prepare {}: {text}", name.text));
            }
            Child { name, of, count, from } => {
                let many = if count.is_some() { "[..]" } else { "" };
                let key = from.as_ref().map_or(name.text.as_str(), |s| s.value.as_str());
                let of = super::elab::show_path(of);
                self.line(depth, &format!("child {}: {of}{many} from {key:?}", name.text));
            }
            ExternKernel { name, entry, from, .. } => {
                let text =
                    format!("extern kernel {} = {:?} in {:?}", name.text, entry.value, from.value);
                self.line(depth, &text);
            }
            Func(f) => self.func(r, f, depth),
            Use { .. } | UseFile { .. } | Mesh(_) | Error { .. } => {}
        }
    }

    fn inner(&mut self, module: ItemRef, items: &[ast::Item], depth: usize) {
        for (k, i) in items.iter().enumerate() {
            let r = ItemRef { file: module.file, module: Some(module.item), item: k };
            self.item(r, i, depth);
        }
    }

    /// An elaboration that sees what the item sees.
    fn elab(&self, r: ItemRef, name: &ast::Name) -> Elab<'_> {
        let mut e = Elab::new(self.p, Cx::of(r), &name.text, name.span);
        if let Some(m) = r.module {
            e.enter_module(ItemRef { file: r.file, module: None, item: m });
        }
        e
    }

    fn folded(&self, r: ItemRef, name: &ast::Name) -> String {
        let mut e = self.elab(r, name);
        let v = e.path(&ast::Path { segs: vec![name.clone()], span: name.span });
        show_val(&v, &e.g)
    }

    fn weight(&mut self, r: ItemRef, name: &ast::Name, depth: usize) {
        let mut e = self.elab(r, name);
        let v = e.weight(r);
        let ty = show_val(&v, &e.g);
        let key = e.g.params.iter().find_map(|q| match &q.kind {
            ParamKind::Weight { key } => key.clone(),
            _ => None,
        });
        let key = key.unwrap_or_else(|| name.text.clone());
        self.line(depth, &format!("weight {}: {ty} from {key:?}", name.text));
    }

    fn topology(&mut self, r: ItemRef, depth: usize) {
        let Some(m) = r.module else { return };
        let module = ItemRef { file: r.file, module: None, item: m };
        let span = self.p.item(module).map(|i| i.span);
        let span = span.unwrap_or(super::file_start(crate::base::FileId(0)));
        let mut e = Elab::new(self.p, Cx::of(r), "topology", span);
        e.enter_module(module);
        let levels: Vec<String> = e
            .g
            .topology
            .iter()
            .map(|(n, x)| x.as_ref().map_or(n.clone(), |x| format!("{n} = {}", e.g.vars.show(x))))
            .collect();
        self.line(depth, &format!("topology {}", levels.join(", ")));
    }

    fn func(&mut self, r: ItemRef, f: &ast::Func, depth: usize) {
        let vis = match f.vis {
            Vis::Private => "",
            Vis::Pub => "pub ",
            Vis::Entry => "entry ",
        };
        let Some((_, g)) = self.graphs.iter().find(|(x, _)| *x == r) else {
            // a helper: its types are those of each call
            self.line(depth, &format!("{vis}func {} (checked where it is called)", f.name.text));
            return;
        };
        self.line(depth, &format!("{vis}func {}{}", f.name.text, signature(g)));
        for q in &g.params {
            if let ParamKind::Weight { key } = &q.kind {
                let ty = g.ty(q.value).show_placed(&g.vars, &g.meshes);
                let key = key.as_deref().unwrap_or(&q.name);
                self.line(depth + 1, &format!("weight {}: {ty} from {key:?}", q.name));
            }
        }
        for (id, v) in g.values() {
            let (Some(name), false) = (&v.name, matches!(v.def, Def::Param(_))) else { continue };
            let scope = match v.def {
                Def::Node(n, _) => g.node(n).scope,
                _ => ScopeId(0),
            };
            let path = if scope == ScopeId(0) {
                String::new()
            } else {
                // the function's own name stands above
                let path = g.scope_path(scope);
                path.split_once('/').map_or(String::new(), |(_, rest)| format!("{rest}/"))
            };
            let ty = g.ty(id).show_placed(&g.vars, &g.meshes);
            self.line(depth + 1, &format!("{path}{name}: {ty}"));
        }
    }
}

fn show_val(v: &Val, g: &Graph) -> String {
    let vars: &VarTable = &g.vars;
    match v {
        Val::Num(n) => n.show(vars),
        Val::Bool(b) => b.to_string(),
        Val::Str(s) => format!("{s:?}"),
        Val::DType(d) => d.to_string(),
        Val::Type(w) => crate::types::ty::show_shape(w.dtype, &w.shape, vars),
        Val::Tensor(t) => g.ty(*t).show_placed(vars, &g.meshes),
        other => other.what().to_string(),
    }
}

//! From a function to its graph.

use super::elab::{Cx, Elab};
use super::value::{Binding, Val};
use super::{ItemRef, Program, item_name};
use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, Output, ParamKind};
use crate::syntax::ast::{self, TypeKind};
use crate::types::dim::VarKind;
use crate::types::placement::{Placement, Storage};
use crate::types::ty::TensorTy;

/// A graph, if no error stands in the way, and everything there is to say.
pub struct Compiled {
    pub graph: Option<Graph>,
    pub diags: Vec<Diagnostic>,
}

/// Elaborates a function and infers placements.
pub fn compile(p: &Program, func: ItemRef) -> Compiled {
    let Some(item) = p.item(func) else { return Compiled { graph: None, diags: vec![] } };
    let ast::ItemKind::Func(f) = &item.kind else {
        return Compiled { graph: None, diags: vec![] };
    };
    let mut e = Elab::new(p, Cx::of(func), &f.name.text, f.header);
    if let Some(m) = func.module {
        let module = ItemRef { file: func.file, module: None, item: m };
        e.g.module = p.item(module).and_then(|i| item_name(&i.kind)).map(|n| n.text.clone());
        e.enter_module(module);
    }
    e.calls.push(func);
    e.push_hints(&item.hints);
    e.g.hints = e.hints.clone();
    let inouts = declare_params(&mut e, f);
    let v = e.block_result(f);
    // what a silent error left open is no graph, even where this function reports none
    let whole = !v.has_error();
    finish(&mut e, f, v, inouts);
    let errors = |d: &[Diagnostic]| d.iter().any(|d| d.level == crate::diag::Level::Error);
    if !errors(&e.diags) {
        let more = super::place::run(&mut e.g, &e.annotated);
        e.diags.extend(more);
        e.diags.extend(super::writes::check(&e.g));
    }
    e.diags.dedup();
    let attached = e.g.regions().all(|(r, x)| r == e.g.root || x.owner.is_some());
    let ok = !errors(&e.diags) && whole && attached;
    let Elab { mut g, diags, .. } = e;
    g.dims = used_dims(&g);
    Compiled { graph: ok.then_some(g), diags }
}

/// The parameters as values of the graph; gives the names of those that are updated.
fn declare_params(e: &mut Elab, f: &ast::Func) -> Vec<String> {
    let mut inouts = vec![];
    if let Some(g) = f.generics.first() {
        let (ast::Generic::Extent(n) | ast::Generic::Pack(n) | ast::Generic::DType { name: n, .. }) =
            g;
        let d = Diagnostic::new(
            Code::BadBoundary,
            n.span,
            format!("`{}` is a boundary, it cannot be generic", f.name.text),
        )
        .help("a symbolic extent of a boundary is a `dim`");
        e.push(d);
    }
    for g in &f.generics {
        let (ast::Generic::Extent(n) | ast::Generic::Pack(n) | ast::Generic::DType { name: n, .. }) =
            g;
        e.declare(silent(n));
    }
    for q in &f.params {
        let Some(t) = &q.ty else {
            e.declare(silent(&q.name));
            continue;
        };
        let kind = match &t.kind {
            TypeKind::Named(p) => match p.segs.as_slice() {
                [n] => n.text.as_str(),
                _ => "",
            },
            _ => "",
        };
        let instead = match kind {
            "index" => {
                Some("declare a `dim`: a dim in no parameter's shape is an implicit argument")
            }
            "dtype" => Some("write the dtype: `type Act = bf16;` names one for the whole file"),
            _ => None,
        };
        if let Some(help) = instead {
            let article = if kind == "index" { "an" } else { "a" };
            let d = Diagnostic::new(
                Code::BadBoundary,
                q.span,
                format!("`{}` is {article} {kind}, which a boundary does not take", q.name.text),
            )
            .help(help);
            e.push(d);
            e.declare(silent(&q.name));
            continue;
        }
        let val = match e.written_type(t) {
            Some(w) => {
                let place = w
                    .place
                    .clone()
                    .unwrap_or_else(|| Placement::whole(Storage::Gmem, w.shape.len()));
                let ty = TensorTy { dtype: w.dtype, shape: w.shape, place, range: w.range };
                let kind = if q.inout { ParamKind::Inout } else { ParamKind::Arg };
                Val::Tensor(e.g.add_param(q.name.text.clone(), kind, ty, q.span))
            }
            None => Val::Error,
        };
        if q.inout {
            inouts.push(q.name.text.clone());
        }
        e.declare(Binding {
            name: q.name.text.clone(),
            val,
            mutable: q.inout,
            place: None,
            span: q.name.span,
        });
    }
    inouts
}

/// A name whose error is reported where it is declared.
fn silent(n: &ast::Name) -> Binding {
    Binding { name: n.text.clone(), val: Val::Error, mutable: true, place: None, span: n.span }
}

fn finish(e: &mut Elab, f: &ast::Func, v: Val, inouts: Vec<String>) {
    let mut leaves = vec![];
    v.leaves(&mut leaves);
    if matches!(v, Val::Error) {
        return;
    }
    let many = leaves.len() > 1;
    for (i, value) in leaves.into_iter().enumerate() {
        let name = if many { format!("output[{i}]") } else { "output".to_string() };
        e.g.outputs.push(Output { name, value });
    }
    for name in inouts {
        let val = e.find(&name).and_then(|at| e.binding(at)).map(|b| b.val.clone());
        if let Some(Val::Tensor(value)) = val {
            e.g.outputs.push(Output { name, value });
        }
    }
    let root = e.g.root;
    e.g.region_mut(root).results = e.g.outputs.iter().map(|o| o.value).collect();
    if e.g.outputs.is_empty() && !e.diags.iter().any(|d| d.level == crate::diag::Level::Error) {
        let msg = format!("`{}` has no result", f.name.text);
        e.error(Code::BadBoundary, f.name.span, msg);
    }
}

/// The dims that extents, bounds or numbers of the graph use.
fn used_dims(g: &Graph) -> Vec<crate::types::dim::VarId> {
    let mut used = std::collections::BTreeSet::new();
    let mut exprs = vec![];
    for (_, v) in g.values() {
        exprs.extend(v.ty.shape.iter().cloned());
        exprs.extend(v.ty.range.iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
    }
    for (_, n) in g.nodes() {
        use crate::graph::NodeKind::*;
        match &n.kind {
            Op { attrs, .. } => exprs.extend(attrs.exprs()),
            Const(n) => exprs.extend(n.vars().into_iter().map(crate::types::dim::Expr::var)),
            Loop { start, stop, step, .. } => {
                exprs.extend([start.clone(), stop.clone(), step.clone()]);
            }
            Match { value, .. } => exprs.push(value.clone()),
            Mesh { .. } | On { .. } => {}
        }
    }
    for (_, a) in g.meshes.axes() {
        exprs.push(a.extent.clone());
    }
    for e in &exprs {
        for v in e.vars() {
            used.insert(v);
        }
    }
    used.into_iter().filter(|v| g.vars.get(*v).is_some_and(|i| i.kind == VarKind::Dim)).collect()
}

//! Weights, prepared values and children.
//!
//! A weight of the module that runs is a parameter of the graph. A weight of an array of children
//! is one parameter with a leading axis for the children; an instance reads its part of it.

use super::elab::Elab;
use super::value::{Instance, Step, Val};
use super::{Decl, ItemRef, module_items};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::{ParamKind, ScopeId};
use crate::ops::Sub;
use crate::syntax::ast;
use crate::types::dim::{Decision, Expr};
use crate::types::num::Num;
use crate::types::placement::{Placement, Storage};
use crate::types::ty::TensorTy;

impl Elab<'_> {
    /// The weight of an item, for the instance at hand.
    pub fn weight(&mut self, r: ItemRef) -> Val {
        let p = self.p;
        let Some(ast::ItemKind::Weight { name, ty, from }) = p.item(r).map(|i| &i.kind) else {
            return Val::Error;
        };
        let path = self.cx.instance.path.clone();
        let own = from.as_ref().map_or(name.text.clone(), |s| s.value.clone());
        let key = full_key(&path, &own);
        let id = format!("{}:{}:{key}", r.file, r.item);
        let stacked = match self.weights.get(&id) {
            Some(v) => *v,
            None => {
                let mut written = None;
                self.in_item(r, |e| {
                    written = e.written_type(ty);
                    Val::Unit
                });
                let Some(w) = written else { return Val::Error };
                if let Some(d) = from.as_ref().and_then(|s| bad_key(s, w.shape.len())) {
                    return self.push(d);
                }
                let counts: Vec<Expr> = path.iter().filter_map(|s| s.count.clone()).collect();
                let n = counts.len();
                let mut place =
                    w.place.unwrap_or_else(|| Placement::whole(Storage::Gmem, w.shape.len()));
                for _ in 0..n {
                    place.axes.insert(0, Default::default());
                }
                let shape: Vec<Expr> = counts.into_iter().chain(w.shape).collect();
                let t = TensorTy { dtype: w.dtype, shape, place, range: w.range };
                let shown = path
                    .iter()
                    .map(|s| s.name.as_str())
                    .chain([name.text.as_str()])
                    .collect::<Vec<_>>()
                    .join(".");
                let kind = ParamKind::Weight { key: Some(key) };
                let v = self.g.add_param(shown, kind, t, name.span);
                self.weights.insert(id, v);
                v
            }
        };
        let indices: Vec<Expr> = path.iter().filter_map(|s| s.index.clone()).collect();
        if indices.is_empty() {
            return Val::Tensor(stacked);
        }
        let shape = self.g.ty(stacked).shape.clone();
        let subs = shape
            .iter()
            .enumerate()
            .map(|(i, e)| match indices.get(i) {
                Some(x) => Sub::At(x.clone()),
                None => super::exprs::whole(e),
            })
            .collect();
        self.read(stacked, subs, name.span)
    }

    /// A prepared value: computed once, before everything else.
    pub fn prepared(&mut self, r: ItemRef) -> Val {
        let p = self.p;
        let Some(ast::ItemKind::Prepare { name, ty, value }) = p.item(r).map(|i| &i.kind) else {
            return Val::Error;
        };
        if let Some(v) = self.prepared_param(r) {
            return v;
        }
        let path = self.cx.instance.path.clone();
        let id = format!("prepare:{}:{}:{}", r.file, r.item, full_key(&path, &name.text));
        if let Some(v) = self.weights.get(&id) {
            return Val::Tensor(*v);
        }
        if self.calls.contains(&r) {
            let msg = format!("`{}` is prepared from itself", name.text);
            return self.error(Code::ConstCycle, name.span, msg);
        }
        self.calls.push(r);
        // an indexed child's own value depends on a loop variable: it stays where it is used
        let hoist = path.iter().all(|s| s.index.is_none());
        let saved = (self.region, self.scope, std::mem::take(&mut self.open));
        let hints = std::mem::take(&mut self.hints);
        if hoist {
            self.region = self.g.root;
        }
        self.scope = self.g.add_scope(format!("prepare {}", name.text), ScopeId(0), name.span);
        let v = self.in_item(r, |e| {
            let v = e.expr(value);
            let what = format!("`{}`", name.text);
            e.fits(ty, &v, value.span, &what, ty.span).map_or(Val::Error, |x| x.0)
        });
        self.calls.pop();
        (self.region, self.scope, self.open) = saved;
        self.hints = hints;
        if let (Val::Tensor(t), true) = (&v, hoist) {
            self.weights.insert(id, *t);
            self.g.prepared.push(*t);
            let slot = self.g.value_mut(*t);
            slot.name.get_or_insert_with(|| name.text.clone());
        }
        v
    }

    /// A child of the module at hand.
    pub fn child(&mut self, r: ItemRef) -> Val {
        let p = self.p;
        let Some(ast::ItemKind::Child { name, of, count, from }) = p.item(r).map(|i| &i.kind)
        else {
            return Val::Error;
        };
        let module = match p.lookup(r.file, None, of) {
            Some(Decl::Item(m))
                if p.item(m).is_some_and(|i| matches!(i.kind, ast::ItemKind::Module { .. })) =>
            {
                m
            }
            Some(Decl::Item(t))
                if p.item(t).is_some_and(|i| matches!(i.kind, ast::ItemKind::Twin { .. })) =>
            {
                return self.twin_child(r, t);
            }
            _ => {
                let shown = super::elab::show_path(of);
                let known: Vec<&str> = p.modules().into_iter().map(|(n, _)| n).collect();
                let mut d = Diagnostic::new(
                    Code::UnknownName,
                    of.span,
                    format!("there is no module `{shown}`"),
                );
                if let Some(m) = did_you_mean(&shown, known) {
                    d = d.help(format!("`{m}` exists")).fix("rename", of.span, m);
                }
                return self.push(d);
            }
        };
        let owner = r.module.map(|m| ItemRef { file: r.file, module: None, item: m });
        if let Some(owner) = owner
            && self.reaches(module, owner, &mut vec![])
        {
            let d = Diagnostic::new(
                Code::Recursion,
                of.span,
                format!("child `{}` is a module that contains it", name.text),
            )
            .help("a module is no part of itself, directly or through its children");
            return self.push(d);
        }
        let (mut n, mut at) = (None, None);
        if let Some(c) = count {
            let mut got = None;
            self.in_item(r, |e| {
                got = e.children(c);
                Val::Unit
            });
            match got {
                Some((e, numbers)) => (n, at) = (Some(e), numbers),
                None => return Val::Error,
            }
        }
        let mut path = self.cx.instance.path.clone();
        let prefix = from.as_ref().map_or(name.text.clone(), |s| s.value.clone());
        path.push(Step { prefix, name: name.text.clone(), count: n, at, index: None });
        Val::Child(Box::new(Instance { module: Some(module), path }))
    }

    /// The extent of an array of children: how many there are, or a list of their numbers in the
    /// checkpoint.
    pub(super) fn children(&mut self, count: &ast::Expr) -> Option<(Expr, Option<Vec<i64>>)> {
        let was = std::mem::replace(&mut self.exact, true);
        let v = self.expr(count);
        self.exact = was;
        let Val::List(vs) = v else { return Some((self.extent_of(v, count)?, None)) };
        let mut numbers = vec![];
        for v in vs {
            let k = match v {
                Val::Num(Num::Int(e)) => e.as_int(),
                Val::Error => return None,
                _ => None,
            };
            match k {
                Some(k) if k >= 0 && !numbers.contains(&k) => numbers.push(k),
                _ => {
                    let msg = "the numbers of children in a checkpoint are distinct integers, none negative";
                    self.error(Code::BadArgs, count.span, msg);
                    return None;
                }
            }
        }
        let n = i64::try_from(numbers.len()).ok()?;
        Some((Expr::int(n), Some(numbers)))
    }

    /// Whether a module is `end`, or has it among its children, or theirs.
    fn reaches(&self, from: ItemRef, end: ItemRef, seen: &mut Vec<ItemRef>) -> bool {
        if from == end {
            return true;
        }
        if seen.contains(&from) {
            return false;
        }
        seen.push(from);
        let items = self.p.item(from).and_then(module_items).unwrap_or(&[]);
        items.iter().any(|i| match &i.kind {
            ast::ItemKind::Child { of, .. } => match self.p.lookup(from.file, None, of) {
                Some(Decl::Item(m)) => self.reaches(m, end, seen),
                _ => false,
            },
            _ => false,
        })
    }

    /// `layers[i]`
    pub fn child_index(&mut self, mut c: Instance, subs: &[ast::Expr], span: Span) -> Val {
        let [one] = subs else {
            return self.error(Code::BadArgs, span, "a child takes one index");
        };
        let Some(i) = self.int_expr(one) else { return Val::Error };
        let Some(step) = c.path.last_mut() else { return Val::Error };
        let Some(n) = step.count.clone() else {
            let msg = format!("child `{}` is not an array", step.name);
            return self.error(Code::BadArgs, span, msg);
        };
        step.index = Some(i.clone());
        let (lo, hi) = (self.g.vars.ge(&i, &Expr::zero()), self.g.vars.ge(&n, &i.add(&1.into())));
        if lo == Decision::No || hi == Decision::No {
            let msg = format!(
                "there are {} children, the index is `{}`",
                self.g.vars.show(&n),
                self.g.vars.show(&i)
            );
            return self.error(Code::WindowBounds, one.span, msg);
        }
        Val::Child(Box::new(c))
    }

    /// `layers[i].norm`
    pub fn child_member(&mut self, c: Instance, name: &ast::Name) -> Val {
        let Some(m) = c.module else { return Val::Error };
        let found = self.p.funcs(m).into_iter().find(|(_, f)| f.name.text == name.text);
        match found {
            Some((r, f))
                if f.vis != ast::Vis::Private
                    || super::twin_calls::module_of(self.p, m).is_some() =>
            {
                Val::Func(r, Some(Box::new(c)))
            }
            Some((_, f)) => {
                let d = Diagnostic::new(
                    Code::UnknownName,
                    name.span,
                    format!("`{}` is private to its module", name.text),
                )
                .label(f.name.span, "declared here")
                .help("`pub func` makes it a boundary of the module");
                self.push(d)
            }
            None => {
                let funcs = self.p.funcs(m);
                let known: Vec<&str> = funcs.iter().map(|(_, f)| f.name.text.as_str()).collect();
                let mut d = Diagnostic::new(
                    Code::UnknownName,
                    name.span,
                    format!("the child has no function `{}`", name.text),
                );
                if let Some(m) = did_you_mean(&name.text, known.iter().copied()) {
                    d = d.help(format!("it has `{m}`")).fix("rename", name.span, m);
                }
                self.push(d)
            }
        }
    }

    pub fn call_child(&mut self, c: Instance, args: &[ast::Arg], span: Span) -> Val {
        let Some(m) = c.module else { return Val::Error };
        if super::twin_calls::module_of(self.p, m).is_some() {
            return self.call_twin(c, args, span);
        }
        if let Some(s) = c.path.last().filter(|s| s.count.is_some() && s.index.is_none()) {
            let msg = format!("this is an array of children: `{}[i](..)` calls one", s.name);
            return self.error(Code::BadArgs, span, msg);
        }
        match self.p.entry(m) {
            Some((r, _)) => self.call_func(r, Some(c), args, span),
            None => self.error(Code::BadArgs, span, "the child's module has no `entry func`"),
        }
    }

    /// Target and topology of a module, with the meshes it declares.
    pub fn enter_module(&mut self, module: ItemRef) {
        let Some(items) = self.p.item(module).and_then(module_items) else { return };
        for i in items {
            match &i.kind {
                ast::ItemKind::Target(s) => self.g.target = Some(s.value.clone()),
                ast::ItemKind::Topology(levels) => {
                    self.g.topology = levels
                        .iter()
                        .map(|l| {
                            let e = l.extent.as_ref().and_then(|e| self.extent(e));
                            (l.name.text.clone(), e)
                        })
                        .collect();
                }
                _ => {}
            }
        }
        self.module_meshes(items);
    }
}

/// The checkpoint key: prefixes of the children, `{}` for each index or `{1,3}` where the children
/// have these numbers, then the weight's own.
fn full_key(path: &[Step], own: &str) -> String {
    let mut out = String::new();
    for s in path {
        out.push_str(&s.prefix);
        out.push('.');
        if s.count.is_some() {
            let numbers: Vec<String> = s.at.iter().flatten().map(ToString::to_string).collect();
            out += &format!("{{{}}}.", numbers.join(","));
        }
    }
    out + own
}

/// A checkpoint name has at most one `{}`, which runs over the leading axis.
fn bad_key(key: &ast::Str, rank: usize) -> Option<Diagnostic> {
    let msg = match key.value.matches("{}").count() {
        0 => return None,
        1 if rank > 0 => return None,
        1 => "`{}` runs over the leading axis, and this weight has none",
        _ => "a checkpoint name has at most one `{}`, which runs over the leading axis",
    };
    Some(Diagnostic::new(Code::BadArgs, key.span, msg))
}

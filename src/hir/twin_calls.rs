//! Twins that call twins: their children, and their own functions.

use super::elab::Elab;
use super::value::{Instance, Step, Val};
use super::{Decl, ItemRef, Program, module_items};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{self, ItemKind};

/// The module that a twin stands for; `None` for what is no twin.
pub fn module_of(p: &Program, twin: ItemRef) -> Option<ItemRef> {
    let ItemKind::Twin { of, .. } = &p.item(twin)?.kind else { return None };
    match p.lookup(twin.file, None, of)? {
        Decl::Item(m) => Some(m),
        Decl::File(_) => None,
    }
}

/// The module that the twin around an item stands for.
pub fn around(p: &Program, r: ItemRef) -> Option<ItemRef> {
    module_of(p, ItemRef { file: r.file, module: None, item: r.module? })
}

/// The boundary that a twin's function implements.
pub fn boundary(p: &Program, func: ItemRef) -> Option<(ItemRef, &ast::Func)> {
    let ItemKind::Func(f) = &p.item(func)?.kind else { return None };
    let module = around(p, func)?;
    p.funcs(module).into_iter().find(|(_, m)| m.name.text == f.name.text)
}

/// The child of a module by its name: what it is of, how many there are, its prefix of keys.
fn child_of<'p>(p: &'p Program, module: ItemRef, name: &str) -> Option<(ItemRef, &'p ItemKind)> {
    let items = p.item(module).and_then(module_items)?;
    let i = items
        .iter()
        .position(|i| matches!(&i.kind, ItemKind::Child { name: n, .. } if n.text == name))?;
    let r = ItemRef { file: module.file, module: Some(module.item), item: i };
    Some((r, &p.item(r)?.kind))
}

/// A twin with the twins that are its children, and theirs.
pub fn family(p: &Program, twin: ItemRef) -> Vec<ItemRef> {
    let mut out = vec![twin];
    let mut next = 0;
    while let Some(t) = out.get(next).copied() {
        next += 1;
        for i in p.item(t).and_then(module_items).unwrap_or(&[]) {
            let ItemKind::Child { of, .. } = &i.kind else { continue };
            if let Some(Decl::Item(c)) = p.lookup(t.file, None, of)
                && module_of(p, c).is_some()
                && !out.contains(&c)
            {
                out.push(c);
            }
        }
    }
    out
}

/// A twin's child must be a twin of what its module's child is of.
pub fn check_child(
    p: &Program,
    twin: ItemRef,
    module: ItemRef,
    item: &ast::Item,
) -> Option<Diagnostic> {
    let ItemKind::Child { name, of, .. } = &item.kind else { return None };
    let (r, ItemKind::Child { of: theirs, .. }) = child_of(p, module, &name.text)? else {
        return None;
    };
    let wanted = match p.lookup(r.file, None, theirs)? {
        Decl::Item(m) => m,
        Decl::File(_) => return None,
    };
    let found = match p.lookup(twin.file, None, of) {
        Some(Decl::Item(t)) => module_of(p, t),
        _ => None,
    };
    if found == Some(wanted) {
        return None;
    }
    let shown = super::elab::show_path(theirs);
    let msg = format!("`{}` is no twin of `{shown}`", super::elab::show_path(of));
    let d = Diagnostic::new(Code::BadTwin, of.span, msg)
        .label(theirs.span, format!("the module's child is of `{shown}`"))
        .help(format!("a twin of it is declared `twin Name for {shown} {{ .. }}`"));
    Some(d)
}

impl Elab<'_> {
    /// A child of the twin at hand: the twin it names, at the place of the module's child.
    pub fn twin_child(&mut self, r: ItemRef, twin: ItemRef) -> Val {
        let p = self.p;
        let Some(ItemKind::Child { name, .. }) = p.item(r).map(|i| &i.kind) else {
            return Val::Error;
        };
        // what is wrong with the declaration is said where the twin is checked
        let Some(module) = around(p, r) else { return Val::Error };
        let Some((mr, ItemKind::Child { count, from, .. })) = child_of(p, module, &name.text)
        else {
            return Val::Error;
        };
        let (mut n, mut at) = (None, None);
        if let Some(c) = count {
            let mut got = None;
            self.in_item(mr, |e| {
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
        Val::Child(Box::new(Instance { module: Some(twin), path }))
    }

    /// Calls the entry of a child that is a twin.
    pub fn call_twin(&mut self, c: Instance, args: &[ast::Arg], span: Span) -> Val {
        let Some(twin) = c.module else { return Val::Error };
        let p = self.p;
        let entry = module_of(p, twin).and_then(|m| p.entry(m));
        let own = entry
            .and_then(|(_, m)| p.funcs(twin).into_iter().find(|(_, f)| f.name.text == m.name.text));
        match own {
            Some((r, _)) => self.call_func(r, Some(c), args, span),
            None => self.error(Code::BadArgs, span, "the child's module has no `entry func`"),
        }
    }

    /// Whether the arguments of a twin's function are what the boundary takes.
    pub fn twin_args_fit(&mut self, func: ItemRef, vals: &[Option<(Val, Span)>]) -> bool {
        let Some((mr, m)) = boundary(self.p, func) else { return true };
        let mut ok = true;
        for (q, v) in m.params.iter().zip(vals) {
            let (Some(t), Some((v, span))) = (&q.ty, v) else { continue };
            let what = format!("`{}`", q.name.text);
            self.in_item(mr, |e| {
                ok &= e.fits(t, v, *span, &what, t.span).is_some();
                Val::Unit
            });
        }
        ok
    }
}

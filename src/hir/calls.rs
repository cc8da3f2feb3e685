//! Calls: ops, functions pasted where they stand, children.

use super::Decl;
use super::elab::{Elab, show_path};
use super::value::Val;
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::ops::{ParamKind, operators, registry};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::num::Num;

impl Elab<'_> {
    pub fn call(&mut self, func: &ast::Expr, args: &[ast::Arg], span: Span) -> Val {
        if args.iter().any(|a| matches!(a.value.kind, ExprKind::Error)) {
            // the parser skipped arguments: what is missing is not known
            return Val::Error;
        }
        match &func.kind {
            ExprKind::Path(p) => self.call_path(p, args, span),
            _ => match self.expr(func) {
                Val::Error => Val::Error,
                Val::Child(c) => self.call_child(*c, args, span),
                Val::Func(r, inst) => self.call_func(r, inst.map(|i| *i), args, span),
                other => {
                    let msg = format!("{} cannot be called", other.what());
                    self.error(Code::BadArgs, func.span, msg)
                }
            },
        }
    }

    fn call_path(&mut self, p: &ast::Path, args: &[ast::Arg], span: Span) -> Val {
        // a child of this module is called by its name; other values may be named like an op
        match self.p.lookup(self.cx.file, self.cx.module, p) {
            Some(Decl::Item(r)) => match self.p.item(r).map(|i| &i.kind) {
                Some(ast::ItemKind::Func(_)) => {
                    let inst = (r.module.is_some() && r.module == self.cx.module)
                        .then(|| self.cx.instance.clone());
                    return self.call_func(r, inst, args, span);
                }
                Some(ast::ItemKind::Child { .. }) => {
                    if let Val::Child(c) = self.child(r) {
                        return self.call_child(*c, args, span);
                    }
                    return Val::Error;
                }
                _ => {}
            },
            Some(Decl::File(_)) | None => {}
        }
        if self.twin.is_some() && super::twins::is_alloc(p) {
            return self.alloc(args, span);
        }
        let [name] = p.segs.as_slice() else {
            let file = self.p.files.get(self.cx.file);
            if file.is_some_and(|f| p.segs.iter().any(|s| f.lost.contains(&s.text))) {
                return Val::Error;
            }
            let shown = show_path(p);
            let mut d =
                Diagnostic::new(Code::UnknownOp, p.span, format!("there is no function `{shown}`"));
            if let Some(first) = p.segs.first()
                && let Some(Decl::Item(r)) = self.p.lookup(
                    self.cx.file,
                    self.cx.module,
                    &ast::Path { segs: vec![first.clone()], span: first.span },
                )
                && let Some(n) = self.p.item(r).and_then(|i| super::item_name(&i.kind))
            {
                d = d.label(n.span, format!("`{}` is this here, which has no such part", n.text));
            }
            return self.push(d);
        };
        let numeric =
            ["min", "max", "ceil_div", "abs", "pow", "sqrt", "exp", "exp2", "log", "log2"];
        if numeric.contains(&name.text.as_str())
            && args.iter().all(|a| a.name.is_none() && !a.inout)
            && let Some(v) = self.try_number_fn(&name.text, args, span)
        {
            return v;
        }
        if matches!(name.text.as_str(), "len" | "positions") {
            return self.list_fn(&name.text, args, span);
        }
        if let [a] = args
            && let Some(v) = self.dtype_fn(&name.text, &a.value)
        {
            return v;
        }
        match registry::find(&name.text) {
            Some(op) => self.call_op(op, args, span),
            None => self.unknown_function(name),
        }
    }

    /// `min(a, b)` and the like where every argument is a number; evaluating them adds no node.
    fn try_number_fn(&mut self, name: &str, args: &[ast::Arg], span: Span) -> Option<Val> {
        let mut vals: Vec<Val> = args.iter().map(|a| self.expr(&a.value)).collect();
        if vals.iter().any(|v| matches!(v, Val::Error)) {
            return Some(Val::Error);
        }
        // a bounded rank-0 tensor counts as a number beside one
        if vals.iter().any(|v| matches!(v, Val::Num(Num::Int(_)))) {
            for (v, a) in vals.iter_mut().zip(args) {
                if let Val::Tensor(t) = v {
                    let ty = self.g.ty(*t);
                    if ty.shape.is_empty() && ty.dtype.is_int() && ty.range.is_some() {
                        *v = self.number_of(*t, a.value.span);
                    }
                }
            }
        }
        if let Some(v) = self.number_fn(name, &vals, span) {
            return Some(v);
        }
        if name == "ceil_div" {
            return Some(self.error(Code::BadArgs, span, "`ceil_div` takes two integers"));
        }
        // an op: its arguments are evaluated already, so they are handed over as they are
        let op = registry::find(name)?;
        let spans: Vec<Span> = args.iter().map(|a| a.value.span).collect();
        let first_tensor = vals.iter().find_map(|v| match v {
            Val::Tensor(t) => Some(*t),
            _ => None,
        })?;
        let tensors = op.params().iter().filter(|p| p.kind == ParamKind::Tensor).count();
        if tensors != vals.len() {
            let d = match name {
                "min" | "max" => Diagnostic::new(
                    Code::BadArgs,
                    span,
                    format!("`{name}` reduces one tensor; of two, `{name}imum` takes the {name}"),
                ),
                _ => {
                    let n = vals.len();
                    let msg = format!("`{name}` takes {tensors} tensors, found {n} arguments");
                    let help = format!("its signature is `{}`", super::args::signature(op));
                    Diagnostic::new(Code::BadArgs, span, msg).help(help)
                }
            };
            return Some(self.push(d));
        }
        let dtype = self.g.ty(first_tensor).dtype;
        let mut inputs = vec![];
        for (i, (v, s)) in vals.into_iter().zip(&spans).enumerate() {
            match v {
                Val::Tensor(t) => inputs.push((i, t)),
                Val::Num(n) => inputs.push((i, self.constant_node(n, dtype, *s))),
                other => {
                    let msg = format!("expected a tensor, found {}", other.what());
                    return Some(self.error(Code::BadArgs, *s, msg));
                }
            }
        }
        Some(self.finish_op(op, inputs, vec![], span, spans))
    }

    /// `len(list)`, and `positions(list, value)`: where the value stands in the list. A string is
    /// a list of its characters.
    fn list_fn(&mut self, name: &str, args: &[ast::Arg], span: Span) -> Val {
        let vals: Vec<Val> = args.iter().map(|a| self.expr(&a.value)).collect();
        if vals.iter().any(Val::has_error) {
            return Val::Error;
        }
        let named = args.iter().any(|a| a.name.is_some() || a.inout);
        let int = |n: usize| Val::int(Expr::int(i64::try_from(n).unwrap_or(i64::MAX)));
        match (name, vals.as_slice()) {
            ("len", [list]) if !named && let Some(items) = list.items() => int(items.len()),
            ("positions", [list, v]) if !named && let Some(items) = list.items() => {
                let hit = |x: &Val| match (x, v) {
                    (Val::Str(a), Val::Str(b)) => a == b,
                    (Val::Bool(a), Val::Bool(b)) => a == b,
                    (Val::Num(a), Val::Num(b)) => a == b,
                    _ => false,
                };
                let at = items.iter().enumerate().filter(|(_, x)| hit(x));
                Val::List(at.map(|(i, _)| int(i)).collect())
            }
            ("len", _) => {
                self.error(Code::BadArgs, span, "`len` takes a list or a string: `len(list)`")
            }
            _ => {
                let msg = "`positions` takes a list or a string, and a value: `positions(list, 2)`";
                self.error(Code::BadArgs, span, msg)
            }
        }
    }

    /// A function of a dtype, such as `widen(T)`.
    fn dtype_fn(&mut self, func: &str, e: &ast::Expr) -> Option<Val> {
        let ExprKind::Path(p) = &e.kind else { return None };
        let [name] = p.segs.as_slice() else { return None };
        let d = match self.find(&name.text).and_then(|at| self.binding(at)) {
            Some(b) => match b.val {
                Val::DType(d) => d,
                _ => return None,
            },
            None => DType::parse(&name.text)?,
        };
        operators::of_dtype(func, d).map(Val::DType)
    }

    fn unknown_function(&mut self, name: &ast::Name) -> Val {
        let file = self.p.files.get(self.cx.file);
        if file.is_some_and(|f| f.lost.contains(&name.text)) {
            return Val::Error;
        }
        let mut d = Diagnostic::new(
            Code::UnknownOp,
            name.span,
            format!("there is no op or function `{}`", name.text),
        );
        let library = super::load::STD.iter().find(|(_, text)| {
            text.contains(&format!("func {}<", name.text))
                || text.contains(&format!("func {}(", name.text))
        });
        let names = self.p.callable(self.cx.file, self.cx.module);
        let all = names.into_iter().chain(registry::OPS.iter().map(|o| o.name()));
        if let Some((m, _)) = library {
            let at = file.map_or(name.span, |f| super::file_start(f.id));
            let line = format!("use std::{m}::{{{}}};", name.text);
            d = d.help(format!("the standard library has it: `{line}`")).fix(
                "import it",
                at,
                format!("{line}\n"),
            );
        } else if let Some(m) = operators::named_in_torch(&name.text) {
            d = d.help(format!("it is `{m}` here")).fix("rename", name.span, m);
        } else if let Some(m) = did_you_mean(&name.text, all) {
            d = d.help(format!("`{m}` exists")).fix("rename", name.span, m);
        }
        self.push(d)
    }
}

/// The variable that an assignment's target or an inout argument changes.
pub fn root_name(e: &ast::Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Path(p) => match p.segs.as_slice() {
            [one] => Some(&one.text),
            _ => None,
        },
        ExprKind::Index { base, .. } | ExprKind::Paren(base) => root_name(base),
        _ => None,
    }
}

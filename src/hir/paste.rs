//! Calls of functions, pasted where they stand.

use super::ItemRef;
use super::calls::root_name;
use super::elab::{Cx, Elab, Frame};
use super::value::{Binding, Instance, Val};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, Level};
use crate::ops::Sub;
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr};

/// Calls nested deeper than this are recursion in all but name.
const MAX_CALLS: usize = 64;

/// Calls that one function is pasted together of.
const MAX_PASTED: u32 = 1 << 16;

impl Elab<'_> {
    /// Counts a body that is written out here; false, with an error, where there are too many.
    pub(super) fn paste(&mut self, span: Span) -> bool {
        self.pasted = self.pasted.saturating_add(1);
        if self.pasted == MAX_PASTED + 1 {
            let msg = format!("more than {MAX_PASTED} calls are pasted into this function");
            let d = Diagnostic::new(Code::TooDeep, span, msg)
                .help("calls are pasted where they stand: use a `for` loop");
            self.push(d);
        }
        self.pasted <= MAX_PASTED
    }

    /// Pastes a function: its parameters are bound to the arguments, its body is elaborated here.
    pub fn call_func(
        &mut self,
        r: ItemRef,
        instance: Option<Instance>,
        args: &[ast::Arg],
        span: Span,
    ) -> Val {
        let p = self.p;
        let Some(item) = p.item(r) else { return Val::Error };
        let ast::ItemKind::Func(f) = &item.kind else { return Val::Error };
        if self.calls.contains(&r) {
            let d =
                Diagnostic::new(Code::Recursion, span, format!("`{}` calls itself", f.name.text))
                    .label(f.name.span, "declared here")
                    .help("calls are pasted where they stand: use a `for` loop");
            return self.push(d);
        }
        if self.calls.len() >= MAX_CALLS {
            return self.error(Code::TooDeep, span, "calls are nested too deeply");
        }
        if !self.paste(span) {
            return Val::Error;
        }
        let Some(vals) = self.match_params(f, args, span) else { return Val::Error };
        let mut cx = Cx::of(r);
        cx.instance = match instance {
            Some(i) => i,
            None if r.module == self.cx.module && r.file == self.cx.file => {
                self.cx.instance.clone()
            }
            None => cx.instance,
        };
        // inout arguments: the places that get the new values
        let targets: Vec<(usize, &ast::Expr)> = f
            .params
            .iter()
            .enumerate()
            .filter(|(_, q)| q.inout)
            .filter_map(|(i, _)| {
                let a = arg_of(f, args, i).filter(|a| a.inout)?;
                Some((i, &a.value))
            })
            .collect();
        if let Some(d) = self.inout_overlap(&targets) {
            return self.push(d);
        }
        let of = super::twin_calls::around(p, r);
        if of.is_some() && !self.twin_args_fit(r, &vals) {
            return Val::Error;
        }
        let old_cx = std::mem::replace(&mut self.cx, cx);
        let old_twin = self.twin;
        self.twin = of.or(old_twin);
        let old_scope = self.scope;
        self.scope = self.g.add_scope(f.name.text.clone(), old_scope, span);
        // the user's call of the library, which calls within the library belong to
        let call = match (p.is_library(f.name.span.file), p.is_library(span.file)) {
            (true, false) => Some(span),
            (true, true) => self.g.scope(old_scope).call,
            _ => None,
        };
        self.g.set_call(self.scope, call);
        let old_hints = std::mem::take(&mut self.hints);
        let hint_count = self.push_hints_of(&item.hints);
        self.calls.push(r);
        self.frames.push(Frame { names: vec![], function: true });
        let reported = self.diags.len();
        let bound =
            self.bind_params(f, vals, span) && f.ret.as_ref().is_none_or(|t| self.result_exists(t));
        let out = match of {
            _ if !bound => Val::Error,
            Some(_) => self.twin_result(r, &f.body),
            None => self.block_result(f),
        };
        if call == Some(span) {
            self.show_at_call(reported, &f.name.text, item.doc.as_deref(), span);
        }
        let new: Vec<Val> = targets
            .iter()
            .map(|(i, _)| {
                let name = f.params.get(*i).map_or("", |q| q.name.text.as_str());
                self.find(name)
                    .and_then(|at| self.binding(at))
                    .map_or(Val::Error, |b| b.val.clone())
            })
            .collect();
        self.frames.pop();
        self.calls.pop();
        self.pop_hints(hint_count);
        self.hints = old_hints;
        self.scope = old_scope;
        self.twin = old_twin;
        self.cx = old_cx;
        for ((_, target), v) in targets.into_iter().zip(new) {
            self.assign_value(target, v, span);
        }
        out
    }

    /// Shows what was reported inside a library function at the user's call of it, with what the
    /// function says of itself. Of errors only the first: the others follow from it, and name values
    /// that the caller does not see.
    fn show_at_call(&mut self, reported: usize, name: &str, doc: Option<&str>, call: Span) {
        let p = self.p;
        let inside = |d: &Diagnostic| d.span().is_some_and(|s| p.is_library(s.file));
        let new = self.diags.split_off(reported.min(self.diags.len()));
        let mut first = true;
        for mut d in new {
            if inside(&d) {
                if d.level == Level::Error && !std::mem::take(&mut first) {
                    continue;
                }
                d = d.at_call(call, name);
                // what helps is what the function asks for, not how to write it otherwise
                d.help = doc.map(|t| {
                    let words: Vec<&str> = t.split_whitespace().collect();
                    format!("`{name}`: {}", words.join(" "))
                });
            }
            self.diags.push(d);
        }
    }

    /// Whether two arguments are written alike, blanks apart.
    fn same_text(&self, a: &ast::Expr, b: &ast::Expr) -> bool {
        let words = |e: &ast::Expr| self.p.sources.text(e.span).split_whitespace();
        words(a).eq(words(b))
    }

    fn inout_overlap(&mut self, targets: &[(usize, &ast::Expr)]) -> Option<Diagnostic> {
        for (n, (_, a)) in targets.iter().enumerate() {
            for (_, b) in targets.iter().skip(n + 1) {
                let (x, y) = (root_name(a), root_name(b));
                let whole = |e: &ast::Expr| matches!(e.kind, ExprKind::Path(_));
                if x.is_some()
                    && x == y
                    && (whole(a) || whole(b) || self.same_text(a, b) || self.windows_meet(a, b))
                {
                    return Some(
                        Diagnostic::new(
                            Code::InoutOverlap,
                            b.span,
                            "two inout arguments of one call overlap",
                        )
                        .label(a.span, "the same buffer"),
                    );
                }
            }
        }
        None
    }

    /// Whether two windows of one variable certainly share an element. Errors in them are reported
    /// where they are read.
    fn windows_meet(&mut self, a: &ast::Expr, b: &ast::Expr) -> bool {
        let (ExprKind::Index { base, subs }, ExprKind::Index { base: other, subs: more }) =
            (&a.kind, &b.kind)
        else {
            return false;
        };
        if !matches!((&base.kind, &other.kind), (ExprKind::Path(_), ExprKind::Path(_))) {
            return false;
        }
        let reported = self.diags.len();
        let shape = match self.expr(base) {
            Val::Tensor(t) => self.g.ty(t).shape.clone(),
            _ => return false,
        };
        let x = self.subscripts(shape.clone(), subs, a.span);
        let y = self.subscripts(shape, more, b.span);
        self.diags.truncate(reported);
        let range = |s: &Sub| match s {
            Sub::At(e) => (e.clone(), e.add(&Expr::one())),
            Sub::Window { start, len, .. } => (start.clone(), start.add(len)),
        };
        let (Some(x), Some(y)) = (x, y) else { return false };
        let below = |p: &Expr, q: &Expr| self.g.vars.ge(q, &p.add(&Expr::one())) == Decision::Yes;
        x.iter().map(range).zip(y.iter().map(range)).all(|((a, b), (c, d))| {
            // a..b and c..d share an index
            below(&a, &d) && below(&c, &b)
        })
    }

    /// The value of each argument, by parameter; `None` where it takes its default.
    fn match_params(
        &mut self,
        f: &ast::Func,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<Vec<Option<(Val, Span)>>> {
        let mut out: Vec<Option<(Val, Span)>> = vec![None; f.params.len()];
        let mut next = 0;
        let mut ok = true;
        for a in args {
            let at = match &a.name {
                Some(n) => f.params.iter().position(|q| q.name.text == n.text),
                None => {
                    next += 1;
                    f.params.get(next - 1).filter(|q| q.default.is_none()).map(|_| next - 1)
                }
            };
            let Some(i) = at else {
                ok = false;
                match &a.name {
                    Some(n) => self.unknown_attr(
                        &f.name.text,
                        n,
                        f.params.iter().map(|q| q.name.text.as_str()).collect(),
                    ),
                    None => {
                        let attr = f.params.get(next - 1);
                        let msg = match attr {
                            Some(q) => format!(
                                "`{}` is given by name: `{} = ..`",
                                q.name.text, q.name.text
                            ),
                            None => format!("`{}` takes {} arguments", f.name.text, f.params.len()),
                        };
                        let mut d = Diagnostic::new(Code::BadArgs, a.span, msg)
                            .label(f.name.span, "declared here");
                        if let Some(q) = attr {
                            let before = Span { end: a.span.start, ..a.span };
                            d = d.edits("name it", vec![(before, format!("{} = ", q.name.text))]);
                        }
                        self.diags.push(d);
                    }
                }
                continue;
            };
            let Some(q) = f.params.get(i) else { continue };
            if q.inout != a.inout {
                ok = false;
                let (msg, fix) = if q.inout {
                    (format!("`{}` is updated by `{}`", q.name.text, f.name.text), "inout ")
                } else {
                    (format!("`{}` is not `inout` in `{}`", q.name.text, f.name.text), "")
                };
                let at = Span { end: a.value.span.start, ..a.span };
                self.diags.push(
                    Diagnostic::new(Code::InoutMismatch, a.span, msg)
                        .label(q.span, "declared here")
                        .fix(if q.inout { "write `inout`" } else { "remove `inout`" }, at, fix),
                );
            }
            let v = self.expr(&a.value);
            if matches!(v, Val::Error) {
                ok = false;
            }
            if let Some(slot) = out.get_mut(i) {
                *slot = Some((v, a.value.span));
            }
        }
        for (q, v) in f.params.iter().zip(&out) {
            if v.is_none() && q.default.is_none() {
                ok = false;
                let msg = format!("`{}` needs `{}`", f.name.text, q.name.text);
                self.diags
                    .push(Diagnostic::new(Code::BadArgs, span, msg).label(q.span, "declared here"));
            }
        }
        ok.then_some(out)
    }

    /// Binds parameters and generics in the callee's frame. False where a type does not fit.
    fn bind_params(&mut self, f: &ast::Func, vals: Vec<Option<(Val, Span)>>, span: Span) -> bool {
        // attributes and extents are seen by the types of the others
        for (q, v) in f.params.iter().zip(&vals) {
            if let Some((v, _)) = v
                && is_compile_time(v)
            {
                self.bind_name(q, v.clone(), None);
            }
        }
        let given: Vec<(Val, Span)> =
            vals.iter().map(|v| v.clone().unwrap_or((Val::Unit, span))).collect();
        if !self.bind_generics(f, &given) {
            return false;
        }
        // a default may use the generics and what stands before it
        let mut all = vec![];
        for (q, v) in f.params.iter().zip(vals) {
            all.push(match (v, &q.default) {
                (Some(v), _) => v,
                (None, Some(d)) => {
                    let v = self.expr(d);
                    if is_compile_time(&v) {
                        self.bind_name(q, v.clone(), None);
                    }
                    (v, d.span)
                }
                (None, None) => (Val::Error, span),
            });
        }
        let mut ok = true;
        for (q, (v, s)) in f.params.iter().zip(all) {
            match self.check_param(f, q, v, s) {
                Some((val, place)) => self.bind_name(q, val, place),
                None => ok = false,
            }
        }
        ok
    }

    fn bind_name(
        &mut self,
        q: &ast::Param,
        val: Val,
        place: Option<crate::types::placement::Placement>,
    ) {
        self.declare(Binding {
            name: q.name.text.clone(),
            val,
            mutable: q.inout,
            place,
            span: q.name.span,
        });
    }
}

/// What a parameter's name may stand for in the types of the others.
fn is_compile_time(v: &Val) -> bool {
    matches!(v, Val::Num(_) | Val::Bool(_) | Val::Str(_) | Val::Mesh(_) | Val::DType(_))
}

/// The argument of a parameter, by name or position.
fn arg_of<'a>(f: &ast::Func, args: &'a [ast::Arg], i: usize) -> Option<&'a ast::Arg> {
    let name = &f.params.get(i)?.name.text;
    args.iter()
        .find(|a| a.name.as_ref().is_some_and(|n| n.text == *name))
        .or_else(|| args.iter().filter(|a| a.name.is_none()).nth(i))
}

//! Statements, and the block-like expressions that own regions.

use super::calls::root_name;
use super::elab::{Elab, Frame};
use super::value::{Binding, Val};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::ops::{Attr, Attrs, operators};
use crate::syntax::ast::{self, ExprKind, StmtKind};
use crate::types::dim::Decision;

impl Elab<'_> {
    /// A function's body with its result checked.
    pub fn block_result(&mut self, f: &ast::Func) -> Val {
        let v = self.function_block(&f.body);
        match &f.ret {
            Some(t) => self.check_return(t, v, &f.body),
            None => v,
        }
    }

    /// The body of a function; its last statement may be a `return`.
    pub fn function_block(&mut self, b: &ast::Block) -> Val {
        let last = if b.tail.is_none() { b.stmts.len().saturating_sub(1) } else { usize::MAX };
        self.block_until(b, last)
    }

    pub fn block(&mut self, b: &ast::Block) -> Val {
        self.block_until(b, usize::MAX)
    }

    /// A block in which only the statement at `last` may be a `return`.
    fn block_until(&mut self, b: &ast::Block, last: usize) -> Val {
        for (i, st) in b.stmts.iter().enumerate() {
            if i != last && matches!(st.kind, StmtKind::Return(_)) {
                let msg = "a `return` stands last in a function";
                let d = Diagnostic::new(Code::BadReturn, st.span, msg)
                    .help("a block's value is its last expression, without `return` and `;`");
                self.push(d);
            }
        }
        self.deeper(b.span, |s| {
            s.frames.push(Frame::default());
            let mut out = Val::Unit;
            for st in &b.stmts {
                if let Some(v) = s.stmt(st) {
                    out = v;
                }
            }
            if let Some(t) = &b.tail {
                out = s.expr(t);
            } else if b.stmts.iter().any(|x| matches!(x.kind, StmtKind::Error { .. })) {
                // the value may be in what the parser skipped
                out = Val::Error;
            }
            s.frames.pop();
            out
        })
    }

    /// The value of a `return`, if it is one.
    fn stmt(&mut self, st: &ast::Stmt) -> Option<Val> {
        let n = self.push_hints(&st.hints);
        let mut out = None;
        match &st.kind {
            StmtKind::Let { pat, ty, value } => self.let_stmt(pat, ty.as_ref(), value),
            StmtKind::Assign { target, value } => {
                let v = self.expr(value);
                self.assign_value(target, v, st.span);
            }
            StmtKind::Expr(e) => {
                self.expr(e);
            }
            StmtKind::Return(e) => out = Some(self.expr(e)),
            StmtKind::Launch(l) if self.twin.is_some() => self.launch(l, st.span),
            StmtKind::Launch(_) => {
                let d = Diagnostic::new(
                    Code::BadTwin,
                    st.span,
                    "`launch` stands in the functions of a twin only",
                );
                self.push(d);
            }
            StmtKind::Error { names } => {
                for n in names {
                    self.declare(Binding {
                        name: n.text.clone(),
                        val: Val::Error,
                        mutable: true,
                        place: None,
                        span: n.span,
                    });
                }
            }
        }
        self.pop_hints(n);
        out
    }

    fn let_stmt(&mut self, pat: &ast::Pat, ty: Option<&ast::Type>, value: &ast::Expr) {
        let v = self.expr(value);
        let (v, place) = match ty {
            Some(t) if !matches!(v, Val::Error) => {
                let name = match pat {
                    ast::Pat::Name { name, .. } => format!("`{}`", name.text),
                    _ => "the pattern".to_string(),
                };
                match self.fits(t, &v, value.span, &name, t.span) {
                    Some(x) => x,
                    None => (Val::Error, None),
                }
            }
            _ => (v, None),
        };
        self.bind_pat(pat, v, place, value.span);
    }

    fn bind_pat(
        &mut self,
        pat: &ast::Pat,
        v: Val,
        place: Option<crate::types::placement::Placement>,
        span: Span,
    ) {
        match pat {
            ast::Pat::Wild(_) => {}
            ast::Pat::Name { mutable, name } => {
                if matches!(v, Val::Unit) {
                    let d = Diagnostic::new(
                        Code::NoValue,
                        span,
                        format!("this has no value to bind to `{}`", name.text),
                    )
                    .help("the last expression of a block, without `;`, is its value");
                    self.push(d);
                }
                if let Val::Tensor(t) = v {
                    let slot = self.g.value_mut(t);
                    slot.name.get_or_insert_with(|| name.text.clone());
                }
                self.declare(Binding {
                    name: name.text.clone(),
                    val: v,
                    mutable: *mutable,
                    place,
                    span: name.span,
                });
            }
            ast::Pat::Tuple(pats, s) => match v {
                Val::Tuple(vs) | Val::List(vs) if vs.len() == pats.len() => {
                    for (p, v) in pats.iter().zip(vs) {
                        self.bind_pat(p, v, None, span);
                    }
                }
                other => {
                    if !matches!(other, Val::Error) {
                        let found = match &other {
                            Val::Tuple(vs) => format!("a tuple of {}", vs.len()),
                            o => o.what().to_string(),
                        };
                        let msg = format!("the pattern takes {} values, found {found}", pats.len());
                        self.error(Code::BadPattern, *s, msg);
                    }
                    for p in pats {
                        self.bind_pat(p, Val::Error, None, span);
                    }
                }
            },
        }
    }

    /// `name = v`, or `name[window] = v`.
    pub fn assign_value(&mut self, target: &ast::Expr, v: Val, span: Span) {
        match &target.kind {
            ExprKind::Paren(x) => self.assign_value(x, v, span),
            ExprKind::Path(p) => {
                let Some(name) = p.segs.last().filter(|_| p.segs.len() == 1) else {
                    self.error(Code::BadAssign, target.span, "this cannot be assigned");
                    return;
                };
                let Some(at) = self.find(&name.text) else {
                    if let Val::Error = self.path(p) {
                        return;
                    }
                    let msg = format!("`{}` is not a variable of this function", name.text);
                    self.error(Code::BadAssign, target.span, msg);
                    return;
                };
                self.assign_binding(at, v, target.span, span);
            }
            ExprKind::Index { base, subs } => {
                if matches!(v, Val::Error) {
                    self.forget(target);
                    return;
                }
                let cur = self.expr(base);
                let Val::Tensor(t) = cur else {
                    if !matches!(cur, Val::Error) {
                        let msg = format!("{} has no windows to write", cur.what());
                        self.error(Code::BadAssign, base.span, msg);
                    }
                    return;
                };
                let (dtype, shape) = (self.g.ty(t).dtype, self.g.ty(t).shape.clone());
                let tile = match v {
                    Val::Tensor(x) => x,
                    Val::Num(n) => self.constant_node(n, dtype, span),
                    other => {
                        let msg = format!("a window takes a tensor, found {}", other.what());
                        self.error(Code::BadAssign, span, msg);
                        return;
                    }
                };
                let Some(subs) = self.subscripts(shape, subs, target.span) else {
                    self.forget(target);
                    return;
                };
                let attrs = Attrs(vec![("subs", Attr::Subs(subs))]);
                let names = [("base".to_string(), base.span), ("tile".to_string(), span)];
                let new = self.op(operators::write(), vec![t, tile], attrs, span, &names);
                if let Val::Tensor(n) = new {
                    let name = self.g.value(t).name.clone();
                    self.g.value_mut(n).name = name;
                }
                self.assign_value(base, new, span);
            }
            ExprKind::Tuple(_) => {
                let msg = "several variables cannot be assigned at once";
                self.push(
                    Diagnostic::new(Code::BadAssign, target.span, msg)
                        .help("take the tuple apart by `let (a, b) = ..;` and assign each"),
                );
            }
            _ => {
                self.error(Code::BadAssign, target.span, "this cannot be assigned");
            }
        }
    }

    /// After an error in an assignment, the variable's value is not known.
    fn forget(&mut self, target: &ast::Expr) {
        if let Some(at) = root_name(target).and_then(|n| self.find(n))
            && let Some(b) = self.binding_mut(at)
        {
            b.val = Val::Error;
        }
    }

    fn assign_binding(&mut self, at: (usize, usize), v: Val, tspan: Span, span: Span) {
        let Some(b) = self.binding(at).cloned() else { return };
        if !b.mutable {
            let mut d =
                Diagnostic::new(Code::NotMutable, tspan, format!("`{}` is not `mut`", b.name))
                    .label(b.span, "declared here")
                    .help(format!(
                        "declare it `let mut {}`; a parameter is updated as `inout {}`",
                        b.name, b.name
                    ));
            // `mut` stands in a `let`; a parameter that is updated changes its callers too
            let parameter = self.frames.get(at.0).is_some_and(|f| f.function);
            let by_let = matches!(b.val, Val::Tensor(_) | Val::Tuple(_) | Val::Error);
            if by_let && !parameter {
                d = d.fix("make it mutable", b.span, format!("mut {}", b.name));
            }
            self.push(d);
            return;
        }
        let v = match (&b.val, v) {
            (Val::Tensor(old), Val::Num(n)) => {
                let d = self.g.ty(*old).dtype;
                Val::Tensor(self.constant_node(n, d, span))
            }
            (_, v) => v,
        };
        if std::mem::discriminant(&b.val) != std::mem::discriminant(&v)
            && !matches!((&b.val, &v), (Val::Error, _) | (_, Val::Error))
        {
            let msg = format!("`{}` is {}, it is assigned {}", b.name, b.val.what(), v.what());
            let d = Diagnostic::new(Code::BadAssign, span, msg)
                .label(b.span, "declared here")
                .help("a variable keeps what it is: a tensor its dtype and shape");
            self.push(d);
            return;
        }
        if let (Val::Tensor(old), Val::Tensor(new)) = (&b.val, &v) {
            let (o, n) = (self.g.ty(*old).clone(), self.g.ty(*new).clone());
            let same = o.dtype == n.dtype
                && o.rank() == n.rank()
                && o.shape
                    .iter()
                    .zip(&n.shape)
                    .all(|(a, b)| self.g.vars.equal(a, b) == Decision::Yes);
            if !same {
                let (x, y) = (o.show(&self.g.vars), n.show(&self.g.vars));
                let code = if o.dtype != n.dtype {
                    Code::DTypeMismatch
                } else if o.rank() != n.rank() {
                    Code::RankMismatch
                } else {
                    Code::ShapeMismatch
                };
                let d = Diagnostic::new(
                    code,
                    span,
                    format!("`{}` is `{x}`, it is assigned `{y}`", b.name),
                )
                .label(b.span, format!("`{x}` declared here"))
                .help("a variable keeps its dtype and shape");
                self.push(d);
                return;
            }
            if let Some(p) = &b.place {
                self.annotate(*new, p.clone(), b.span);
            }
            let slot = self.g.value_mut(*new);
            slot.name.get_or_insert_with(|| b.name.clone());
        }
        if let Some(slot) = self.binding_mut(at) {
            slot.val = v;
        }
    }
}

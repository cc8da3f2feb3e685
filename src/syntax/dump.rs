//! The syntax tree as indented text, one node on a line, for `emit ast` and for tests. Two trees
//! are equal but for their spans exactly if [`dump_plain`] gives the same text for both.

use std::fmt::Write;

use super::ast::*;
use crate::base::{LineIndex, Span};

/// The tree with the place of each node as `line:col-line:col`; columns count bytes from 1.
pub fn dump(file: &File, text: &str) -> String {
    let mut d = Dump { out: String::new(), depth: 0, lines: Some(LineIndex::new(text)) };
    d.file(file);
    d.out
}

/// The tree without places and comments.
pub fn dump_plain(file: &File) -> String {
    let mut d = Dump { out: String::new(), depth: 0, lines: None };
    d.file(file);
    d.out
}

struct Dump {
    out: String,
    depth: usize,
    lines: Option<LineIndex>,
}

impl Dump {
    fn line(&mut self, label: &str, span: Option<Span>) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
        self.out.push_str(label);
        if let (Some(lines), Some(s)) = (&self.lines, span) {
            let ((l, c), (el, ec)) = (lines.line_col(s.start), lines.line_col(s.end));
            // writing to a string cannot fail
            let _ = write!(self.out, " {}:{}-{}:{}", l + 1, c + 1, el + 1, ec + 1);
        }
        self.out.push('\n');
    }

    fn node(
        &mut self,
        label: &str,
        span: impl Into<Option<Span>>,
        children: impl FnOnce(&mut Self),
    ) {
        self.line(label, span.into());
        self.depth += 1;
        children(self);
        self.depth -= 1;
    }

    fn leaf(&mut self, label: &str, span: impl Into<Option<Span>>) {
        self.line(label, span.into());
    }

    fn file(&mut self, f: &File) {
        self.node("file", f.span, |d| {
            if let Some(doc) = &f.doc {
                d.leaf(&format!("doc {doc:?}"), None);
            }
            d.items(&f.items);
        });
    }

    fn items(&mut self, items: &[Item]) {
        for i in items {
            self.node(&item_label(&i.kind), i.span, |d| {
                if let Some(doc) = &i.doc {
                    d.leaf(&format!("doc {doc:?}"), None);
                }
                d.hints(&i.hints);
                d.item(&i.kind);
            });
        }
    }

    fn item(&mut self, kind: &ItemKind) {
        match kind {
            ItemKind::Const { value, .. } => self.expr(value),
            ItemKind::TypeAlias { ty, .. } | ItemKind::Weight { ty, .. } => self.ty(ty),
            ItemKind::Dim { range, .. } => self.expr(range),
            ItemKind::Func(f) => self.func(f),
            ItemKind::Module { items, .. } | ItemKind::Twin { items, .. } => self.items(items),
            ItemKind::Topology(levels) => {
                for l in levels {
                    self.node(&format!("level {}", l.name.text), l.name.span, |d| {
                        d.option(l.extent.as_ref());
                    });
                }
            }
            ItemKind::Mesh(binds) => self.binds(binds),
            ItemKind::Prepare { ty, value, .. } => {
                self.ty(ty);
                self.expr(value);
            }
            ItemKind::Child { count, .. } => self.option(count.as_ref()),
            ItemKind::ExternKernel { params, .. } => {
                for p in params {
                    let mode = p.mode.map_or(String::new(), |m| format!(" {m:?}").to_lowercase());
                    let label = format!("param {}{mode}", p.name.text);
                    self.node(&label, p.span, |d| d.ty(&p.ty));
                }
            }
            ItemKind::Use { .. }
            | ItemKind::UseFile { .. }
            | ItemKind::Config { .. }
            | ItemKind::Target(_)
            | ItemKind::Error { .. } => {}
        }
    }

    fn func(&mut self, f: &Func) {
        for g in &f.generics {
            match g {
                Generic::Extent(n) => self.leaf(&format!("generic {}", n.text), n.span),
                Generic::DType { name, class } => {
                    self.leaf(&format!("generic {}: {}", name.text, class.text), name.span);
                }
                Generic::Pack(n) => self.leaf(&format!("generic ..{}", n.text), n.span),
            }
        }
        for p in &f.params {
            let label = if p.inout { "param inout " } else { "param " };
            self.node(&format!("{label}{}", p.name.text), p.span, |d| {
                if let Some(t) = &p.ty {
                    d.ty(t);
                }
                d.option(p.default.as_ref());
            });
        }
        if let Some(t) = &f.ret {
            self.node("result", t.span, |d| d.ty(t));
        }
        self.block(&f.body);
    }

    fn hints(&mut self, hints: &[Hint]) {
        for h in hints {
            self.node(&format!("hint {}", h.name.text), h.span, |d| d.args(&h.args));
        }
    }

    fn args(&mut self, args: &[Arg]) {
        for a in args {
            match &a.name {
                Some(n) => self.node(&format!("named {}", n.text), a.span, |d| d.expr(&a.value)),
                None if a.inout => self.node("inout", a.span, |d| d.expr(&a.value)),
                None => self.expr(&a.value),
            }
        }
    }

    fn ty(&mut self, t: &Type) {
        let label = match &t.kind {
            TypeKind::Named(p) => format!("type {}", path(p)),
            TypeKind::Tensor { head, .. } => format!("tensor {}", path(head)),
            TypeKind::Tuple(_) => "tuple type".into(),
            TypeKind::Mesh(axes) => format!("mesh type {}", names(axes)),
            TypeKind::Apply { head, .. } => format!("type form {}", path(head)),
            TypeKind::Error => "error type".into(),
        };
        self.node(&label, t.span, |d| {
            match &t.kind {
                TypeKind::Tensor { dims, .. } => d.exprs(dims),
                TypeKind::Tuple(types) => types.iter().for_each(|t| d.ty(t)),
                TypeKind::Apply { args, .. } => d.args(args),
                TypeKind::Named(_) | TypeKind::Mesh(_) | TypeKind::Error => {}
            }
            if let Some(p) = &t.placement {
                d.placement(p);
            }
            if let Some(r) = &t.range {
                d.node("values", r.span, |d| d.expr(r));
            }
        });
    }

    fn placement(&mut self, p: &Placement) {
        self.node(&format!("placement {}", p.storage.name()), p.span, |d| {
            if let Some(axes) = &p.axes {
                d.node("axes", None, |d| d.exprs(axes));
            }
            for s in &p.suffixes {
                d.node(&format!("suffix {}", s.name.text), s.span, |d| {
                    d.args(&s.args);
                    if let Some(strides) = &s.strides {
                        d.node("strides", None, |d| d.args(strides));
                    }
                });
            }
        });
    }

    fn block(&mut self, b: &Block) {
        self.node("block", b.span, |d| {
            for s in &b.stmts {
                d.stmt(s);
            }
            if let Some(e) = &b.tail {
                d.node("value", e.span, |d| d.expr(e));
            }
        });
    }

    fn stmt(&mut self, s: &Stmt) {
        let label = match &s.kind {
            StmtKind::Let { pat, .. } => format!("let {}", pattern(pat)),
            StmtKind::Assign { .. } => "assign".into(),
            StmtKind::Expr(_) => "drop".into(),
            StmtKind::Return(_) => "return".into(),
            StmtKind::Launch(l) => format!("launch {}", path(&l.kernel)),
            StmtKind::Error { names: n } => format!("error {}", names(n)),
        };
        self.node(label.trim_end(), s.span, |d| {
            d.hints(&s.hints);
            match &s.kind {
                StmtKind::Let { ty, value, .. } => {
                    if let Some(t) = ty {
                        d.ty(t);
                    }
                    d.expr(value);
                }
                StmtKind::Assign { target, value } => {
                    d.expr(target);
                    d.expr(value);
                }
                StmtKind::Expr(e) | StmtKind::Return(e) => d.expr(e),
                StmtKind::Launch(l) => {
                    d.args(&l.args);
                    for o in &l.options {
                        d.node(&format!("option {}", o.name.text), o.span, |d| d.args(&o.args));
                    }
                }
                StmtKind::Error { .. } => {}
            }
        });
    }

    fn binds(&mut self, binds: &[MeshBind]) {
        for b in binds {
            self.node(&format!("bind {} = {}", b.name.text, path(&b.of)), b.span, |d| {
                for s in &b.subs {
                    match s {
                        MeshSub::Axis(a) => d.axis(a),
                        MeshSub::Sub(e) => d.expr(e),
                    }
                }
                if let Some(axes) = &b.axes {
                    d.node("as", None, |d| axes.iter().for_each(|a| d.axis(a)));
                }
            });
        }
    }

    fn axis(&mut self, a: &MeshAxis) {
        self.node(&format!("axis {}", a.name.text), a.name.span, |d| d.expr(&a.extent));
    }

    fn option(&mut self, e: Option<&Expr>) {
        if let Some(e) = e {
            self.expr(e);
        }
    }

    fn exprs(&mut self, exprs: &[Expr]) {
        for e in exprs {
            self.expr(e);
        }
    }

    fn expr(&mut self, e: &Expr) {
        self.node(&expr_label(&e.kind), e.span, |d| {
            d.hints(&e.hints);
            d.operands(&e.kind);
        });
    }

    fn operands(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::List(v) | ExprKind::Tuple(v) => self.exprs(v),
            ExprKind::Paren(e) | ExprKind::Unary { operand: e, .. } => self.expr(e),
            ExprKind::Field { base, .. } => self.expr(base),
            ExprKind::Call { func, args } => {
                self.expr(func);
                self.args(args);
            }
            ExprKind::Index { base, subs } => {
                self.expr(base);
                self.exprs(subs);
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            ExprKind::Range { lo, hi, .. } => {
                for (label, e) in [("from", lo), ("to", hi)] {
                    if let Some(e) = e {
                        self.node(label, None, |d| d.expr(e));
                    }
                }
            }
            ExprKind::In { value, placement } => {
                self.expr(value);
                self.placement(placement);
            }
            ExprKind::Placement(p) => self.placement(p),
            ExprKind::For { iter, step, body, .. } => {
                self.expr(iter);
                if let Some(s) = step {
                    self.node("step", None, |d| d.expr(s));
                }
                self.block(body);
            }
            ExprKind::Mesh { binds, body } => {
                self.binds(binds);
                self.block(body);
            }
            ExprKind::On { body, .. } | ExprKind::Block(body) => self.block(body),
            ExprKind::Match { value, arms } => {
                self.expr(value);
                for a in arms {
                    self.node("arm", a.span, |d| {
                        d.expr(&a.pat);
                        d.expr(&a.body);
                    });
                }
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Path(_)
            | ExprKind::Error => {}
        }
    }
}

fn expr_label(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Int(n) => format!("int {n}"),
        ExprKind::Float(x) => format!("float {x:?}"),
        ExprKind::Bool(b) => format!("bool {b}"),
        ExprKind::Str(s) => format!("string {s:?}"),
        ExprKind::Path(p) => format!("name {}", path(p)),
        ExprKind::List(_) => "list".into(),
        ExprKind::Tuple(_) => "tuple".into(),
        ExprKind::Paren(_) => "parens".into(),
        ExprKind::Call { .. } => "call".into(),
        ExprKind::Index { .. } => "index".into(),
        ExprKind::Field { name, .. } => format!("field {}", name.text),
        ExprKind::Unary { op: UnaryOp::Neg, .. } => "unary -".into(),
        ExprKind::Unary { op: UnaryOp::Not, .. } => "unary !".into(),
        ExprKind::Binary { op, .. } => format!("binary {}", op.symbol()),
        ExprKind::Range { inclusive, .. } => {
            if *inclusive { "range ..=" } else { "range .." }.into()
        }
        ExprKind::In { .. } => "placed".into(),
        ExprKind::Placement(_) => "at".into(),
        ExprKind::For { var, .. } => format!("for {}", var.text),
        ExprKind::Mesh { .. } => "mesh".into(),
        ExprKind::On { part, .. } => format!("on {}", part.text),
        ExprKind::Match { .. } => "match".into(),
        ExprKind::Block(_) => "braces".into(),
        ExprKind::Error => "error".into(),
    }
}

fn item_label(kind: &ItemKind) -> String {
    let from = |from: &Option<Str>| match from {
        Some(s) => format!(" from {:?}", s.value),
        None => String::new(),
    };
    match kind {
        ItemKind::Use { path: p, names: None } => format!("use {}", path(p)),
        ItemKind::Use { path: p, names: Some(n) } => format!("use {} [{}]", path(p), names(n)),
        ItemKind::UseFile { path, alias } => format!("use {:?} as {}", path.value, alias.text),
        ItemKind::Config { name, path } => format!("config {} {:?}", name.text, path.value),
        ItemKind::Const { name, .. } => format!("const {}", name.text),
        ItemKind::TypeAlias { name, .. } => format!("type alias {}", name.text),
        ItemKind::Dim { name, .. } => format!("dim {}", name.text),
        ItemKind::Func(f) => {
            let vis = match f.vis {
                Vis::Private => "",
                Vis::Pub => "pub ",
                Vis::Entry => "entry ",
            };
            format!("{vis}func {}", f.name.text)
        }
        ItemKind::Module { name, .. } => format!("module {}", name.text),
        ItemKind::Twin { name, of, .. } => format!("twin {} for {}", name.text, path(of)),
        ItemKind::Target(s) => format!("target {:?}", s.value),
        ItemKind::Topology(_) => "topology".into(),
        ItemKind::Mesh(_) => "mesh".into(),
        ItemKind::Weight { name, from: f, .. } => format!("weight {}{}", name.text, from(f)),
        ItemKind::Prepare { name, .. } => format!("prepare {}", name.text),
        ItemKind::Child { name, of, from: f, .. } => {
            format!("child {}: {}{}", name.text, path(of), from(f))
        }
        ItemKind::ExternKernel { name, from, entry, .. } => {
            format!("extern kernel {} from {:?} entry {:?}", name.text, from.value, entry.value)
        }
        ItemKind::Error { names: n } => format!("error {}", names(n)).trim_end().into(),
    }
}

fn path(p: &Path) -> String {
    p.segs.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("::")
}

fn names(v: &[Name]) -> String {
    v.iter().map(|n| n.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn pattern(p: &Pat) -> String {
    match p {
        Pat::Name { mutable, name } => {
            format!("{}{}", if *mutable { "mut " } else { "" }, name.text)
        }
        Pat::Wild(_) => "_".into(),
        Pat::Tuple(v, _) => format!("({})", v.iter().map(pattern).collect::<Vec<_>>().join(", ")),
    }
}

//! Types as they are written: extents, generics, placements.

use super::elab::{Elab, is_none, show_path};
use super::value::{Binding, Val, WrittenType};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::syntax::ast::{self, ExprKind, TypeKind};
use crate::types::dim::{Decision, Expr};
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::placement::Placement;
use crate::types::ty::show_shape;

impl Elab<'_> {
    /// Extents of a type. `..B` is spread.
    pub fn extents(&mut self, dims: &[ast::Expr]) -> Option<Vec<Expr>> {
        let mut out = vec![];
        let mut ok = true;
        for d in dims {
            if let Some(vs) = self.spread(d) {
                for v in vs {
                    match self.int(v, d.span) {
                        Some(e) => out.push(e),
                        None => ok = false,
                    }
                }
                continue;
            }
            match self.extent(d) {
                Some(e) => out.push(e),
                None => ok = false,
            }
        }
        ok.then_some(out)
    }

    /// What `..B` in a list stands for; an error value where B is no list of extents.
    pub fn spread(&mut self, item: &ast::Expr) -> Option<Vec<Val>> {
        let ExprKind::Range { lo: None, hi: Some(pack), .. } = &item.kind else { return None };
        match self.expr(pack) {
            Val::List(vs) => Some(vs),
            Val::Error => Some(vec![Val::Error]),
            other => {
                let msg = format!("`..` spreads a generic of several axes, found {}", other.what());
                Some(vec![self.error(Code::BadArgs, item.span, msg)])
            }
        }
    }

    /// One extent: an integer, not negative, in which division is exact.
    pub fn extent(&mut self, e: &ast::Expr) -> Option<Expr> {
        let was = std::mem::replace(&mut self.exact, true);
        let v = self.expr(e);
        self.exact = was;
        self.extent_of(v, e)
    }

    /// The extent that an expression's value is.
    pub(super) fn extent_of(&mut self, v: Val, e: &ast::Expr) -> Option<Expr> {
        let i = match v {
            Val::Tensor(_) => {
                self.error(Code::NotConstant, e.span, "an extent is no data: extents never vary");
                return None;
            }
            v => self.int(v, e.span)?,
        };
        if let Some(u) = self.g.vars.upper(&i)
            && u < 0
        {
            let msg = format!("the extent `{}` is negative", self.g.vars.show(&i));
            self.error(Code::BadExtent, e.span, msg);
            return None;
        }
        let varies = i.vars().into_iter().find(|v| {
            self.g.vars.get(*v).is_some_and(|x| !matches!(x.kind, crate::types::dim::VarKind::Dim))
        });
        if let Some(v) = varies {
            let msg = format!(
                "the extent `{}` varies with `{}`",
                self.g.vars.show(&i),
                self.g.vars.name(v)
            );
            self.diags.push(Diagnostic::new(Code::VaryingExtent, e.span, msg).help(
                "extents never vary: walk a range of varying length with `tile(.., pad = v)`",
            ));
            return None;
        }
        Some(i)
    }

    /// The dtype that the head of a type names.
    pub fn head(&mut self, p: &ast::Path) -> Option<DType> {
        match self.path(p) {
            Val::DType(d) => Some(d),
            Val::Type(t) if t.shape.is_empty() => Some(t.dtype),
            Val::Str(s) => match DType::parse(&s).or_else(|| DType::of_torch(&s)) {
                Some(d) => Some(d),
                None => {
                    let d = Diagnostic::new(
                        Code::UnknownName,
                        p.span,
                        format!("`{}` is `{s:?}`, which names no dtype", show_path(p)),
                    )
                    .help("a dtype has its name here, such as `bf16`, or in PyTorch, `bfloat16`");
                    self.push(d);
                    None
                }
            },
            Val::Error => {
                // a misspelt dtype reads as an unknown name: say which dtype was meant
                if let ([n], Some(d)) = (p.segs.as_slice(), self.diags.last_mut())
                    && d.code == Code::UnknownName
                    && d.span() == Some(p.span)
                    && let Some(m) = did_you_mean(&n.text, DType::ALL.iter().map(|d| d.name()))
                {
                    *d = Diagnostic::new(
                        Code::UnknownName,
                        p.span,
                        format!("there is no dtype `{}`", n.text),
                    )
                    .help(format!("`{m}` exists"))
                    .fix("rename", p.span, m);
                }
                None
            }
            other => {
                let msg = format!("`{}` is {}, not a dtype", show_path(p), other.what());
                self.error(Code::BadArgs, p.span, msg);
                None
            }
        }
    }

    /// A tensor type of the source.
    pub fn written_type(&mut self, t: &ast::Type) -> Option<WrittenType> {
        let (dtype, shape) = match &t.kind {
            TypeKind::Named(p) => (self.head(p)?, vec![]),
            TypeKind::Tensor { head, dims } => {
                let d = self.head(head);
                let s = self.extents(dims);
                (d?, s?)
            }
            TypeKind::Error => return None,
            _ => {
                self.error(Code::BadArgs, t.span, "expected a tensor type such as `f32[M, N]`");
                return None;
            }
        };
        let place = match &t.placement {
            Some(p) => Some(self.placement(p, &shape)?),
            None => None,
        };
        let range = match &t.range {
            Some(r) => Some(self.value_range(r)?),
            None => None,
        };
        let n = shape.iter().try_fold(1i64, |n, e| n.checked_mul(e.as_int().unwrap_or(1)));
        if n.is_none_or(|n| n > 1 << 46) {
            let msg = "a tensor of this type has more than 2^46 elements";
            self.error(Code::TooLarge, t.span, msg);
            return None;
        }
        Some(WrittenType { dtype, shape, place, range })
    }

    fn value_range(&mut self, r: &ast::Expr) -> Option<(Expr, Expr)> {
        let ExprKind::Range { lo: Some(lo), hi: Some(hi), inclusive } = &r.kind else {
            self.error(Code::BadArgs, r.span, "expected a range such as `0..V`");
            return None;
        };
        let (a, b) = (self.int_expr(lo)?, self.int_expr(hi)?);
        let b = if *inclusive { b } else { b.sub(&Expr::one()) };
        if self.g.vars.ge(&b, &a) == Decision::No {
            self.error(Code::BadArgs, r.span, "this range has no values");
            return None;
        }
        Some((a, b))
    }

    // ---- generics

    /// Binds a function's generics from its arguments.
    pub fn bind_generics(&mut self, f: &ast::Func, vals: &[(Val, Span)]) -> bool {
        let mut ok = true;
        for (q, (v, s)) in f.params.iter().zip(vals) {
            if let Some(t) = &q.ty {
                ok &= self.infer_generics(f, t, v, *s);
            }
        }
        for g in &f.generics {
            let name = match g {
                ast::Generic::Extent(n) | ast::Generic::Pack(n) => n,
                ast::Generic::DType { name, .. } => name,
            };
            let in_frame = self.find(&name.text).is_some();
            if ok && !in_frame {
                ok = self.undetermined(f, name, vals);
            }
        }
        ok
    }

    /// No argument has determined a generic: fine where only an optional one that is not given
    /// would, an error at the argument that is no tensor, or at the generic.
    fn undetermined(&mut self, f: &ast::Func, generic: &ast::Name, vals: &[(Val, Span)]) -> bool {
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        let names =
            |t: &ast::Type| self.p.sources.text(t.span).split(word).any(|w| w == generic.text);
        let by = |(q, _): &(&ast::Param, &(Val, Span))| q.ty.as_ref().is_some_and(names);
        let all: Vec<_> = f.params.iter().zip(vals).filter(by).collect();
        if all.iter().any(|(q, (v, _))| is_absent(q, v)) {
            return true;
        }
        let d = match all.iter().find(|(_, (v, _))| !matches!(v, Val::Unit | Val::Tensor(_))) {
            Some((q, (v, s))) => {
                let (of, what) = (&f.name.text, v.what());
                let msg = format!("`{}` of `{of}` is a tensor, found {what}", q.name.text);
                Diagnostic::new(Code::BadArgs, *s, msg).label(q.span, "declared here")
            }
            None => {
                let msg = format!("`{}` is not determined by the arguments", generic.text);
                Diagnostic::new(Code::BadArgs, generic.span, msg)
            }
        };
        self.diags.push(d);
        false
    }

    fn infer_generics(&mut self, f: &ast::Func, t: &ast::Type, v: &Val, span: Span) -> bool {
        match (&t.kind, v) {
            (TypeKind::Tuple(ts), Val::Tuple(vs)) => {
                ts.iter().zip(vs).fold(true, |ok, (t, v)| self.infer_generics(f, t, v, span) && ok)
            }
            (TypeKind::Tensor { head, dims }, Val::Tensor(x)) => {
                let ty = self.g.ty(*x).clone();
                let ok = self.infer_head(f, head, ty.dtype, span);
                self.infer_dims(f, dims, &ty.shape);
                ok
            }
            (TypeKind::Named(head), Val::Tensor(x)) => {
                let d = self.g.ty(*x).dtype;
                self.infer_head(f, head, d, span)
            }
            _ => true,
        }
    }

    fn infer_head(&mut self, f: &ast::Func, head: &ast::Path, d: DType, span: Span) -> bool {
        let [name] = head.segs.as_slice() else { return true };
        for g in &f.generics {
            let ast::Generic::DType { name: n, class } = g else { continue };
            if n.text != name.text || self.find(&n.text).is_some() {
                continue;
            }
            let fits = match class.text.as_str() {
                "float" => d.is_float(),
                "int" => d.is_int(),
                "any" => true,
                other => {
                    let msg = format!("there is no dtype class `{other}`");
                    self.diags.push(
                        Diagnostic::new(Code::UnknownName, class.span, msg)
                            .help("the classes are `float`, `int` and `any`"),
                    );
                    return false;
                }
            };
            if !fits {
                let msg = format!("`{}` takes a {} dtype here, found {d}", f.name.text, class.text);
                self.diags.push(
                    Diagnostic::new(Code::BadDType, span, msg).label(n.span, "declared here"),
                );
                return false;
            }
            self.declare_generic(n, Val::DType(d));
        }
        true
    }

    fn infer_dims(&mut self, f: &ast::Func, dims: &[ast::Expr], shape: &[Expr]) {
        let pack = dims.iter().position(|d| matches!(d.kind, ExprKind::Range { lo: None, .. }));
        let extra = (shape.len() + usize::from(pack.is_some())).saturating_sub(dims.len());
        let mut at = 0;
        for (i, d) in dims.iter().enumerate() {
            if Some(i) == pack {
                let taken = shape.get(at..at + extra).unwrap_or(&[]);
                if let ExprKind::Range { hi: Some(h), .. } = &d.kind
                    && let Some(n) = generic_named(f, h, true)
                    && self.find(&n.text).is_none()
                {
                    let list = taken.iter().cloned().map(Val::int).collect();
                    self.declare_generic(n, Val::List(list));
                }
                at += extra;
                continue;
            }
            if let (Some(e), Some(n)) = (shape.get(at), generic_named(f, d, false))
                && self.find(&n.text).is_none()
            {
                self.declare_generic(n, Val::int(e.clone()));
            }
            at += 1;
        }
    }

    fn declare_generic(&mut self, n: &ast::Name, val: Val) {
        self.declare(Binding {
            name: n.text.clone(),
            val,
            mutable: false,
            place: None,
            span: n.span,
        });
    }

    /// Checks an argument against its parameter; gives the value and the variable's placement.
    pub fn check_param(
        &mut self,
        f: &ast::Func,
        q: &ast::Param,
        v: Val,
        span: Span,
    ) -> Option<(Val, Option<Placement>)> {
        let Some(t) = &q.ty else { return Some((v, None)) };
        if is_absent(q, &v) {
            return Some((v, None));
        }
        if let TypeKind::Named(p) = &t.kind
            && let [n] = p.segs.as_slice()
            && n.text == "index"
        {
            return match v {
                Val::Num(Num::Int(_)) => Some((v, None)),
                Val::Tensor(x) => match self.number_of(x, span) {
                    Val::Error => None,
                    n => Some((n, None)),
                },
                Val::Error => None,
                other => {
                    let msg = format!("`{}` is an index, found {}", q.name.text, other.what());
                    self.diags.push(
                        Diagnostic::new(Code::BadArgs, span, msg).label(q.span, "declared here"),
                    );
                    None
                }
            };
        }
        if let TypeKind::Named(p) = &t.kind
            && let [n] = p.segs.as_slice()
            && n.text == "dtype"
        {
            return match v {
                Val::DType(_) => Some((v, None)),
                Val::Error => None,
                other => {
                    let msg = format!("`{}` is a dtype, found {}", q.name.text, other.what());
                    let d = Diagnostic::new(Code::BadArgs, span, msg);
                    self.diags.push(d.label(q.span, "declared here"));
                    None
                }
            };
        }
        if let TypeKind::Mesh(axes) = &t.kind {
            return self.check_mesh_param(q, axes, v, span);
        }
        if let TypeKind::Named(head) = &t.kind
            && q.default.is_some()
            && matches!(v, Val::Num(_) | Val::Bool(_) | Val::Str(_))
        {
            return self.check_attr(q, head, v, span);
        }
        let fits =
            self.fits(t, &v, span, &format!("`{}` of `{}`", q.name.text, f.name.text), q.span);
        let (v, place) = fits?;
        Some((v, place))
    }

    /// A number, bool or string for an attribute of that type.
    fn check_attr(
        &mut self,
        q: &ast::Param,
        head: &ast::Path,
        v: Val,
        span: Span,
    ) -> Option<(Val, Option<Placement>)> {
        let (fits, want) = match show_path(head).as_str() {
            "bool" => (matches!(v, Val::Bool(_)), "`true` or `false`"),
            "str" => (matches!(v, Val::Str(_)), "a string"),
            _ => (matches!(v, Val::Num(_)), "a number"),
        };
        if fits {
            return Some((v, None));
        }
        let msg = format!("`{}` takes {want}, found {}", q.name.text, v.what());
        self.diags.push(Diagnostic::new(Code::BadAttr, span, msg).label(q.span, "declared here"));
        None
    }

    fn check_mesh_param(
        &mut self,
        q: &ast::Param,
        axes: &[ast::Name],
        v: Val,
        span: Span,
    ) -> Option<(Val, Option<Placement>)> {
        let Val::Mesh(m) = v else {
            let msg = format!("`{}` is a mesh, found {}", q.name.text, v.what());
            self.error(Code::BadArgs, span, msg);
            return None;
        };
        for a in axes {
            self.mesh_axis(m, a)?;
        }
        Some((v, None))
    }

    /// Whether the extents of a result type exist with these arguments. What does not divide, say,
    /// is so reported by the type, before an op of the body meets it.
    pub fn result_exists(&mut self, t: &ast::Type) -> bool {
        match &t.kind {
            TypeKind::Tuple(ts) => ts.iter().all(|t| self.result_exists(t)),
            TypeKind::Tensor { dims, .. } => self.extents(dims).is_some(),
            _ => true,
        }
    }

    /// Whether a value has a written type; the value (a number may become a tensor) and the
    /// placement it must have.
    pub fn fits(
        &mut self,
        t: &ast::Type,
        v: &Val,
        span: Span,
        what: &str,
        declared: Span,
    ) -> Option<(Val, Option<Placement>)> {
        match (&t.kind, v) {
            (_, Val::Error) | (TypeKind::Error, _) => None,
            (TypeKind::Tuple(ts), Val::Tuple(vs)) => {
                if ts.len() != vs.len() {
                    let msg =
                        format!("{what} is a tuple of {}, found one of {}", ts.len(), vs.len());
                    self.diags.push(
                        Diagnostic::new(Code::BadArgs, span, msg).label(declared, "declared here"),
                    );
                    return None;
                }
                let mut out = vec![];
                for (t, v) in ts.iter().zip(vs) {
                    out.push(self.fits(t, v, span, what, declared)?.0);
                }
                Some((Val::Tuple(out), None))
            }
            (TypeKind::Named(p), Val::Num(Num::Int(_)))
                if p.segs.len() == 1 && p.segs.iter().all(|s| s.text == "index") =>
            {
                Some((v.clone(), None))
            }
            (TypeKind::Tuple(_), other) => {
                let msg = format!("{what} is a tuple, found {}", other.what());
                self.diags.push(
                    Diagnostic::new(Code::BadArgs, span, msg).label(declared, "declared here"),
                );
                None
            }
            (_, Val::Num(n)) => {
                let w = self.written_type(t)?;
                if !w.shape.is_empty() {
                    let msg = format!("{what} is a tensor, found a number");
                    self.error(Code::BadArgs, span, msg);
                    return None;
                }
                let x = self.constant_node(n.clone(), w.dtype, span);
                Some((Val::Tensor(x), None))
            }
            (_, Val::Tensor(x)) => {
                let w = self.written_type(t)?;
                if !self.same_type(&w, *x, span, what, t.span) {
                    return None;
                }
                if let Some(p) = &w.place {
                    self.annotate(*x, p.clone(), t.span);
                }
                Some((v.clone(), w.place))
            }
            (_, other) => {
                let msg = format!("{what} is a tensor, found {}", other.what());
                self.diags.push(
                    Diagnostic::new(Code::BadArgs, span, msg).label(declared, "declared here"),
                );
                None
            }
        }
    }

    /// Dtype and shape equal those written; both are shown where not.
    fn same_type(
        &mut self,
        w: &WrittenType,
        x: crate::graph::ValueId,
        span: Span,
        what: &str,
        declared: Span,
    ) -> bool {
        let ty = self.g.ty(x).clone();
        let want = show_shape(w.dtype, &w.shape, &self.g.vars);
        let got = ty.show(&self.g.vars);
        let decided: Vec<Decision> =
            w.shape.iter().zip(&ty.shape).map(|(a, b)| self.g.vars.equal(a, b)).collect();
        let (code, note) = if w.dtype != ty.dtype {
            (Code::DTypeMismatch, format!("`cast(.., {})` converts", w.dtype))
        } else if w.shape.len() != ty.shape.len() {
            (Code::RankMismatch, "the ranks differ".to_string())
        } else if let Some(i) = decided.iter().position(|d| *d != Decision::Yes) {
            let (a, b) = (w.shape.get(i), ty.shape.get(i));
            let (Some(a), Some(b)) = (a, b) else { return false };
            let (a, b) = (self.g.vars.show(a), self.g.vars.show(b));
            match decided.get(i) {
                Some(Decision::No) => {
                    (Code::ShapeMismatch, format!("axis {i}: `{a}` expected, `{b}` found"))
                }
                _ => (
                    Code::Undecided,
                    format!("axis {i}: whether `{a}` and `{b}` agree is not decided"),
                ),
            }
        } else {
            return true;
        };
        let msg = format!("{what} is `{want}`, found `{got}`");
        self.diags.push(
            Diagnostic::new(code, span, msg)
                .here(format!("this is `{got}`"))
                .label(declared, format!("`{want}` declared here"))
                .help(note),
        );
        false
    }

    /// Notes that a value must have a placement.
    pub fn annotate(&mut self, v: crate::graph::ValueId, p: Placement, span: Span) {
        self.annotated.entry(v).or_insert((p, span));
    }

    /// A function's result against its declared type.
    pub fn check_return(&mut self, t: &ast::Type, v: Val, body: &ast::Block) -> Val {
        let span = body.tail.as_ref().map_or(body.span, |e| e.span);
        if matches!(v, Val::Unit) {
            let last = body.stmts.last().filter(|_| body.tail.is_none());
            let span = last.map_or(span, |s| s.span);
            let mut d = Diagnostic::new(Code::BadReturn, span, "the body has no value")
                .label(t.span, "a result is declared here")
                .help("the last expression of a block, without `;`, is its value");
            if let Some(ast::Stmt { kind: ast::StmtKind::Expr(e), span, .. }) = last
                && e.span.end < span.end
            {
                d = d.fix("remove the `;`", Span { start: e.span.end, ..*span }, "");
            }
            return self.push(d);
        }
        match self.fits(t, &v, span, "the result", t.span) {
            Some((v, _)) => v,
            None => Val::Error,
        }
    }
}

/// Whether an optional parameter, whose default is `none`, is not given.
fn is_absent(q: &ast::Param, v: &Val) -> bool {
    let none = |d: &ast::Expr| matches!(&d.kind, ExprKind::Path(p) if is_none(p));
    matches!(v, Val::Unit | Val::None) && q.default.as_ref().is_some_and(none)
}

/// The generic of a function that an extent consists of.
fn generic_named<'a>(f: &'a ast::Func, e: &ast::Expr, pack: bool) -> Option<&'a ast::Name> {
    let ExprKind::Path(p) = &e.kind else { return None };
    let [seg] = p.segs.as_slice() else { return None };
    f.generics.iter().find_map(|g| match g {
        ast::Generic::Extent(n) if !pack && n.text == seg.text => Some(n),
        ast::Generic::Pack(n) if pack && n.text == seg.text => Some(n),
        _ => None,
    })
}

//! Statements, and the block-like expressions that own regions.

use std::collections::HashSet;

use super::calls::root_name;
use super::elab::{Elab, Frame};
use super::value::{Binding, Tile, Val, Window};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Arm, NodeKind, RegionId, ValueId};
use crate::ops::{Attr, Attrs, operators};
use crate::syntax::ast::{self, ExprKind, StmtKind};
use crate::types::dim::{Decision, Expr, VarId, VarInfo, VarKind};
use crate::types::num::Num;
use crate::types::placement::{MeshId, Storage};
use crate::types::ty::TensorTy;

/// The bindings that a region assigns, and what they were before.
type Assigned = Vec<((usize, usize), Val)>;

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

    // ---- regions

    /// The outer variables that a block assigns.
    fn assigned(&self, body: &[&ast::Block]) -> Assigned {
        let mut names = vec![];
        for b in body {
            block_assigns(b, &mut HashSet::new(), &mut names);
        }
        let mut out: Assigned = vec![];
        for n in names {
            if let Some(at) = self.find(&n)
                && !out.iter().any(|(a, _)| *a == at)
                && let Some(b) = self.binding(at)
            {
                out.push((at, b.val.clone()));
            }
        }
        out
    }

    /// The tensors of variables, left to right.
    fn leaves_of(&self, at: &Assigned) -> Vec<ValueId> {
        let mut out = vec![];
        for (a, _) in at {
            if let Some(b) = self.binding(*a) {
                b.val.leaves(&mut out);
            }
        }
        out
    }

    /// Gives variables new tensors, left to right.
    fn set_leaves(&mut self, at: &Assigned, new: &[ValueId]) {
        let mut it = new.iter().copied();
        for (a, _) in at {
            if let Some(b) = self.binding_mut(*a) {
                b.val = b.val.with_leaves(&mut it);
            }
        }
    }

    /// A number that a region changed cannot leave it.
    fn check_numbers(&mut self, at: &Assigned, span: Span) {
        for (a, old) in at {
            let Some(b) = self.binding(*a).cloned() else { continue };
            if let (Val::Num(x), Val::Num(y)) = (old, &b.val)
                && x != y
            {
                let d = Diagnostic::new(
                    Code::NumberCarried,
                    span,
                    format!("`{}` is a compile-time number, it cannot change here", b.name),
                )
                .label(b.span, "declared here")
                .help("a value that changes from trip to trip is a tensor: `full(i32, 0)`");
                self.push(d);
            }
        }
    }

    fn in_region(&mut self, f: impl FnOnce(&mut Self) -> Val) -> (RegionId, Val) {
        let region = self.g.add_region();
        let outer = std::mem::replace(&mut self.region, region);
        let v = f(self);
        self.region = outer;
        (region, v)
    }

    /// Finishes a region without carried values: results are the value's tensors and the
    /// variables', which become the node's outputs. Gives the value seen outside.
    fn close(
        &mut self,
        region: RegionId,
        v: Val,
        at: &Assigned,
        kind: NodeKind,
        span: Span,
        outside: bool,
    ) -> Val {
        let mut results = vec![];
        v.leaves(&mut results);
        let own = results.len();
        results.extend(self.leaves_of(at));
        let tys: Vec<TensorTy> = results
            .iter()
            .map(|r| {
                let mut t = self.g.ty(*r).clone();
                if outside && t.place.storage != Storage::Gmem {
                    // what is wrong with leaving is said by the placement rules
                    t.place.varying.clear();
                }
                t
            })
            .collect();
        let names: Vec<Option<String>> =
            results.iter().map(|r| self.g.value(*r).name.clone()).collect();
        self.g.region_mut(region).results = results;
        let outs = self.add_node(kind, vec![], tys, span);
        for (o, n) in outs.iter().zip(names) {
            self.g.value_mut(*o).name = n;
        }
        self.set_leaves(at, outs.get(own..).unwrap_or(&[]));
        v.with_leaves(&mut outs.iter().copied())
    }

    pub fn mesh_block(&mut self, binds: &[ast::MeshBind], body: &ast::Block, span: Span) -> Val {
        if self.constant {
            return self.error(Code::NotConstant, span, "a mesh block is no compile-time value");
        }
        let at = self.assigned(&[body]);
        let mut meshes: Option<Vec<MeshId>> = None;
        let (region, v) = self.in_region(|s| {
            s.block_frame(|s| {
                meshes = s.bind_meshes(binds);
                let Some(ms) = &meshes else {
                    s.declare_broken(binds);
                    return s.block(body);
                };
                let n = s.open.len();
                s.open.extend(ms.iter().copied());
                let v = s.block(body);
                s.open.truncate(n);
                v
            })
        });
        self.check_numbers(&at, span);
        let Some(meshes) = meshes else { return Val::Error };
        let outermost = self.open.is_empty();
        let kind = NodeKind::Mesh { meshes, body: region };
        let header = Span { end: body.span.start, ..span };
        self.close(region, v, &at, kind, header, outermost)
    }

    /// After an error in a mesh's declaration its names are silent.
    fn declare_broken(&mut self, binds: &[ast::MeshBind]) {
        for b in binds {
            if self.find(&b.name.text).is_none() {
                self.declare(Binding {
                    name: b.name.text.clone(),
                    val: Val::Error,
                    mutable: false,
                    place: None,
                    span: b.name.span,
                });
            }
        }
    }

    pub fn on_block(&mut self, part: &ast::Name, body: &ast::Block, span: Span) -> Val {
        let path = ast::Path { segs: vec![part.clone()], span: part.span };
        let m = match self.path(&path) {
            Val::Mesh(m) => m,
            Val::Error => return Val::Error,
            other => {
                let msg = format!("`on` takes a part of a mesh, found {}", other.what());
                return self.error(Code::BadArgs, part.span, msg);
            }
        };
        let at = self.assigned(&[body]);
        let (region, v) = self.in_region(|s| s.block(body));
        self.check_numbers(&at, span);
        let header = Span { end: body.span.start, ..span };
        self.close(region, v, &at, NodeKind::On { part: m, body: region }, header, false)
    }

    // ---- loops

    pub fn for_loop(
        &mut self,
        var: &ast::Name,
        iter: &ast::Expr,
        step: Option<&ast::Expr>,
        body: &ast::Block,
        span: Span,
    ) -> Val {
        let Some((id, start, stop, step, val)) = self.loop_var(var, iter, step) else {
            // the body is still looked at, with a silent variable
            self.in_region(|s| {
                s.block_frame(|s| {
                    s.bind_loop_var(var, Val::Error);
                    s.block(body)
                })
            });
            return Val::Error;
        };
        let at = self.assigned(&[body]);
        let inits = self.leaves_of(&at);
        let region = self.g.add_region();
        let params: Vec<ValueId> = inits
            .iter()
            .map(|v| {
                let (ty, span) = (self.g.ty(*v).clone(), self.g.value(*v).span);
                let name = self.g.value(*v).name.clone();
                let p = self.g.add_region_param(region, ty, span);
                self.g.value_mut(p).name = name;
                p
            })
            .collect();
        self.set_leaves(&at, &params);
        let outer = std::mem::replace(&mut self.region, region);
        self.conditional += 1;
        self.block_frame(|s| {
            s.bind_loop_var(var, val);
            s.block(body)
        });
        self.conditional -= 1;
        self.region = outer;
        self.check_numbers(&at, span);
        let results = self.leaves_of(&at);
        if results.len() != inits.len() {
            return Val::Unit; // a variable became an error inside
        }
        self.g.region_mut(region).results = results.clone();
        let tys: Vec<TensorTy> = inits.iter().map(|v| self.g.ty(*v).clone()).collect();
        let names: Vec<Option<String>> =
            inits.iter().map(|v| self.g.value(*v).name.clone()).collect();
        let kind = NodeKind::Loop { var: id, start, stop, step, body: region };
        let header = Span { end: body.span.start, ..span };
        let outs = self.add_node(kind, inits, tys, header);
        for (o, n) in outs.iter().zip(names) {
            self.g.value_mut(*o).name = n;
        }
        self.set_leaves(&at, &outs);
        Val::Unit
    }

    fn bind_loop_var(&mut self, var: &ast::Name, val: Val) {
        self.declare(Binding {
            name: var.text.clone(),
            val,
            mutable: false,
            place: None,
            span: var.span,
        });
    }

    /// The loop's variable, bounds and step, and the value its name has in the body.
    fn loop_var(
        &mut self,
        var: &ast::Name,
        iter: &ast::Expr,
        step: Option<&ast::Expr>,
    ) -> Option<(VarId, Expr, Expr, Expr, Val)> {
        if let ExprKind::Call { func, args } = &iter.kind
            && matches!(&func.kind, ExprKind::Path(p) if p.segs.len() == 1 && p.segs[0].text == "tile")
        {
            if let Some(s) = step {
                self.error(Code::BadArgs, s.span, "`tile` has no `step`: it goes by whole windows");
                return None;
            }
            return self.tile_var(var, args, iter.span);
        }
        let w = match self.expr(iter) {
            Val::Window(w) => w,
            Val::Error => return None,
            other => {
                let d = Diagnostic::new(
                    Code::BadArgs,
                    iter.span,
                    format!("a `for` walks a range, found {}", other.what()),
                )
                .help("`for i in 0..n { }` or `for w in tile(n, 64) { }`");
                self.push(d);
                return None;
            }
        };
        let s = match step {
            Some(s) => {
                let e = self.int_expr(s)?;
                if self.g.vars.ge(&e, &Expr::one()) != Decision::Yes {
                    let shown = self.g.vars.show(&e);
                    self.error(
                        Code::BadArgs,
                        s.span,
                        format!("the step `{shown}` is not positive"),
                    );
                    return None;
                }
                e
            }
            None => Expr::one(),
        };
        let id = self.g.vars.add(VarInfo {
            name: var.text.clone(),
            kind: VarKind::Loop,
            lo: w.start.clone(),
            hi: w.stop.sub(&Expr::one()),
            span: var.span,
        });
        Some((id, w.start, w.stop, s, Val::int(Expr::var(id))))
    }

    /// `tile(K, 64)`, `tile(a..b, 64, pad = v)`: the variable counts trips.
    fn tile_var(
        &mut self,
        var: &ast::Name,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<(VarId, Expr, Expr, Expr, Val)> {
        let mut pad = None;
        let mut plain = vec![];
        for a in args {
            match &a.name {
                Some(n) if n.text == "pad" => match self.expr(&a.value) {
                    Val::Num(n) => pad = Some(n),
                    Val::Bool(b) => pad = Some(Num::Int(Expr::int(i64::from(b)))),
                    Val::Error => return None,
                    other => {
                        let msg = format!("`pad` is a number, found {}", other.what());
                        self.error(Code::BadAttr, a.span, msg);
                        return None;
                    }
                },
                Some(n) => {
                    let msg = format!("`tile` has no attribute `{}`", n.text);
                    let d = Diagnostic::new(Code::UnknownAttr, n.span, msg).help("it has `pad`");
                    self.push(d);
                    return None;
                }
                None => plain.push(&a.value),
            }
        }
        let [range, size] = plain.as_slice() else {
            self.error(Code::BadArgs, span, "`tile` takes a range and a length: `tile(K, 64)`");
            return None;
        };
        let (lo, hi) = match self.expr(range) {
            Val::Window(w) => (w.start, w.stop),
            v => (Expr::zero(), self.int(v, range.span)?),
        };
        let n = self.int_expr(size)?;
        if self.g.vars.ge(&n, &Expr::one()) != Decision::Yes {
            let shown = self.g.vars.show(&n);
            self.error(
                Code::BadArgs,
                size.span,
                format!("the window's length `{shown}` is not positive"),
            );
            return None;
        }
        let len = hi.sub(&lo);
        let trips = match (len.exact_div(&n), &pad) {
            (Some(q), _) => q,
            (None, Some(_)) => len.ceil_div(&n),
            (None, None) => {
                let (l, m) = (self.g.vars.show(&len), self.g.vars.show(&n));
                let certain = len.as_int().is_some() && n.as_int().is_some();
                let msg = if certain {
                    format!("a range of {l} is not divided evenly by windows of {m}")
                } else {
                    format!("`{l}` is not known to be a multiple of `{m}`")
                };
                let at = Span { start: size.span.end, ..size.span };
                let d = Diagnostic::new(Code::Indivisible, span, msg)
                    .help("`pad = v` lets the last window run past the end: reads there give `v`")
                    .fix("pad the last window", at, ", pad = 0.0");
                self.push(d);
                return None;
            }
        };
        let id = self.g.vars.add(VarInfo {
            name: var.text.clone(),
            kind: VarKind::Loop,
            lo: Expr::zero(),
            hi: trips.sub(&Expr::one()),
            span: var.span,
        });
        let i = Expr::var(id);
        let start = lo.add(&i.mul(&n));
        let w = Window { stop: start.add(&n), start, tile: Some(Tile { index: i, end: hi, pad }) };
        Some((id, Expr::zero(), trips, Expr::one(), Val::Window(w)))
    }

    // ---- match

    pub fn match_block(&mut self, value: &ast::Expr, arms: &[ast::Arm], span: Span) -> Val {
        let v = match self.expr(value) {
            Val::Bool(b) => Val::int(Expr::int(i64::from(b))),
            Val::Str(s) => return self.match_text(&s, value.span, arms),
            v => v,
        };
        let what = match self.int(v, value.span) {
            Some(e) => e,
            None => return Val::Error,
        };
        let varies = what
            .vars()
            .into_iter()
            .any(|v| self.g.vars.get(v).is_some_and(|i| i.kind != VarKind::Dim));
        if varies {
            let d = Diagnostic::new(
                Code::NotConstant,
                value.span,
                format!("`{}` is not known at compile time", self.g.vars.show(&what)),
            )
            .help("`match` chooses by dims, consts and config values; `where` chooses by data");
            return self.push(d);
        }
        let (Some(lo), Some(hi)) = (self.g.vars.lower(&what), self.g.vars.upper(&what)) else {
            return self.error(Code::NotConstant, value.span, "this has no bounds to match");
        };
        let Some(ranges) = self.arm_ranges(arms, lo, hi) else { return Val::Error };
        if !self.exhaustive(&ranges, lo, hi, &what, value.span, arms) {
            return Val::Error;
        }
        if let Some(k) = what.as_int() {
            let i = ranges.iter().position(|(a, b)| *a <= k && k <= *b);
            return match i.and_then(|i| arms.get(i)) {
                Some(a) => self.expr(&a.body),
                None => Val::Error,
            };
        }
        self.match_arms(&what, arms, &ranges, lo, hi, span)
    }

    /// A `match` of a string: the first arm with that text, or `_`.
    fn match_text(&mut self, text: &str, span: Span, arms: &[ast::Arm]) -> Val {
        for a in arms {
            let hit = match &a.pat.kind {
                ExprKind::Path(p) if p.segs.len() == 1 && p.segs[0].text == "_" => true,
                _ => match self.expr(&a.pat) {
                    Val::Str(s) => s == text,
                    Val::Error => return Val::Error,
                    v => {
                        let msg =
                            format!("the pattern of a string is a string, found {}", v.what());
                        return self.error(Code::BadArgs, a.pat.span, msg);
                    }
                },
            };
            if hit {
                return self.expr(&a.body);
            }
        }
        let d = Diagnostic::new(
            Code::NonExhaustive,
            span,
            format!("no arm of this `match` covers `{text:?}`"),
        )
        .help(format!("add an arm `{text:?} => ..` or `_ => ..`"));
        self.push(d)
    }

    fn arm_ranges(&mut self, arms: &[ast::Arm], lo: i64, hi: i64) -> Option<Vec<(i64, i64)>> {
        let mut out = vec![];
        for a in arms {
            out.push(match &a.pat.kind {
                ExprKind::Path(p) if p.segs.len() == 1 && p.segs[0].text == "_" => (lo, hi),
                ExprKind::Range { lo: a, hi: b, inclusive } => {
                    let x = match a {
                        Some(e) => self.const_int(e)?,
                        None => lo,
                    };
                    let y = match b {
                        Some(e) => self.const_int(e)? - i64::from(!inclusive),
                        None => hi,
                    };
                    (x, y)
                }
                ExprKind::Bool(b) => (i64::from(*b), i64::from(*b)),
                _ => {
                    let k = self.const_int(&a.pat)?;
                    (k, k)
                }
            });
        }
        Some(out)
    }

    fn const_int(&mut self, e: &ast::Expr) -> Option<i64> {
        let x = self.int_expr(e)?;
        if x.as_int().is_none() {
            let shown = self.g.vars.show(&x);
            self.error(
                Code::NotConstant,
                e.span,
                format!("a pattern is constant, `{shown}` is not"),
            );
        }
        x.as_int()
    }

    fn exhaustive(
        &mut self,
        ranges: &[(i64, i64)],
        lo: i64,
        hi: i64,
        what: &Expr,
        span: Span,
        arms: &[ast::Arm],
    ) -> bool {
        // each arm takes what the arms before it left
        let mut left = vec![(lo, hi)];
        for ((a, b), arm) in ranges.iter().zip(arms) {
            let mut next = vec![];
            let mut hit = false;
            for (x, y) in left {
                if *b < x || *a > y {
                    next.push((x, y));
                    continue;
                }
                hit = true;
                if x < *a {
                    next.push((x, a - 1));
                }
                if y > *b {
                    next.push((b + 1, y));
                }
            }
            left = next;
            if !hit && what.as_int().is_none() {
                self.diags.push(
                    Diagnostic::new(Code::UnreachableArm, arm.pat.span, "this arm is never chosen")
                        .help("earlier arms or the bounds of the value leave it nothing"),
                );
            }
        }
        let Some((x, y)) = left.first().copied() else { return true };
        let shown = self.g.vars.show(what);
        let missing = if x == y { format!("{x}") } else { format!("{x}..={y}") };
        let mut d = Diagnostic::new(
            Code::NonExhaustive,
            span,
            format!("`match {shown}` does not cover {missing}"),
        )
        .here(format!("`{shown}` is {lo}..={hi}"))
        .help(format!("add an arm `{missing} => ..`"));
        if let Some(last) = arms.last() {
            d = d.label(last.span, "the last arm");
        }
        self.push(d);
        false
    }

    fn match_arms(
        &mut self,
        what: &Expr,
        arms: &[ast::Arm],
        ranges: &[(i64, i64)],
        lo: i64,
        hi: i64,
        span: Span,
    ) -> Val {
        // a bare dim is narrowed inside an arm
        let dim = what.vars().into_iter().next().filter(|v| *what == Expr::var(*v));
        let bodies: Vec<&ast::Expr> = arms.iter().map(|a| &a.body).collect();
        let mut names = vec![];
        for b in &bodies {
            expr_assigns(b, &mut HashSet::new(), &mut names);
        }
        let mut at: Assigned = vec![];
        for n in names {
            if let Some(a) = self.find(&n)
                && !at.iter().any(|(x, _)| *x == a)
                && let Some(b) = self.binding(a)
            {
                at.push((a, b.val.clone()));
            }
        }
        let mut out_arms = vec![];
        let mut shape: Option<(Val, Vec<TensorTy>, Span)> = None;
        let mut taken: Vec<(i64, i64)> = vec![];
        for (arm, (a, b)) in arms.iter().zip(ranges) {
            let (a, b) = narrow(&taken, (*a).max(lo), (*b).min(hi));
            taken.push((a, b));
            if a > b {
                continue;
            }
            let old = dim.and_then(|d| self.g.vars.set_bounds(d, Expr::int(a), Expr::int(b)));
            self.conditional += 1;
            let (region, v) = self.in_region(|s| s.block_frame(|s| s.expr(&arm.body)));
            self.conditional -= 1;
            if let (Some(d), Some((l, h))) = (dim, old) {
                self.g.vars.set_bounds(d, l, h);
            }
            self.check_numbers(&at, arm.span);
            let mut results = vec![];
            v.leaves(&mut results);
            results.extend(self.leaves_of(&at));
            let tys: Vec<TensorTy> = results.iter().map(|r| self.g.ty(*r).clone()).collect();
            self.g.region_mut(region).results = results;
            for (x, old) in &at {
                if let Some(slot) = self.binding_mut(*x) {
                    slot.val = old.clone();
                }
            }
            if matches!(v, Val::Error) {
                shape.get_or_insert((Val::Error, tys, arm.body.span));
                continue;
            }
            match &shape {
                Some((Val::Error, ..)) | None => shape = Some((v, tys, arm.body.span)),
                Some((_, first, first_span)) => {
                    let (first, first_span) = (first.clone(), *first_span);
                    if !self.same_arms(&first, &tys, arm.body.span, first_span) {
                        return Val::Error;
                    }
                }
            }
            out_arms.push(Arm { lo: Expr::int(a), hi: Expr::int(b), region });
        }
        let Some((v, tys, _)) = shape else { return Val::Error };
        if matches!(v, Val::Error) {
            return Val::Error;
        }
        let kind = NodeKind::Match { value: what.clone(), arms: out_arms };
        let outs = self.add_node(kind, vec![], tys, span);
        let mut own = vec![];
        v.leaves(&mut own);
        self.set_leaves(&at, outs.get(own.len()..).unwrap_or(&[]));
        v.with_leaves(&mut outs.iter().copied())
    }

    fn same_arms(&mut self, a: &[TensorTy], b: &[TensorTy], span: Span, first: Span) -> bool {
        let same = a.len() == b.len()
            && a.iter().zip(b).all(|(x, y)| {
                x.dtype == y.dtype
                    && x.rank() == y.rank()
                    && x.shape
                        .iter()
                        .zip(&y.shape)
                        .all(|(p, q)| self.g.vars.equal(p, q) == Decision::Yes)
            });
        if !same {
            let show = |t: &[TensorTy]| {
                t.iter().map(|t| t.show(&self.g.vars)).collect::<Vec<_>>().join(", ")
            };
            let (x, y) = (show(a), show(b));
            let d = Diagnostic::new(
                Code::ShapeMismatch,
                span,
                format!("the arms of a `match` differ: `{x}` and `{y}`"),
            )
            .label(first, format!("`{x}`"));
            self.push(d);
        }
        same
    }
}

/// What of `a..=b` earlier arms have left, where that is one range.
fn narrow(taken: &[(i64, i64)], a: i64, b: i64) -> (i64, i64) {
    let (mut a, mut b) = (a, b);
    for _ in 0..taken.len() {
        for (x, y) in taken {
            if *x <= a && a <= *y {
                a = y + 1;
            }
            if *x <= b && b <= *y {
                b = x - 1;
            }
        }
    }
    (a, b)
}

fn block_assigns(b: &ast::Block, own: &mut HashSet<String>, out: &mut Vec<String>) {
    let mut own = own.clone();
    for s in &b.stmts {
        match &s.kind {
            StmtKind::Let { pat, value, .. } => {
                expr_assigns(value, &mut own, out);
                pat_names(pat, &mut own);
            }
            StmtKind::Assign { target, value } => {
                expr_assigns(value, &mut own, out);
                if let Some(n) = root_name(target)
                    && !own.contains(n)
                {
                    out.push(n.to_string());
                }
            }
            StmtKind::Expr(e) | StmtKind::Return(e) => expr_assigns(e, &mut own, out),
            StmtKind::Launch(_) | StmtKind::Error { .. } => {}
        }
    }
    if let Some(t) = &b.tail {
        expr_assigns(t, &mut own, out);
    }
}

fn pat_names(p: &ast::Pat, out: &mut HashSet<String>) {
    match p {
        ast::Pat::Name { name, .. } => {
            out.insert(name.text.clone());
        }
        ast::Pat::Wild(_) => {}
        ast::Pat::Tuple(ps, _) => ps.iter().for_each(|p| pat_names(p, out)),
    }
}

/// The outer names that an expression assigns: inside its blocks, or as `inout` arguments.
fn expr_assigns(e: &ast::Expr, own: &mut HashSet<String>, out: &mut Vec<String>) {
    match &e.kind {
        ExprKind::Call { func, args } => {
            expr_assigns(func, own, out);
            for a in args {
                if a.inout
                    && let Some(n) = root_name(&a.value)
                    && !own.contains(n)
                {
                    out.push(n.to_string());
                }
                expr_assigns(&a.value, own, out);
            }
        }
        ExprKind::List(v) | ExprKind::Tuple(v) => v.iter().for_each(|x| expr_assigns(x, own, out)),
        ExprKind::Paren(x)
        | ExprKind::Unary { operand: x, .. }
        | ExprKind::Field { base: x, .. } => {
            expr_assigns(x, own, out);
        }
        ExprKind::Index { base, subs } => {
            expr_assigns(base, own, out);
            subs.iter().for_each(|x| expr_assigns(x, own, out));
        }
        ExprKind::Binary { lhs, rhs, .. } => {
            expr_assigns(lhs, own, out);
            expr_assigns(rhs, own, out);
        }
        ExprKind::For { var, body, .. } => {
            let mut own = own.clone();
            own.insert(var.text.clone());
            block_assigns(body, &mut own, out);
        }
        ExprKind::Mesh { body, .. } | ExprKind::On { body, .. } | ExprKind::Block(body) => {
            block_assigns(body, own, out);
        }
        ExprKind::Match { arms, .. } => {
            arms.iter().for_each(|a| expr_assigns(&a.body, own, out));
        }
        _ => {}
    }
}

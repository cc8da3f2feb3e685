//! The state of elaboration, names, and the making of nodes.

use super::value::{Binding, Instance, Val};
use super::{Decl, ItemRef, Program, item_name};
use crate::base::{HashMap, HashSet, Span};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::{Graph, Hint, Node, NodeKind, RegionId, ScopeId, ValueId};
use crate::ops::{Attrs, Call, Op, OpError, Role};
use crate::syntax::ast;
use crate::types::dim::{Env, Expr, VarId, VarInfo, VarKind};
use crate::types::dtype::DType;
use crate::types::num::Num;
use crate::types::placement::{AxisId, MeshId, Placement};
use crate::types::ty::TensorTy;

/// Where names are looked up.
#[derive(Clone, Debug)]
pub struct Cx {
    pub file: usize,
    /// The module or twin, by its index among the file's items.
    pub module: Option<usize>,
    /// The child instance whose weights are meant; empty for the module that runs.
    pub instance: Instance,
}

/// The names of one block.
#[derive(Default)]
pub struct Frame {
    pub names: Vec<Binding>,
    /// The outermost block of a function: names of the caller are not seen.
    pub function: bool,
}

pub struct Elab<'p> {
    pub p: &'p Program,
    pub g: Graph,
    pub region: RegionId,
    pub scope: ScopeId,
    pub cx: Cx,
    pub frames: Vec<Frame>,
    pub diags: Vec<Diagnostic>,
    /// Hints of the statements around.
    pub hints: Vec<Hint>,
    /// Places of the hints that applied to something.
    pub hint_used: HashSet<Span>,
    /// The meshes around, parts included.
    pub open: Vec<MeshId>,
    /// The functions being pasted, for recursion.
    pub calls: Vec<ItemRef>,
    /// Placements that annotations demand of values.
    pub annotated: HashMap<ValueId, (Placement, Span)>,
    pub weights: HashMap<String, ValueId>,
    /// In a twin's function: the module it stands for.
    pub twin: Option<ItemRef>,
    /// Sizes of the dims, where a twin's function is followed at stated ones.
    pub sizes: Option<Env>,
    /// What such a function starts.
    pub recorder: Option<super::steps::Recorder>,
    pub launches: Vec<super::kernels::LaunchForm>,
    /// Division in an extent must be exact.
    pub exact: bool,
    /// Consts and types are folded here: no tensors.
    pub constant: bool,
    /// Loops and arms around: what stands in them may never run.
    pub conditional: u32,
    depth: u32,
    /// Calls pasted so far.
    pub pasted: u32,
}

/// Nesting of expressions, blocks and calls that elaboration follows.
const MAX_DEPTH: u32 = 400;

impl<'p> Elab<'p> {
    pub fn new(p: &'p Program, cx: Cx, name: &str, span: Span) -> Elab<'p> {
        let mut g = Graph::new(name, span);
        g.vars = p.vars.clone();
        let (region, scope) = (g.root, ScopeId(0));
        Elab {
            p,
            g,
            region,
            scope,
            cx,
            frames: vec![Frame { names: vec![], function: true }],
            diags: vec![],
            hints: vec![],
            hint_used: HashSet::default(),
            open: vec![],
            calls: vec![],
            annotated: HashMap::default(),
            weights: HashMap::default(),
            twin: None,
            sizes: None,
            recorder: None,
            launches: vec![],
            exact: false,
            constant: false,
            conditional: 0,
            depth: 0,
            pasted: 0,
        }
    }

    pub fn error(&mut self, code: Code, span: Span, msg: impl Into<String>) -> Val {
        self.diags.push(Diagnostic::new(code, span, msg));
        Val::Error
    }

    pub fn push(&mut self, d: Diagnostic) -> Val {
        self.diags.push(d);
        Val::Error
    }

    /// Runs `f` one level deeper; an error where nesting is too deep.
    pub fn deeper(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Val) -> Val {
        if self.depth >= MAX_DEPTH {
            return self.error(Code::TooDeep, span, "this is nested too deeply");
        }
        self.depth += 1;
        let v = f(self);
        self.depth -= 1;
        v
    }

    // ---- names

    pub fn declare(&mut self, b: Binding) {
        if let Some(f) = self.frames.last_mut() {
            f.names.push(b);
        }
    }

    /// The binding of a name, as (frame, index); the innermost and latest.
    pub fn find(&self, name: &str) -> Option<(usize, usize)> {
        for (fi, f) in self.frames.iter().enumerate().rev() {
            if let Some(i) = f.names.iter().rposition(|b| b.name == name) {
                return Some((fi, i));
            }
            if f.function {
                break;
            }
        }
        // the meshes of the module itself are seen by all its functions
        let outer = self.frames.first()?;
        let i =
            outer.names.iter().rposition(|b| b.name == name && matches!(b.val, Val::Mesh(_)))?;
        Some((0, i))
    }

    pub fn binding(&self, at: (usize, usize)) -> Option<&Binding> {
        self.frames.get(at.0)?.names.get(at.1)
    }

    pub fn binding_mut(&mut self, at: (usize, usize)) -> Option<&mut Binding> {
        self.frames.get_mut(at.0)?.names.get_mut(at.1)
    }

    /// The value of a path in an expression.
    pub fn path(&mut self, path: &ast::Path) -> Val {
        if let [name] = path.segs.as_slice() {
            if let Some(b) = self.find(&name.text).and_then(|at| self.binding(at)) {
                return b.val.clone();
            }
            if let Some(d) = DType::parse(&name.text) {
                return Val::DType(d);
            }
        }
        match self.p.lookup(self.cx.file, self.cx.module, path) {
            Some(Decl::Item(r)) => self.item_value(r, path),
            Some(Decl::File(_)) => {
                let name = show_path(path);
                self.error(Code::BadArgs, path.span, format!("`{name}` is a file, not a value"))
            }
            None if is_none(path) => Val::None,
            None => match self.module_name(path) {
                Some(v) => v,
                None => self.unknown(path),
            },
        }
    }

    fn unknown(&mut self, path: &ast::Path) -> Val {
        let Some(name) = path.segs.last() else { return Val::Error };
        let file = self.p.files.get(self.cx.file);
        if file.is_some_and(|f| path.segs.iter().any(|s| f.lost.contains(&s.text))) {
            return Val::Error;
        }
        let shown = show_path(path);
        let mut d = Diagnostic::new(
            Code::UnknownName,
            path.span,
            format!("`{shown}` is not declared here"),
        );
        let locals: Vec<String> =
            self.frames.iter().flat_map(|f| &f.names).map(|b| b.name.clone()).collect();
        let names = self.p.visible(self.cx.file, self.cx.module);
        let all = locals.iter().map(String::as_str).chain(names);
        if let Some((m, weight)) = self.weight_elsewhere(&name.text) {
            d = d
                .label(weight, "declared here")
                .help(format!("`{}` is a weight of module `{m}`: weights are seen inside their module only, pass it as an argument", name.text));
        } else if let Some(t) = DType::of_torch(&name.text) {
            d = d.help(format!("the dtype is `{t}` here")).fix("rename", name.span, t.name());
        } else if let Some(m) = did_you_mean(&name.text, all) {
            d = d.help(format!("`{m}` is declared")).fix("rename", name.span, m);
        }
        self.push(d)
    }

    /// A module of this file that has a weight of this name.
    fn weight_elsewhere(&self, name: &str) -> Option<(String, Span)> {
        let info = self.p.files.get(self.cx.file)?;
        info.inner.iter().find_map(|(m, names)| {
            let r = ItemRef { file: self.cx.file, module: Some(*m), item: *names.get(name)? };
            let item = self.p.item(r)?;
            let ast::ItemKind::Weight { name, .. } = &item.kind else { return None };
            let module = item_name(&info.ast.items.get(*m)?.kind)?;
            Some((module.text.clone(), name.span))
        })
    }

    fn item_value(&mut self, r: ItemRef, path: &ast::Path) -> Val {
        use ast::ItemKind::*;
        let Some(item) = self.p.item(r) else { return Val::Error };
        match &item.kind {
            Const { .. } => self.const_value(r, path.span),
            Config { .. } => self.p.configs.get(&r).map_or(Val::Error, |c| Val::Config(c.clone())),
            Dim { .. } => match self.p.dims.get(&r) {
                Some(v) => Val::int(self.stated(*v).unwrap_or_else(|| Expr::var(*v))),
                None => Val::Error,
            },
            TypeAlias { ty, .. } => {
                let ty = ty.clone();
                self.in_item(r, |e| match e.written_type(&ty) {
                    Some(w) if w.shape.is_empty() && w.place.is_none() => Val::DType(w.dtype),
                    Some(w) => Val::Type(Box::new(w)),
                    None => Val::Error,
                })
            }
            Func(_) => Val::Func(r, None),
            Weight { .. } | Prepare { .. } if self.constant => {
                self.error(Code::NotConstant, path.span, "a weight is no compile-time value")
            }
            Weight { .. } => self.weight(r),
            Prepare { .. } => self.prepared(r),
            Child { .. } => self.child(r),
            _ => {
                let name = show_path(path);
                self.error(Code::BadArgs, path.span, format!("`{name}` is no value"))
            }
        }
    }

    /// Runs `f` where the names of an item are seen.
    pub fn in_item(&mut self, r: ItemRef, f: impl FnOnce(&mut Self) -> Val) -> Val {
        let mut cx = self.cx.clone();
        cx.file = r.file;
        cx.module = r.module;
        let old = std::mem::replace(&mut self.cx, cx);
        self.frames.push(Frame { names: vec![], function: true });
        let v = f(self);
        self.frames.pop();
        self.cx = old;
        v
    }

    /// A const, folded once.
    fn const_value(&mut self, r: ItemRef, at: Span) -> Val {
        let Some(ast::ItemKind::Const { name, value }) = self.p.item(r).map(|i| &i.kind) else {
            return Val::Error;
        };
        let given = self.p.overrides.iter().find(|(f, n, _)| *f == r.file && *n == name.text);
        if let Some((_, _, v)) = given {
            return v.clone();
        }
        let cached = self.p.consts.borrow().get(&r).cloned();
        match cached {
            Some(Some(v)) => return v,
            Some(None) => {
                let msg = format!("const `{}` is defined by itself", name.text);
                return self.push(
                    Diagnostic::new(Code::ConstCycle, at, msg).label(name.span, "declared here"),
                );
            }
            None => {}
        }
        self.p.consts.borrow_mut().insert(r, None);
        let was = (std::mem::replace(&mut self.constant, true), self.exact);
        self.exact = false;
        let v = self.in_item(r, |e| e.expr(value));
        (self.constant, self.exact) = was;
        let v =
            match v {
                Val::Num(_) | Val::Bool(_) | Val::Str(_) | Val::Error => v,
                Val::List(vs) if vs.iter().all(is_plain) => Val::List(vs),
                other => {
                    let msg = format!("const `{}` is {}", name.text, other.what());
                    self.push(Diagnostic::new(Code::NotConstant, value.span, msg).help(
                        "a const is an integer, a float, a bool, a string or a list of these",
                    ))
                }
            };
        self.p.consts.borrow_mut().insert(r, Some(v.clone()));
        v
    }

    // ---- nodes

    /// Appends a node and places its results as far as operands tell.
    pub fn add_node(
        &mut self,
        kind: NodeKind,
        inputs: Vec<ValueId>,
        tys: Vec<TensorTy>,
        span: Span,
    ) -> Vec<ValueId> {
        let uses = self.data_uses(&kind);
        let node = Node {
            kind,
            inputs,
            uses,
            outputs: vec![],
            span,
            scope: self.scope,
            hints: vec![],
            region: self.region,
        };
        let id = self.g.add_node(node, tys);
        super::hints::attach(self, id);
        self.g.node(id).outputs.clone()
    }

    /// The values that a node's expressions read as numbers.
    fn data_uses(&self, kind: &NodeKind) -> Vec<ValueId> {
        let exprs = match kind {
            NodeKind::Op { attrs, .. } => attrs.exprs(),
            NodeKind::Const(n) => n.vars().into_iter().map(Expr::var).collect(),
            NodeKind::Loop { start, stop, step, .. } => {
                vec![start.clone(), stop.clone(), step.clone()]
            }
            NodeKind::Match { value, .. } => vec![value.clone()],
            NodeKind::Mesh { .. } | NodeKind::On { .. } => vec![],
        };
        let mut out = vec![];
        for v in exprs.iter().flat_map(Expr::vars) {
            self.data_of(v, &mut out);
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn data_of(&self, v: VarId, out: &mut Vec<ValueId>) {
        if let Some(VarInfo { kind: VarKind::Data(value), .. }) = self.g.vars.get(v) {
            out.push(ValueId(*value));
        }
    }

    /// The mesh axes an expression depends on, through loop variables and data too.
    pub fn coords(&self, e: &Expr) -> Vec<AxisId> {
        super::place::coords(&self.g, e)
    }

    /// Checks an op's operands, adds its node, gives its results.
    pub fn op(
        &mut self,
        op: impl Into<Option<&'static dyn Op>>,
        inputs: Vec<ValueId>,
        attrs: Attrs,
        span: Span,
        arg_spans: &[(String, Span)],
    ) -> Val {
        let Some(op) = op.into() else {
            return self.error(Code::Internal, span, "the op behind this syntax is missing");
        };
        if self.constant {
            let msg = format!("`{}` makes a tensor, which is no compile-time value", op.name());
            return self.error(Code::NotConstant, span, msg);
        }
        let tys: Vec<TensorTy> = inputs.iter().map(|v| self.g.ty(*v).clone()).collect();
        let call = Call { inputs: &tys, attrs: &attrs, vars: &self.g.vars };
        let mut outs = match op.infer(&call) {
            Ok(o) => o,
            Err(e) => {
                let d = self.op_error(op, e, span, arg_spans);
                return self.push(d);
            }
        };
        if let Some(d) = self.too_large(&outs, span) {
            return self.push(d);
        }
        if matches!(op.role(), Role::Read | Role::View | Role::Reshard | Role::Complete)
            && let (Some(o), Some(i)) = (outs.first_mut(), tys.first())
            && o.dtype == i.dtype
        {
            o.range = i.range.clone();
        }
        let demand = vec![None; outs.len()];
        let call = Call { inputs: &tys, attrs: &attrs, vars: &self.g.vars };
        let inside = !self.open.is_empty();
        let places = super::split::forward(&self.g, op, &call, &outs, &demand, inside);
        for (o, p) in outs.iter_mut().zip(places.placements) {
            o.place = p;
        }
        let results = self.add_node(NodeKind::Op { op, attrs }, inputs, outs, span);
        match results.as_slice() {
            [one] => Val::Tensor(*one),
            many => Val::Tuple(many.iter().map(|v| Val::Tensor(*v)).collect()),
        }
    }

    /// Extents that no machine holds are refused before anything multiplies them.
    fn too_large(&self, outs: &[TensorTy], span: Span) -> Option<Diagnostic> {
        for o in outs {
            let n = o.shape.iter().try_fold(1i128, |n, e| {
                let hi = self.g.vars.upper(e)?;
                n.checked_mul(i128::from(hi.max(0)))
            });
            if n.is_some_and(|n| n > 1 << 46) {
                let msg = format!("`{}` has more than 2^46 elements", o.show(&self.g.vars));
                return Some(Diagnostic::new(Code::TooLarge, span, msg));
            }
        }
        None
    }

    fn op_error(&self, op: &dyn Op, e: OpError, span: Span, args: &[(String, Span)]) -> Diagnostic {
        let name = format!("`{}`", op.name());
        let message =
            if e.message.contains(&name) { e.message } else { format!("{name}: {}", e.message) };
        let mut d = Diagnostic::new(e.code, span, message);
        let mut placed = false;
        for (name, remark) in e.at {
            let Some((_, s)) = args.iter().find(|(n, _)| *n == name) else { continue };
            if !placed && *s != span {
                placed = true;
            }
            d = d.label(*s, remark);
        }
        if let Some(h) = e.help {
            d = d.help(h);
        }
        d
    }

    /// A number as a rank-0 tensor of a dtype.
    pub fn constant_node(&mut self, n: Num, dtype: DType, span: Span) -> ValueId {
        if let Some(f) = n.to_float().as_const() {
            let fits = if dtype.is_float() {
                let t = crate::types::value::Tensor::full(dtype, vec![], f);
                !f.is_finite() || t.get_f64(0).is_finite()
            } else {
                f.fract() == 0.0 && dtype.holds(f)
            };
            if !fits {
                self.diags.push(
                    Diagnostic::new(
                        Code::LiteralRange,
                        span,
                        format!("`{f}` is no value of {dtype}"),
                    )
                    .help("a literal takes the other operand's dtype: `cast` the tensor first"),
                );
            }
        }
        let mut ty = TensorTy::new(dtype, vec![]);
        let mut axes = vec![];
        for v in n.vars() {
            axes.extend(self.coords(&Expr::var(v)));
        }
        ty.place.add_varying(axes);
        if !self.open.is_empty() {
            ty.place.storage = ast::Storage::Rmem;
        }
        self.add_node(NodeKind::Const(n), vec![], vec![ty], span)
            .first()
            .copied()
            .unwrap_or(ValueId(0))
    }

    /// A rank-0 integer tensor as a number.
    pub fn number_of(&mut self, v: ValueId, span: Span) -> Val {
        let value = self.g.value(v);
        let ty = value.ty.clone();
        if let crate::graph::Def::Node(n, _) = value.def
            && let NodeKind::Const(num) = &self.g.node(n).kind
        {
            return Val::Num(num.clone());
        }
        if !ty.shape.is_empty() || !ty.dtype.is_int() {
            let shown = ty.show(&self.g.vars);
            return self.push(
                Diagnostic::new(
                    Code::NotANumber,
                    span,
                    format!("expected a number, found a tensor `{shown}`"),
                )
                .help("a rank-0 integer tensor with a `range` counts as a number: subscript it down to one element"),
            );
        }
        let Some((lo, hi)) = ty.range.clone() else {
            let name = self.g.value_name(v);
            return self.push(
                Diagnostic::new(
                    Code::NotANumber,
                    span,
                    format!("`{name}` has no bounds, so it cannot index or bound a loop"),
                )
                .help("declare them on the parameter: `lens: i32[B] range 1..=4096`"),
            );
        };
        let known =
            self.g.vars.iter().find(|(_, i)| i.kind == VarKind::Data(v.0)).map(|(id, _)| id);
        let var = known.unwrap_or_else(|| {
            let name = self.g.value_name(v);
            self.g.vars.add(VarInfo { name, kind: VarKind::Data(v.0), lo, hi, span })
        });
        Val::int(Expr::var(var))
    }

    /// An integer, or an error.
    pub fn int(&mut self, v: Val, span: Span) -> Option<Expr> {
        match v {
            Val::Num(Num::Int(e)) => Some(e),
            Val::Tensor(t) => match self.number_of(t, span) {
                Val::Num(Num::Int(e)) => Some(e),
                _ => None,
            },
            Val::Error => None,
            other => {
                let msg = format!("expected an integer, found {}", other.what());
                self.error(Code::NotANumber, span, msg);
                None
            }
        }
    }

    /// An integer expression of the source.
    pub fn int_expr(&mut self, e: &ast::Expr) -> Option<Expr> {
        let v = self.expr(e);
        self.int(v, e.span)
    }
}

/// Whether a path is the word `none`.
pub fn is_none(p: &ast::Path) -> bool {
    matches!(p.segs.as_slice(), [n] if n.text == "none")
}

pub fn show_path(p: &ast::Path) -> String {
    p.segs.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("::")
}

/// Folds the bounds of a dim: inclusive, constant.
pub fn fold_dim_range(
    p: &Program,
    r: ItemRef,
    range: &ast::Expr,
) -> Result<(i64, i64), Vec<Diagnostic>> {
    let mut e = Elab::new(p, Cx::of(r), "dim", range.span);
    e.constant = true;
    let ast::ExprKind::Range { lo: Some(lo), hi: Some(hi), inclusive } = &range.kind else {
        return Err(vec![Diagnostic::new(
            Code::BadDim,
            range.span,
            "a dim needs both bounds: `1..=8192`",
        )]);
    };
    let bounds = (e.int_expr(lo), e.int_expr(hi));
    let (Some(a), Some(b)) = bounds else { return Err(e.diags) };
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Ok((a, if *inclusive { b } else { b.saturating_sub(1) })),
        _ => Err(vec![Diagnostic::new(
            Code::BadDim,
            range.span,
            "the bounds of a dim are constants, they use no other dim",
        )]),
    }
}

impl Cx {
    /// The context of an item's own names.
    pub fn of(r: ItemRef) -> Cx {
        Cx {
            file: r.file,
            module: r.module,
            instance: Instance {
                module: r.module.map(|m| ItemRef { file: r.file, module: None, item: m }),
                path: vec![],
            },
        }
    }
}

/// What a list of a const holds.
fn is_plain(v: &Val) -> bool {
    matches!(v, Val::Num(_) | Val::Bool(_) | Val::Str(_) | Val::Error)
}

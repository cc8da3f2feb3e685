//! Expressions.

use super::elab::Elab;
use super::value::{Val, Window};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::ops::{Attr, Attrs, Sub, operators};
use crate::syntax::ast::{self, BinaryOp, ExprKind, UnaryOp};
use crate::types::dim::{Decision, Env, Expr, VarId, VarKind};
use crate::types::dtype::DType;
use crate::types::num::{Float, FloatFn, FloatOp, Num};

/// Tensors in one tuple, those of its parts included.
const MAX_LEAVES: usize = 1 << 16;

impl Elab<'_> {
    pub fn expr(&mut self, e: &ast::Expr) -> Val {
        self.deeper(e.span, |s| {
            if e.hints.is_empty() {
                return s.bare_expr(e);
            }
            let n = s.push_hints(&e.hints);
            let v = s.bare_expr(e);
            s.pop_hints(n);
            v
        })
    }

    fn bare_expr(&mut self, e: &ast::Expr) -> Val {
        match &e.kind {
            ExprKind::Int(i) => Val::int(Expr::int(*i)),
            ExprKind::Float(f) => Val::Num(Num::Float(Float::Const(*f))),
            ExprKind::Bool(b) => Val::Bool(*b),
            ExprKind::Str(s) => Val::Str(s.clone()),
            ExprKind::Path(p) => self.path(p),
            ExprKind::Paren(x) => self.expr(x),
            ExprKind::List(v) => {
                let parts = v.iter().map(|x| self.spread(x).unwrap_or_else(|| vec![self.expr(x)]));
                Val::List(parts.collect::<Vec<_>>().concat())
            }
            ExprKind::Tuple(v) => {
                let parts: Vec<Val> = v.iter().map(|x| self.expr(x)).collect();
                let mut leaves = vec![];
                parts.iter().for_each(|p| p.leaves(&mut leaves));
                if leaves.len() > MAX_LEAVES {
                    let msg = format!("a tuple holds at most {MAX_LEAVES} tensors");
                    return self.error(Code::TooLarge, e.span, msg);
                }
                Val::Tuple(parts)
            }
            ExprKind::Call { func, args } => self.call(func, args, e.span),
            ExprKind::Index { base, subs } => self.index(base, subs, e.span),
            ExprKind::Field { base, name } => self.field(base, name),
            ExprKind::Unary { op, operand } => self.unary(*op, operand, e.span),
            ExprKind::Binary { op: BinaryOp::At, op_span, .. } => self.error(
                Code::BadPlacement,
                *op_span,
                "`@` splits an axis in a placement; it has no meaning here",
            ),
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let (a, b) = (self.expr(lhs), self.expr(rhs));
                self.binary(*op, a, b, e.span, lhs.span, rhs.span)
            }
            ExprKind::Range { lo, hi, inclusive } => self.range(lo, hi, *inclusive, e.span),
            ExprKind::In { value, placement } => {
                let v = self.expr(value);
                match v {
                    Val::DType(d) => self.placed_type(d, vec![], placement),
                    Val::Type(t) => self.placed_type(t.dtype, t.shape, placement),
                    Val::Error => Val::Error,
                    _ => self.error(Code::BadArgs, value.span, "`in` places a type"),
                }
            }
            ExprKind::Placement(p) => self.error(
                Code::BadPlacement,
                p.span,
                "a placement stands after `in` or as the second argument of `reshard`",
            ),
            ExprKind::For { var, iter, step, body } => {
                self.for_loop(var, iter, step.as_deref(), body, e.span)
            }
            ExprKind::Mesh { binds, body } => self.mesh_block(binds, body, e.span),
            ExprKind::On { part, body } => self.on_block(part, body, e.span),
            ExprKind::Match { value, arms } => self.match_block(value, arms, e.span),
            ExprKind::Block(b) => self.block(b),
            ExprKind::Error => Val::Error,
        }
    }

    fn placed_type(&mut self, d: DType, shape: Vec<Expr>, p: &ast::Placement) -> Val {
        let place = self.placement(p, &shape);
        Val::Type(Box::new(super::value::WrittenType { dtype: d, shape, place, range: None }))
    }

    fn range(
        &mut self,
        lo: &Option<Box<ast::Expr>>,
        hi: &Option<Box<ast::Expr>>,
        inclusive: bool,
        span: Span,
    ) -> Val {
        let (Some(lo), Some(hi)) = (lo, hi) else {
            let msg = "an open range stands only in subscripts and patterns";
            return self.error(Code::BadArgs, span, msg);
        };
        let (a, b) = (self.int_expr(lo), self.int_expr(hi));
        let (Some(start), Some(b)) = (a, b) else { return Val::Error };
        let stop = if inclusive { b.add(&Expr::one()) } else { b };
        Val::Window(Box::new(Window { start, stop, tile: None }))
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Val {
        let v = self.expr(operand);
        match (op, v) {
            (_, Val::Error) => Val::Error,
            (UnaryOp::Neg, Val::Num(Num::Int(e))) => Val::int(e.neg()),
            (UnaryOp::Neg, Val::Num(Num::Float(f))) => Val::Num(Num::Float(f.negated())),
            (UnaryOp::Not, Val::Bool(b)) => Val::Bool(!b),
            (op, Val::Tensor(t)) => self.op(
                operators::unary(op),
                vec![t],
                Attrs::default(),
                span,
                &[("x".into(), operand.span)],
            ),
            (_, other) => {
                let msg = format!("this operator does not take {}", other.what());
                self.error(Code::BadArgs, span, msg)
            }
        }
    }

    pub fn binary(
        &mut self,
        op: BinaryOp,
        a: Val,
        b: Val,
        span: Span,
        aspan: Span,
        bspan: Span,
    ) -> Val {
        let (a, b) = (self.as_index(a, &b), b);
        let b = self.as_index(b, &a);
        match (a, b) {
            (Val::Error, _) | (_, Val::Error) => Val::Error,
            (Val::Num(x), Val::Num(y)) => self.fold(op, x, y, span),
            (Val::Bool(x), Val::Bool(y)) => match op {
                BinaryOp::And => Val::Bool(x && y),
                BinaryOp::Or => Val::Bool(x || y),
                BinaryOp::Eq => Val::Bool(x == y),
                BinaryOp::Ne => Val::Bool(x != y),
                _ => self.error(Code::BadArgs, span, format!("`{}` on bools", op.symbol())),
            },
            (Val::Str(x), Val::Str(y)) if matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
                Val::Bool((x == y) == (op == BinaryOp::Eq))
            }
            (Val::Tensor(x), Val::Tensor(y)) => self.tensor_op(op, x, y, span, aspan, bspan),
            (Val::Tensor(x), Val::Num(n)) => {
                let d = self.g.ty(x).dtype;
                let y = self.constant_node(n, d, bspan);
                self.tensor_op(op, x, y, span, aspan, bspan)
            }
            (Val::Num(n), Val::Tensor(y)) => {
                let d = self.g.ty(y).dtype;
                let x = self.constant_node(n, d, aspan);
                self.tensor_op(op, x, y, span, aspan, bspan)
            }
            (x, y) => {
                let msg = format!("`{}` does not take {} and {}", op.symbol(), x.what(), y.what());
                self.error(Code::BadArgs, span, msg)
            }
        }
    }

    /// A rank-0 integer tensor with bounds meets an integer: both are numbers.
    fn as_index(&mut self, v: Val, other: &Val) -> Val {
        let Val::Tensor(t) = v else { return v };
        let ty = self.g.ty(t);
        let counts = ty.shape.is_empty() && ty.dtype.is_int() && ty.range.is_some();
        match other {
            Val::Num(Num::Int(_)) if counts => {
                let span = self.g.value(t).span;
                self.number_of(t, span)
            }
            _ => Val::Tensor(t),
        }
    }

    fn tensor_op(
        &mut self,
        op: BinaryOp,
        x: crate::graph::ValueId,
        y: crate::graph::ValueId,
        span: Span,
        aspan: Span,
        bspan: Span,
    ) -> Val {
        let Some(o) = operators::binary(op) else {
            let msg = format!("`{}` does not apply to tensors", op.symbol());
            return self.error(Code::BadArgs, span, msg);
        };
        if op == BinaryOp::Div && self.g.ty(x).dtype.is_int() && self.g.ty(y).dtype.is_int() {
            let d = Diagnostic::new(
                Code::BadDType,
                span,
                format!("`/` divides floats, found {}", self.g.ty(x).dtype),
            )
            .help("integer tensors have `floor_div(a, b)`; `cast(a, f32)` makes floats of them");
            return self.push(d);
        }
        let names: Vec<(String, Span)> =
            o.params().iter().map(|p| p.name.to_string()).zip([aspan, bspan]).collect();
        self.op(o, vec![x, y], Attrs::default(), span, &names)
    }

    /// Arithmetic of two numbers.
    fn fold(&mut self, op: BinaryOp, a: Num, b: Num, span: Span) -> Val {
        use BinaryOp::*;
        if let (Num::Int(x), Num::Int(y)) = (&a, &b) {
            if let (Some(p), Some(q)) = (x.as_int(), y.as_int()) {
                let exact = match op {
                    Add => p.checked_add(q),
                    Sub => p.checked_sub(q),
                    Mul => p.checked_mul(q),
                    _ => Some(0),
                };
                if exact.is_none() {
                    let msg = format!("`{p} {} {q}` does not fit into 64 bits", op.symbol());
                    return self.error(Code::TooLarge, span, msg);
                }
            }
            return match op {
                Add => Val::int(x.add(y)),
                Sub => Val::int(x.sub(y)),
                Mul => Val::int(x.mul(y)),
                Div | Rem if self.g.vars.ge(y, &Expr::one()) != Decision::Yes => {
                    let shown = self.g.vars.show(y);
                    if y.as_int().is_some_and(|k| k < 0) && self.g.vars.upper(y) < Some(0) {
                        return self.error(
                            Code::BadArgs,
                            span,
                            format!("division by `{shown}`: integers divide by positive numbers"),
                        );
                    }
                    let msg = if y.is_zero() {
                        "division by zero".to_string()
                    } else {
                        format!("`{shown}` may be zero here")
                    };
                    self.error(Code::DivByZero, span, msg)
                }
                Div if self.exact => {
                    match x.exact_div(y) {
                        Some(q) => Val::int(q),
                        None => {
                            let (p, q) = (self.g.vars.show(x), self.g.vars.show(y));
                            let certain = x.as_int().is_some() && y.as_int().is_some();
                            let known = if certain { "" } else { "known to be " };
                            self.push(
                            Diagnostic::new(
                                Code::InexactExtent,
                                span,
                                format!("`{p}` is not {known}a multiple of `{q}`"),
                            )
                            .help(format!("an extent divides exactly: write `ceil_div({p}, {q})` to round up")),
                        )
                        }
                    }
                }
                Div => Val::int(x.floor_div(y)),
                Rem => Val::int(x.rem(y)),
                Eq | Ne | Lt | Le | Gt | Ge => self.compare(op, x, y, span),
                And | Or | At => {
                    self.error(Code::BadArgs, span, format!("`{}` on integers", op.symbol()))
                }
            };
        }
        let (x, y) = (a.to_float(), b.to_float());
        let f = match op {
            Add => FloatOp::Add,
            Sub => FloatOp::Sub,
            Mul => FloatOp::Mul,
            Div => FloatOp::Div,
            Eq | Ne | Lt | Le | Gt | Ge => {
                return match (x.as_const(), y.as_const()) {
                    (Some(p), Some(q)) => Val::Bool(match op {
                        Eq => p == q,
                        Ne => p != q,
                        Lt => p < q,
                        Le => p <= q,
                        Gt => p > q,
                        _ => p >= q,
                    }),
                    _ => self.error(Code::NotConstant, span, "this comparison is not constant"),
                };
            }
            Rem | And | Or | At => {
                return self.error(Code::BadArgs, span, format!("`{}` on floats", op.symbol()));
            }
        };
        Val::Num(Num::Float(Float::bin(f, x, y)))
    }

    fn compare(&mut self, op: BinaryOp, x: &Expr, y: &Expr, span: Span) -> Val {
        let vars = &self.g.vars;
        let (decided, want) = match op {
            BinaryOp::Eq => (vars.equal(x, y), true),
            BinaryOp::Ne => (vars.equal(x, y), false),
            BinaryOp::Ge => (vars.ge(x, y), true),
            BinaryOp::Lt => (vars.ge(x, y), false),
            BinaryOp::Le => (vars.ge(y, x), true),
            _ => (vars.ge(y, x), false),
        };
        match decided {
            Decision::Yes => Val::Bool(want),
            Decision::No => Val::Bool(!want),
            Decision::Unknown => {
                let msg = format!(
                    "`{} {} {}` is not decided at compile time",
                    vars.show(x),
                    op.symbol(),
                    vars.show(y)
                );
                self.error(Code::NotConstant, span, msg)
            }
        }
    }

    /// Functions of numbers: `min`, `max`, `ceil_div`, `sqrt`, ... `None` where an argument is no
    /// number, or the name is none of them.
    pub fn number_fn(&mut self, name: &str, args: &[Val], span: Span) -> Option<Val> {
        let nums: Option<Vec<Num>> = args
            .iter()
            .map(|v| match v {
                Val::Num(n) => Some(n.clone()),
                _ => None,
            })
            .collect();
        let nums = nums?;
        let fun = |f: FloatFn, x: &Num| Val::Num(Num::Float(Float::fun(f, x.to_float())));
        Some(match (name, nums.as_slice()) {
            ("min", [Num::Int(a), Num::Int(b)]) => Val::int(self.min_max(a, b, true)),
            ("max", [Num::Int(a), Num::Int(b)]) => Val::int(self.min_max(a, b, false)),
            ("min", [a, b]) => {
                Val::Num(Num::Float(Float::bin(FloatOp::Min, a.to_float(), b.to_float())))
            }
            ("max", [a, b]) => {
                Val::Num(Num::Float(Float::bin(FloatOp::Max, a.to_float(), b.to_float())))
            }
            ("ceil_div", [Num::Int(a), Num::Int(b)]) => {
                if self.g.vars.ge(b, &Expr::one()) != Decision::Yes {
                    let shown = self.g.vars.show(b);
                    return Some(self.error(
                        Code::DivByZero,
                        span,
                        format!("`{shown}` may be zero here"),
                    ));
                }
                Val::int(a.ceil_div(b))
            }
            ("abs", [Num::Int(a)]) => Val::int(a.max_of(&a.neg())),
            ("pow", [a, b]) => {
                Val::Num(Num::Float(Float::bin(FloatOp::Pow, a.to_float(), b.to_float())))
            }
            ("sqrt", [a]) => fun(FloatFn::Sqrt, a),
            ("exp", [a]) => fun(FloatFn::Exp, a),
            ("exp2", [a]) => fun(FloatFn::Exp2, a),
            ("log", [a]) => fun(FloatFn::Log, a),
            ("log2", [a]) => fun(FloatFn::Log2, a),
            _ => return None,
        })
    }

    /// `min` and `max`, simplified where the bounds decide.
    fn min_max(&self, a: &Expr, b: &Expr, min: bool) -> Expr {
        let (lo, hi) = match (self.g.vars.ge(a, b), self.g.vars.ge(b, a)) {
            (Decision::Yes, _) => (b, a),
            (_, Decision::Yes) => (a, b),
            _ => return if min { a.min_of(b) } else { a.max_of(b) },
        };
        if min { lo.clone() } else { hi.clone() }
    }

    // ---- fields

    fn field(&mut self, base: &ast::Expr, name: &ast::Name) -> Val {
        let span = base.span.to(name.span);
        match self.expr(base) {
            Val::Error => Val::Error,
            Val::Mesh(m) => match self.mesh_axis(m, name) {
                Some(a) => {
                    let var = self.g.meshes.axis(a).map(|x| x.var);
                    var.map_or(Val::Error, |v| Val::int(Expr::var(v)))
                }
                None => Val::Error,
            },
            Val::Window(w) => self.window_field(*w, name, span),
            Val::Config(c) => match c.get(&name.text) {
                Some(v) => config_value(v),
                None => {
                    let keys: Vec<&str> =
                        c.as_object().map_or(vec![], |o| o.keys().map(String::as_str).collect());
                    let mut d = Diagnostic::new(
                        Code::UnknownName,
                        name.span,
                        format!("the config has no field `{}`", name.text),
                    );
                    if let Some(m) = did_you_mean(&name.text, keys) {
                        d = d.help(format!("it has `{m}`")).fix("rename", name.span, m);
                    }
                    self.push(d)
                }
            },
            Val::Child(c) => self.child_member(*c, name),
            other => {
                let msg = format!("{} has no field `{}`", other.what(), name.text);
                let help = match (&other, operators::named_in_torch(&name.text)) {
                    (Val::Tensor(_), Some(op)) => {
                        format!("ops are functions, not methods: `{op}(x, ..)`")
                    }
                    (Val::Tensor(_), None) => "a tensor has no fields, and ops are functions: \
                                               `sum(x, dim = 0)`"
                        .to_string(),
                    _ => "meshes, windows, configs and children have fields; a tuple is taken \
                          apart with `let (a, b) = ..`"
                        .to_string(),
                };
                self.push(Diagnostic::new(Code::UnknownName, name.span, msg).help(help))
            }
        }
    }

    fn window_field(&mut self, w: Window, name: &ast::Name, span: Span) -> Val {
        match (name.text.as_str(), &w.tile) {
            ("start", _) => Val::int(w.start),
            ("end", _) => Val::int(w.stop),
            ("len", _) => Val::int(w.len()),
            ("index", Some(t)) => Val::int(t.index.clone()),
            ("valid", Some(t)) => {
                let attrs = Attrs(vec![
                    ("n", Attr::Int(w.len())),
                    ("start", Attr::Int(w.start.clone())),
                    ("end", Attr::Int(t.end.clone())),
                ]);
                self.op(operators::window_valid(), vec![], attrs, span, &[])
            }
            ("index" | "valid", None) => self.push(
                Diagnostic::new(
                    Code::UnknownName,
                    name.span,
                    format!("a range has no `{}`", name.text),
                )
                .help("windows that a `for` over `tile(..)` makes have it"),
            ),
            _ => {
                let known = ["start", "end", "len", "index", "valid"];
                let mut d = Diagnostic::new(
                    Code::UnknownName,
                    name.span,
                    format!("a window has no `{}`", name.text),
                );
                d = match did_you_mean(&name.text, known) {
                    Some(m) => d.help(format!("it has `{m}`")).fix("rename", name.span, m),
                    None => d.help("it has `start`, `end`, `len`, `index` and `valid`"),
                };
                self.push(d)
            }
        }
    }
}

impl Elab<'_> {
    /// A position that certainly runs and reaches outside: its coordinates, start and end. Sought
    /// where nothing but coordinates of constant range is involved.
    pub(super) fn position_outside(
        &self,
        start: &Expr,
        stop: &Expr,
        extent: &Expr,
    ) -> Option<(String, i64, i64)> {
        /// Positions looked at.
        const MOST: i64 = 1 << 14;
        if self.conditional > 0 {
            return None;
        }
        let n = extent.as_int()?;
        let mut vars: Vec<VarId> = start.vars().into_iter().chain(stop.vars()).collect();
        vars.sort_unstable();
        vars.dedup();
        let mut counts = vec![];
        for v in &vars {
            let info = self.g.vars.get(*v)?;
            match info.kind {
                VarKind::Coord(_) => counts.push(info.hi.as_int()?.checked_add(1)?),
                _ => return None,
            }
        }
        let all = counts.iter().try_fold(1i64, |p, c| p.checked_mul(*c))?;
        let mut env = Env::default();
        for i in 0..all.min(MOST) {
            // the last positions are the likeliest
            let mut rest = all - 1 - i;
            for (v, c) in vars.iter().zip(&counts) {
                env.set(*v, rest % c);
                rest /= c;
            }
            let (a, b) = (start.eval(&env)?, stop.eval(&env)?);
            if a < 0 || b > n {
                let at: Vec<String> = vars
                    .iter()
                    .filter_map(|v| Some(format!("{} = {}", self.g.vars.name(*v), env.get(*v)?)))
                    .collect();
                return Some((at.join(", "), a, b));
            }
        }
        None
    }
}

pub fn whole(extent: &Expr) -> Sub {
    Sub::Window { start: Expr::zero(), len: extent.clone(), end: None, pad: None }
}

fn config_value(v: &serde_json::Value) -> Val {
    use serde_json::Value;
    match v {
        Value::Bool(b) => Val::Bool(*b),
        Value::Number(n) => match n.as_i64() {
            Some(i) => Val::int(Expr::int(i)),
            None => Val::Num(Num::Float(Float::Const(n.as_f64().unwrap_or(f64::NAN)))),
        },
        Value::String(s) => Val::Str(s.clone()),
        Value::Array(a) => Val::List(a.iter().map(config_value).collect()),
        Value::Object(_) => Val::Config(std::sync::Arc::new(v.clone())),
        Value::Null => Val::Unit,
    }
}

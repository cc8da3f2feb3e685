//! Calls of ops: arguments matched to the signature, attributes folded.

use super::elab::Elab;
use super::value::Val;
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::ValueId;
use crate::ops::{Attr, Attrs, DefaultValue, Op, Param, ParamKind};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::Expr;
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};

/// Arguments matched to the parameters of an op, before numbers become tensors.
struct Matched<'a> {
    given: Vec<(&'static Param, Vec<&'a ast::Arg>)>,
}

impl Elab<'_> {
    pub(super) fn call_op(&mut self, op: &'static dyn Op, args: &[ast::Arg], span: Span) -> Val {
        let Some(m) = self.match_args(op, args, span) else { return Val::Error };
        // tensors first: attributes may depend on their rank
        let mut vals: Vec<(usize, Val, Span)> = vec![];
        let mut ok = true;
        for (i, (p, given)) in m.given.iter().enumerate() {
            if !matches!(p.kind, ParamKind::Tensor | ParamKind::OptTensor | ParamKind::Tensors) {
                continue;
            }
            for a in given {
                match &a.value.kind {
                    ExprKind::List(items) if p.kind == ParamKind::Tensors => {
                        for e in items {
                            let v = self.expr(e);
                            vals.push((i, v, e.span));
                        }
                    }
                    _ => {
                        let v = self.expr(&a.value);
                        vals.push((i, v, a.value.span));
                    }
                }
            }
        }
        let dtype = self.number_dtype(op, &vals);
        // the dtype of an operand at fault, which a number would take, is not known
        let lost = vals.iter().any(|(_, v, _)| matches!(v, Val::Error));
        let (mut inputs, mut spans) = (vec![], vec![]);
        for (i, v, s) in vals {
            let optional = op.params().get(i).is_some_and(|p| p.kind == ParamKind::OptTensor);
            if optional && matches!(v, Val::None) {
                continue;
            }
            spans.push(s);
            match (v, dtype) {
                (Val::Tensor(t), _) => inputs.push((i, t)),
                (Val::Num(n), Some(d)) => inputs.push((i, self.constant_node(n, d, s))),
                (Val::Error, _) => ok = false,
                (Val::Num(_), None) if lost => ok = false,
                (Val::Num(_), None) => {
                    ok = false;
                    let msg = format!("`{}` takes a tensor here, found a number", op.name());
                    self.push(
                        Diagnostic::new(Code::BadArgs, s, msg)
                            .help("`full(f32, v)` makes a tensor of a number"),
                    );
                }
                (other, _) => {
                    ok = false;
                    let msg = format!("expected a tensor, found {}", other.what());
                    self.error(Code::BadArgs, s, msg);
                }
            }
        }
        if !ok {
            return Val::Error;
        }
        let first = inputs.first().map(|(_, t)| *t);
        let mut attrs = vec![];
        for (p, given) in &m.given {
            if matches!(p.kind, ParamKind::Tensor | ParamKind::OptTensor | ParamKind::Tensors) {
                continue;
            }
            match self.attr(p, given, first) {
                Some(a) => attrs.push((p.name, a)),
                None => ok = false,
            }
        }
        if !ok {
            return Val::Error;
        }
        self.finish_op(op, inputs, attrs, span, spans)
    }

    /// `inputs` are (parameter index, value). Adds attributes of optional operands.
    pub(super) fn finish_op(
        &mut self,
        op: &'static dyn Op,
        inputs: Vec<(usize, ValueId)>,
        given: Vec<(&'static str, Attr)>,
        span: Span,
        spans: Vec<Span>,
    ) -> Val {
        let mut attrs = vec![];
        for (i, p) in op.params().iter().enumerate() {
            match p.kind {
                ParamKind::Tensor | ParamKind::Tensors => {}
                ParamKind::OptTensor => {
                    let at = inputs.iter().position(|(k, _)| *k == i);
                    attrs.push((p.name, at.map_or(Attr::Absent, Attr::Operand)));
                }
                _ => {
                    let a = given.iter().find(|(n, _)| *n == p.name).map(|(_, a)| a.clone());
                    attrs.push((p.name, a.unwrap_or_else(|| default_attr(p))));
                }
            }
        }
        let names: Vec<(String, Span)> = inputs
            .iter()
            .enumerate()
            .map(|(n, (i, _))| {
                let p = op.params().get(*i);
                let name = match p {
                    Some(p) if p.kind == ParamKind::Tensors => {
                        let k = inputs[..n].iter().filter(|(j, _)| j == i).count();
                        format!("{}[{k}]", p.name)
                    }
                    Some(p) => p.name.to_string(),
                    None => String::new(),
                };
                (name, spans.get(n).copied().unwrap_or(span))
            })
            .collect();
        self.fill_collect(op, &mut attrs);
        let values: Vec<ValueId> = inputs.iter().map(|(_, v)| *v).collect();
        self.op(op, values, Attrs(attrs), span, &names)
    }

    /// `collect` names mesh axes; its shape needs their extents.
    fn fill_collect(&self, op: &dyn Op, attrs: &mut [(&'static str, Attr)]) {
        if op.role() != crate::ops::Role::Collect {
            return;
        }
        let axes = attrs.iter().find_map(|(_, a)| match a {
            Attr::Axes(v) => Some(v.clone()),
            _ => None,
        });
        let extents: Vec<Expr> =
            axes.unwrap_or_default().iter().map(|a| self.g.meshes.axis_extent(*a)).collect();
        for (n, a) in attrs.iter_mut() {
            if *n == "extents" {
                *a = Attr::Shape(extents.clone());
            }
        }
    }

    /// The dtype that numbers among the operands take.
    fn number_dtype(&self, op: &dyn Op, vals: &[(usize, Val, Span)]) -> Option<DType> {
        let dtypes: Vec<Option<DType>> = vals
            .iter()
            .map(|(_, v, _)| match v {
                Val::Tensor(t) => Some(self.g.ty(*t).dtype),
                _ => None,
            })
            .collect();
        op.number_dtype(&dtypes)
    }

    fn match_args<'a>(
        &mut self,
        op: &'static dyn Op,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Matched<'a>> {
        let params = op.params();
        let mut given: Vec<(&'static Param, Vec<&ast::Arg>)> =
            params.iter().map(|p| (p, vec![])).collect();
        let (mut next, mut ok) = (0, true);
        let mut strays: Vec<&ast::Arg> = vec![];
        for a in args {
            if a.inout {
                let msg = format!("`{}` is an op: it updates nothing in place", op.name());
                self.error(Code::BadArgs, a.span, msg);
                ok = false;
                continue;
            }
            let at = match &a.name {
                Some(n) => params.iter().position(|p| p.name == n.text),
                None => {
                    let many = |p: &Param| matches!(p.kind, ParamKind::Tensors | ParamKind::Axes);
                    while next < params.len()
                        && (!params[next].positional
                            || (!given[next].1.is_empty() && !many(&params[next])))
                    {
                        next += 1;
                    }
                    // `concat(a, b, 0)`: an axis, and no third tensor
                    let axis = |p: &Param| p.kind == ParamKind::Dims && !p.positional;
                    let tensors = given.get(next).is_some_and(|(p, g)| {
                        p.kind == ParamKind::Tensors && !g.is_empty() && params.iter().any(axis)
                    });
                    (next < params.len() && !(tensors && is_integer(&a.value))).then_some(next)
                }
            };
            match (at, &a.name) {
                (Some(i), Some(n)) if !given[i].1.is_empty() => {
                    let msg = format!("`{}` is given twice", n.text);
                    self.error(Code::BadArgs, a.span, msg);
                    ok = false;
                }
                (Some(i), _) => given[i].1.push(a),
                (None, Some(n)) => {
                    self.unknown_attr(op.name(), n, params.iter().map(|p| p.name).collect());
                    ok = false;
                }
                (None, None) => {
                    strays.push(a);
                    ok = false;
                }
            }
        }
        self.strays(op, &given, &strays);
        // what an argument at fault was meant for is not known
        let matched = ok;
        for (p, g) in &given {
            if matched && g.is_empty() && p.default == DefaultValue::Required {
                let d = Diagnostic::new(
                    Code::BadArgs,
                    span,
                    format!("`{}` needs `{}`", op.name(), p.name),
                )
                .help(format!("its signature is `{}`", signature(op)));
                self.push(d);
                ok = false;
            }
        }
        ok.then_some(Matched { given })
    }

    /// Arguments without a name behind the positional ones: each is meant for the first attribute
    /// that takes its kind.
    fn strays(&mut self, op: &dyn Op, given: &[(&Param, Vec<&ast::Arg>)], strays: &[&ast::Arg]) {
        let free = given.iter().filter(|(p, g)| !p.positional && g.is_empty());
        let mut free: Vec<&Param> = free.map(|(p, _)| *p).collect();
        for a in strays {
            let v = self.expr(&a.value);
            if matches!(v, Val::Error) {
                continue;
            }
            let meant = free.iter().position(|p| takes(p.kind, &v)).map(|i| free.remove(i));
            let d = match meant {
                Some(p) => {
                    let shown = match &v {
                        Val::Num(n) => n.show(&self.g.vars),
                        _ => "..".into(),
                    };
                    let (op, p) = (op.name(), p.name);
                    let msg = format!("`{p}` of `{op}` is given by name: `{p} = {shown}`");
                    let before = Span { end: a.span.start, ..a.span };
                    Diagnostic::new(Code::BadArgs, a.span, msg)
                        .edits("name it", vec![(before, format!("{p} = "))])
                }
                None => {
                    let msg = format!("`{}` has no positional parameter left for this", op.name());
                    Diagnostic::new(Code::BadArgs, a.span, msg)
                }
            };
            self.push(d.help(format!("its signature is `{}`", signature(op))));
        }
    }

    pub(super) fn unknown_attr(&mut self, of: &str, n: &ast::Name, known: Vec<&str>) {
        let msg = format!("`{of}` has no attribute `{}`", n.text);
        let mut d = Diagnostic::new(Code::UnknownAttr, n.span, msg);
        d = match did_you_mean(&n.text, known.iter().copied()) {
            Some(m) => d.help(format!("it has `{m}`")).fix("rename", n.span, m),
            None if known.is_empty() => d.help("it has none"),
            None => d.help(format!("it has `{}`", known.join("`, `"))),
        };
        self.diags.push(d);
    }

    /// The value of an attribute; an error was reported where `None`.
    fn attr(&mut self, p: &Param, given: &[&ast::Arg], first: Option<ValueId>) -> Option<Attr> {
        let Some(a) = given.first() else { return Some(default_attr(p)) };
        let e = &a.value;
        let bad = |s: &mut Self, want: &str, v: &Val| {
            let msg = format!("`{}` takes {want}, found {}", p.name, v.what());
            s.error(Code::BadAttr, e.span, msg);
            None
        };
        match p.kind {
            ParamKind::Placement => {
                let shape = first.map_or(vec![], |t| self.g.ty(t).shape.clone());
                match &e.kind {
                    ExprKind::Placement(pl) => self.placement(pl, &shape).map(Attr::Placement),
                    _ => {
                        let v = self.expr(e);
                        if matches!(v, Val::Error) {
                            return None;
                        }
                        bad(self, "a placement such as `smem` or `rmem[N @ g.x]`", &v)
                    }
                }
            }
            ParamKind::Axes => {
                let axes: Option<Vec<_>> = given.iter().map(|a| self.axis_of(&a.value)).collect();
                axes.map(Attr::Axes)
            }
            ParamKind::Dims => self.dims_attr(p, e, first),
            _ => {
                let v = self.expr(e);
                match (p.kind, v) {
                    (_, Val::Error) => None,
                    (ParamKind::Int, v @ (Val::Num(_) | Val::Tensor(_))) => {
                        self.int(v, e.span).map(Attr::Int)
                    }
                    (ParamKind::Number, Val::Num(n)) => Some(Attr::Num(n)),
                    (ParamKind::Bool, Val::Bool(b)) => Some(Attr::Bool(b)),
                    (ParamKind::Str, Val::Str(s)) => Some(Attr::Str(s)),
                    (ParamKind::DType, Val::DType(d)) => Some(Attr::DType(d)),
                    (ParamKind::Type, Val::Type(t)) => Some(Attr::Type(t.dtype, t.shape)),
                    (ParamKind::Type, Val::DType(d)) => Some(Attr::Type(d, vec![])),
                    (ParamKind::Shape | ParamKind::PerAxis, Val::List(vs)) => {
                        let ints: Option<Vec<Expr>> =
                            vs.into_iter().map(|v| self.int(v, e.span)).collect();
                        ints.map(Attr::Shape)
                    }
                    (ParamKind::PerAxis, v @ (Val::Num(_) | Val::Tensor(_))) => {
                        self.int(v, e.span).map(|e| Attr::Shape(vec![e]))
                    }
                    (ParamKind::Ints, Val::List(vs)) => self.const_ints(vs, e.span).map(Attr::Ints),
                    (kind, v) => bad(self, kind_words(kind), &v),
                }
            }
        }
    }

    fn const_ints(&mut self, vs: Vec<Val>, span: Span) -> Option<Vec<i64>> {
        let mut out = vec![];
        for v in vs {
            let e = self.int(v, span)?;
            match e.as_int() {
                Some(i) => out.push(i),
                None => {
                    let shown = self.g.vars.show(&e);
                    self.error(Code::BadAttr, span, format!("`{shown}` is not constant"));
                    return None;
                }
            }
        }
        Some(out)
    }

    /// One axis or several, counted from the end where negative.
    fn dims_attr(&mut self, p: &Param, e: &ast::Expr, first: Option<ValueId>) -> Option<Attr> {
        let v = self.expr(e);
        let list = match v {
            Val::Error => return None,
            Val::List(vs) => vs,
            v => vec![v],
        };
        let ints = self.const_ints(list, e.span)?;
        let rank = first.map_or(0, |t| self.g.ty(t).rank()) as i64;
        let mut out = vec![];
        for i in ints {
            let at = if i < 0 { i + rank } else { i };
            if at < 0 || at >= rank {
                let d = Diagnostic::new(
                    Code::BadAxis,
                    e.span,
                    format!("`{}` is {i}, the tensor has rank {rank}", p.name),
                );
                self.push(d);
                return None;
            }
            if out.contains(&at) {
                self.error(Code::BadAxis, e.span, format!("axis {at} is named twice"));
                return None;
            }
            out.push(at);
        }
        Some(Attr::Ints(out))
    }
}

fn default_attr(p: &Param) -> Attr {
    match p.default {
        DefaultValue::Required | DefaultValue::Absent => Attr::Absent,
        DefaultValue::Int(i) if p.kind == ParamKind::Number => Attr::Num(Num::Int(Expr::int(i))),
        DefaultValue::Int(i) if matches!(p.kind, ParamKind::Ints | ParamKind::Dims) => {
            Attr::Ints(vec![i])
        }
        DefaultValue::Int(i) if p.kind == ParamKind::PerAxis => Attr::Shape(vec![Expr::int(i)]),
        DefaultValue::Int(i) => Attr::Int(Expr::int(i)),
        DefaultValue::Float(f) => Attr::Num(Num::Float(Float::Const(f))),
        DefaultValue::Bool(b) => Attr::Bool(b),
        DefaultValue::Str(s) => Attr::Str(s.into()),
    }
}

fn kind_words(k: ParamKind) -> &'static str {
    match k {
        ParamKind::Int => "an integer",
        ParamKind::Number => "a number",
        ParamKind::Bool => "`true` or `false`",
        ParamKind::Str => "a string",
        ParamKind::DType => "a dtype such as `bf16`",
        ParamKind::Type => "a type such as `f32[M, N]`",
        ParamKind::Shape => "a list of extents such as `[M, N]`",
        ParamKind::PerAxis => "an integer, or a list with one for each axis such as `[1, 2]`",
        ParamKind::Ints => "a list of integers such as `[1, 0]`",
        _ => "another kind of value",
    }
}

/// Whether an attribute of a kind takes a value.
fn takes(kind: ParamKind, v: &Val) -> bool {
    use ParamKind as P;
    match v {
        Val::Num(_) => matches!(kind, P::Int | P::Number | P::Dims | P::PerAxis),
        Val::List(_) => matches!(kind, P::Dims | P::PerAxis | P::Ints | P::Shape),
        Val::Bool(_) => kind == P::Bool,
        Val::Str(_) => kind == P::Str,
        Val::DType(_) => matches!(kind, P::DType | P::Type),
        _ => false,
    }
}

/// An integer as it is written, perhaps negative.
fn is_integer(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Int(_) => true,
        ExprKind::Unary { op: ast::UnaryOp::Neg, operand } => is_integer(operand),
        _ => false,
    }
}

/// `sum(x, dim = .., keepdim = false)`
pub fn signature(op: &dyn Op) -> String {
    let params: Vec<String> = op
        .params()
        .iter()
        .map(|p| match (p.positional, p.default) {
            (true, _) if p.kind == ParamKind::Tensors => format!("[{}, ..]", p.name),
            (true, _) => p.name.to_string(),
            (_, DefaultValue::Required | DefaultValue::Absent) => format!("{} = ..", p.name),
            (_, DefaultValue::Int(i)) => format!("{} = {i}", p.name),
            (_, DefaultValue::Float(f)) => format!("{} = {f:?}", p.name),
            (_, DefaultValue::Bool(b)) => format!("{} = {b}", p.name),
            (_, DefaultValue::Str(s)) => format!("{} = \"{s}\"", p.name),
        })
        .collect();
    format!("{}({})", op.name(), params.join(", "))
}

//! Calls: ops, functions pasted where they stand, children.

use super::elab::{Cx, Elab, Frame, show_path};
use super::value::{Binding, Instance, Val};
use super::{Decl, ItemRef};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::ValueId;
use crate::ops::{Attr, Attrs, DefaultValue, Op, Param, ParamKind, Sub, operators, registry};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr};
use crate::types::dtype::DType;
use crate::types::num::{Float, Num};

/// Calls nested deeper than this are recursion in all but name.
const MAX_CALLS: usize = 64;

/// Calls that one function is pasted together of.
const MAX_PASTED: u32 = 1 << 16;

/// Arguments matched to the parameters of an op, before numbers become tensors.
struct Matched<'a> {
    given: Vec<(&'static Param, Vec<&'a ast::Arg>)>,
}

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
            return self.error(Code::UnknownOp, p.span, format!("there is no function `{shown}`"));
        };
        let numeric =
            ["min", "max", "ceil_div", "abs", "pow", "sqrt", "exp", "exp2", "log", "log2"];
        if numeric.contains(&name.text.as_str())
            && args.iter().all(|a| a.name.is_none() && !a.inout)
            && let Some(v) = self.try_number_fn(&name.text, args, span)
        {
            return v;
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
        let start = (self.diags.len(), self.g.node_count());
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
        let _ = start;
        let spans: Vec<Span> = args.iter().map(|a| a.value.span).collect();
        let first_tensor = vals.iter().find_map(|v| match v {
            Val::Tensor(t) => Some(*t),
            _ => None,
        })?;
        let tensors = op.params().iter().filter(|p| p.kind == ParamKind::Tensor).count();
        if tensors != vals.len() {
            return match vals.as_slice() {
                [Val::Tensor(_)] => {
                    Some(self.finish_op(op, vec![(0, first_tensor)], vec![], span, spans))
                }
                _ => {
                    let msg = if matches!(name, "min" | "max") {
                        format!(
                            "`{name}` reduces one tensor; of two, `{name}imum` takes the {name}"
                        )
                    } else {
                        format!("`{name}` takes {tensors} tensors")
                    };
                    Some(self.error(Code::BadArgs, span, msg))
                }
            };
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
        } else if let Some(m) = did_you_mean(&name.text, all) {
            d = d.help(format!("`{m}` exists")).fix("rename", name.span, m);
        }
        self.push(d)
    }

    // ---- ops

    fn call_op(&mut self, op: &'static dyn Op, args: &[ast::Arg], span: Span) -> Val {
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
        let (mut inputs, mut spans) = (vec![], vec![]);
        for (i, v, s) in vals {
            spans.push(s);
            match (v, dtype) {
                (Val::Tensor(t), _) => inputs.push((i, t)),
                (Val::Num(n), Some(d)) => inputs.push((i, self.constant_node(n, d, s))),
                (Val::Error, _) => ok = false,
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
    fn finish_op(
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
        let mut next = 0;
        let mut ok = true;
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
                    (next < params.len()).then_some(next)
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
                    let sig = signature(op);
                    let d = Diagnostic::new(
                        Code::BadArgs,
                        a.span,
                        format!("`{}` has no positional parameter left for this", op.name()),
                    )
                    .help(format!("its signature is `{sig}`"));
                    self.push(d);
                    ok = false;
                }
            }
        }
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

    fn unknown_attr(&mut self, of: &str, n: &ast::Name, known: Vec<&str>) {
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
                    (ParamKind::Shape, Val::List(vs)) => {
                        let ints: Option<Vec<Expr>> =
                            vs.into_iter().map(|v| self.int(v, e.span)).collect();
                        ints.map(Attr::Shape)
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

    // ---- functions

    /// Pastes a function: its parameters are bound to the arguments, its body is elaborated here.
    pub fn call_func(
        &mut self,
        r: ItemRef,
        instance: Option<Instance>,
        args: &[ast::Arg],
        span: Span,
    ) -> Val {
        let p = self.p;
        let Some(ast::ItemKind::Func(f)) = p.item(r).map(|i| &i.kind) else { return Val::Error };
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
        self.pasted = self.pasted.saturating_add(1);
        if self.pasted > MAX_PASTED {
            if self.pasted == MAX_PASTED + 1 {
                let msg = format!("more than {MAX_PASTED} calls are pasted into this function");
                let d = Diagnostic::new(Code::TooDeep, span, msg)
                    .help("calls are pasted where they stand: use a `for` loop");
                self.push(d);
            }
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
            .filter_map(|(i, q)| {
                let a = arg_of(f, args, i).filter(|a| a.inout)?;
                let _ = q;
                Some((i, &a.value))
            })
            .collect();
        if let Some(d) = self.inout_overlap(&targets) {
            return self.push(d);
        }
        let old_cx = std::mem::replace(&mut self.cx, cx);
        let old_scope = self.scope;
        self.scope = self.g.add_scope(f.name.text.clone(), old_scope, span);
        let old_hints = std::mem::take(&mut self.hints);
        let hint_count = self.push_hints_of(p.item(r).map_or(&[], |i| &i.hints));
        self.calls.push(r);
        self.frames.push(Frame { names: vec![], function: true });
        let bound = self.bind_params(f, vals, span);
        let out = if bound { self.body(f) } else { Val::Error };
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
        self.cx = old_cx;
        for ((_, target), v) in targets.into_iter().zip(new) {
            self.assign_value(target, v, span);
        }
        out
    }

    fn body(&mut self, f: &ast::Func) -> Val {
        let v = self.function_block(&f.body);
        match &f.ret {
            Some(t) => self.check_return(t, v, &f.body),
            None => v,
        }
    }

    fn inout_overlap(&mut self, targets: &[(usize, &ast::Expr)]) -> Option<Diagnostic> {
        for (n, (_, a)) in targets.iter().enumerate() {
            for (_, b) in targets.iter().skip(n + 1) {
                let (x, y) = (root_name(a), root_name(b));
                let whole = |e: &ast::Expr| matches!(e.kind, ExprKind::Path(_));
                if x.is_some()
                    && x == y
                    && (whole(a) || whole(b) || same_text(a, b) || self.windows_meet(a, b))
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
                        self.diags.push(
                            Diagnostic::new(Code::BadArgs, a.span, msg)
                                .label(f.name.span, "declared here"),
                        );
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
        // numbers that are attributes or extents are seen by the types of the others
        for (q, v) in f.params.iter().zip(&vals) {
            if let Some((v @ (Val::Num(_) | Val::Bool(_) | Val::Str(_) | Val::Mesh(_)), _)) = v {
                self.bind_name(q, v.clone(), None);
            }
        }
        let given: Vec<(Val, Span)> =
            vals.iter().map(|v| v.clone().unwrap_or((Val::Unit, span))).collect();
        if !self.bind_generics(f, &given) {
            return false;
        }
        // a default may use the generics
        let mut vals: Vec<(Val, Span)> = f
            .params
            .iter()
            .zip(vals)
            .map(|(q, v)| match (v, &q.default) {
                (Some(v), _) => v,
                (None, Some(d)) => (self.expr(d), d.span),
                (None, None) => (Val::Error, span),
            })
            .collect();
        let mut ok = true;
        for (q, (v, s)) in f.params.iter().zip(&mut vals) {
            match self.check_param(f, q, v.clone(), *s) {
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

/// The argument of a parameter, by name or position.
fn arg_of<'a>(f: &ast::Func, args: &'a [ast::Arg], i: usize) -> Option<&'a ast::Arg> {
    let name = &f.params.get(i)?.name.text;
    args.iter()
        .find(|a| a.name.as_ref().is_some_and(|n| n.text == *name))
        .or_else(|| args.iter().filter(|a| a.name.is_none()).nth(i))
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

fn same_text(a: &ast::Expr, b: &ast::Expr) -> bool {
    fn strip(s: String) -> String {
        // spans print as `file:start..end`; two windows are the same if all else is
        let mut out = String::new();
        let mut skip = false;
        for part in s.split("span: ") {
            let rest = if skip { part.split_once([',', ' ']).map_or("", |x| x.1) } else { part };
            out.push_str(rest);
            skip = true;
        }
        out
    }
    strip(format!("{:?}", a.kind)) == strip(format!("{:?}", b.kind))
}

fn default_attr(p: &Param) -> Attr {
    match p.default {
        DefaultValue::Required | DefaultValue::Absent => Attr::Absent,
        DefaultValue::Int(i) if p.kind == ParamKind::Number => Attr::Num(Num::Int(Expr::int(i))),
        DefaultValue::Int(i) if matches!(p.kind, ParamKind::Ints | ParamKind::Dims) => {
            Attr::Ints(vec![i])
        }
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
        ParamKind::Ints => "a list of integers such as `[1, 0]`",
        _ => "another kind of value",
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

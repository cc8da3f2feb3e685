//! Loops: their variables, windows, and what they carry.

use super::elab::Elab;
use super::value::{Binding, Tile, Val, Window};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, Level};
use crate::graph::{NodeKind, ValueId};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr, VarId, VarInfo, VarKind};
use crate::types::num::Num;
use crate::types::ty::TensorTy;

/// What stands behind `in`.
enum Walked<'a> {
    Range(Window),
    Tiles(&'a [ast::Arg]),
    Items(Vec<Val>),
    /// An error was reported.
    Nothing,
}

impl Elab<'_> {
    pub fn for_loop(
        &mut self,
        var: &ast::Name,
        iter: &ast::Expr,
        step: Option<&ast::Expr>,
        body: &ast::Block,
        span: Span,
    ) -> Val {
        let Some((id, start, stop, step, val)) = (match self.walked(iter) {
            Walked::Items(items) if step.is_none() => {
                return self.write_out(var, items, body, span);
            }
            Walked::Items(_) => {
                let at = step.map_or(span, |s| s.span);
                self.error(
                    Code::BadArgs,
                    at,
                    "a list has no `step`: it is walked element by element",
                );
                None
            }
            Walked::Range(w) => self.loop_var(var, w, step),
            Walked::Tiles(args) if step.is_none() => self.tile_var(var, args, iter.span),
            Walked::Tiles(_) => {
                let at = step.map_or(span, |s| s.span);
                self.error(Code::BadArgs, at, "`tile` has no `step`: it goes by whole windows");
                None
            }
            Walked::Nothing => None,
        }) else {
            // the body is still looked at, with a silent variable
            self.in_region(|s| {
                s.block_frame(|s| {
                    s.bind_loop_var(var, Val::Error);
                    s.block(body)
                })
            });
            return Val::Error;
        };
        if self.recorder.is_some() {
            let v = self.trips((id, &start, &stop, &step), var, &val, body, span);
            return v.unwrap_or_else(|| {
                let msg = "the trips of this loop are not the same at all sizes";
                self.error(Code::UnboundDim, span, msg)
            });
        }
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

    /// What a `for` walks.
    fn walked<'a>(&mut self, iter: &'a ast::Expr) -> Walked<'a> {
        if let ExprKind::Call { func, args } = &iter.kind
            && matches!(&func.kind, ExprKind::Path(p) if p.segs.len() == 1 && p.segs[0].text == "tile")
        {
            return Walked::Tiles(args);
        }
        match self.expr(iter) {
            Val::Window(w) => Walked::Range(*w),
            Val::Error => Walked::Nothing,
            v => match v.items() {
                Some(items) => Walked::Items(items),
                None => {
                    let d = Diagnostic::new(
                        Code::BadArgs,
                        iter.span,
                        format!("a `for` walks a range or a list, found {}", v.what()),
                    )
                    .help("`for i in 0..n { }` or `for w in tile(n, 64) { }`");
                    self.push(d);
                    Walked::Nothing
                }
            },
        }
    }

    /// A `for` over a list stands for its body once for each element.
    fn write_out(
        &mut self,
        var: &ast::Name,
        items: Vec<Val>,
        body: &ast::Block,
        span: Span,
    ) -> Val {
        for item in items {
            if !self.paste(span) {
                return Val::Error;
            }
            let errors = self.diags.len();
            self.block_frame(|s| {
                s.bind_loop_var(var, item);
                s.block(body)
            });
            // what is wrong with one is mostly wrong with all
            if self.diags.iter().skip(errors).any(|d| d.level == Level::Error) {
                return Val::Error;
            }
        }
        Val::Unit
    }

    /// The loop's variable, bounds and step, and the value its name has in the body.
    fn loop_var(
        &mut self,
        var: &ast::Name,
        w: Window,
        step: Option<&ast::Expr>,
    ) -> Option<(VarId, Expr, Expr, Expr, Val)> {
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
        Some((id, Expr::zero(), trips, Expr::one(), Val::Window(Box::new(w))))
    }
}

//! Subscripts: windows and indices, with their bounds.

use super::elab::Elab;
use super::exprs::whole;
use super::value::{Val, Window};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::ops::{Attr, Attrs, Sub, operators};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr};

impl Elab<'_> {
    pub(super) fn index(&mut self, base: &ast::Expr, subs: &[ast::Expr], span: Span) -> Val {
        match self.expr(base) {
            Val::Error => Val::Error,
            Val::DType(d) => {
                let shape = self.extents(subs);
                shape.map_or(Val::Error, |shape| {
                    Val::Type(Box::new(super::value::WrittenType {
                        dtype: d,
                        shape,
                        place: None,
                        range: None,
                    }))
                })
            }
            Val::Child(c) => self.child_index(*c, subs, span),
            Val::Tensor(t) => {
                let Some(subs) = self.subscripts(self.g.ty(t).shape.clone(), subs, span) else {
                    return Val::Error;
                };
                self.read(t, subs, span)
            }
            Val::List(vs) | Val::Tuple(vs) => {
                let i = match subs {
                    [one] => self.int_expr(one).and_then(|e| e.as_int()),
                    _ => None,
                };
                match i.and_then(|i| vs.get(usize::try_from(i).ok()?).cloned()) {
                    Some(v) => v,
                    None => self.error(Code::BadArgs, span, "a list takes one constant index"),
                }
            }
            other => {
                let msg = format!("{} has no subscripts", other.what());
                self.error(Code::BadArgs, base.span, msg)
            }
        }
    }

    /// Reads a window; nothing where all of the tensor is meant.
    pub fn read(&mut self, t: crate::graph::ValueId, subs: Vec<Sub>, span: Span) -> Val {
        let shape = &self.g.ty(t).shape;
        let all = subs.iter().zip(shape).all(|(s, e)| match s {
            Sub::Window { start, len, end: None, .. } => start.is_zero() && len == e,
            _ => false,
        });
        if all {
            return Val::Tensor(t);
        }
        let attrs = Attrs(vec![("subs", Attr::Subs(subs))]);
        self.op(operators::read(), vec![t], attrs, span, &[("x".into(), span)])
    }

    /// Subscripts with their bounds checked, one for each axis.
    pub fn subscripts(
        &mut self,
        shape: Vec<Expr>,
        subs: &[ast::Expr],
        span: Span,
    ) -> Option<Vec<Sub>> {
        let subs = self.by_axis(subs);
        if subs.len() > shape.len() {
            let msg = format!("{} subscripts for a tensor of rank {}", subs.len(), shape.len());
            self.error(Code::RankMismatch, span, msg);
            return None;
        }
        let mut out = Some(vec![]);
        for (i, extent) in shape.iter().enumerate() {
            let sub = match subs.get(i) {
                Some(Some(s)) => self.subscript(s, extent),
                // an axis of a pack, or left off
                Some(None) | None => Some(whole(extent)),
            };
            match (sub, &mut out) {
                (Some(s), Some(v)) => v.push(s),
                _ => out = None,
            }
        }
        out
    }

    /// The subscript of each axis; `..B` of a pack is as many whole axes as the pack has.
    fn by_axis<'a>(&self, subs: &'a [ast::Expr]) -> Vec<Option<&'a ast::Expr>> {
        let pack = |s: &ast::Expr| match &s.kind {
            ExprKind::Range { lo: None, hi: Some(h), .. } => match &h.kind {
                ExprKind::Path(p) => match p.segs.as_slice() {
                    [n] => match &self.binding(self.find(&n.text)?)?.val {
                        Val::List(axes) => Some(axes.len()),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        subs.iter()
            .flat_map(|s| match pack(s) {
                Some(n) => vec![None; n],
                None => vec![Some(s)],
            })
            .collect()
    }

    fn subscript(&mut self, s: &ast::Expr, extent: &Expr) -> Option<Sub> {
        if let ExprKind::Range { lo, hi, inclusive } = &s.kind {
            let a = match lo {
                Some(e) => self.int_expr(e)?,
                None => Expr::zero(),
            };
            let b = match hi {
                Some(e) => {
                    let b = self.int_expr(e)?;
                    if *inclusive { b.add(&Expr::one()) } else { b }
                }
                None => extent.clone(),
            };
            let w = Window { start: a, stop: b, tile: None };
            return self.window_sub(w, extent, s.span);
        }
        match self.expr(s) {
            Val::Error => None,
            Val::Window(w) => self.window_sub(*w, extent, s.span),
            v => {
                let i = self.int(v, s.span)?;
                if i.as_int().is_some_and(|k| k < 0) {
                    self.diags.push(
                        Diagnostic::new(
                            Code::WindowBounds,
                            s.span,
                            format!("index {} is negative", self.g.vars.show(&i)),
                        )
                        .help("indices count from the start; write `n - 1` with the extent `n` for the last"),
                    );
                    return None;
                }
                self.in_bounds(&i, &i.add(&Expr::one()), extent, s.span)?;
                Some(Sub::At(i))
            }
        }
    }

    fn window_sub(&mut self, w: Window, extent: &Expr, span: Span) -> Option<Sub> {
        let len = w.len();
        let varies = len.vars().into_iter().find(|v| {
            self.g.vars.get(*v).is_some_and(|i| !matches!(i.kind, crate::types::dim::VarKind::Dim))
        });
        if let Some(v) = varies {
            let (l, n) = (self.g.vars.show(&len), self.g.vars.name(v).to_string());
            self.diags.push(
                Diagnostic::new(
                    Code::VaryingExtent,
                    span,
                    format!("the length of this window is `{l}`, which varies with `{n}`"),
                )
                .help(
                    "extents never vary: walk the range with `for w in tile(a..b, 64, pad = 0.0)`",
                ),
            );
            return None;
        }
        if self.g.vars.upper(&len).is_some_and(|u| u < 0) {
            let (a, b) = (self.g.vars.show(&w.start), self.g.vars.show(&w.stop));
            self.error(
                Code::WindowBounds,
                span,
                format!("the window `{a}..{b}` ends before it starts"),
            );
            return None;
        }
        match w.tile {
            Some(t) if t.pad.is_some() => {
                self.in_bounds(&w.start, &w.start, extent, span)?;
                Some(Sub::Window { start: w.start, len, end: Some(t.end), pad: t.pad })
            }
            _ => {
                self.in_bounds(&w.start, &w.stop, extent, span)?;
                Some(Sub::Window { start: w.start, len, end: None, pad: None })
            }
        }
    }

    /// `0 <= start` and `stop <= extent`: proved, refused, or noted as assumed.
    fn in_bounds(&mut self, start: &Expr, stop: &Expr, extent: &Expr, span: Span) -> Option<()> {
        let low = self.g.vars.ge(start, &Expr::zero());
        let high = self.g.vars.ge(extent, stop);
        let (a, b, n) = (self.g.vars.show(start), self.g.vars.show(stop), self.g.vars.show(extent));
        if low == Decision::No {
            self.error(Code::WindowBounds, span, format!("the window starts at `{a}`, before 0"));
            return None;
        }
        if high == Decision::No {
            let msg = match (stop.as_int(), start.as_int()) {
                (Some(e), Some(s)) if s.checked_add(1).is_none_or(|n| n == e) => {
                    format!("index {s} is past the end of an axis of {n}")
                }
                _ => format!("the window `{a}..{b}` reaches past the end of an axis of `{n}`"),
            };
            self.diags.push(
                Diagnostic::new(Code::WindowBounds, span, msg)
                    .help("`tile(.., pad = v)` makes windows that may reach past the end"),
            );
            return None;
        }
        if low == Decision::Unknown || high == Decision::Unknown {
            if let Some((at, s, e)) = self.position_outside(start, stop, extent) {
                let msg = format!("at `{at}` this is `{s}..{e}`, outside an axis of {n}");
                self.diags.push(
                    Diagnostic::new(Code::WindowBounds, span, msg)
                        .help("`tile(.., pad = v)` makes windows that may reach past the end"),
                );
                return None;
            }
            // of a window that may run past the end only the start is held against the axis
            let what = if a == b { format!("`{a}`") } else { format!("`{a}..{b}`") };
            self.g.assumed.push((span, format!("{what} lies within an axis of `{n}`")));
        }
        Some(())
    }
}

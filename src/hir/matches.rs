//! `match` on what is known at compile time.

use super::assigns::expr_assigns;
use super::elab::{Elab, is_none, show_path};
use super::regions::Assigned;
use super::value::Val;
use crate::base::{HashSet, Span};
use crate::diag::{Code, Diagnostic};
use crate::graph::{Arm, NodeKind};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr, VarKind};
use crate::types::dtype::DType;
use crate::types::ty::TensorTy;

/// What is no number and is matched by what it says.
enum Name {
    Text(String),
    DType(DType),
}

impl Elab<'_> {
    pub fn match_block(&mut self, value: &ast::Expr, arms: &[ast::Arm], span: Span) -> Val {
        let optional = |a: &ast::Arm| matches!(&a.pat.kind, ExprKind::Path(p) if is_none(p));
        let v = match self.expr(value) {
            Val::Error => return Val::Error,
            v if matches!(v, Val::None) || arms.iter().any(optional) => {
                return self.match_given(!matches!(v, Val::None), value.span, arms);
            }
            Val::Bool(b) => Val::int(Expr::int(i64::from(b))),
            Val::Str(s) => return self.match_name(&Name::Text(s), value.span, arms),
            Val::DType(d) => return self.match_name(&Name::DType(d), value.span, arms),
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
        if what.as_int().is_some() || self.recorder.is_some() {
            // the first arm that takes any of the values must take them all
            let i = ranges.iter().position(|(a, b)| *a <= hi && lo <= *b);
            if i.and_then(|i| ranges.get(i)).is_some_and(|(a, b)| lo < *a || *b < hi) {
                let msg = "the arm that is taken is not the same at all sizes";
                return self.error(Code::UnboundDim, value.span, msg);
            }
            if let Some((a, b)) = i.and_then(|i| ranges.get(i)) {
                let name = self.p.sources.text(value.span);
                self.record_arm(format!("{name} in {a}..={b}"));
            }
            return match i.and_then(|i| arms.get(i)) {
                Some(a) => self.expr(&a.body),
                None => Val::Error,
            };
        }
        self.match_arms(&what, arms, &ranges, lo, hi, span)
    }

    /// A `match` of an optional argument: `none` takes one that is not given, `_` any.
    fn match_given(&mut self, given: bool, span: Span, arms: &[ast::Arm]) -> Val {
        for a in arms {
            match &a.pat.kind {
                ExprKind::Path(p) if is_none(p) && given => {}
                ExprKind::Path(p) if is_none(p) || show_path(p) == "_" => {
                    return self.expr(&a.body);
                }
                _ => {
                    let msg = "the pattern of an optional argument is `none` or `_`";
                    return self.error(Code::BadArgs, a.pat.span, msg);
                }
            }
        }
        let (what, pattern) = if given { ("one that is given", "_") } else { ("`none`", "none") };
        let d = Diagnostic::new(
            Code::NonExhaustive,
            span,
            format!("no arm of this `match` covers {what}"),
        )
        .help(format!("add an arm `{pattern} => ..`"));
        self.push(d)
    }

    /// A `match` of a string or a dtype: the first arm that says the same, or `_`.
    fn match_name(&mut self, name: &Name, span: Span, arms: &[ast::Arm]) -> Val {
        for a in arms {
            let hit = match &a.pat.kind {
                ExprKind::Path(p) if p.segs.len() == 1 && p.segs[0].text == "_" => true,
                _ => match (self.expr(&a.pat), name) {
                    (Val::Str(s), Name::Text(t)) => s == *t,
                    (Val::DType(d), Name::DType(t)) => d == *t,
                    (Val::Error, _) => return Val::Error,
                    (v, _) => {
                        let want = match name {
                            Name::Text(_) => "string is a string",
                            Name::DType(_) => "dtype is a dtype",
                        };
                        let msg = format!("the pattern of a {want}, found {}", v.what());
                        return self.error(Code::BadArgs, a.pat.span, msg);
                    }
                },
            };
            if hit {
                return self.expr(&a.body);
            }
        }
        let shown = match name {
            Name::Text(t) => format!("{t:?}"),
            Name::DType(d) => d.to_string(),
        };
        let d = Diagnostic::new(
            Code::NonExhaustive,
            span,
            format!("no arm of this `match` covers `{shown}`"),
        )
        .help(format!("add an arm `{shown} => ..` or `_ => ..`"));
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
        let (msg, missing) = if arms.iter().any(|a| matches!(a.pat.kind, ExprKind::Bool(_))) {
            let b = x != 0;
            (format!("no arm of this `match` covers `{b}`"), b.to_string())
        } else {
            let missing = if x == y { format!("{x}") } else { format!("{x}..={y}") };
            (format!("`match {shown}` does not cover {missing}"), missing)
        };
        let mut d = Diagnostic::new(Code::NonExhaustive, span, msg)
            .here(if lo == hi {
                format!("this is `{missing}`")
            } else {
                format!("`{shown}` is {lo}..={hi}")
            })
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
            expr_assigns(b, &mut HashSet::default(), &mut names);
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

//! Placements as they are written: factors, suffixes, mesh axes.

use super::elab::Elab;
use super::value::Val;
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::syntax::ast::{self, BinaryOp, ExprKind};
use crate::types::dim::{Decision, Expr};
use crate::types::placement::{
    AxisId, AxisSplit, Factor, Layout, Mode, Placement, Reduction, Swizzle, show_split,
};

impl Elab<'_> {
    /// A placement of the source for a value of a shape.
    pub fn placement(&mut self, p: &ast::Placement, shape: &[Expr]) -> Option<Placement> {
        let mut out = Placement::whole(p.storage, shape.len());
        if let Some(axes) = &p.axes {
            if axes.len() != shape.len() {
                let msg =
                    format!("the placement has {} axes, the value has {}", axes.len(), shape.len());
                self.error(Code::RankMismatch, p.span, msg);
                return None;
            }
            let mut used: Vec<(AxisId, Span)> = vec![];
            for (i, (a, extent)) in axes.iter().zip(shape).enumerate() {
                let split = self.axis_split(a, extent)?;
                for x in split.mesh_axes() {
                    if let Some((_, s)) = used.iter().find(|(u, _)| *u == x) {
                        let msg = format!("`{}` splits two axes", self.g.meshes.axis_name(x));
                        let d = Diagnostic::new(Code::BadPlacement, a.span, msg)
                            .label(*s, "used here already");
                        self.push(d);
                        return None;
                    }
                    used.push((x, a.span));
                }
                if let Some(slot) = out.axes.get_mut(i) {
                    *slot = split;
                }
            }
        }
        for s in &p.suffixes {
            self.suffix(s, &mut out)?;
            if let Some(l) = &out.layout
                && s.name.text == "layout"
                && let Some(msg) = misfit(l, &out, shape)
            {
                self.error(Code::BadPlacement, s.span, msg);
                return None;
            }
        }
        Some(out)
    }

    fn suffix(&mut self, s: &ast::Suffix, out: &mut Placement) -> Option<()> {
        match s.name.text.as_str() {
            "swizzle" => {
                let ints = self.suffix_ints(s)?;
                let [bits, base, shift] = ints.as_slice() else {
                    self.error(Code::BadPlacement, s.span, "`swizzle` takes (bits, base, shift)");
                    return None;
                };
                let fits = |v: i64| u32::try_from(v).ok().filter(|v| *v < 32);
                match (fits(*bits), fits(*base), fits(*shift)) {
                    (Some(bits), Some(base), Some(shift)) => {
                        out.swizzle = Some(Swizzle { bits, base, shift });
                    }
                    _ => {
                        self.error(Code::BadPlacement, s.span, "a swizzle's numbers are 0 to 31");
                        return None;
                    }
                }
            }
            "layout" => {
                let shape = self.modes(&s.args)?;
                let Some(strides) = &s.strides else {
                    self.error(Code::BadPlacement, s.span, "a layout is `layout (shape):(stride)`");
                    return None;
                };
                let stride = self.modes(strides)?;
                out.layout = Some(Layout { shape, stride });
            }
            "partial" => {
                let kind = s.args.first().and_then(|a| match &a.value.kind {
                    ExprKind::Path(p) => p.segs.first().and_then(|n| Reduction::parse(&n.text)),
                    _ => None,
                });
                let Some(kind) = kind else {
                    let msg = "`partial` takes a reduction and axes: `partial(sum, t.x)`; the reductions are sum, max, min and prod";
                    self.error(Code::BadPlacement, s.span, msg);
                    return None;
                };
                for a in s.args.iter().skip(1) {
                    let axis = self.axis_of(&a.value)?;
                    out.set_partial(axis, kind);
                }
            }
            "varying" => {
                for a in &s.args {
                    let axis = self.axis_of(&a.value)?;
                    out.add_varying([axis]);
                }
            }
            other => {
                let known = ["swizzle", "layout", "partial", "varying"];
                let msg = format!("a placement has no `{other}`");
                let mut d = Diagnostic::new(Code::BadPlacement, s.name.span, msg);
                d = match did_you_mean(other, known) {
                    Some(m) => d.help(format!("it has `{m}`")).fix("rename", s.name.span, m),
                    None => d.help("it has `swizzle`, `layout`, `partial` and `varying`"),
                };
                self.push(d);
                return None;
            }
        }
        Some(())
    }

    fn suffix_ints(&mut self, s: &ast::Suffix) -> Option<Vec<i64>> {
        let mut out = vec![];
        for a in &s.args {
            let e = self.int_expr(&a.value)?;
            out.push(e.as_int()?);
        }
        Some(out)
    }

    fn modes(&mut self, args: &[ast::Arg]) -> Option<Mode> {
        let mut out = vec![];
        for a in args {
            out.push(self.mode(&a.value)?);
        }
        Some(if out.len() == 1 { out.remove(0) } else { Mode::Tuple(out) })
    }

    fn mode(&mut self, e: &ast::Expr) -> Option<Mode> {
        match &e.kind {
            ExprKind::Tuple(v) => {
                let parts: Option<Vec<Mode>> = v.iter().map(|x| self.mode(x)).collect();
                parts.map(Mode::Tuple)
            }
            ExprKind::Paren(x) => self.mode(x),
            _ => match self.int_expr(e)?.as_int() {
                Some(i) => Some(Mode::Int(i)),
                None => {
                    self.error(Code::NotConstant, e.span, "a layout's numbers are constant");
                    None
                }
            },
        }
    }

    /// The factors of one axis of a placement.
    fn axis_split(&mut self, e: &ast::Expr, extent: &Expr) -> Option<AxisSplit> {
        let (parts, padded): (Vec<&ast::Expr>, bool) = match &e.kind {
            ExprKind::Tuple(v) => (v.iter().collect(), false),
            ExprKind::Paren(x) => (vec![&**x], false),
            ExprKind::Call { func, args } if is_name(func, "pad") => {
                (args.iter().map(|a| &a.value).collect(), true)
            }
            _ => (vec![e], false),
        };
        let mut split = AxisSplit { factors: vec![], padded };
        let sole = parts.len() == 1 && !padded;
        for p in parts {
            self.factor(p, sole, &mut split.factors)?;
        }
        let product = Expr::product(split.factors.iter().map(|f| &f.extent));
        let vars = &self.g.vars;
        let fits = if padded { vars.ge(&product, extent) } else { vars.equal(&product, extent) };
        if fits != Decision::Yes {
            let (p, n) = (vars.show(&product), vars.show(extent));
            let msg = if padded {
                format!("the padded factors give {p}, less than the axis of {n}")
            } else {
                format!("the factors give {p}, the axis has {n}")
            };
            let mut d = Diagnostic::new(Code::BadSplit, e.span, msg);
            if !padded {
                d = d.help("the factors' product is the axis; `pad(..)` allows it to be larger");
            }
            self.push(d);
            return None;
        }
        // a whole axis has no factors, so that equal placements compare equal
        if split.is_whole() && !padded {
            split.factors.clear();
        }
        Some(split)
    }

    /// `n`, `n @ m.a` or `n @ (m.a, m.b)`.
    fn factor(&mut self, e: &ast::Expr, sole: bool, out: &mut Vec<Factor>) -> Option<()> {
        let ExprKind::Binary { op: BinaryOp::At, lhs, rhs, .. } = &e.kind else {
            let n = self.extent(e)?;
            out.push(Factor { extent: n, axis: None });
            return Some(());
        };
        let n = self.extent(lhs)?;
        let axes: Vec<&ast::Expr> = match &rhs.kind {
            ExprKind::Tuple(v) => v.iter().collect(),
            ExprKind::Paren(x) => vec![&**x],
            _ => vec![&**rhs],
        };
        let sole = sole && axes.len() == 1;
        let mut rest = n.clone();
        for a in axes {
            let axis = self.axis_of(a)?;
            let x = self.g.meshes.axis_extent(axis);
            let Some(q) = rest.exact_div(&x) else {
                self.indivisible(e, &n, axis, &x, sole);
                return None;
            };
            out.push(Factor { extent: x, axis: Some(axis) });
            rest = q;
        }
        if !rest.is_one() {
            out.push(Factor { extent: rest, axis: None });
        }
        Some(())
    }

    /// `sole`: the factor is all of its axis, so that it can be padded where it stands.
    fn indivisible(&mut self, e: &ast::Expr, n: &Expr, axis: AxisId, x: &Expr, sole: bool) {
        let name = self.g.meshes.axis_name(axis).to_string();
        let (shown, by) = (self.g.vars.show(n), self.g.vars.show(x));
        let mut d = Diagnostic::new(
            Code::Indivisible,
            e.span,
            format!("`{shown}` is not divided evenly by the {by} positions of `{name}`"),
        );
        if let (Some(a), Some(b)) = (n.as_int(), x.as_int())
            && b > 0
            && sole
        {
            let q = a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0);
            let pad = format!("pad({q}, {b} @ {name})");
            d = d
                .note(format!("{q} * {b} = {} elements, {} of them padding", q * b, q * b - a))
                .help(format!("a padded split covers the axis: `{pad}`"))
                .fix("pad the split", e.span, pad);
        } else {
            d = d.help(format!("a padded split covers the axis: `pad(.., {by} @ {name})`"));
        }
        self.push(d);
    }

    /// The mesh axis that an expression such as `g.row` names.
    pub fn axis_of(&mut self, e: &ast::Expr) -> Option<AxisId> {
        let ExprKind::Field { base, name } = &e.kind else {
            self.error(Code::BadPlacement, e.span, "expected a mesh axis such as `g.row`");
            return None;
        };
        match self.expr(base) {
            Val::Mesh(m) => self.mesh_axis(m, name),
            Val::Error => None,
            other => {
                let msg = format!("expected a mesh, found {}", other.what());
                self.error(Code::BadPlacement, base.span, msg);
                None
            }
        }
    }

    /// A split as text, for messages.
    pub fn show_axis(&self, s: &AxisSplit, extent: &Expr) -> String {
        show_split(s, extent, &self.g.vars, &self.g.meshes)
    }
}

fn is_name(e: &ast::Expr, name: &str) -> bool {
    matches!(&e.kind, ExprKind::Path(p) if p.segs.len() == 1 && p.segs.iter().all(|s| s.text == name))
}

/// Why a layout is none of a value of this shape; a split value's is not looked at.
fn misfit(l: &Layout, p: &Placement, shape: &[Expr]) -> Option<String> {
    fn congruent(a: &Mode, b: &Mode) -> bool {
        match (a, b) {
            (Mode::Int(_), Mode::Int(_)) => true,
            (Mode::Tuple(x), Mode::Tuple(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(a, b)| congruent(a, b))
            }
            _ => false,
        }
    }
    fn size(m: &Mode) -> Option<i64> {
        match m {
            Mode::Int(n) => Some(*n),
            Mode::Tuple(v) => v.iter().try_fold(1i64, |n, m| n.checked_mul(size(m)?)),
        }
    }
    if !congruent(&l.shape, &l.stride) {
        return Some("the shape and the strides of a layout are nested alike".to_string());
    }
    let whole = p.axes.iter().all(|a| a.mesh_axes().next().is_none());
    let n = shape.iter().try_fold(1i64, |n, e| n.checked_mul(e.as_int()?))?;
    match size(&l.shape) {
        Some(m) if m == n || !whole => None,
        Some(m) => Some(format!("the layout has {m} elements, the value {n}")),
        None => Some("the layout's size does not fit into 64 bits".to_string()),
    }
}

//! Statements, expressions and lists.

use super::doc::{Doc, alt, cat, group, indent, nothing, text};
use super::*;

impl Fmt<'_> {
    // ---------------------------------------------------------------- blocks and statements

    /// Everything of a function's body after its `{`. A final `return e;` becomes the value `e`.
    pub(super) fn func_body(&mut self, b: &Block) -> Doc {
        let s = self.statements(b, true);
        Fmt::after_brace(s)
    }

    fn block(&mut self, b: &Block) -> Doc {
        let s = self.statements(b, false);
        Fmt::braces(s)
    }

    fn statements(&mut self, b: &Block, of_func: bool) -> Sequence {
        let mut spans: Vec<Span> = b.stmts.iter().map(|s| s.span).collect();
        spans.extend(b.tail.as_ref().map(|e| e.span));
        let (start, end) = (b.span.start + 1, b.span.end.saturating_sub(1));
        self.sequence(start, end, &spans, |f, i| {
            let doc = match (b.stmts.get(i), &b.tail) {
                (Some(s), tail) => {
                    let last = i + 1 == b.stmts.len() && tail.is_none();
                    f.statement(s, last, of_func)
                }
                (None, Some(e)) => cat([f.hint_lines(&e.hints), f.bare(e, false)]),
                (None, None) => nothing(),
            };
            (doc, false)
        })
    }

    fn statement(&mut self, s: &Stmt, last: bool, of_func: bool) -> Doc {
        let hints = self.hint_lines(&s.hints);
        let doc = match &s.kind {
            StmtKind::Let { pat, ty, value } => {
                let mut head = vec![Doc::Word("let "), pattern(pat)];
                if let Some(t) = ty {
                    head.extend([Doc::Word(": "), self.ty(t)]);
                }
                self.assign(cat(head), value)
            }
            StmtKind::Assign { target, value } => {
                let head = self.expr(target);
                self.assign(head, value)
            }
            // a range can be returned, but not stand last
            StmtKind::Return(e) if last && of_func && !matches!(e.kind, ExprKind::Range { .. }) => {
                cat([self.hint_lines(&e.hints), self.bare(e, false)])
            }
            StmtKind::Return(e) => cat([Doc::Word("return "), self.expr(e), Doc::Word(";")]),
            StmtKind::Expr(e) if is_block_like(e) => {
                // last in a block, the `;` is what drops the value
                let end = if last { Doc::Word(";") } else { nothing() };
                cat([self.bare(e, false), end])
            }
            StmtKind::Expr(e) => cat([self.expr(e), Doc::Word(";")]),
            StmtKind::Launch(l) => self.launch(s.span, l),
            // files with errors are not formatted
            StmtKind::Error { .. } => self.source(s.span),
        };
        cat([hints, doc])
    }

    /// `head = value;`: on one line, else the value on the next, else broken inside.
    pub(super) fn assign(&mut self, head: Doc, value: &Expr) -> Doc {
        let doc = self.expr(value);
        let same = cat([Doc::Word(" "), doc.clone(), Doc::Word(";")]);
        let tail = if is_block_like(value) || doc.is_broken() {
            alt([same.clone(), same])
        } else {
            let next = indent(cat([Doc::Newline, doc, Doc::Word(";")]));
            alt([same.clone(), next, same])
        };
        cat([head, Doc::Word(" ="), tail])
    }

    /// The options go to the next line together, if the arguments fit on the first.
    fn launch(&mut self, span: Span, l: &Launch) -> Doc {
        let end = l.options.first().map_or(span.end, |o| o.span.start);
        let args = self.args(l.kernel.span.end, end, &l.args);
        let head = cat([Doc::Word("launch "), self.path(&l.kernel), args]);
        if l.options.is_empty() {
            return cat([head, Doc::Word(";")]);
        }
        let mut options = vec![];
        for (i, o) in l.options.iter().enumerate() {
            options.extend([Doc::Word(if i > 0 { " " } else { "" }), text(&o.name.text)]);
            if !o.args.is_empty() {
                options.push(self.args(o.name.span.end, o.span.end, &o.args));
            }
        }
        options.push(Doc::Word(";"));
        let options = cat(options);
        alt([
            cat([head.clone(), Doc::Word(" "), options.clone()]),
            cat([head.clone(), indent(cat([Doc::Newline, options.clone()]))]),
            cat([head, Doc::Word(" "), options]),
        ])
    }

    // ---------------------------------------------------------------- hints

    /// Hints on lines of their own, one for each `#[..]`.
    pub(super) fn hint_lines(&mut self, hints: &[Hint]) -> Doc {
        let groups = self.hint_groups(hints);
        cat(groups.into_iter().flat_map(|g| [g, Doc::Hard]).collect::<Vec<_>>())
    }

    fn hint_groups(&mut self, hints: &[Hint]) -> Vec<Doc> {
        let mut groups: Vec<Vec<(Span, Doc)>> = vec![];
        let mut end = None;
        for h in hints {
            let joined = end.is_some_and(|e| !self.between(e, h.span.start).contains('#'));
            let mut doc = vec![text(&h.name.text)];
            if !h.args.is_empty() {
                doc.push(self.args(h.name.span.end, h.span.end, &h.args));
            }
            let element = (h.span, cat(doc));
            match groups.last_mut().filter(|_| joined) {
                Some(g) => g.push(element),
                None => groups.push(vec![element]),
            }
            end = Some(h.span.end);
        }
        let list = |g: Vec<(Span, Doc)>| {
            let start = g.first().map_or(0, |e| e.0.start);
            let end = g.last().map_or(0, |e| e.0.end);
            self.list("#[", "]", start, end, g)
        };
        groups.into_iter().map(list).collect()
    }

    // ---------------------------------------------------------------- expressions

    pub(super) fn path(&self, p: &Path) -> Doc {
        match p.segs.as_slice() {
            [one] => text(&one.text),
            segs => text(&segs.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("::")),
        }
    }

    /// An expression behind something on its line.
    pub(super) fn expr(&mut self, e: &Expr) -> Doc {
        if e.hints.is_empty() {
            return self.bare(e, true);
        }
        let mut docs = vec![];
        for g in self.hint_groups(&e.hints) {
            docs.extend([g, Doc::Word(" ")]);
        }
        docs.push(self.bare(e, true));
        cat(docs)
    }

    /// An expression without its hints. As an operand, a block of one value may stay on its line.
    fn bare(&mut self, e: &Expr, operand: bool) -> Doc {
        let end = e.span.end;
        match &e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Str(_) => {
                self.literal(e)
            }
            ExprKind::Path(p) => self.path(p),
            ExprKind::List(v) => self.exprs("[", "]", e.span, v),
            ExprKind::Tuple(v) => self.tuple(e.span, v),
            ExprKind::Paren(inner) => {
                let doc = self.expr(inner);
                let doc = indent(cat([Doc::Soft, doc]));
                group(cat([Doc::Word("("), doc, Doc::Soft, Doc::Word(")")]))
            }
            ExprKind::Call { func, args } => {
                cat([self.expr(func), self.args(func.span.end, end, args)])
            }
            ExprKind::Index { base, subs } => {
                let at = Span { start: base.span.end, ..e.span };
                cat([self.expr(base), self.exprs("[", "]", at, subs)])
            }
            ExprKind::Field { base, name } => {
                // behind a number a dot would begin its fraction
                let number = matches!(base.kind, ExprKind::Int(_) | ExprKind::Float(_));
                let dot = Doc::Word(if number { " ." } else { "." });
                cat([self.expr(base), dot, text(&name.text)])
            }
            ExprKind::Unary { op, operand } => {
                let op = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                };
                cat([Doc::Word(op), self.expr(operand)])
            }
            ExprKind::Binary { .. } => self.chain(e),
            ExprKind::Range { lo, hi, inclusive } => {
                let lo = lo.as_ref().map_or_else(nothing, |e| self.expr(e));
                let hi = hi.as_ref().map_or_else(nothing, |e| self.expr(e));
                cat([lo, Doc::Word(if *inclusive { "..=" } else { ".." }), hi])
            }
            ExprKind::In { value, placement } => {
                cat([self.expr(value), Doc::Word(" in "), self.placement(placement)])
            }
            ExprKind::Placement(p) => self.placement(p),
            ExprKind::Error => self.source(e.span),
            _ => self.block_like(e, operand),
        }
    }

    fn block_like(&mut self, e: &Expr, operand: bool) -> Doc {
        let w = Doc::Word;
        match &e.kind {
            ExprKind::For { var, iter, step, body } => {
                let mut docs = vec![w("for "), text(&var.text), w(" in "), self.expr(iter)];
                if let Some(s) = step {
                    docs.extend([w(" step "), self.expr(s)]);
                }
                docs.extend([w(" "), self.block(body)]);
                cat(docs)
            }
            ExprKind::Mesh { binds, body } => {
                let binds = self.binds(binds);
                cat([w("mesh "), binds, w(" "), self.block(body)])
            }
            ExprKind::On { part, body } => {
                cat([w("on "), text(&part.text), w(" "), self.small_block(body, operand)])
            }
            ExprKind::Match { value, arms } => {
                let value_doc = self.expr(value);
                let start = self.after_open_brace(value.span.end, e.span.end);
                let arms = self.arms(start, e.span.end, arms);
                cat([w("match "), value_doc, w(" "), arms])
            }
            ExprKind::Block(b) => self.small_block(b, operand),
            _ => self.source(e.span),
        }
    }

    fn small_block(&mut self, b: &Block, operand: bool) -> Doc {
        match &b.tail {
            Some(e)
                if operand
                    && b.stmts.is_empty()
                    && e.hints.is_empty()
                    && !is_block_like(e)
                    && !self.has_comments(b.span.start, b.span.end) =>
            {
                let value = indent(cat([Doc::Line, self.expr(e)]));
                group(cat([Doc::Word("{"), value, Doc::Line, Doc::Word("}")]))
            }
            _ => self.block(b),
        }
    }

    fn arms(&mut self, start: u32, end: u32, arms: &[Arm]) -> Doc {
        let spans: Vec<Span> = arms.iter().map(|a| a.span).collect();
        let s = self.sequence(start, end.saturating_sub(1), &spans, |f, i| {
            let a = &arms[i];
            (cat([f.expr(&a.pat), Doc::Word(" => "), f.expr(&a.body), Doc::Word(",")]), false)
        });
        Fmt::braces(s)
    }

    /// Literals stay as they are written. The span of one with hints begins with them.
    fn literal(&self, e: &Expr) -> Doc {
        let hints = e.hints.last().map_or("", |h| self.slice(h.span.end, e.span.end));
        let start = hints.find(']').map_or(0, |i| hints.len() - i - 1);
        match e.hints.is_empty() {
            true => self.source(e.span),
            false => text(hints[hints.len() - start..].trim()),
        }
    }

    /// Operators of one precedence break together, each before its operand.
    fn chain(&mut self, e: &Expr) -> Doc {
        let mut links = vec![];
        let mut first = e;
        let mut level = None;
        while let ExprKind::Binary { op, lhs, rhs, .. } = &first.kind
            && level.is_none_or(|l| l == precedence(*op))
            && (level.is_none() || first.hints.is_empty())
        {
            level = Some(precedence(*op));
            links.push((op.symbol(), rhs));
            first = lhs;
        }
        let head = self.expr(first);
        let mut rest = vec![];
        for (op, rhs) in links.into_iter().rev() {
            rest.extend([Doc::Line, Doc::Word(op), Doc::Word(" "), self.expr(rhs)]);
        }
        group(cat([head, indent(cat(rest))]))
    }

    // ---------------------------------------------------------------- lists

    pub(super) fn args(&mut self, start: u32, end: u32, args: &[Arg]) -> Doc {
        let elements = args.iter().map(|a| (a.span, self.arg(a))).collect();
        self.list("(", ")", start, end, elements)
    }

    fn arg(&mut self, a: &Arg) -> Doc {
        let value = self.expr(&a.value);
        match &a.name {
            Some(n) => cat([text(&n.text), Doc::Word(" = "), value]),
            None if a.inout => cat([Doc::Word("inout "), value]),
            None => value,
        }
    }

    fn exprs(
        &mut self,
        open: &'static str,
        close: &'static str,
        span: Span,
        exprs: &[Expr],
    ) -> Doc {
        let elements = exprs.iter().map(|e| (e.span, self.expr(e))).collect();
        self.list(open, close, span.start, span.end, elements)
    }

    fn tuple(&mut self, span: Span, v: &[Expr]) -> Doc {
        match v {
            [one] if !self.has_comments(span.start, span.end) => {
                let one = indent(cat([Doc::Soft, self.expr(one), Doc::Word(",")]));
                group(cat([Doc::Word("("), one, Doc::Soft, Doc::Word(")")]))
            }
            _ => self.exprs("(", ")", span, v),
        }
    }

    /// A bracketed list with the comments in `start..end`: on one line, or each element on its own
    /// line with a comma after it.
    pub(super) fn list(
        &mut self,
        open: &'static str,
        close: &'static str,
        start: u32,
        end: u32,
        elements: Vec<(Span, Doc)>,
    ) -> Doc {
        let (open, close) = (Doc::Word(open), Doc::Word(close));
        if elements.is_empty() {
            return cat([open, close]);
        }
        if self.has_comments(start, end) {
            return self.list_with_comments((open, close), (start, end), elements);
        }
        let mut docs = vec![Doc::Soft];
        for (i, (_, d)) in elements.into_iter().enumerate() {
            if i > 0 {
                docs.extend([Doc::Word(","), Doc::Line]);
            }
            docs.push(d);
        }
        docs.push(Doc::IfBroken(","));
        group(cat([open, indent(cat(docs)), Doc::Soft, close]))
    }

    fn list_with_comments(
        &mut self,
        (open, close): (Doc, Doc),
        (start, end): (u32, u32),
        elements: Vec<(Span, Doc)>,
    ) -> Doc {
        let spans: Vec<Span> = elements.iter().map(|e| e.0).collect();
        let s = self.sequence(start, end, &spans, |_, i| {
            let doc = elements.get(i).map_or_else(nothing, |e| e.1.clone());
            (cat([doc, Doc::Word(",")]), false)
        });
        let opener = s.opener.unwrap_or_else(nothing);
        let body = indent(cat([Doc::Hard, s.doc.unwrap_or_else(nothing)]));
        group(cat([open, opener, body, Doc::Hard, close]))
    }
}

pub(super) fn is_block_like(e: &Expr) -> bool {
    use ExprKind::*;
    matches!(e.kind, For { .. } | Mesh { .. } | On { .. } | Match { .. } | Block(_))
}

fn pattern(p: &Pat) -> Doc {
    match p {
        Pat::Name { mutable, name } => {
            cat([Doc::Word(if *mutable { "mut " } else { "" }), text(&name.text)])
        }
        Pat::Wild(_) => Doc::Word("_"),
        Pat::Tuple(v, _) => {
            let mut docs = vec![Doc::Word("(")];
            for (i, p) in v.iter().enumerate() {
                docs.extend([Doc::Word(if i > 0 { ", " } else { "" }), pattern(p)]);
            }
            docs.push(Doc::Word(if v.len() == 1 { ",)" } else { ")" }));
            cat(docs)
        }
    }
}

fn precedence(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Mul | Div | Rem => 0,
        Add | Sub => 1,
        Eq | Ne | Lt | Le | Gt | Ge => 2,
        And => 3,
        Or => 4,
        At => 5,
    }
}

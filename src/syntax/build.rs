//! Builds the nodes that the grammar's actions ask for, and collects what went wrong on the way.

// the grammar's values are boxed: see there
#![allow(clippy::boxed_local)]

use lalrpop_util::{ErrorRecovery, ParseError};

use super::ast::*;
use super::token::{Tok, Token, int_value};
use crate::base::{FileId, Span};
use crate::diag::{Code, Diagnostic};

/// The deepest expression that is built. Whatever walks the tree may recurse this far.
pub const MAX_EXPR_DEPTH: u16 = 500;

/// An error as lalrpop reports it.
pub(crate) type Recovery = ErrorRecovery<u32, Tok, ()>;

/// The state of one parse.
pub(crate) struct Build<'i> {
    pub file: FileId,
    pub text: &'i str,
    pub tokens: &'i [Token],
    pub errors: Vec<Recovery>,
    pub diags: Vec<Diagnostic>,
    /// Start and depth of finished expressions that no larger one contains yet. A new node takes
    /// those that start inside it, so its depth is known without a field in the tree.
    depths: Vec<(u32, u16)>,
    too_deep: bool,
    /// How many items stood before the last run of text that is no item.
    last_alien: Option<usize>,
}

/// Text that recovery skipped.
pub(crate) struct Gap {
    pub span: Span,
    names: Vec<Name>,
    /// The first skipped token, where it could be the name that was expected there.
    first: Option<Name>,
    /// The first token already fits nothing: this is no broken item but none at all.
    alien: bool,
}

impl Gap {
    /// The name of an item whose header is broken.
    pub fn into_name(self) -> Name {
        self.first.unwrap_or(Name { text: "_".into(), span: self.span })
    }

    pub fn into_twin(self, items: Vec<Item>) -> ItemKind {
        let of = Path { segs: vec![Name { text: "_".into(), span: self.span }], span: self.span };
        ItemKind::Twin { name: self.into_name(), of, items }
    }
}

/// An item as the grammar gives it, with the span of its hints and without.
type HintedItem = Hinted<(Box<ItemKind>, Span)>;

/// Name, generics, parameters and result of a function.
type Header = Box<(Name, Vec<Generic>, Vec<Param>, Option<Box<Type>>)>;

/// What is in a box.
pub(crate) type Unboxed<T> = <T as std::ops::Deref>::Target;

/// Pattern and value of an arm, and the whole span.
pub(crate) type RawArm = ((Box<Expr>, Box<Expr>), Span);

type Hinted<T> = ((Vec<Hint>, T), Span);

/// Statements read so far.
#[derive(Default)]
pub(crate) struct Stmts {
    stmts: Vec<Stmt>,
    /// The last one is a block-like expression with no `;`: a value, if nothing follows it.
    open: bool,
}

impl Stmts {
    pub fn push(mut self, ((hints, kind), span): Hinted<Box<StmtKind>>) -> Stmts {
        self.stmts.push(Stmt { hints, kind: *kind, span });
        self.open = false;
        self
    }

    pub fn push_block(self, ((hints, e), span): Hinted<Box<Expr>>, closed: bool) -> Stmts {
        let mut s = self.push(((hints, StmtKind::Expr(*e).into()), span));
        s.open = !closed;
        s
    }

    /// What follows a gap: never a value, since its beginning is unknown.
    pub fn push_bare(self, e: Box<Expr>) -> Stmts {
        let span = e.span;
        self.push(((vec![], StmtKind::Expr(*e).into()), span))
    }

    pub fn push_gap(self, g: Gap) -> Stmts {
        self.push(((vec![], StmtKind::Error { names: g.names }.into()), g.span))
    }

    pub fn block(mut self, span: Span) -> Block {
        if !self.open {
            return Block { stmts: self.stmts, tail: None, span };
        }
        let tail = self.stmts.pop().and_then(|s| match s.kind {
            StmtKind::Expr(mut e) => {
                if !s.hints.is_empty() {
                    e.hints = s.hints;
                    e.span = s.span;
                }
                Some(Box::new(e))
            }
            _ => None,
        });
        Block { stmts: self.stmts, tail, span }
    }

    pub fn with_tail(self, tail: Box<Expr>, span: Span) -> Block {
        Block { stmts: self.stmts, tail: Some(tail), span }
    }

    pub fn with_gap(self, g: Gap, span: Span) -> Block {
        let s = self.push_gap(g);
        Block { stmts: s.stmts, tail: None, span }
    }
}

impl From<Block> for Box<Expr> {
    fn from(b: Block) -> Box<Expr> {
        Box::new(Expr { span: b.span, kind: ExprKind::Block(b), hints: vec![] })
    }
}

impl From<RawArm> for Arm {
    fn from(((pat, body), span): RawArm) -> Arm {
        Arm { pat: *pat, body: *body, span }
    }
}

impl<'i> Build<'i> {
    pub fn new(file: FileId, text: &'i str, tokens: &'i [Token]) -> Build<'i> {
        let (errors, diags, depths) = (vec![], vec![], vec![]);
        Build { file, text, tokens, errors, diags, depths, too_deep: false, last_alien: None }
    }

    /// An empty production ends before it begins; its span is the place where it would stand.
    pub fn span(&self, l: u32, r: u32) -> Span {
        Span { file: self.file, start: l, end: r.max(l) }
    }

    fn slice(&self, span: Span) -> &'i str {
        self.text.get(span.range()).unwrap_or("")
    }

    // ---------------------------------------------------------------- errors

    pub fn skipped(&mut self, l: u32, e: Recovery, r: u32) -> Gap {
        let alien = matches!(&e.error, ParseError::UnrecognizedToken { token, .. } if token.0 == l);
        self.errors.push(e);
        let span = self.span(l, r);
        let from = self.tokens.partition_point(|t| t.start < l);
        let to = self.tokens.partition_point(|t| t.start < span.end);
        let tokens = self.tokens.get(from..to.max(from)).unwrap_or(&[]);
        let first = tokens.first().filter(|t| t.tok.is_name()).map(|t| self.token_name(t));
        Gap { span, names: self.declared(tokens), first, alien }
    }

    fn token_name(&self, t: &Token) -> Name {
        self.name(self.span(t.start, t.end))
    }

    /// The names that skipped tokens would have declared, so that later uses of them stay silent.
    fn declared(&self, tokens: &[Token]) -> Vec<Name> {
        use Tok::*;
        let mut names = vec![];
        let mut i = 0;
        while let Some(t) = tokens.get(i) {
            i += 1;
            match t.tok {
                Let => {
                    // every name of the pattern
                    while let Some(t) = tokens.get(i)
                        && (t.tok.is_name() || matches!(t.tok, Mut | LParen | Comma))
                    {
                        if t.tok.is_name() {
                            names.push(self.token_name(t));
                        }
                        i += 1;
                    }
                }
                Const | Func | Module | Twin | Config | Dim | Type | Weight | Child | Prepare
                | Kernel | As => {
                    if let Some(t) = tokens.get(i)
                        && t.tok.is_name()
                    {
                        names.push(self.token_name(t));
                        i += 1;
                    }
                }
                _ => {}
            }
        }
        names
    }

    // ---------------------------------------------------------------- names and literals

    pub fn name(&self, span: Span) -> Name {
        Name { text: self.slice(span).into(), span }
    }

    pub fn path(&self, span: Span) -> Path {
        Path { segs: vec![self.name(span)], span }
    }

    pub fn segment(&self, p: Path, span: Span) -> Path {
        let name = self.name(span);
        self.extended(p, name)
    }

    pub fn whole_path(&self, name: Name) -> Path {
        let span = name.span;
        Path { segs: vec![name], span }
    }

    pub fn extended(&self, mut p: Path, name: Name) -> Path {
        p.span = p.span.to(name.span);
        p.segs.push(name);
        p
    }

    pub fn storage(&self, span: Span) -> Storage {
        let text = self.slice(span);
        Storage::ALL.into_iter().find(|s| s.name() == text).unwrap_or(Storage::Gmem)
    }

    pub fn str(&self, span: Span) -> Str {
        let text = self.slice(span);
        let quote = if text.starts_with('\'') { '\'' } else { '"' };
        let text = text.strip_prefix(quote).unwrap_or(text);
        // a string left open has no closing quote, unless an escaped one stands last
        let body = text.strip_suffix(quote).unwrap_or(text);
        let mut value = String::with_capacity(body.len());
        let mut chars = body.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => value.push('\n'),
                    Some(c) => value.push(c),
                    None => {}
                },
                c => value.push(c),
            }
        }
        Str { value, span }
    }

    pub fn int(&mut self, span: Span) -> Box<Expr> {
        // the lexer has reported one that does not fit
        let value = int_value(self.slice(span)).unwrap_or(i64::MAX);
        self.expr((ExprKind::Int(value), span))
    }

    pub fn float(&mut self, span: Span) -> Box<Expr> {
        let text = self.slice(span);
        let value = if text.contains('_') { text.replace('_', "").parse() } else { text.parse() };
        // `.5` was reported, and parses; so does everything that the lexer takes for a float
        self.expr((ExprKind::Float(value.unwrap_or(0.0)), span))
    }

    // ---------------------------------------------------------------- items

    pub fn item(&mut self, mut items: Vec<Item>, item: HintedItem) -> Vec<Item> {
        let ((hints, (kind, _)), span) = item;
        self.depths.clear();
        items.push(Item { hints, doc: None, kind: *kind, span });
        items
    }

    /// Statements where items belong, as after a `}` too many, are one error and not many.
    pub fn gap_item(&mut self, mut items: Vec<Item>, g: Gap) -> Vec<Item> {
        self.depths.clear();
        if g.alien && self.last_alien == Some(items.len()) {
            self.errors.pop();
        }
        items.push(Item {
            hints: vec![],
            doc: None,
            kind: ItemKind::Error { names: g.names },
            span: g.span,
        });
        self.last_alien = g.alien.then_some(items.len());
        items
    }

    pub fn gap_then_item(
        &mut self,
        items: Vec<Item>,
        g: Gap,
        (kind, span): (Box<ItemKind>, Span),
    ) -> Vec<Item> {
        let items = self.gap_item(items, g);
        self.item(items, ((vec![], (kind, span)), span))
    }

    pub fn func(&mut self, vis: Vis, (header, span): (Header, Span), body: Block) -> ItemKind {
        let (name, generics, params, ret) = *header;
        let ret = ret.map(|t| *t);
        ItemKind::Func(Func { vis, name, generics, params, ret, body, header: span })
    }

    pub fn broken_func(&mut self, vis: Vis, (name, header): (Name, Span), body: Block) -> ItemKind {
        let (generics, params) = (vec![], vec![]);
        ItemKind::Func(Func { vis, name, generics, params, ret: None, body, header })
    }

    pub fn launch_option(&self, name: Span, args: Option<Vec<Arg>>, span: Span) -> LaunchOption {
        LaunchOption { name: self.name(name), args: args.unwrap_or_default(), span }
    }

    pub fn pat(&self, name: Name) -> Pat {
        if name.text == "_" { Pat::Wild(name.span) } else { Pat::Name { mutable: false, name } }
    }

    // ---------------------------------------------------------------- expressions

    pub fn expr(&mut self, (kind, span): (ExprKind, Span)) -> Box<Expr> {
        Box::new(Expr { kind, span, hints: vec![] })
    }

    pub fn boxed_expr(&mut self, (kind, span): (Box<ExprKind>, Span)) -> Box<Expr> {
        self.expr((*kind, span))
    }

    pub fn hinted(&mut self, ((hints, mut e), span): Hinted<Box<Expr>>) -> Box<Expr> {
        if !hints.is_empty() {
            e.hints = hints;
            e.span = span;
        }
        e
    }

    /// An expression with operands. One that is too deep is replaced by an error, which bounds the
    /// recursion of everything that walks the tree.
    fn node(&mut self, kind: ExprKind, span: Span) -> Box<Expr> {
        let mut depth = 0;
        while let Some(&(start, d)) = self.depths.last()
            && start >= span.start
        {
            depth = depth.max(d);
            self.depths.pop();
        }
        if depth < MAX_EXPR_DEPTH {
            self.depths.push((span.start, depth + 1));
            return self.expr((kind, span));
        }
        if !self.too_deep {
            self.too_deep = true;
            let d = Diagnostic::new(Code::TooDeep, span, "this expression is nested too deeply")
                .here(format!("more than {MAX_EXPR_DEPTH} operations inside one another"))
                .help("give parts of it names with `let`");
            self.diags.push(d);
        }
        self.expr((ExprKind::Error, span))
    }

    pub fn path_expr(&mut self, p: Path) -> Box<Expr> {
        let span = p.span;
        self.expr((ExprKind::Path(p), span))
    }

    pub fn dtype(&mut self, span: Span) -> Box<Expr> {
        let p = self.path(span);
        self.path_expr(p)
    }

    pub fn str_expr(&mut self, s: Str) -> Box<Expr> {
        self.expr((ExprKind::Str(s.value), s.span))
    }

    pub fn placement(&mut self, p: Box<Placement>) -> Box<Expr> {
        let span = p.span;
        self.node(ExprKind::Placement(*p), span)
    }

    pub fn placed(&mut self, value: Box<Expr>, placement: Box<Placement>) -> Box<Expr> {
        let span = value.span.to(placement.span);
        self.node(ExprKind::In { value, placement: *placement }, span)
    }

    pub fn unary(&mut self, (op, at): (UnaryOp, Span), operand: Box<Expr>) -> Box<Expr> {
        let span = at.to(operand.span);
        self.node(ExprKind::Unary { op, operand }, span)
    }

    pub fn binary(
        &mut self,
        lhs: Box<Expr>,
        (op, op_span): (BinaryOp, Span),
        rhs: Box<Expr>,
    ) -> Box<Expr> {
        if let ExprKind::Binary { op: first, op_span: first_span, .. } = &lhs.kind {
            if is_comparison(op) && is_comparison(*first) {
                let d = Diagnostic::new(Code::Syntax, op_span, "comparisons do not chain")
                    .label(*first_span, "the first comparison")
                    .help("join two comparisons with `&&`: `a < b && b < c`");
                self.diags.push(d);
                let span = lhs.span.to(rhs.span);
                return self.node(ExprKind::Error, span);
            } else if op == BinaryOp::At && *first == BinaryOp::At {
                let d = Diagnostic::new(Code::Syntax, op_span, "`@` does not chain")
                    .label(*first_span, "the first split")
                    .help("split an axis by several mesh axes with `N @ (m.a, m.b)`, major first");
                self.diags.push(d);
            }
        }
        let span = lhs.span.to(rhs.span);
        self.node(ExprKind::Binary { op, op_span, lhs, rhs }, span)
    }

    pub fn range(
        &mut self,
        lo: Option<Box<Expr>>,
        inclusive: bool,
        hi: Option<Box<Expr>>,
        span: Span,
    ) -> Box<Expr> {
        self.node(ExprKind::Range { lo, hi, inclusive }, span)
    }

    pub fn call(&mut self, func: Box<Expr>, (args, at): (Vec<Arg>, Span)) -> Box<Expr> {
        let span = func.span.to(at);
        self.node(ExprKind::Call { func, args }, span)
    }

    pub fn index(&mut self, base: Box<Expr>, (subs, at): (Vec<Expr>, Span)) -> Box<Expr> {
        let span = base.span.to(at);
        self.node(ExprKind::Index { base, subs }, span)
    }

    pub fn field(&mut self, base: Box<Expr>, name: Name) -> Box<Expr> {
        let span = base.span.to(name.span);
        self.node(ExprKind::Field { base, name }, span)
    }

    pub fn list(&mut self, (v, span): (Vec<Expr>, Span)) -> Box<Expr> {
        self.node(ExprKind::List(v), span)
    }

    /// `(a)` groups, `(a,)` and `(a, b)` are tuples.
    pub fn group(&mut self, ((mut v, comma), span): ((Vec<Expr>, bool), Span)) -> Box<Expr> {
        match v.pop() {
            Some(e) if v.is_empty() && !comma => self.node(ExprKind::Paren(Box::new(e)), span),
            Some(e) => {
                v.push(e);
                self.node(ExprKind::Tuple(v), span)
            }
            None => self.node(ExprKind::Tuple(v), span),
        }
    }

    pub fn arg(&self, name: Option<Name>, inout: bool, value: Box<Expr>) -> Arg {
        let span = name.as_ref().map_or(value.span, |n| n.span.to(value.span));
        Arg { name, inout, value: *value, span }
    }

    pub fn inout_arg(&self, at: Span, value: Box<Expr>) -> Arg {
        let span = at.to(value.span);
        Arg { name: None, inout: true, value: *value, span }
    }

    pub fn broken_args(&mut self, span: Span) -> Vec<Arg> {
        let value = self.expr((ExprKind::Error, span));
        vec![self.arg(None, false, value)]
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}

//! Bracket repair, between lexer and parser. In: tokens as written. Out: tokens in which every
//! bracket has its partner and none is nested too deeply, and a diagnostic for each change.
//!
//! `;`, `{`, statement words and item words never stand inside `(` or `[`, and item words never
//! stand inside a body. So what is open there was not closed, and is closed here: one lost bracket
//! does not swallow the next statement or item.

use super::explain::{DIVISION, looks_like_division};
use super::token::{MAX_DIAGS, Tok, Token};
use crate::base::{FileId, Span};
use crate::diag::{Code, Diagnostic};

/// The most brackets, of all kinds, inside one another.
pub const MAX_NESTING: usize = 200;

/// What is inside of so many brackets is read only up to [`MAX_DEEP`] tokens: the parser recovers
/// from an error in time that grows with the square of the nesting for each token it skips.
const DEEP: usize = 32;
const MAX_DEEP: u32 = 20_000;

/// The longest run of prefix operators.
const MAX_PREFIX: u32 = 200;

pub(crate) fn repair(file: FileId, text: &str, tokens: &[Token]) -> (Vec<Token>, Vec<Diagnostic>) {
    let count = |tok| tokens.iter().filter(|t| t.tok == tok).count();
    let mut r = Repair {
        file,
        text,
        tokens,
        out: Vec::with_capacity(tokens.len() + 16),
        diags: vec![],
        frames: vec![],
        prev: None,
        read_to: 0,
        after_hint: false,
        head: None,
        head_indent: 0,
        indent: 0,
        deep: 0,
        prefix: 0,
        lost: count(Tok::RBrace) as i64 - count(Tok::LBrace) as i64,
        reported_depth: false,
    };
    let mut i = 0;
    while i < tokens.len() {
        i = r.token(i);
    }
    r.finish();
    (r.out, r.diags)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Open {
    Paren,
    Bracket,
    Hint,
    /// Braces: of a module or twin, of a block, of the arms of a `match`, of `use a::{..}`.
    Items,
    Body,
    Arms,
    Group,
}

impl Open {
    fn is_small(self) -> bool {
        matches!(self, Open::Paren | Open::Bracket | Open::Hint)
    }

    fn closer(self) -> (Tok, &'static str) {
        match self {
            Open::Paren => (Tok::RParen, ")"),
            Open::Bracket | Open::Hint => (Tok::RBracket, "]"),
            _ => (Tok::RBrace, "}"),
        }
    }
}

struct Frame {
    open: Open,
    at: Token,
    /// Column at which the opener's line begins.
    indent: u32,
    /// A block-like expression that stands where none may.
    block_word: Option<Token>,
}

struct Repair<'i> {
    file: FileId,
    text: &'i str,
    tokens: &'i [Token],
    out: Vec<Token>,
    diags: Vec<Diagnostic>,
    frames: Vec<Frame>,
    /// The last token that was passed on.
    prev: Option<Token>,
    /// Where the last token that was written ends.
    read_to: u32,
    /// `prev` closed a hint, so an operand may follow.
    after_hint: bool,
    /// The word whose `{` is still to come: `func`, `for`, `mesh`, `on` or `match`.
    head: Option<Tok>,
    /// Column at which its line begins.
    head_indent: u32,
    /// Column at which the current line begins.
    indent: u32,
    /// Tokens so far inside of at least [`DEEP`] brackets.
    deep: u32,
    /// Length of the run of prefix operators that ends here.
    prefix: u32,
    /// `}` minus `{` of the rest of the repair: only if the braces do not balance may indentation
    /// overrule them, since a file with balanced braces is merely laid out in its own way.
    lost: i64,
    reported_depth: bool,
}

impl Repair<'_> {
    /// Handles the token at `i`; returns the index of the next one to handle.
    fn token(&mut self, i: usize) -> usize {
        let t = self.tokens[i];
        let line_start = self.note_line(t);
        if self.frames.is_empty() {
            self.outside(i, line_start);
        }
        let after_dot = self.prev.is_some_and(|p| p.tok == Tok::Dot);
        if !after_dot {
            if line_start && self.is_item_word(i) {
                self.before_item(t);
            } else if self.is_statement_word(i, line_start) {
                self.before_statement(t);
            }
        }
        match t.tok {
            Tok::Semi => self.close_small("`;`"),
            Tok::LBrace if self.prev.is_none_or(|p| p.tok != Tok::PathSep) => {
                self.close_small("`{`");
            }
            Tok::For | Tok::Match | Tok::On => self.note_block_word(t),
            _ => {}
        }
        if matches!(t.tok, Tok::Minus | Tok::Bang) {
            self.prefix += 1;
            if self.prefix > MAX_PREFIX {
                self.too_deep(t, "operators");
                return i + 1;
            }
        } else {
            self.prefix = 0;
        }
        if t.tok.opens() {
            return self.opener(i);
        }
        self.after_hint = false;
        if self.frames.len() >= DEEP {
            self.deep += 1;
            if self.deep > MAX_DEEP {
                return self.rest_of_bracket(i);
            }
        }
        match t.tok {
            Tok::RParen | Tok::RBracket | Tok::RBrace => self.closer(t, line_start),
            Tok::Func => self.push_head(t),
            Tok::For | Tok::Mesh | Tok::On | Tok::Match if self.in_body() && !self.in_small() => {
                self.push_head(t);
            }
            Tok::Semi => {
                self.head = None;
                self.push(t);
            }
            _ => self.push(t),
        }
        i + 1
    }

    fn push(&mut self, t: Token) {
        self.out.push(t);
        self.prev = Some(t);
    }

    fn push_head(&mut self, t: Token) {
        self.head = Some(t.tok);
        self.head_indent = self.indent;
        self.push(t);
    }

    fn report(&mut self, d: Diagnostic) {
        if self.diags.len() < MAX_DIAGS {
            self.diags.push(d);
        }
    }

    fn prev_end(&self) -> u32 {
        self.prev.map_or(0, |p| p.end)
    }

    /// Adds a token that nobody wrote: it has no width.
    fn insert(&mut self, tok: Tok) {
        let end = self.prev_end();
        self.push(Token { tok, start: end, end });
    }

    fn span(&self, t: Token) -> Span {
        Span { file: self.file, start: t.start, end: t.end }
    }

    fn at(&self, offset: u32) -> Span {
        Span { file: self.file, start: offset, end: offset }
    }

    /// Whether `t` is the first token of its line; keeps the line's indentation.
    fn note_line(&mut self, t: Token) -> bool {
        let from = std::mem::replace(&mut self.read_to, t.end);
        let gap = self.text.get(from as usize..t.start as usize).unwrap_or("");
        if from > 0 && (gap.is_empty() || gap == " ") {
            return false;
        }
        match gap.rfind('\n') {
            Some(i) => {
                self.indent = (gap.len() - i - 1) as u32;
                true
            }
            None => {
                if from == 0 {
                    self.indent = gap.len() as u32;
                }
                from == 0
            }
        }
    }

    fn tok(&self, i: usize) -> Option<Tok> {
        self.tokens.get(i).map(|t| t.tok)
    }

    /// Item words are names elsewhere, so what follows decides.
    fn is_item_word(&self, i: usize) -> bool {
        let (next, third) = (self.tok(i + 1), self.tok(i + 2));
        let named = next.is_some_and(Tok::is_name);
        match self.tokens[i].tok {
            Tok::Func => true,
            Tok::Use => (named && third != Some(Tok::Eq)) || next == Some(Tok::Str),
            Tok::Module => named && third == Some(Tok::LBrace),
            Tok::Twin => named && third == Some(Tok::For),
            Tok::Pub | Tok::Entry => next == Some(Tok::Func),
            Tok::Extern => next == Some(Tok::Kernel),
            Tok::Const => named && third == Some(Tok::Eq),
            _ => false,
        }
    }

    fn in_body(&self) -> bool {
        self.frames.iter().any(|f| f.open == Open::Body)
    }

    fn in_small(&self) -> bool {
        self.frames.last().is_some_and(|f| f.open.is_small())
    }

    fn is_statement_word(&self, i: usize, line_start: bool) -> bool {
        let next = self.tok(i + 1);
        match self.tokens[i].tok {
            Tok::Let | Tok::Return => true,
            // in `match` braces it would be a pattern, and inside brackets an argument
            _ if !line_start || !self.in_body() => false,
            Tok::For => true,
            Tok::Launch => next.is_some_and(Tok::is_name),
            Tok::Match | Tok::Mesh | Tok::On | Tok::HintOpen => self.at_statement(),
            // `x = ..`, `x[..] = ..`: options and suffixes, which may begin a line too, are never
            // followed by these
            t if t.is_name() => {
                self.at_statement()
                    && matches!(
                        next,
                        Some(Tok::Eq | Tok::LBracket | Tok::Dot | Tok::PathSep | Tok::RBrace)
                    )
            }
            _ => false,
        }
    }

    /// Directly in a block, after something that could be a whole statement but for its `;`.
    fn at_statement(&self) -> bool {
        self.frames.last().is_some_and(|f| f.open == Open::Body) && self.after_operand()
    }

    fn after_operand(&self) -> bool {
        !self.after_hint && self.prev.is_some_and(|p| p.tok.ends_operand())
    }

    fn note_block_word(&mut self, t: Token) {
        if let Some(f) = self.frames.last_mut()
            && f.open.is_small()
            && f.block_word.is_none()
        {
            f.block_word = Some(t);
        }
    }

    /// Between items: a `module` or `twin` that lost its keyword or its `{` would make every line of
    /// its body an error.
    fn outside(&mut self, i: usize, line_start: bool) {
        let (t, next) = (self.tokens[i], self.tok(i + 1));
        let between = self.prev.is_none_or(|p| matches!(p.tok, Tok::Semi | Tok::RBrace));
        let named = t.tok.is_name() && next.is_some_and(Tok::is_name);
        let lost = match next {
            Some(Tok::LBrace) if t.tok.is_name() => Some((Tok::Module, "module")),
            Some(Tok::For) if t.tok.is_name() => Some((Tok::Twin, "twin")),
            _ => None,
        };
        if let Some((tok, word)) = lost.filter(|_| between) {
            let at = self.at(t.start);
            let d = Diagnostic::new(
                Code::Syntax,
                self.span(t),
                format!("expected `{word}` before this"),
            )
            .fix(format!("add `{word}`"), at, format!("{word} "));
            self.report(d);
            self.insert(tok);
            self.head = Some(tok);
        } else if between && named && matches!(t.tok, Tok::Module | Tok::Twin) {
            self.head = Some(t.tok);
            self.head_indent = self.indent;
        } else if line_start
            && t.tok != Tok::LBrace
            && matches!(self.head, Some(Tok::Module | Tok::Twin))
            && self.prev.is_some_and(|p| p.tok.is_name())
        {
            self.missing_brace(Open::Items);
        }
    }

    fn before_item(&mut self, t: Token) {
        let outermost = matches!(t.tok, Tok::Use | Tok::Module | Tok::Twin);
        let second =
            t.tok == Tok::Func && self.prev.is_some_and(|p| matches!(p.tok, Tok::Pub | Tok::Entry));
        let mut first = true;
        while let Some(f) = self.frames.last() {
            if f.open == Open::Items && !outermost {
                break;
            }
            first &= self.close_top("the next item", first);
        }
        if self.after_operand() && !second {
            self.missing_semi(t.start);
        }
        self.head = None;
    }

    fn before_statement(&mut self, t: Token) {
        self.close_small("the next statement");
        if self.after_operand() {
            match self.head {
                Some(Tok::Func | Tok::For | Tok::Mesh | Tok::On) => {
                    self.missing_brace(Open::Body);
                }
                _ => self.missing_semi(t.start),
            }
        }
    }

    /// A header is followed by a statement: the `{` of its block was left out.
    fn missing_brace(&mut self, open: Open) {
        let at = self.at(self.prev_end());
        let last = self.prev.map_or(at, |p| self.span(p));
        let d = Diagnostic::new(Code::Syntax, last, "expected `{` after this").fix(
            "add the `{`",
            at,
            " {",
        );
        self.report(d);
        self.insert(Tok::LBrace);
        self.head = None;
        self.lost -= 1;
        if let Some(at) = self.prev {
            self.frames.push(Frame { open, at, indent: self.head_indent, block_word: None });
        }
    }

    fn missing_semi(&mut self, before: u32) {
        let at = self.at(self.prev_end());
        let last = self.prev.map_or(at, |p| self.span(p));
        let mut d = Diagnostic::new(Code::Syntax, last, "expected `;` after this").fix(
            "add the `;`",
            at,
            ";",
        );
        if looks_like_division(self.text.get(at.start as usize..before as usize).unwrap_or("")) {
            d = d.note(DIVISION);
        }
        self.report(d);
        self.insert(Tok::Semi);
    }

    /// Closes parentheses and square brackets down to the next brace.
    fn close_small(&mut self, before: &str) {
        let mut first = true;
        while self.frames.last().is_some_and(|f| f.open.is_small()) {
            first &= self.close_top(before, first);
        }
    }

    /// Closes the innermost bracket. Brackets closed by one and the same token are one message, at
    /// the innermost; each brace has its own. Returns whether the next one is still the first.
    fn close_top(&mut self, before: &str, first: bool) -> bool {
        let Some(f) = self.frames.pop() else { return first };
        let (tok, closer) = f.open.closer();
        let small = f.open.is_small();
        let at = self.at(self.prev_end());
        if let Some(word) = f.block_word.filter(|_| before == "`{`") {
            let text = self.text.get(word.start as usize..word.end as usize).unwrap_or("");
            let d = Diagnostic::new(
                Code::Syntax,
                self.span(word),
                format!("`{text}` cannot stand inside brackets"),
            )
            .help("give its value a name first: `let a = ..;`");
            self.report(d);
        } else if first || !small {
            let opener = self.text.get(f.at.start as usize..f.at.end as usize).unwrap_or("");
            let insert = if small { closer.to_string() } else { format!("\n{closer}") };
            let d = Diagnostic::new(
                Code::Unclosed,
                self.span(f.at),
                format!("`{opener}` is not closed before {before}"),
            )
            .label(at, format!("`{closer}` is missing here at the latest"))
            .fix(format!("add the `{closer}`"), at, insert);
            self.report(d);
        }
        if !small {
            self.lost += 1;
        }
        self.insert(tok);
        self.after_hint = f.open == Open::Hint;
        first && !small
    }

    fn opener(&mut self, i: usize) -> usize {
        let t = self.tokens[i];
        let open = match t.tok {
            Tok::LParen => Open::Paren,
            Tok::LBracket => Open::Bracket,
            Tok::HintOpen => Open::Hint,
            _ if self.prev.is_some_and(|p| p.tok == Tok::PathSep) => Open::Group,
            _ if self.head == Some(Tok::Match) => Open::Arms,
            _ if self.head == Some(Tok::Func) || self.in_body() => Open::Body,
            _ => Open::Items,
        };
        if t.tok == Tok::LBrace {
            self.head = None;
            // a block may begin with a block, but the body of a module cannot
            let twice = self.prev.is_some_and(|p| p.tok == Tok::LBrace);
            if twice && self.frames.last().is_some_and(|f| f.open == Open::Items) {
                self.lost += 1;
                let d = Diagnostic::new(Code::Unclosed, self.span(t), "this `{` opens nothing")
                    .fix("remove it", self.span(t), "");
                self.report(d);
                return i + 1;
            }
        }
        self.after_hint = false;
        self.push(t);
        self.deep += u32::from(self.frames.len() >= DEEP);
        if self.frames.len() < MAX_NESTING && self.deep < MAX_DEEP {
            self.frames.push(Frame { open, at: t, indent: self.indent, block_word: None });
            return i + 1;
        }
        self.too_deep(t, "brackets and blocks");
        let end = self.matching(i);
        let closer = open.closer().0;
        match self.tokens.get(end) {
            Some(c) if c.tok == closer => {
                self.read_to = c.end;
                self.push(*c);
                end + 1
            }
            _ => {
                self.insert(closer);
                end
            }
        }
    }

    /// Skips what is left in the innermost bracket.
    fn rest_of_bracket(&mut self, i: usize) -> usize {
        let t = self.tokens[i];
        if matches!(t.tok, Tok::RParen | Tok::RBracket | Tok::RBrace) {
            self.closer(t, false);
            return i + 1;
        }
        self.too_deep(t, "brackets and blocks");
        let mut depth = 0usize;
        let end = self.tokens.iter().enumerate().skip(i).find(|(_, t)| {
            let closes = matches!(t.tok, Tok::RParen | Tok::RBracket | Tok::RBrace);
            depth += usize::from(t.tok.opens());
            let found = closes && depth == 0;
            depth -= usize::from(closes && depth > 0);
            found
        });
        end.map_or(self.tokens.len(), |(n, _)| n)
    }

    /// The index of the token that closes the bracket at `i`, or of the end.
    fn matching(&self, i: usize) -> usize {
        let mut depth = 0usize;
        for (n, t) in self.tokens.iter().enumerate().skip(i) {
            if t.tok.opens() {
                depth += 1;
            } else if matches!(t.tok, Tok::RParen | Tok::RBracket | Tok::RBrace) {
                depth -= 1;
                if depth == 0 {
                    return n;
                }
            }
        }
        self.tokens.len()
    }

    fn too_deep(&mut self, t: Token, what: &str) {
        if self.reported_depth {
            return;
        }
        self.reported_depth = true;
        let d =
            Diagnostic::new(Code::TooDeep, self.span(t), format!("{what} are nested too deeply"))
                .here(format!("at most {MAX_NESTING} inside one another are read"))
                .help("give parts names with `let`, or move them to functions of their own");
        self.report(d);
    }

    fn closer(&mut self, t: Token, line_start: bool) {
        let fits = |open: Open| open.closer().0 == t.tok;
        if t.tok == Tok::RBrace {
            self.close_small("`}`");
            if line_start && self.lost < 0 {
                self.close_by_indent();
            }
        } else {
            let small = self.frames.iter().rev().take_while(|f| f.open.is_small());
            if let Some(n) = small.map(|f| f.open).position(fits) {
                let before = if t.tok == Tok::RParen { "`)`" } else { "`]`" };
                for k in 0..n {
                    self.close_top(before, k == 0);
                }
            }
        }
        let extra = t.tok == Tok::RBrace
            && line_start
            && self.lost > 0
            && self.frames.last().is_some_and(|f| f.indent < self.indent);
        match self.frames.last() {
            Some(f) if fits(f.open) && !extra => {
                self.after_hint = f.open == Open::Hint;
                self.frames.pop();
                self.push(t);
            }
            _ => {
                self.lost -= i64::from(t.tok == Tok::RBrace);
                let closer = match t.tok {
                    Tok::RParen => ")",
                    Tok::RBracket => "]",
                    _ => "}",
                };
                let d = Diagnostic::new(
                    Code::Unclosed,
                    self.span(t),
                    format!("this `{closer}` closes nothing"),
                )
                .fix("remove it", self.span(t), "");
                self.report(d);
            }
        }
    }

    /// A `}` further left than the line of the innermost `{`, and exactly under an outer one,
    /// belongs to that one.
    fn close_by_indent(&mut self) {
        let under = |f: &Frame| !f.open.is_small() && f.indent == self.indent;
        let Some(n) = self.frames.iter().rev().position(under) else { return };
        for _ in 0..n {
            if self.lost < 0 {
                self.close_top("the `}` of an outer block", true);
            }
        }
    }

    fn finish(&mut self) {
        let unfinished = self.after_operand();
        let top = self.frames.iter().rev().find(|f| !f.open.is_small()).map(|f| f.open);
        if unfinished && matches!(top, None | Some(Open::Items)) {
            self.close_small("the end of the file");
            self.missing_semi(self.text.len() as u32);
        }
        let mut first = true;
        while !self.frames.is_empty() {
            first &= self.close_top("the end of the file", first);
        }
    }
}

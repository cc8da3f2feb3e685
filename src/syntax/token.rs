//! Tokens. In: the text of one file. Out: tokens, comments beside them, and one diagnostic for each
//! piece of text that is no token. The lexer never fails: what it cannot read it replaces by the
//! token that was most likely meant, or skips.

use logos::Logos;

use super::ast::{Comment, CommentKind};
use crate::base::{FileId, Span};
use crate::diag::{Code, Diagnostic};

/// A kind of token. The text is read from the span where it is needed.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\f]+")]
#[rustfmt::skip]
pub enum Tok {
    // Reserved words.
    #[token("let")] Let,
    #[token("mut")] Mut,
    #[token("for")] For,
    #[token("in")] In,
    #[token("match")] Match,
    #[token("mesh")] Mesh,
    #[token("on")] On,
    #[token("return")] Return,
    #[token("func")] Func,
    #[token("inout")] Inout,
    #[token("true")] True,
    #[token("false")] False,
    #[token("inf")] #[token("nan")] FloatName,
    #[token("f64")] #[token("f32")] #[token("tf32")] #[token("f16")] #[token("bf16")]
    #[token("f8e4m3")] #[token("f8e5m2")] #[token("f8e8m0")] #[token("f4e2m1")]
    #[token("i64")] #[token("i32")] #[token("i16")] #[token("i8")]
    #[token("u64")] #[token("u32")] #[token("u8")] #[token("bool")] Dtype,
    #[token("host")] #[token("gmem")] #[token("smem")] #[token("rmem")] #[token("tmem")] Storage,
    /// A word of other languages, kept out of the names to say what to write instead.
    #[token("if")] #[token("else")] #[token("while")] #[token("loop")] #[token("fn")]
    #[token("struct")] #[token("def")] #[token("break")] #[token("continue")] Foreign,

    // Soft words: keywords where the grammar expects them, names elsewhere (the rule `Name`).
    #[token("as")] As,
    #[token("child")] Child,
    #[token("config")] Config,
    #[token("const")] Const,
    #[token("dim")] Dim,
    #[token("entry")] Entry,
    #[token("extern")] Extern,
    #[token("from")] From,
    #[token("kernel")] Kernel,
    #[token("launch")] Launch,
    #[token("module")] Module,
    #[token("out")] Out,
    #[token("prepare")] Prepare,
    #[token("pub")] Pub,
    #[token("range")] Range,
    #[token("step")] Step,
    #[token("target")] Target,
    #[token("topology")] Topology,
    #[token("twin")] Twin,
    #[token("type")] Type,
    #[token("use")] Use,
    #[token("weight")] Weight,

    #[regex("[A-Za-z_][A-Za-z0-9_]*")] Ident,
    #[regex("[0-9][0-9_]*")] #[regex("0[xX][0-9A-Fa-f][0-9A-Fa-f_]*")] Int,
    #[regex(r"[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9][0-9_]*[eE][+-]?[0-9]+")] Float,
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*""#)] Str,

    #[token("(")] LParen,
    #[token(")")] RParen,
    #[token("[")] LBracket,
    #[token("]")] RBracket,
    #[token("{")] LBrace,
    #[token("}")] RBrace,
    #[token("#[")] HintOpen,
    #[token(",")] Comma,
    #[token(";")] Semi,
    #[token(":")] Colon,
    #[token("::")] PathSep,
    #[token(".")] Dot,
    #[token("..")] DotDot,
    #[token("..=")] DotDotEq,
    #[token("->")] Arrow,
    #[token("=>")] FatArrow,
    #[token("=")] Eq,
    #[token("+")] Plus,
    #[token("-")] Minus,
    #[token("*")] Star,
    #[token("/")] Slash,
    #[token("%")] Percent,
    #[token("!")] Bang,
    #[token("==")] EqEq,
    #[token("!=")] Ne,
    #[token("<")] Lt,
    #[token("<=")] Le,
    #[token(">")] Gt,
    #[token(">=")] Ge,
    #[token("&&")] AndAnd,
    #[token("||")] OrOr,
    #[token("@")] At,

    // What other languages have; the lexer replaces these and no later stage sees them.
    #[regex("//[^\n]*", allow_greedy = true)] Comment,
    #[regex(r#""([^"\\\r\n]|\\[^\r\n])*\\?"#, priority = 1)] OpenStr,
    #[regex(r"'[^'\r\n]*'")] Quoted,
    #[regex(r"\.[0-9][0-9_]*([eE][+-]?[0-9]+)?")] DotNumber,
    #[token("/*")] BlockComment,
    #[token(":=")] Walrus,
    #[token("+=")] #[token("-=")] #[token("*=")] #[token("/=")] #[token("%=")] OpAssign,
    #[token("&")] #[token("|")] HalfOp,
}

impl Tok {
    /// A soft word: also a name.
    pub fn is_soft(self) -> bool {
        use Tok::*;
        matches!(
            self,
            As | Child
                | Config
                | Const
                | Dim
                | Entry
                | Extern
                | From
                | Kernel
                | Launch
                | Module
                | Out
                | Prepare
                | Pub
                | Range
                | Step
                | Target
                | Topology
                | Twin
                | Type
                | Use
                | Weight
        )
    }

    /// An identifier or a soft word.
    pub fn is_name(self) -> bool {
        self == Tok::Ident || self.is_soft()
    }

    /// Whether an operand can end here, so that another operand right after it is an error.
    pub fn ends_operand(self) -> bool {
        use Tok::*;
        self.is_name()
            || matches!(
                self,
                Int | Float | Str | RParen | RBracket | True | False | FloatName | Dtype | Storage
            )
    }

    pub fn opens(self) -> bool {
        matches!(self, Tok::LParen | Tok::LBracket | Tok::LBrace | Tok::HintOpen)
    }
}

/// The most messages that one stage of the parser gives: a file with more is no program.
pub(crate) const MAX_DIAGS: usize = 1000;

/// A token and the bytes it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub tok: Tok,
    pub start: u32,
    pub end: u32,
}

/// What the lexer makes of one file.
#[derive(Debug, Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    /// For each comment, how many tokens stand before it.
    pub comment_at: Vec<u32>,
    pub diags: Vec<Diagnostic>,
}

/// Reads a whole file. The text must be shorter than 4 GiB, since spans are 32 bits.
pub fn lex(file: FileId, text: &str) -> Lexed {
    // A byte order mark is no part of the program.
    lex_from(file, text, if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// Reads from `offset`, which is a character boundary, to the end.
pub(crate) fn lex_from(file: FileId, text: &str, offset: usize) -> Lexed {
    let mut inner = Tok::lexer(text);
    inner.bump(offset);
    let mut out = Lexed::default();
    out.tokens.reserve((text.len() - offset) / 4);
    let mut lexer = Lexer { file, text, inner, out, ifs: 0, stray_end: 0 };
    while let Some(tok) = lexer.inner.next() {
        lexer.token(tok);
    }
    lexer.out
}

struct Lexer<'i> {
    file: FileId,
    text: &'i str,
    inner: logos::Lexer<'i, Tok>,
    out: Lexed,
    /// `if`s reported without an `else` so far: their `else` is no second error.
    ifs: u32,
    /// Where the last stray characters ended: a run of them is one message.
    stray_end: usize,
}

impl Lexer<'_> {
    fn token(&mut self, tok: Result<Tok, ()>) {
        let (start, end) = (self.inner.span().start, self.inner.span().end);
        let Ok(tok) = tok else { return self.stray(start) };
        match tok {
            Tok::Comment => self.comment(start, end),
            Tok::Int | Tok::Float => self.number(tok, start, end),
            Tok::Str => self.string(start, end),
            Tok::Foreign => self.foreign(start, end),
            Tok::OpenStr
            | Tok::Quoted
            | Tok::DotNumber
            | Tok::BlockComment
            | Tok::Walrus
            | Tok::OpAssign
            | Tok::HalfOp => self.replaced(tok, start, end),
            _ => {
                if self.word_goes_on(end) && (tok.is_name() || is_word(self.text, start)) {
                    return self.foreign_letters(start);
                }
                self.push(tok, start, end);
            }
        }
    }

    fn push(&mut self, tok: Tok, start: usize, end: usize) {
        self.out.tokens.push(Token { tok, start: start as u32, end: end as u32 });
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    fn report(&mut self, d: Diagnostic) {
        if self.out.diags.len() < MAX_DIAGS {
            self.out.diags.push(d);
        }
    }

    fn bad(&self, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::BadToken, self.span(start, end), message)
    }

    fn comment(&mut self, start: usize, end: usize) {
        let raw = &self.text[start..end];
        let text = raw.trim_end();
        let kind = if text.starts_with("//!") {
            CommentKind::FileDoc
        } else if text.starts_with("///") && !text.starts_with("////") {
            CommentKind::Doc
        } else {
            CommentKind::Line
        };
        let span = self.span(start, start + text.len());
        self.out.comments.push(Comment { kind, span });
        self.out.comment_at.push(self.out.tokens.len() as u32);
    }

    /// Whether a character that belongs to a word, but not to the language's, follows.
    fn word_goes_on(&self, end: usize) -> bool {
        self.text.as_bytes().get(end).is_some_and(|b| *b >= 0x80)
            && self.text[end..].chars().next().is_some_and(char::is_alphanumeric)
    }

    /// The end of the word, in any script, that covers `start`.
    fn word_end(&self, start: usize) -> usize {
        let rest = &self.text[start..];
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        start + len
    }

    fn skip_to(&mut self, end: usize) {
        let at = self.inner.span().end;
        if end > at {
            self.inner.bump(end - at);
        }
    }

    /// A word with letters outside ASCII stays a name, so that nothing else goes wrong.
    fn foreign_letters(&mut self, start: usize) {
        let end = self.word_end(start);
        self.skip_to(end);
        let word = shown(&self.text[start..end]);
        let d = self
            .bad(start, end, format!("`{word}` is not a name"))
            .here("names are made of the letters `a` to `z`, digits and `_`");
        self.report(d);
        self.push(Tok::Ident, start, end);
    }

    fn number(&mut self, tok: Tok, start: usize, end: usize) {
        let rest = &self.text.as_bytes()[end..];
        if rest.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            || self.word_goes_on(end)
        {
            let stop = self.word_end(end);
            self.skip_to(stop);
            let (word, number) = (shown(&self.text[start..stop]), shown(&self.text[start..end]));
            let d = self.bad(start, stop, format!("`{word}` is neither a number nor a name")).help(
                format!(
                    "put an operator or a space after `{number}`, or begin the name with a letter"
                ),
            );
            self.report(d);
        } else if rest.first() == Some(&b'.') && rest.get(1) != Some(&b'.') && tok == Tok::Int {
            return self.dot_after(start, end);
        } else if tok == Tok::Int && int_value(&self.text[start..end]).is_none() {
            let d = self
                .bad(
                    start,
                    end,
                    format!("`{}` does not fit into 64 bits", shown(&self.text[start..end])),
                )
                .here("the largest integer is 9223372036854775807");
            self.report(d);
        }
        self.push(tok, start, end);
    }

    /// `1.` with no digit after the dot.
    fn dot_after(&mut self, start: usize, end: usize) {
        let stop = self.word_end(end + 1);
        self.skip_to(stop);
        let (word, digits) = (shown(&self.text[start..stop]), &self.text[start..end]);
        let mut d = self
            .bad(start, stop, format!("`{word}` is not a number"))
            .here("a float has digits on both sides of its dot");
        if stop == end + 1 {
            d = d.fix("write the digit", self.span(start, stop), format!("{digits}.0"));
        }
        self.report(d);
        self.push(Tok::Int, start, end);
    }

    fn string(&mut self, start: usize, end: usize) {
        let body = &self.text[start + 1..end - 1];
        let mut escape = false;
        let mut wrong = None;
        for (i, c) in body.char_indices() {
            if escape && !matches!(c, '"' | '\\' | 'n') && wrong.is_none() {
                wrong = Some((start + i, c));
            }
            escape = !escape && c == '\\';
        }
        if let Some((at, c)) = wrong {
            let d = self
                .bad(at, at + 1 + c.len_utf8(), format!("`\\{c}` is not an escape"))
                .help("a string has the escapes `\\\"`, `\\\\` and `\\n`");
            self.report(d);
        }
        self.push(Tok::Str, start, end);
    }

    fn foreign(&mut self, start: usize, end: usize) {
        let word = &self.text[start..end];
        let stop = self.word_end(start);
        if stop > end {
            return self.foreign_letters(start);
        }
        let (help, stands_for) = match word {
            "fn" | "def" => ("write `func`", Tok::Func),
            "if" => (
                "choose by a compile-time value with `match n { 0..4 => a, _ => b }`, \
                 element by element with `where(condition, a, b)`",
                Tok::Foreign,
            ),
            "else" => (
                "write the other case as an arm of `match`, or as the last argument of `where`",
                Tok::Foreign,
            ),
            "while" | "loop" => {
                ("the number of trips is known beforehand: `for i in 0..n { }`", Tok::Foreign)
            }
            "break" | "continue" => (
                "a loop makes all its trips: give `for` a shorter range, or mask values with `where`",
                Tok::Foreign,
            ),
            _ => (
                "group values in a tuple `(a, b)`, and functions with weights in a `module`",
                Tok::Foreign,
            ),
        };
        if word == "else" && self.ifs > 0 {
            self.ifs -= 1;
            return self.push(Tok::Foreign, start, end);
        }
        self.ifs += u32::from(word == "if");
        let span = self.span(start, end);
        let mut d = Diagnostic::new(
            Code::ReservedWord,
            span,
            format!("`{word}` is not a word of this language"),
        )
        .help(help);
        if stands_for == Tok::Func {
            d = d.fix("write `func`", span, "func");
        }
        self.report(d);
        self.push(stands_for, start, end);
    }

    /// Spellings of other languages, each read as what it means there.
    fn replaced(&mut self, tok: Tok, start: usize, end: usize) {
        let text = &self.text[start..end];
        let span = self.span(start, end);
        match tok {
            Tok::OpenStr => {
                let d = self.bad(start, end, "this string does not end on its line").fix(
                    "close the string",
                    self.span(end, end),
                    "\"",
                );
                self.report(d);
                self.push(Tok::Str, start, end);
            }
            Tok::Quoted => {
                let inner = &self.text[start + 1..end - 1];
                let mut d = self.bad(start, end, "a string stands in double quotes");
                if !inner.contains(['"', '\\']) {
                    d = d.fix("use double quotes", span, format!("\"{inner}\""));
                }
                self.report(d);
                self.push(Tok::Str, start, end);
            }
            Tok::DotNumber => self.dot_number(start, end),
            Tok::BlockComment => {
                let stop = self.text[end..].find("*/").map_or(self.text.len(), |i| end + i + 2);
                self.skip_to(stop);
                let d = self
                    .bad(start, end, "there are no block comments")
                    .help("begin each line of the comment with `//`");
                self.report(d);
            }
            Tok::Walrus => {
                let d = self.bad(start, end, "`:=` is not an operator").fix("write `=`", span, "=");
                self.report(d.help("a new name is bound with `let a = ..;`"));
                self.push(Tok::Eq, start, end);
            }
            Tok::OpAssign => {
                let op = &text[..1];
                let d = self.bad(start, end, format!("`{text}` is not an operator"));
                self.report(d.help(format!("write the name again: `acc = acc {op} x;`")));
                self.push(Tok::Eq, start, end);
            }
            _ => {
                let d = self
                    .bad(start, end, format!("`{text}` is not an operator"))
                    .help(format!("`{text}{text}` joins conditions; on integer tensors there are `bit_and` and `bit_or`"));
                let d = d.fix(format!("write `{text}{text}`"), span, format!("{text}{text}"));
                self.report(d);
                self.push(if text == "&" { Tok::AndAnd } else { Tok::OrOr }, start, end);
            }
        }
    }

    /// `.5`, or `t.0` where it follows an operand.
    fn dot_number(&mut self, start: usize, end: usize) {
        let stuck =
            self.out.tokens.last().is_some_and(|t| t.end as usize == start && t.tok.ends_operand());
        let text = shown(&self.text[start..end]);
        if stuck {
            let d = self
                .bad(start, end, format!("`{text}` does not name a part of a tuple"))
                .help("take a tuple apart with `let (a, b) = t;`");
            self.report(d);
        } else {
            let d = self
                .bad(start, end, format!("`{text}` is not a number"))
                .here("a float has digits on both sides of its dot")
                .fix("write the digit", self.span(start, start), "0");
            self.report(d);
            self.push(Tok::Float, start, end);
        }
    }

    /// Characters that begin no token. A run of them is one message.
    fn stray(&mut self, start: usize) {
        let Some(c) = self.text[start..].chars().next() else { return };
        let end = start + c.len_utf8();
        self.skip_to(end);
        if c.is_alphabetic() {
            return self.foreign_letters(start);
        }
        if c == '#' {
            let stop = self.text[start..].find('\n').map_or(self.text.len(), |i| start + i);
            self.skip_to(stop);
            let d = self
                .bad(start, end, "`#` begins no token")
                .help("a comment begins with `//`, a hint is written `#[name(..)]`");
            return self.report(d);
        }
        let joined = start == self.stray_end && start > 0;
        self.stray_end = end;
        if joined {
            return;
        }
        let d = self.bad(
            start,
            end,
            format!("`{}` is not a character of the language", c.escape_debug()),
        );
        let d = match c {
            '\'' | '“' | '”' | '„' => d.help("a string stands in double quotes `\"`"),
            '^' | '~' => {
                d.help("bits of integer tensors: `bit_xor`, `bit_and`, `bit_or`; powers: `pow`")
            }
            '?' => d.help("choose element by element with `where(condition, a, b)`"),
            _ => d,
        };
        self.report(d);
    }
}

/// Whether a word of the language, and not punctuation, begins here.
fn is_word(text: &str, start: usize) -> bool {
    text.as_bytes().get(start).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
}

/// A piece of source for a message, cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(32) {
        Some((i, _)) => format!("{}..", &text[..i]),
        None => text.to_string(),
    }
}

/// The value of an integer literal; `None` where it does not fit.
pub fn int_value(text: &str) -> Option<i64> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

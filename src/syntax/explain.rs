//! Says in words what the parser expected and found.

use lalrpop_util::ParseError;

use super::build::Recovery;
use super::token::{Tok, Token, shown};
use crate::base::{FileId, Span};
use crate::diag::{Code, Diagnostic};

/// Where the error is; `tokens` are those that the parser read.
pub(crate) struct Explain<'i> {
    pub file: FileId,
    pub text: &'i str,
    pub tokens: &'i [Token],
}

/// What could have stood at an error, with the grammar's terminals grouped to words.
struct Expected<'e> {
    terminals: &'e [String],
}

impl Expected<'_> {
    fn has(&self, t: &str) -> bool {
        self.terminals.iter().any(|e| e.trim_matches('"') == t)
    }

    /// At most four alternatives, the likeliest first.
    fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = vec![];
        let mut used: Vec<&str> = vec![];
        let name = self.has("ident");
        let operator = self.has("+") && self.has("*");
        let expression = self.has("int") && self.has("float");
        if self.has("let") {
            words.push("a statement".into());
            used.extend(STATEMENT);
            used.extend(OPERAND);
        } else if self.has("func") && self.has("const") {
            words.push("an item".into());
            used.extend(ITEM);
            used.extend(SOFT);
        } else if expression {
            words.push("an expression".into());
            used.extend(OPERAND);
            used.extend(["for", "mesh", "match", "on", "{"]);
        } else if self.has("dtype") {
            words.push("a type".into());
            used.extend(["dtype", "mesh", "("]);
        } else if name {
            words.push("a name".into());
        }
        if operator {
            used.extend(OPERATOR);
        }
        if name || expression {
            used.extend(SOFT);
            used.extend(["ident", "#["]);
        }
        let mut rest: Vec<&str> = self.terminals.iter().map(|e| e.trim_matches('"')).collect();
        rest.retain(|t| !used.contains(t) && *t != "foreign");
        rest.sort_by_key(|t| PRIORITY.iter().position(|p| p == t).unwrap_or(PRIORITY.len()));
        words.extend(rest.iter().map(|t| match *t {
            "int" => "an integer".into(),
            "float" | "inf" => "a number".into(),
            "str" => "a string".into(),
            "ident" => "a name".into(),
            "storage" => "a storage such as `smem`".into(),
            "dtype" => "a dtype".into(),
            t => format!("`{t}`"),
        }));
        if operator {
            words.push("an operator".into());
        }
        words.truncate(4);
        words
    }
}

const STATEMENT: [&str; 8] = ["let", "return", "launch", "for", "mesh", "match", "on", "{"];
const ITEM: [&str; 9] = ["use", "module", "twin", "const", "func", "pub", "entry", "extern", "#["];
const OPERAND: [&str; 13] = [
    "int", "float", "inf", "str", "true", "false", "dtype", "storage", "ident", "(", "[", "-", "!",
];
const OPERATOR: [&str; 20] = [
    "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "@", "in", "(", "[",
    ".", "::", "..=",
];
const SOFT: [&str; 22] = [
    "as", "child", "config", "const", "dim", "entry", "extern", "from", "kernel", "launch",
    "module", "out", "prepare", "pub", "range", "step", "target", "topology", "twin", "type",
    "use", "weight",
];
const PRIORITY: [&str; 12] = [";", ",", ")", "]", "{", "}", "=", ":", "=>", "->", "from", "for"];

impl Explain<'_> {
    /// The message for one error; `None` where an earlier stage has reported its cause.
    pub fn error(&self, e: &Recovery) -> Option<Diagnostic> {
        match &e.error {
            ParseError::UnrecognizedToken { token: (start, tok, end), expected } => {
                let t = Token { tok: *tok, start: *start, end: *end };
                self.unexpected(t, &Expected { terminals: expected })
            }
            ParseError::UnrecognizedEof { expected, .. } => {
                let end = self.tokens.last().map_or(0, |t| t.end);
                let at = Span { file: self.file, start: end, end };
                let words = join(&Expected { terminals: expected }.words());
                let message = format!("expected {words}, found the end of the file");
                Some(Diagnostic::new(Code::Syntax, at, message))
            }
            ParseError::InvalidToken { location } => {
                let at = Span { file: self.file, start: *location, end: *location };
                Some(Diagnostic::new(Code::Syntax, at, "unreadable text"))
            }
            ParseError::ExtraToken { token: (start, tok, end) } => {
                let t = Token { tok: *tok, start: *start, end: *end };
                self.unexpected(t, &Expected { terminals: &[] })
            }
            ParseError::User { error: () } => None,
        }
    }

    fn span(&self, t: Token) -> Span {
        Span { file: self.file, start: t.start, end: t.end }
    }

    fn slice(&self, t: Token) -> &str {
        self.text.get(t.start as usize..t.end as usize).unwrap_or("")
    }

    fn gap(&self, p: Token, t: Token) -> &str {
        self.text.get(p.end as usize..t.start as usize).unwrap_or("")
    }

    fn before(&self, t: Token) -> Option<Token> {
        let n = self
            .tokens
            .partition_point(|p| p.start < t.start || (p.start == t.start && p.end < t.end));
        self.tokens.get(n.checked_sub(1)?).copied()
    }

    fn found(&self, t: Token) -> String {
        match t.tok {
            Tok::Str => "a string".into(),
            Tok::Int | Tok::Float | Tok::FloatName => {
                format!("the number `{}`", shown(self.slice(t)))
            }
            Tok::Dtype => format!("the dtype `{}`", self.slice(t)),
            Tok::Storage => format!("the storage `{}`", self.slice(t)),
            _ => format!("`{}`", shown(self.slice(t))),
        }
    }

    fn unexpected(&self, t: Token, expected: &Expected) -> Option<Diagnostic> {
        // inserted by the repair, or a foreign word: both are reported already
        if t.start == t.end || t.tok == Tok::Foreign {
            return None;
        }
        let span = self.span(t);
        let prev = self.before(t);
        if let Some(p) = prev.filter(|p| p.tok.ends_operand() || p.tok == Tok::RBrace)
            && let Some(d) = self.missing_separator(p, t, expected)
        {
            return Some(self.with_comment_note(d, p, t));
        }
        let words = expected.words();
        let message = match words.len() {
            0 => format!("unexpected {}", self.found(t)),
            _ => format!("expected {}, found {}", join(&words), self.found(t)),
        };
        let mut d = Diagnostic::new(Code::Syntax, span, message);
        let swap = |d: Diagnostic, want: &str| d.fix(format!("write `{want}`"), span, want);
        d = match t.tok {
            Tok::Eq if !expected.has("=") && prev.is_some_and(|p| p.tok.ends_operand()) => swap(
                d, "==",
            )
            .help("`==` compares; `=` stands in `let`, in assignments and after argument names"),
            Tok::EqEq if expected.has("=") => swap(d, "="),
            Tok::Colon if expected.has("=") => {
                swap(d, "=").help("an argument by name is `name = value`")
            }
            Tok::Eq if expected.has(":") => swap(d, ":"),
            Tok::Arrow if expected.has("=>") => swap(d, "=>"),
            Tok::FatArrow if expected.has("->") => swap(d, "->"),
            Tok::Semi if expected.has(",") => swap(d, ","),
            Tok::Semi if expected.has("let") => d.fix("remove it", span, ""),
            Tok::DotDotEq if expected.has("..") => swap(d, ".."),
            _ => d,
        };
        if expected.has("ident")
            && !expected.has("int")
            && !t.tok.is_name()
            && is_word(self.slice(t))
            && !prev.is_some_and(|p| self.gap(p, t).contains('\n'))
        {
            d = d.note(format!("`{}` is a reserved word and cannot be a name", self.slice(t)));
        }
        let statement = matches!(t.tok, Tok::Let | Tok::For | Tok::Return | Tok::On | Tok::Match);
        if statement && expected.has("func") {
            d = d.help("statements stand in functions; a `}` before this one may be too many");
        }
        Some(match prev {
            Some(p) => self.with_comment_note(d, p, t),
            None => d,
        })
    }

    /// Two operands side by side: a separator was left out.
    fn missing_separator(&self, p: Token, t: Token, expected: &Expected) -> Option<Diagnostic> {
        let end = Span { file: self.file, start: p.end, end: p.end };
        let gap = self.gap(p, t);
        let operand = t.tok.is_name()
            || matches!(t.tok, Tok::Int | Tok::Float | Tok::FloatName | Tok::Str | Tok::Dtype)
            || matches!(t.tok, Tok::Storage | Tok::True | Tok::False);
        let mark = if expected.has(";") && (gap.contains('\n') || t.tok == Tok::RBrace) {
            ";"
        } else if expected.has(":") && operand {
            ":"
        } else if expected.has(",") && operand {
            ","
        } else {
            return None;
        };
        Some(
            Diagnostic::new(Code::Syntax, self.span(p), format!("expected `{mark}` after this"))
                .label(self.span(t), format!("found {}", self.found(t)))
                .fix(format!("add the `{mark}`"), end, mark),
        )
    }

    fn with_comment_note(&self, d: Diagnostic, p: Token, t: Token) -> Diagnostic {
        let gap = self.gap(p, t);
        if p.tok.ends_operand() && looks_like_division(gap) { d.note(DIVISION) } else { d }
    }
}

/// What to say where [`looks_like_division`].
pub(crate) const DIVISION: &str =
    "`//` begins a comment; on integer numbers `/` is the floor division";

/// `a // b` is `a` and a comment. Whether the text after an operand, before an error, looks so.
pub(crate) fn looks_like_division(gap: &str) -> bool {
    let line = gap.lines().next().unwrap_or("").trim_start();
    line.strip_prefix("//").is_some_and(|c| {
        let c = c.trim();
        !c.is_empty() && c.len() < 40 && c.ends_with([';', ')', ',', ']'])
    })
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// `a`, `a or b`, `a, b or c`.
fn join(words: &[String]) -> String {
    match words {
        [] => "something else".into(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

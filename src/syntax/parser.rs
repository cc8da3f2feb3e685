//! The parser's two entry points. In: the text of one file. Out: its tree, always, and what is
//! wrong with it; a file with no error has a tree with no `Error` node.

use lalrpop_util::lalrpop_mod;

use super::ast::*;
use super::build::Build;
use super::explain::Explain;
use super::finish::finish;
use super::repair::repair;
use super::token::{MAX_DIAGS, Tok, Token, lex, lex_from};
use crate::base::{FileId, LineIndex, Span};
use crate::diag::{Code, Diagnostic, Level};

lalrpop_mod!(
    #[allow(clippy::all, clippy::unwrap_used, clippy::expect_used, unused)]
    #[rustfmt::skip]
    tf
);

/// A tree with the diagnostics of its text.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub file: File,
    /// In source order, at most one error per line.
    pub diags: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the tree lacks something that was written.
    pub fn has_errors(&self) -> bool {
        self.diags.iter().any(|d| d.level == Level::Error)
    }
}

/// Parses a file that may be half written. What cannot be read becomes `Error` nodes.
pub fn parse(file: FileId, text: &str) -> Parsed {
    let whole = Span { file, start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) };
    if text.len() >= u32::MAX as usize {
        let at = Span { file, start: 0, end: 0 };
        let d = Diagnostic::new(Code::FileTooLarge, at, "this file is larger than 4 GiB");
        let file = File { items: vec![], comments: vec![], doc: None, span: whole };
        return Parsed { file, diags: vec![d] };
    }
    let mut lexed = lex(file, text);
    let mut diags = std::mem::take(&mut lexed.diags);
    let (tokens, repairs) = repair(file, text, &lexed.tokens);
    diags.extend(repairs);
    let items = parse_items(file, text, &tokens, &mut diags, "this file cannot be read to its end");
    let mut tree = File { items, comments: vec![], doc: None, span: whole };
    diags.extend(finish(text, &mut tree, lexed, !diags.is_empty()));
    Parsed { file: tree, diags: one_per_line(text, diags) }
}

/// Parses a file that must be correct; warnings are dropped.
pub fn parse_strict(file: FileId, text: &str) -> Result<File, Vec<Diagnostic>> {
    let parsed = parse(file, text);
    if parsed.has_errors() { Err(parsed.diags) } else { Ok(parsed.file) }
}

/// Parses the expression that stands in `text` from `offset` to the end, as after `--const N=`.
pub fn parse_expr(file: FileId, text: &str, offset: usize) -> Result<Expr, Vec<Diagnostic>> {
    let end = text.len().min(u32::MAX as usize) as u32;
    let at_end = Span { file, start: end, end };
    let missing = Diagnostic::new(Code::Syntax, at_end, "expected an expression");
    if !text.is_char_boundary(offset) || text.len() >= u32::MAX as usize {
        return Err(vec![missing]);
    }
    let mut lexed = lex_from(file, text, offset);
    // read as the value of a constant, whose own words have no width
    let start = offset as u32;
    let before = [Tok::Const, Tok::Ident, Tok::Eq].map(|tok| Token { tok, start, end: start });
    lexed.tokens.splice(0..0, before);
    lexed.tokens.push(Token { tok: Tok::Semi, start: end, end });
    let mut diags = lexed.diags;
    let (tokens, repairs) = repair(file, text, &lexed.tokens);
    diags.extend(repairs);
    let mut items = parse_items(file, text, &tokens, &mut diags, "expected an expression");
    match (items.pop().map(|i| i.kind), items.is_empty()) {
        (Some(ItemKind::Const { value, .. }), true) if diags.is_empty() => Ok(value),
        _ if diags.is_empty() => Err(vec![missing]),
        _ => Err(diags),
    }
}

/// Runs the grammar over balanced tokens; `otherwise` is the message for an error without one.
fn parse_items(
    file: FileId,
    text: &str,
    tokens: &[Token],
    diags: &mut Vec<Diagnostic>,
    otherwise: &str,
) -> Vec<Item> {
    let mut cx = Build::new(file, text, tokens);
    let stream = tokens.iter().map(|t| Ok((t.start, t.tok, t.end)));
    let parsed = tf::FileParser::new().parse(&mut cx, stream);
    diags.append(&mut cx.diags);
    let mut errors = std::mem::take(&mut cx.errors);
    let items = parsed.unwrap_or_else(|error| {
        errors.push(lalrpop_util::ErrorRecovery { error, dropped_tokens: vec![] });
        vec![]
    });
    let explain = Explain { file, text, tokens };
    diags.extend(errors.iter().take(MAX_DIAGS).filter_map(|e| explain.error(e)));
    if diags.is_empty() && !errors.is_empty() {
        // an error that every stage took for reported by another one
        let at = tokens.last().map_or(0, |t| t.end);
        let at = Span { file, start: at, end: at };
        diags.push(Diagnostic::new(Code::Syntax, at, otherwise));
    }
    items
}

/// Sorts diagnostics and keeps the first error of each line, and all warnings.
fn one_per_line(text: &str, mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if diags.len() < 2 {
        return diags;
    }
    let lines = LineIndex::new(text);
    let start = |d: &Diagnostic| d.span().map_or(0, |s| s.start);
    diags.sort_by_key(start);
    let mut last = None;
    diags.retain(|d| {
        let line = lines.line_col(start(d)).0;
        d.level != Level::Error || last.replace(line) != Some(line)
    });
    diags
}

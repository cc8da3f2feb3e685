//! What follows the grammar: doc comments go to their items, and rules about where a form may
//! stand that are easier to check, and to word, on the tree.

use super::ast::*;
use super::token::Lexed;
use crate::base::Span;
use crate::diag::{Code, Diagnostic};

/// Completes `tree`. Where the text has errors, doc comments are not judged: the item that one of
/// them documents may be what could not be read.
pub(crate) fn finish(
    text: &str,
    tree: &mut File,
    lexed: Lexed,
    has_errors: bool,
) -> Vec<Diagnostic> {
    let next = |n: u32| lexed.tokens.get(n as usize).map_or(u32::MAX, |t| t.start);
    let docs = lexed
        .comments
        .iter()
        .zip(&lexed.comment_at)
        .filter(|(c, _)| c.kind == CommentKind::Doc)
        .map(|(c, n)| Doc { before: next(*n), span: c.span, used: false })
        .collect();
    let mut f = Finish { text, docs, diags: vec![] };
    f.items(&mut tree.items, Place::File);
    if !has_errors {
        f.misplaced(&lexed);
    }
    let top = lexed.comments.iter().zip(&lexed.comment_at);
    let top = top.filter(|(c, n)| c.kind == CommentKind::FileDoc && **n == 0);
    tree.doc = joined(text, top.map(|(c, _)| c.span));
    tree.comments = lexed.comments;
    f.diags
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    File,
    Module,
    Twin,
}

struct Doc {
    /// Start of the token after it.
    before: u32,
    span: Span,
    used: bool,
}

struct Finish<'i> {
    text: &'i str,
    /// In source order, hence sorted by `before`.
    docs: Vec<Doc>,
    diags: Vec<Diagnostic>,
}

/// The text of doc comments without their markers.
fn joined(text: &str, spans: impl Iterator<Item = Span>) -> Option<String> {
    let mut lines = spans.map(|s| {
        let line = text.get(s.range()).unwrap_or("");
        let line = line.get(3..).unwrap_or("");
        line.strip_prefix(' ').unwrap_or(line)
    });
    let first = lines.next()?;
    Some(lines.fold(first.to_string(), |all, line| all + "\n" + line))
}

impl Finish<'_> {
    fn items(&mut self, items: &mut [Item], place: Place) {
        for item in items {
            let at = item.span.start;
            let from = self.docs.partition_point(|d| d.before < at);
            let own = self.docs.iter_mut().skip(from).take_while(|d| d.before == at);
            let spans: Vec<Span> = own
                .map(|d| {
                    d.used = true;
                    d.span
                })
                .collect();
            item.doc = joined(self.text, spans.into_iter());
            match &mut item.kind {
                ItemKind::Module { items, .. } => self.items(items, Place::Module),
                ItemKind::Twin { items, .. } => self.items(items, Place::Twin),
                ItemKind::Func(f) => self.func(f, place, at),
                _ => {}
            }
        }
    }

    fn func(&mut self, f: &Func, place: Place, at: u32) {
        let word = match f.vis {
            Vis::Private => None,
            Vis::Pub => Some("pub"),
            Vis::Entry => Some("entry"),
        };
        if let Some(word) = word.filter(|_| place != Place::Module) {
            let span = Span { end: f.header.start, start: at.min(f.header.start), ..f.header };
            let d = Diagnostic::new(
                Code::Syntax,
                span,
                format!("`{word}` stands only before functions of a module"),
            );
            self.diags.push(match place {
                Place::Twin => {
                    d.help("a twin's functions implement the boundaries of its module by name")
                }
                _ => d.help("a function outside a module is a helper that every module may call"),
            });
        }
        if place == Place::Twin {
            return;
        }
        for p in f.params.iter().filter(|p| p.ty.is_none()) {
            let d = Diagnostic::new(
                Code::Syntax,
                p.span,
                format!("expected `:` and a type after the parameter `{}`", p.name.text),
            );
            self.diags.push(d.help("only a twin's functions take their types from the module"));
        }
    }

    fn misplaced(&mut self, lexed: &Lexed) {
        let docs = self.docs.iter().filter(|d| !d.used).map(|d| (d.span, "///"));
        let late = lexed.comments.iter().zip(&lexed.comment_at);
        let late = late.filter(|(c, n)| c.kind == CommentKind::FileDoc && **n > 0);
        for (span, mark) in docs.chain(late.map(|(c, _)| (c.span, "//!"))) {
            let marker = Span { end: span.start + 3, ..span };
            let message = match mark {
                "///" => "this doc comment stands before no item",
                _ => "this doc comment of the file does not stand at its top",
            };
            let d = Diagnostic::new(Code::MisplacedDoc, marker, message).fix(
                "make it a plain comment",
                marker,
                "//",
            );
            self.diags.push(d);
        }
    }
}

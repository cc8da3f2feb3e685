//! The formatter. In: a text and its tree, without errors. Out: the text in its one layout, with
//! every comment.
//!
//! A comment stands before a statement, an item or an element of a list, behind one on its line, or
//! last in a block. One that stands elsewhere, as between an operator and its operand, moves up
//! before the smallest of these that contains it.

mod doc;
mod expr;
mod item;

use super::Parsed;
use super::ast::*;
use super::parser::parse;
use crate::base::{FileId, Span};
use crate::diag::Diagnostic;
use doc::{Doc, cat, indent, nothing, text};

/// The text in canonical layout; `None` if it has syntax errors.
pub fn format(text: &str, parsed: &Parsed) -> Option<String> {
    if parsed.has_errors() {
        return None;
    }
    let comments = &parsed.file.comments;
    let mut f = Fmt { text, comments, taken: vec![false; comments.len()] };
    let file = f.file(&parsed.file);
    let mut out = doc::print(&file);
    if !out.is_empty() {
        out.push('\n');
    }
    Some(out)
}

/// Parses and formats a text.
pub fn format_text(text: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(FileId(0), text);
    format(text, &parsed).ok_or(parsed.diags)
}

struct Fmt<'i> {
    text: &'i str,
    comments: &'i [Comment],
    /// Which comments have their place in the output.
    taken: Vec<bool>,
}

/// Something that has lines of its own.
struct Piece {
    doc: Doc,
    start: u32,
    end: u32,
    /// A blank line stands before and after it.
    apart: bool,
}

impl<'i> Fmt<'i> {
    fn slice(&self, start: u32, end: u32) -> &'i str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    fn source(&self, span: Span) -> Doc {
        text(self.slice(span.start, span.end))
    }

    /// Takes the comments that begin in `start..end`.
    fn take(&mut self, start: u32, end: u32) -> Vec<Comment> {
        let from = self.comments.partition_point(|c| c.span.start < start);
        let to = self.comments.partition_point(|c| c.span.start < end);
        let mut out = vec![];
        for i in from..to {
            if !std::mem::replace(&mut self.taken[i], true) {
                out.push(self.comments[i].clone());
            }
        }
        out
    }

    /// Whether a comment that has no place yet begins in `start..end`.
    fn has_comments(&self, start: u32, end: u32) -> bool {
        let from = self.comments.partition_point(|c| c.span.start < start);
        let to = self.comments.partition_point(|c| c.span.start < end);
        (from..to).any(|i| !self.taken[i])
    }

    fn same_line(&self, end: u32, start: u32) -> bool {
        !self.slice(end, start).contains('\n')
    }

    /// The source between two offsets without its comments.
    fn between(&self, start: u32, end: u32) -> String {
        let mut out = String::new();
        let mut at = start;
        let from = self.comments.partition_point(|c| c.span.start < start);
        for c in self.comments.iter().skip(from).take_while(|c| c.span.start < end) {
            out.push_str(self.slice(at, c.span.start));
            at = c.span.end;
        }
        out.push_str(self.slice(at, end));
        out
    }

    /// A comment behind something on its line. The blanks before it stay, so that comments which
    /// were aligned by hand remain so.
    fn trailing(&self, c: &Comment) -> Doc {
        let before = self.slice(0, c.span.start);
        let gap = before.len() - before.trim_end_matches(' ').len();
        let gap = " ".repeat(gap.max(1));
        Doc::Suffix(format!("{gap}{}", self.slice(c.span.start, c.span.end)).into())
    }

    /// Splits comments between two neighbours into those behind the first, on its line, and the
    /// rest, which have lines of their own.
    fn split(&self, end: u32, comments: Vec<Comment>) -> (Option<Comment>, Vec<Comment>) {
        let mut comments = comments.into_iter().peekable();
        let first = comments.next_if(|c| self.same_line(end, c.span.start));
        (first, comments.collect())
    }

    /// The pieces between two offsets with all comments around them: `build` makes the document of
    /// the piece at an index, whose span is given by `spans`.
    fn sequence(
        &mut self,
        start: u32,
        end: u32,
        spans: &[Span],
        mut build: impl FnMut(&mut Self, usize) -> (Doc, bool),
    ) -> Sequence {
        let mut pieces: Vec<Piece> = vec![];
        let mut opener = None;
        let mut at = start;
        for i in 0..=spans.len() {
            let next = spans.get(i).map_or(end, |s| s.start);
            let comments = self.take(at, next);
            let (trailing, own) = match (pieces.last(), i) {
                (None, 0) if start == 0 => (None, comments),
                _ => self.split(at, comments),
            };
            if let Some(c) = trailing {
                let suffix = self.trailing(&c);
                match pieces.last_mut() {
                    Some(p) => {
                        p.doc = cat([p.doc.clone(), suffix]);
                        p.end = c.span.end;
                    }
                    None => opener = Some(suffix),
                }
            }
            for c in own {
                let (start, end) = (c.span.start, c.span.end);
                pieces.push(Piece { doc: self.source(c.span), start, end, apart: false });
            }
            let Some(span) = spans.get(i) else { break };
            let (doc, apart) = build(self, i);
            let doc = self.with_inner(*span, doc);
            pieces.push(Piece { doc, start: span.start, end: span.end, apart });
            at = span.end;
        }
        Sequence { opener, doc: self.join(pieces) }
    }

    /// Puts comments inside `span` that found no place before it. A doc comment there documents
    /// nothing, and must not document what it comes to stand before.
    fn with_inner(&mut self, span: Span, doc: Doc) -> Doc {
        let inner = self.take(span.start, span.end);
        if inner.is_empty() {
            return doc;
        }
        let mut docs = vec![];
        for c in inner {
            let plain = c.kind == CommentKind::Line;
            let doc = match plain {
                true => self.source(c.span),
                false => text(&format!("//{}", self.slice(c.span.start + 3, c.span.end))),
            };
            docs.extend([doc, Doc::Hard]);
        }
        docs.push(doc);
        cat(docs)
    }

    /// Pieces on lines of their own. At most one blank line between two is kept.
    fn join(&self, pieces: Vec<Piece>) -> Option<Doc> {
        let mut docs: Vec<Doc> = vec![];
        let mut prev: Option<(u32, bool)> = None;
        let comment = |p: &Piece| self.slice(p.start, p.end).starts_with("//");
        for (i, p) in pieces.iter().enumerate() {
            if let Some((end, apart)) = prev {
                docs.push(Doc::Hard);
                let blank = self.between(end, p.start).matches('\n').count() > 1;
                // comments directly before an item belong to it
                let owner = pieces[i..].iter().find(|p| !comment(p));
                let apart = !comment_before(&pieces, i, &comment)
                    && (apart || owner.is_some_and(|o| o.apart));
                if blank || apart {
                    docs.push(Doc::Hard);
                }
            }
            docs.push(p.doc.clone());
            prev = Some((p.end, p.apart));
        }
        (!docs.is_empty()).then(|| cat(docs))
    }

    /// `{`, the sequence on lines of its own, `}`.
    fn braces(s: Sequence) -> Doc {
        cat([Doc::Word("{"), Fmt::after_brace(s)])
    }

    fn after_brace(s: Sequence) -> Doc {
        match (s.doc, s.opener) {
            (Some(d), opener) => {
                let opener = opener.unwrap_or_else(nothing);
                cat([opener, indent(cat([Doc::Hard, d])), Doc::Hard, Doc::Word("}")])
            }
            (None, Some(opener)) => cat([opener, Doc::Hard, Doc::Word("}")]),
            (None, None) => Doc::Word("}"),
        }
    }

    /// The offset after the first `{` in `start..end`.
    fn after_open_brace(&self, start: u32, end: u32) -> u32 {
        let mut at = start;
        for line in self.slice(start, end).split_inclusive('\n') {
            let code = line.split("//").next().unwrap_or("");
            if let Some(i) = code.find('{') {
                return at + i as u32 + 1;
            }
            at += line.len() as u32;
        }
        start
    }
}

/// Whether the piece before the one at `i` is a comment, which then decides about the blank line.
fn comment_before(pieces: &[Piece], i: usize, comment: &impl Fn(&Piece) -> bool) -> bool {
    i > 0 && pieces.get(i - 1).is_some_and(comment)
}

/// The content of a pair of braces, or of a file.
struct Sequence {
    /// A comment behind the opening brace.
    opener: Option<Doc>,
    doc: Option<Doc>,
}

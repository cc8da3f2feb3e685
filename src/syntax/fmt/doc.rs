//! Documents: text with places where lines may break, and the printer that decides which do.
//!
//! The printer keeps its own stack, so that the depth of a document does not matter.

use std::rc::Rc;

/// The widest line, if it can be helped: lines are shorter than 100 columns.
pub const WIDTH: usize = 99;
/// Columns of one level of indentation.
pub const INDENT: usize = 4;

#[derive(Clone)]
pub(super) enum Doc {
    Text(Rc<str>),
    Word(&'static str),
    /// A blank, or a line break if the group around it breaks.
    Line,
    /// Nothing, or a line break if the group around it breaks.
    Soft,
    /// Always a line break; every group around it breaks.
    Hard,
    /// Always a line break, but one that an alternative of [`Doc::Alt`] has chosen to make: what
    /// is around it may still count as flat.
    Newline,
    Cat(Rc<[Doc]>),
    Indent(usize, Rc<Doc>),
    Group {
        doc: Rc<Doc>,
        broken: bool,
    },
    /// Text that stands only if the group around it breaks.
    IfBroken(&'static str),
    /// Goes to the end of its line, and counts nothing.
    Suffix(Rc<str>),
    /// The first that fits without breaking a group; the last one if none does.
    Alt {
        docs: Rc<[Doc]>,
        broken: bool,
    },
}

pub(super) fn text(s: &str) -> Doc {
    Doc::Text(s.into())
}

pub(super) fn cat(docs: impl Into<Rc<[Doc]>>) -> Doc {
    Doc::Cat(docs.into())
}

pub(super) fn nothing() -> Doc {
    Doc::Word("")
}

pub(super) fn indent(doc: Doc) -> Doc {
    Doc::Indent(INDENT, Rc::new(doc))
}

pub(super) fn align(columns: usize, doc: Doc) -> Doc {
    Doc::Indent(columns, Rc::new(doc))
}

pub(super) fn group(doc: Doc) -> Doc {
    let broken = doc.is_broken();
    Doc::Group { doc: Rc::new(doc), broken }
}

pub(super) fn alt(docs: impl Into<Rc<[Doc]>>) -> Doc {
    let docs = docs.into();
    let broken = docs.last().is_some_and(Doc::is_broken);
    Doc::Alt { docs, broken }
}

impl Doc {
    /// Whether it has a line break in any case.
    pub fn is_broken(&self) -> bool {
        match self {
            Doc::Hard => true,
            Doc::Cat(docs) => docs.iter().any(Doc::is_broken),
            Doc::Indent(_, doc) => doc.is_broken(),
            Doc::Group { broken, .. } | Doc::Alt { broken, .. } => *broken,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Flat,
    Break,
}

type Command<'d> = (usize, Mode, &'d Doc);

struct Printer {
    out: String,
    col: usize,
    /// Indentation that the next text on this line begins with.
    pending: Option<usize>,
    suffix: String,
}

pub(super) fn print(doc: &Doc) -> String {
    let mut p = Printer { out: String::new(), col: 0, pending: None, suffix: String::new() };
    let mut stack: Vec<Command> = vec![(0, Mode::Break, doc)];
    while let Some((indent, mode, doc)) = stack.pop() {
        match doc {
            Doc::Text(s) => p.text(s),
            Doc::Word(s) => p.text(s),
            Doc::Line if mode == Mode::Flat => p.text(" "),
            Doc::Soft if mode == Mode::Flat => {}
            Doc::Line | Doc::Soft | Doc::Hard | Doc::Newline => p.newline(indent),
            Doc::Cat(docs) => stack.extend(docs.iter().rev().map(|d| (indent, mode, d))),
            Doc::Indent(n, doc) => stack.push((indent + n, mode, doc)),
            Doc::Group { doc, broken } => {
                let flat = mode == Mode::Flat
                    || !broken && fits(p.column(), (indent, Mode::Flat, doc), &stack);
                stack.push((indent, if flat { Mode::Flat } else { Mode::Break }, doc));
            }
            Doc::IfBroken(s) if mode == Mode::Break => p.text(s),
            Doc::IfBroken(_) => {}
            Doc::Suffix(s) => p.suffix.push_str(s),
            Doc::Alt { docs, .. } => {
                let Some((last, first)) = docs.split_last() else { continue };
                let flat = first
                    .iter()
                    .find(|d| !d.is_broken() && fits(p.column(), (indent, Mode::Flat, d), &stack));
                stack.push(flat.map_or((indent, mode, last), |d| (indent, Mode::Flat, d)));
            }
        }
    }
    p.end_line();
    p.out
}

impl Printer {
    fn column(&self) -> usize {
        self.pending.unwrap_or(self.col)
    }

    fn text(&mut self, s: &str) {
        if s.is_empty() {
            return;
        }
        if let Some(n) = self.pending.take() {
            self.out.extend(std::iter::repeat_n(' ', n));
            self.col = n;
        }
        self.out.push_str(s);
        self.col += s.chars().count();
    }

    fn end_line(&mut self) {
        self.out.push_str(&std::mem::take(&mut self.suffix));
        self.out.truncate(self.out.trim_end_matches(' ').len());
    }

    fn newline(&mut self, indent: usize) {
        self.end_line();
        self.out.push('\n');
        self.pending = Some(indent);
    }
}

/// Whether `command` fits on the line, and so does what follows up to the first place where a line
/// may break.
fn fits(col: usize, command: Command, rest: &[Command]) -> bool {
    let mut left = WIDTH.saturating_sub(col) as isize;
    let mut rest = rest.iter().rev();
    let mut stack = vec![command];
    let mut own = true;
    while left >= 0 {
        let (indent, mode, doc) = match stack.pop() {
            Some(c) => c,
            None => match rest.next() {
                Some(c) => {
                    own = false;
                    *c
                }
                None => return true,
            },
        };
        match doc {
            Doc::Text(s) => left -= s.chars().count() as isize,
            Doc::Word(s) => left -= s.len() as isize,
            Doc::Line if mode == Mode::Flat => left -= 1,
            Doc::Soft if mode == Mode::Flat => {}
            Doc::Line | Doc::Soft => return true,
            Doc::Hard => return !own,
            Doc::Newline if own => left = WIDTH.saturating_sub(indent) as isize,
            Doc::Newline => return true,
            Doc::Cat(docs) => stack.extend(docs.iter().rev().map(|d| (indent, mode, d))),
            Doc::Indent(n, doc) => stack.push((indent + n, mode, doc)),
            Doc::Group { doc, .. } => stack.push((indent, mode, doc)),
            Doc::IfBroken(s) if mode == Mode::Break => left -= s.len() as isize,
            Doc::IfBroken(_) | Doc::Suffix(_) => {}
            Doc::Alt { .. } if !own => return true,
            Doc::Alt { docs, .. } => stack.extend(docs.first().map(|d| (indent, mode, d))),
        }
    }
    false
}

//! Diagnostics as data. Renderers turn them into text or JSON; nothing else prints them.
//!
//! Messages are lower case, without a full stop, say what was expected and found, and put source
//! names in backticks.

pub mod codes;
pub mod json;
pub mod render;

use crate::base::Span;
pub use codes::{Code, GROUPS};
pub use json::render_json;
pub use render::{render_short, render_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Error,
    Warning,
    Note,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// A span with a remark. The first label of a diagnostic is its primary place.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// An edit that, applied, removes the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub title: String,
    /// Replacements in source order, not overlapping.
    pub edits: Vec<(Span, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub level: Level,
    pub message: String,
    pub labels: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
    pub fix: Option<Fix>,
}

impl Diagnostic {
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            level: code.level(),
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            notes: vec![],
            help: None,
            fix: None,
        }
    }

    /// Sets the remark at the primary place.
    pub fn here(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(l) = self.labels.first_mut() {
            l.text = text.into();
        }
        self
    }

    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Shows at the call of a library function what went wrong inside it; the place inside stays
    /// beside the call, which gave it what it could not take.
    pub fn at_call(mut self, call: Span, function: &str) -> Diagnostic {
        if let Some(inside) = self.labels.first_mut().filter(|l| l.text.is_empty()) {
            inside.text = format!("inside `{function}`");
        }
        self.labels.insert(0, Label { span: call, text: "in this call".into() });
        // the library is not the caller's to edit
        self.fix = None;
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// A single replacement as the fix.
    pub fn fix(
        mut self,
        title: impl Into<String>,
        span: Span,
        text: impl Into<String>,
    ) -> Diagnostic {
        self.fix = Some(Fix { title: title.into(), edits: vec![(span, text.into())] });
        self
    }

    /// Several replacements, in source order, as the fix.
    pub fn edits(mut self, title: impl Into<String>, edits: Vec<(Span, String)>) -> Diagnostic {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }

    /// The primary place.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|l| l.span)
    }
}

/// The candidate nearest to a misspelt name, if one is near enough to be meant.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        // nothing of the name left is no misspelling of it
        .filter(|(d, c)| *d <= limit && *c != name && *d < name.len().max(c.len()))
        .min_by_key(|(d, c)| (*d, c.len()))
        .map(|(_, c)| c)
}

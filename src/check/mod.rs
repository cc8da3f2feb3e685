//! Comparing what a program computes with what it should.
//!
//! In: tensors of a candidate and a reference, and judgements that somebody asked for. Out: a
//! report, as data and as text. Nothing here reads files or runs programs. There is no default
//! predicate and no default tolerance: every output must be judged, by what was asked.

pub mod diff;
pub mod inputs;
pub mod judge;
pub mod measure;
pub mod predicate;
pub mod random;
pub mod report;
pub mod suggest;

use crate::diag::{Code, Diagnostic};

/// A diagnostic about what a command was given, which has no place in a source.
fn complaint(code: Code, text: impl Into<String>) -> Diagnostic {
    Diagnostic {
        code,
        level: code.level(),
        message: text.into(),
        labels: vec![],
        notes: vec![],
        help: None,
        fix: None,
    }
}

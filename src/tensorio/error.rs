//! What can be wrong with a file.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file of tensors cannot be read or written: where, and what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    pub file: Option<PathBuf>,
    /// The tensor or the archive's entry.
    pub entry: Option<String>,
    /// The byte in the file, or in the entry when there is one in an archive.
    pub offset: Option<u64>,
    pub what: String,
}

impl ReadError {
    pub(super) fn new(what: impl Into<String>) -> ReadError {
        ReadError { file: None, entry: None, offset: None, what: what.into() }
    }

    pub(super) fn at(mut self, offset: usize) -> ReadError {
        self.offset.get_or_insert(offset as u64);
        self
    }

    pub(super) fn in_entry(mut self, entry: &str) -> ReadError {
        if self.entry.is_none() {
            // A name out of a damaged file may be as long as the file.
            self.entry = Some(brief(entry));
        }
        self
    }

    pub(super) fn in_file(mut self, file: &Path) -> ReadError {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }
}

/// At most 80 characters of a text from a file, with control characters escaped.
pub(super) fn brief(text: &str) -> String {
    let mut out: String = text.chars().take(80).flat_map(escape).collect();
    if text.chars().nth(80).is_some() {
        out.push_str("..");
    }
    out
}

fn escape(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            write!(f, "`{}`", file.display())?;
            separator = ", ";
        }
        if let Some(entry) = &self.entry {
            write!(f, "{separator}entry `{entry}`")?;
            separator = ", ";
        }
        if let Some(offset) = self.offset {
            write!(f, "{separator}byte {offset}")?;
            separator = ", ";
        }
        if !separator.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ReadError {}

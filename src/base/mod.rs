//! Source files, spans and line numbers.
//!
//! A span is a byte range in one file. Only [`LineIndex`] turns bytes into lines and columns.

pub mod spread;
pub mod svg;

use std::sync::Arc;

/// Keys are ids, names and sizes of one program, by the hundred thousand: they need a fast hash,
/// and no defence against who chose them.
pub type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// See [`HashMap`].
pub type HashSet<T> = std::collections::HashSet<T, foldhash::fast::FixedState>;

/// The SHA-256 of bytes, in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Identifies one source file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A byte range `start..end` of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

impl Span {
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        Span { file, start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both; `self` where they are in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Line starts of one text.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let mut starts = vec![0];
        starts.extend(
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1),
        );
        LineIndex { starts }
    }

    /// Line (from 0) and byte column (from 0) of a byte offset.
    pub fn line_col(&self, offset: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|&s| s <= offset).saturating_sub(1);
        (line as u32, offset - self.starts.get(line).copied().unwrap_or(0))
    }

    /// The byte offset at which a line (from 0) starts.
    pub fn line_start(&self, line: u32) -> Option<u32> {
        self.starts.get(line as usize).copied()
    }

    pub fn line_count(&self) -> usize {
        self.starts.len()
    }
}

/// One source text with the name that messages show.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: Arc<str>,
    pub lines: LineIndex,
}

impl SourceFile {
    /// Line and column, both from 1; the column counts characters.
    pub fn position(&self, offset: u32) -> (usize, usize) {
        let (line, col) = self.lines.line_col(offset);
        let start = self.lines.line_start(line).unwrap_or(0) as usize;
        let end = (start + col as usize).min(self.text.len());
        let chars = self.text.get(start..end).map_or(col as usize, |s| s.chars().count());
        (line as usize + 1, chars + 1)
    }
}

/// All files that one run has read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let text = text.into();
        let lines = LineIndex::new(&text);
        self.files.push(SourceFile { name: name.into(), text, lines });
        FileId(self.files.len() as u32 - 1)
    }

    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|f| f.text.get(span.range())).unwrap_or("")
    }

    /// `file:line:column` of the span's start.
    pub fn locate(&self, span: Span) -> String {
        match self.get(span.file) {
            Some(f) => {
                let (l, c) = f.position(span.start);
                format!("{}:{l}:{c}", f.name)
            }
            None => "?".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let mut map = SourceMap::default();
        let id = map.add("a.tf", "é x\ny");
        let f = map.get(id).unwrap();
        assert_eq!(f.position(3), (1, 3));
        assert_eq!(f.position(5), (2, 1));
        assert_eq!(f.position(99).0, 2);
    }
}

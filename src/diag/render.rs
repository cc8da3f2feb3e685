//! Diagnostics as text for people: one line each, or with an excerpt of the source. This is the
//! only user of ariadne, which draws the excerpt; what it draws is not a stable format.
//!
//! Ariadne is never given a source as it is, but a copy of the lines it is to show: long lines cut
//! to a window around the labels, and control characters made visible.

use std::collections::{BTreeMap, BTreeSet};

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};

use super::{Diagnostic, Level};
use crate::base::{FileId, SourceFile, SourceMap, Span};

/// Columns of an excerpt of a line that is too long to be shown whole.
const WINDOW: usize = 96;
/// The longest line that is shown whole.
const WHOLE: usize = 150;
/// The longest remark that stands beside its place; longer ones become notes.
const REMARK: usize = 80;
/// Where messages, notes and help break.
const WRAP: usize = 150;

/// `file:line:col: error[TF0103]: message`
pub fn render_short(d: &Diagnostic, map: &SourceMap) -> String {
    let place = d.span().map(|s| map.locate(s) + ": ").unwrap_or_default();
    format!("{place}{}[{}]: {}", d.level.as_str(), d.code.id(), d.message)
}

/// The message with an excerpt of the source around each label. No line is wider than 200 columns
/// unless the name of a file is.
pub fn render_text(d: &Diagnostic, map: &SourceMap, color: bool) -> String {
    let excerpts = Excerpts::new(d, map);
    let Some(primary) = d.span().and_then(|s| excerpts.place(s)) else {
        return without_source(d);
    };
    let kind = format!("{}[{}]", d.level.as_str(), d.code.id());
    let hue = match d.level {
        Level::Error => Color::Red,
        Level::Warning => Color::Yellow,
        Level::Note => Color::Cyan,
    };
    let config = Config::default()
        .with_color(color)
        .with_index_type(IndexType::Byte)
        .with_char_set(CharSet::Unicode);
    let mut report = Report::build(ReportKind::Custom(&kind, hue), primary)
        .with_config(config)
        .with_message(wrap(&d.message));
    let mut notes = vec![];
    for (i, l) in d.labels.iter().enumerate() {
        let Some(place) = excerpts.place(l.span) else { continue };
        let long = l.text.chars().count() > REMARK;
        let mut label = Label::new(place)
            .with_color(if i == 0 { hue } else { Color::Blue })
            .with_order(i as i32);
        // ariadne marks a place only if there is something to say about it
        label = label.with_message(match l.text.as_str() {
            "" => "here",
            _ if long => "see the note",
            text => text,
        });
        if long {
            notes.push(wrap(&l.text));
        }
        report = report.with_label(label);
    }
    for n in notes.into_iter().chain(d.notes.iter().map(|n| wrap(n))) {
        report = report.with_note(n);
    }
    for h in helps(d) {
        report = report.with_help(wrap(&h));
    }
    let mut out = vec![];
    let cache = ariadne::sources(excerpts.sources());
    if report.finish().write(cache, &mut out).is_err() {
        return without_source(d);
    }
    let text = String::from_utf8_lossy(&out);
    excerpts.true_columns(if color { text.into_owned() } else { plain(&text) })
}

/// Ariadne colours the header in any case. No escape comes from the source: see [`visible`].
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_string();
    parts.fold(first, |out, p| out + p.split_once('m').map_or("", |(_, rest)| rest))
}

fn helps(d: &Diagnostic) -> impl Iterator<Item = String> + '_ {
    d.help.iter().cloned().chain(d.fix.iter().map(|f| format!("fix: {}", f.title)))
}

fn without_source(d: &Diagnostic) -> String {
    let mut out = format!("{}[{}]: {}\n", d.level.as_str(), d.code.id(), wrap(&d.message));
    for n in &d.notes {
        out += &format!("  note: {}\n", wrap(n));
    }
    for h in helps(d) {
        out += &format!("  help: {}\n", wrap(&h));
    }
    out
}

/// Breaks lines at blanks so that none is longer than [`WRAP`]; a word without blanks is cut.
fn wrap(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut col = 0;
    for (i, word) in text.split(' ').enumerate() {
        let len = word.chars().count();
        if i > 0 {
            let fits = col + 1 + len <= WRAP;
            out.push(if fits { ' ' } else { '\n' });
            col = if fits { col + 1 } else { 0 };
        }
        for c in word.chars() {
            if col >= WRAP {
                out.push('\n');
                col = 0;
            }
            out.push(visible(c));
            col = if c == '\n' { 0 } else { col + 1 };
        }
    }
    out
}

/// Control characters, and characters that reorder text, would change what a terminal shows.
fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Columns of a character; an upper bound is good enough.
fn width(c: char) -> usize {
    match c {
        '\t' => 4,
        '\u{1100}'.. => 2,
        _ => 1,
    }
}

/// One file as ariadne sees it: the labelled lines in their place, all others empty.
struct Excerpt {
    name: String,
    text: String,
    /// Offsets in the file, and where they are in `text`.
    offsets: BTreeMap<u32, usize>,
    /// `line:col` as ariadne counts, and as it is, where a line was cut.
    columns: Vec<(String, String)>,
}

struct Excerpts {
    files: BTreeMap<FileId, Excerpt>,
}

type Place = (u32, std::ops::Range<usize>);

impl Excerpts {
    fn new(d: &Diagnostic, map: &SourceMap) -> Excerpts {
        let mut spans: BTreeMap<FileId, Vec<(Span, usize)>> = BTreeMap::new();
        for l in &d.labels {
            spans.entry(l.span.file).or_default().push((l.span, l.text.chars().count()));
        }
        let files = spans
            .into_iter()
            .filter_map(|(id, spans)| Some((id, Excerpt::new(map.get(id)?, &spans))));
        Excerpts { files: files.collect() }
    }

    fn sources(&self) -> Vec<(u32, &str)> {
        self.files.iter().map(|(id, e)| (id.0, e.text.as_str())).collect()
    }

    fn place(&self, span: Span) -> Option<Place> {
        let e = self.files.get(&span.file)?;
        let start = *e.offsets.get(&span.start)?;
        let end = *e.offsets.get(&span.end)?;
        // an empty place is marked by the character after it
        let next = e.text[start..].chars().next().map_or(0, char::len_utf8);
        Some((span.file.0, start..end.max(start + next)))
    }

    /// Puts names for the ids of files, and true columns for those of cut lines.
    fn true_columns(&self, text: String) -> String {
        // a file stands above each group of its labels
        let heads = text.split_inclusive('\n').map(|line| {
            let plain = plain(line);
            let head = plain.trim_start();
            if head.starts_with("╭─[") || head.starts_with("├─[") {
                self.true_head(line.to_string())
            } else {
                line.to_string()
            }
        });
        heads.collect()
    }

    fn true_head(&self, mut line: String) -> String {
        for (id, e) in &self.files {
            for (shown, real) in &e.columns {
                let (shown, real) = (format!(" {}:{shown} ", id.0), format!(" {}:{real} ", id.0));
                line = line.replacen(&shown, &real, 1);
            }
            let named = line.replacen(&format!(" {}:", id.0), &format!(" {}:", e.name), 1);
            if named != line {
                return named;
            }
        }
        line
    }
}

impl Excerpt {
    fn new(file: &SourceFile, spans: &[(Span, usize)]) -> Excerpt {
        let text = &*file.text;
        let mut lines: BTreeSet<u32> = BTreeSet::new();
        let mut points: Vec<(u32, usize)> = vec![];
        for (s, remark) in spans {
            for at in [s.start, s.end] {
                lines.insert(file.lines.line_col(floor(text, at)).0);
                points.push((at, *remark));
            }
        }
        let mut e = Excerpt {
            name: file.name.clone(),
            text: String::new(),
            offsets: BTreeMap::new(),
            columns: vec![],
        };
        for line in 0..=lines.last().copied().unwrap_or(0) {
            if lines.contains(&line) {
                e.line(file, line, &points);
            }
            e.text.push('\n');
        }
        e
    }

    /// Copies a line, or the part of it around its first label.
    fn line(&mut self, file: &SourceFile, line: u32, points: &[(u32, usize)]) {
        let text = &*file.text;
        let start = file.lines.line_start(line).unwrap_or(0) as usize;
        let end = file.lines.line_start(line + 1).map_or(text.len(), |s| s as usize - 1);
        let end = end.max(start);
        let whole = text.get(start..end).unwrap_or("").trim_end_matches('\r');
        let own: Vec<(u32, usize)> = points
            .iter()
            .copied()
            .filter(|p| (start..=end).contains(&(floor(text, p.0) as usize)))
            .collect();
        let Some(first) = own.first().map(|p| floor(text, p.0) as usize - start) else { return };
        let first = first.min(whole.len());
        let window = if fits(whole, start, &own) { 0..whole.len() } else { window(whole, first) };
        if window.start > 0 {
            self.text.push('…');
        }
        let line_begin = self.text.len() - if window.start > 0 { '…'.len_utf8() } else { 0 };
        let mut at: Vec<(usize, usize)> = vec![];
        for (i, c) in whole[window.clone()].char_indices() {
            at.push((start + window.start + i, self.text.len()));
            self.text.push(visible(c));
        }
        at.push((start + window.end, self.text.len()));
        for (p, _) in own {
            let target = floor(text, p) as usize;
            // a label outside of the window is marked at its edge
            let n = at.partition_point(|(old, _)| *old < target).min(at.len() - 1);
            self.offsets.insert(p, at[n].1);
            let (shown, real) =
                (self.text[line_begin..at[n].1].chars().count() + 1, file.position(target as u32));
            if window.start > 0 {
                self.columns
                    .push((format!("{}:{shown}", line + 1), format!("{}:{}", real.0, real.1)));
            }
        }
        self.text.push_str(if window.end < whole.len() { "…" } else { " " });
    }
}

/// Whether a whole line with its remarks stays narrow enough.
fn fits(line: &str, start: usize, points: &[(u32, usize)]) -> bool {
    if line.len() > 4 * WHOLE || line.chars().map(width).sum::<usize>() > WHOLE {
        return false;
    }
    points.iter().all(|(at, remark)| {
        let before = (*at as usize).saturating_sub(start).min(line.len());
        let col: usize = line.char_indices().take_while(|c| c.0 < before).map(|c| width(c.1)).sum();
        col + (*remark).min(REMARK) <= 2 * WHOLE / 3 + REMARK
    })
}

/// The part of a long line to show so that `at` is in it.
fn window(line: &str, at: usize) -> std::ops::Range<usize> {
    let mut cols = 0;
    let mut start = at;
    for (i, c) in line[..at].char_indices().rev() {
        cols += width(c);
        if cols > WINDOW / 3 {
            break;
        }
        start = i;
    }
    let mut cols = 0;
    let mut end = start;
    for (i, c) in line[start..].char_indices() {
        cols += width(c);
        if cols > WINDOW {
            break;
        }
        end = start + i + c.len_utf8();
    }
    start..end
}

/// The character boundary at or before an offset.
fn floor(text: &str, at: u32) -> u32 {
    let at = (at as usize).min(text.len());
    (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    fn one(text: &str, start: usize, end: usize) -> (Diagnostic, SourceMap) {
        let mut map = SourceMap::default();
        let id = map.add("a.tf", text);
        let d = Diagnostic::new(Code::Syntax, Span::new(id, start, end), "expected `;`, found `x`");
        (d, map)
    }

    #[test]
    fn short_form() {
        let (d, map) = one("é = 1\nlet x", 11, 12);
        assert_eq!(render_short(&d, &map), "a.tf:2:5: error[TF0103]: expected `;`, found `x`");
    }

    #[test]
    fn text_after_non_ascii() {
        let (d, map) = one("let a = \"日本é\"; x", 20, 21);
        assert!(render_text(&d, &map, false).contains("╰── here"));
        let out = render_text(&d.here("found here"), &map, false);
        assert!(out.starts_with("error[TF0103]: expected `;`, found `x`\n"), "{out}");
        assert!(out.contains("a.tf:1:16"), "{out}");
        let lines: Vec<&str> = out.lines().collect();
        let source = lines.iter().position(|l| l.contains("日本é")).unwrap();
        let col = |l: &str, c: char| l.chars().position(|x| x == c);
        // two of the characters before it are two columns wide
        assert_eq!(col(lines[source], 'x').unwrap() + 2, col(lines[source + 1], '┬').unwrap());
        assert!(!out.contains('\u{1b}'));
        assert!(render_text(&one("x", 0, 1).0, &map, true).contains('\u{1b}'));
    }

    #[test]
    fn long_lines_are_cut() {
        let text = format!("{}x{}", "é + ".repeat(100_000), " + y".repeat(100_000));
        let at = text.find('x').unwrap();
        let (d, map) = one(&text, at, at + 1);
        let out = render_text(&d.here("z".repeat(70)), &map, false);
        assert!(out.lines().all(|l| l.chars().count() <= 200), "{out}");
        assert!(out.contains("a.tf:1:400001"), "{out}");
        assert!(out.contains('…'));
    }

    #[test]
    fn odd_spans_do_not_panic() {
        let text = "a\r\n\u{2028}b\tc\u{1b}[31m\nlast";
        for start in 0..=text.len() + 3 {
            for end in 0..=text.len() + 3 {
                let (d, map) = one(text, start, end.max(start));
                let d = d
                    .label(Span::new(FileId(0), 2, 3), "other")
                    .label(Span::new(FileId(7), 0, 1), "no file");
                let out = render_text(&d, &map, false);
                assert!(out.contains("TF0103") && !out.contains('\u{1b}'), "{out}");
            }
        }
    }

    #[test]
    fn two_files_and_long_remarks() {
        let mut map = SourceMap::default();
        let (a, b) = (map.add("a.tf", "let a = 1;"), map.add("b.tf", "\n\nlet b = 2;"));
        let d = Diagnostic::new(Code::Syntax, Span::new(a, 4, 5), "word ".repeat(80))
            .label(Span::new(b, 6, 7), "remark ".repeat(40))
            .note("note ".repeat(80))
            .fix("do it", Span::new(a, 0, 1), "");
        let out = render_text(&d, &map, false);
        assert!(out.contains("a.tf:1:5") && out.contains("b.tf:3:5"), "{out}");
        assert!(out.lines().all(|l| l.chars().count() <= 200), "{out}");
    }
}

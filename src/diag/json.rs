//! Diagnostics as JSON, one object on one line each. The format is versioned: fields are added
//! under the same `schema`, and change or go only under a new one.

use serde::Serialize;

use super::Diagnostic;
use crate::base::{SourceMap, Span};

/// The version of the format.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Record<'a> {
    schema: u32,
    code: &'a str,
    name: &'a str,
    level: &'a str,
    message: &'a str,
    labels: Vec<Label<'a>>,
    notes: &'a [String],
    help: Option<&'a str>,
    fix: Option<Fix<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    text: &'a str,
}

/// Lines and columns count from 1, columns in characters; `start` and `end` are bytes from 0.
#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: usize,
    col: usize,
    end_line: usize,
    end_col: usize,
    start: u32,
    end: u32,
}

#[derive(Serialize)]
struct Fix<'a> {
    title: &'a str,
    edits: Vec<Edit<'a>>,
}

#[derive(Serialize)]
struct Edit<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    replacement: &'a str,
}

fn place(span: Span, map: &SourceMap) -> Place<'_> {
    let file = map.get(span.file);
    let (line, col) = file.map_or((1, 1), |f| f.position(span.start));
    let (end_line, end_col) = file.map_or((1, 1), |f| f.position(span.end));
    let file = file.map_or("", |f| f.name.as_str());
    Place { file, line, col, end_line, end_col, start: span.start, end: span.end }
}

/// One line of JSON, without the line's end.
pub fn render_json(d: &Diagnostic, map: &SourceMap) -> String {
    let labels = d.labels.iter().filter(|l| map.get(l.span.file).is_some());
    let record = Record {
        schema: SCHEMA,
        code: d.code.id(),
        name: d.code.name(),
        level: d.level.as_str(),
        message: &d.message,
        labels: labels.map(|l| Label { place: place(l.span, map), text: &l.text }).collect(),
        notes: &d.notes,
        help: d.help.as_deref(),
        fix: d.fix.as_ref().map(|f| Fix {
            title: &f.title,
            edits: f
                .edits
                .iter()
                .map(|(s, new)| Edit { place: place(*s, map), replacement: new })
                .collect(),
        }),
    };
    // strings, numbers and lists always serialize
    serde_json::to_string(&record).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    #[test]
    fn one_line_with_all_fields() {
        let mut map = SourceMap::default();
        let id = map.add("a.tf", "é;\nlet \"x\"");
        let d = Diagnostic::new(Code::Syntax, Span::new(id, 8, 11), "expected a name")
            .here("a \"string\"")
            .note("n")
            .fix("remove it", Span::new(id, 8, 11), "");
        let text = render_json(&d, &map);
        assert!(!text.contains('\n'));
        let v: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(v["schema"], 1);
        assert_eq!(v["code"], "TF0103");
        assert_eq!(v["name"], "syntax-error");
        assert_eq!(v["level"], "error");
        let l = &v["labels"][0];
        assert_eq!((&l["line"], &l["col"]), (&2.into(), &5.into()));
        assert_eq!((&l["end_col"], &l["start"], &l["end"]), (&8.into(), &8.into(), &11.into()));
        assert_eq!(l["text"], "a \"string\"");
        assert_eq!(v["fix"]["edits"][0]["replacement"], "");
        assert_eq!(v["help"], serde_json::Value::Null);
    }
}

//! The parser, its recovery, and the formatter, over the sample programs and small cases.

use std::path::Path;

use tilefoundry::base::{FileId, LineIndex};
use tilefoundry::diag::Diagnostic;
use tilefoundry::syntax::ast::*;
use tilefoundry::syntax::{parse, parse_expr, parse_strict};

const FILE: FileId = FileId(0);

/// Name and text of every sample program.
fn samples() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "tf"))
        .map(|p| {
            (p.file_name().unwrap().to_string_lossy().into(), std::fs::read_to_string(&p).unwrap())
        })
        .collect()
}

/// Line (from 1) and message of each diagnostic.
fn lines(text: &str, diags: &[Diagnostic]) -> Vec<(u32, String)> {
    let index = LineIndex::new(text);
    diags
        .iter()
        .map(|d| (index.line_col(d.span().unwrap().start).0 + 1, d.message.clone()))
        .collect()
}

#[test]
fn samples_parse() {
    let all = samples();
    assert!(all.len() >= 13);
    for (name, text) in all {
        let parsed = parse(FILE, &text);
        assert!(parsed.diags.is_empty(), "{name}: {:#?}", lines(&text, &parsed.diags));
        assert!(!parsed.file.items.is_empty());
    }
}

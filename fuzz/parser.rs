//! Parser and formatter over arbitrary text: no input may panic, every tree is consistent, and
//! formatting changes layout only and changes it once.

use tilefoundry::base::{FileId, SourceMap};
use tilefoundry::diag::{Level, render_json, render_short, render_text};
use tilefoundry::syntax::dump::{dump, dump_plain};
use tilefoundry::syntax::{format, parse};

/// Reads `data` as a program; panics if one of the invariants does not hold.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut map = SourceMap::default();
    let file = map.add("fuzz.tf", &*text);
    let parsed = parse(file, &text);
    for d in &parsed.diags {
        for l in &d.labels {
            assert!(l.span.start <= l.span.end && l.span.end as usize <= text.len(), "{d:?}");
            assert!(text.get(l.span.range()).is_some(), "a span inside of a character: {d:?}");
        }
    }
    for d in parsed.diags.iter().take(8) {
        assert!(!render_text(d, &map, false).is_empty());
        assert!(!render_short(d, &map).is_empty());
        assert!(!render_json(d, &map).contains('\n'));
    }
    let tree = dump(&parsed.file, &text);
    let has_error = tree.lines().any(|l| {
        let l = l.trim_start();
        l == "error" || l.starts_with("error ") && !l.starts_with("error type")
    });
    let errors = parsed.diags.iter().any(|d| d.level == Level::Error);
    assert!(errors || !has_error, "an error node without a message:\n{tree}");
    let Some(once) = format(&text, &parsed) else {
        assert!(errors, "a correct file was not formatted");
        return;
    };
    let again = parse(FileId(0), &once);
    assert!(!again.has_errors(), "the formatted text has errors: {:#?}\n{once}", again.diags);
    assert_eq!(again.file.comments.len(), parsed.file.comments.len(), "comments of\n{once}");
    let twice = format(&once, &again);
    assert_eq!(twice.as_deref(), Some(&*once), "formatting twice");
    // a final `return` becomes the value of its function, which only changes the tree once
    if !text.contains("return") {
        let (a, b) = (dump_plain(&parsed.file), dump_plain(&again.file));
        let change = a.lines().zip(b.lines()).find(|(a, b)| a != b);
        assert!(a == b, "formatting changed the tree: {change:?}\n{once}");
    }
}

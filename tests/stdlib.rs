//! Every function of the standard library is held to what somebody else computed: it is called by
//! cases of `tests/torch/data`. Modules, functions and cases are found, never listed.

use std::path::Path;

use serde_json::Value;
use tilefoundry::base::SourceMap;
use tilefoundry::hir::load::STD;
use tilefoundry::syntax::ast::ItemKind;
use tilefoundry::syntax::parser::parse;

/// How many cases call each function at least.
const CASES: usize = 3;

/// The functions of a library file that have doc comments; those without are its own.
fn functions(module: &str, text: &str) -> Vec<String> {
    let id = SourceMap::default().add(module, text);
    let items = parse(id, text).file.items;
    let name = |k| if let ItemKind::Func(f) = k { Some(f.name.text) } else { None };
    items.into_iter().filter(|i| i.doc.is_some()).filter_map(|i| name(i.kind)).collect()
}

/// The programs of all cases.
fn programs() -> Vec<String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torch/data");
    let mut out = vec![];
    for e in std::fs::read_dir(&data).unwrap().flatten() {
        if e.path().extension().is_some_and(|x| x == "json") {
            let list: Vec<Value> =
                serde_json::from_slice(&std::fs::read(e.path()).unwrap()).unwrap();
            out.extend(list.iter().filter_map(|c| c["source"].as_str().map(String::from)));
        }
    }
    out
}

/// Whether a program calls a function, which its `use` brings from that module.
fn calls(program: &str, module: &str, function: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let imported = program.lines().filter(|l| l.starts_with(&format!("use std::{module}::")));
    imported.flat_map(|l| l.split(|c| !word(c))).any(|w| w == function)
        && program
            .match_indices(&format!("{function}("))
            .any(|(at, _)| !program[..at].ends_with(word))
}

#[test]
fn every_function_is_held_by_cases() {
    let programs = programs();
    assert!(!programs.is_empty());
    let mut wrong = vec![];
    for (module, text) in STD {
        let functions = functions(module, text);
        assert!(!functions.is_empty(), "`std::{module}` has no functions");
        for f in functions {
            let n = programs.iter().filter(|p| calls(p, module, &f)).count();
            if n < CASES {
                wrong.push(format!("`std::{module}::{f}` has {n} cases, expected {CASES}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Prints, for each op and dtype, how its committed cases compare with PyTorch, as Markdown.
//!
//!     cargo run --release --example tf-torch-table

#![allow(clippy::print_stdout)]

mod judge;
mod topic;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use judge::{Rule, Verdict};
use tilefoundry::types::dtype::DType;
use topic::{Case, Topic, topics};

/// What all cases of one op on one dtype found.
#[derive(Default)]
struct Row {
    cases: u64,
    compared: u64,
    mismatches: u64,
    largest: u64,
    rules: BTreeSet<String>,
}

/// The order of the language's dtypes; what is none of them comes last.
type Key = (String, usize, String);

fn words(rule: &Rule) -> String {
    match rule {
        Rule::Equal => "equal".into(),
        Rule::Ulp { max: 0 } => "equal but for the sign of zero".into(),
        Rule::Ulp { max } => format!("{max} ulp"),
        Rule::Close { .. } => "derived bound".into(),
    }
}

fn add(rows: &mut BTreeMap<Key, Row>, case: &Case, verdicts: &[Verdict]) {
    let place = DType::parse(&case.dtype).and_then(|d| DType::ALL.iter().position(|x| *x == d));
    let ops: BTreeSet<&String> = case.ops.iter().collect();
    for op in ops {
        let key = (op.clone(), place.unwrap_or(usize::MAX), case.dtype.clone());
        let row = rows.entry(key).or_default();
        row.cases += 1;
        row.rules.extend(case.rules.iter().map(words));
        for v in verdicts {
            row.compared += v.compared;
            row.mismatches += v.wrong;
            row.largest = row.largest.max(v.largest);
        }
    }
}

fn main() -> ExitCode {
    let mut rows = BTreeMap::new();
    let mut notes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = vec![];
    let (mut cases, mut compared, mut mismatches) = (0u64, 0u64, 0u64);
    for name in topics() {
        let topic = match Topic::read(&name) {
            Ok(t) => t,
            Err(e) => {
                wrong.push(e);
                continue;
            }
        };
        for case in &topic.cases {
            match topic.run(case) {
                Ok(verdicts) => {
                    cases += 1;
                    compared += verdicts.iter().map(|v| v.compared).sum::<u64>();
                    mismatches += verdicts.iter().map(|v| v.wrong).sum::<u64>();
                    add(&mut rows, case, &verdicts);
                    if !case.note.is_empty() {
                        notes.entry(case.note.clone()).or_default().extend(case.ops.clone());
                    }
                }
                Err(e) => wrong.push(format!("{}: {e}", case.name)),
            }
        }
    }
    println!("| op | dtype | cases | elements | mismatches | largest ulp | rule |");
    println!("|---|---|---:|---:|---:|---:|---|");
    for ((op, _, dtype), r) in &rows {
        let rules: Vec<&str> = r.rules.iter().map(String::as_str).collect();
        println!(
            "| {op} | {dtype} | {} | {} | {} | {} | {} |",
            r.cases,
            r.compared,
            r.mismatches,
            r.largest,
            rules.join("; ")
        );
    }
    println!("\nWhat the references are, where a case says so:\n");
    for (note, ops) in &notes {
        let ops: Vec<String> = ops.iter().map(|o| format!("`{o}`")).collect();
        println!("- {note}: {}", ops.join(" "));
    }
    println!();
    println!("{cases} cases, {compared} elements, {mismatches} mismatches.");
    for w in &wrong {
        println!("\nnot run: {w}");
    }
    if mismatches == 0 && wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

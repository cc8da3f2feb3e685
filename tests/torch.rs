//! Holds the ops to PyTorch by committed cases: `tests/torch/make.py` writes them, one trial a
//! topic runs them. Topics are found, never listed. CONTRIBUTING.md says how to add a case.

#[path = "torch/judge.rs"]
mod judge;
#[path = "torch/topic.rs"]
mod topic;

use std::collections::BTreeMap;

use judge::{Rule, judge};
use libtest_mimic::{Arguments, Failed, Trial};
use tilefoundry::ops::registry::OPS;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;
use topic::{Case, Topic, folder, topics};

/// How many cases each op has at least.
const CASES: usize = 3;

/// Ops without cases here, and why.
const OTHER: &[(&str, &str)] = &[];

/// Failing cases that are shown of one topic.
const SHOWN: usize = 20;

fn failure(t: &Topic, c: &Case) -> Option<String> {
    let head = format!("{} (op {}, dtype {})", c.name, c.ops.join(" "), c.dtype);
    let verdicts = match t.run(c) {
        Ok(v) => v,
        Err(e) => return Some(format!("{head}: {e}\n    {}", c.source.trim())),
    };
    let mut out = String::new();
    for (i, (v, rule)) in verdicts.iter().zip(&c.rules).enumerate() {
        let Some((index, got, expected)) = &v.first else { continue };
        out += &format!(
            "\n    result {i} at {index:?}: got {got}, expected {expected}; {} of {} wrong by {rule:?}",
            v.wrong, v.compared,
        );
    }
    let note = if c.note.is_empty() { String::new() } else { format!("\n    {}", c.note) };
    (!out.is_empty()).then(|| format!("{head}{out}{note}\n    {}", c.source.trim()))
}

fn topic(name: &str) -> Result<(), Failed> {
    let t = Topic::read(name)?;
    if t.cases.is_empty() {
        return Err("no cases".into());
    }
    let failed: Vec<String> = t.cases.iter().filter_map(|c| failure(&t, c)).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = failed.iter().take(SHOWN).map(String::as_str).collect();
    let count = format!("{} of {} cases fail", failed.len(), t.cases.len());
    Err(format!("{count}\n{}", shown.join("\n")).into())
}

/// Every op has its cases, or a reason to have none.
fn every_op() -> Result<(), Failed> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for name in topics() {
        for c in Topic::read(&name)?.cases {
            for op in c.ops {
                *count.entry(op).or_default() += 1;
            }
        }
    }
    let mut wrong = vec![];
    for op in OPS {
        let n = count.get(op.name()).copied().unwrap_or(0);
        let excused = OTHER.iter().any(|(o, _)| *o == op.name());
        if n < CASES && !excused {
            wrong.push(format!("`{}` has {n} cases, expected {CASES}", op.name()));
        }
        if n >= CASES && excused {
            wrong.push(format!("`{}` has {n} cases, and a reason to have none", op.name()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// What each rule lets pass, on pairs of f16.
fn rules() -> Result<(), Failed> {
    let (max, inf) = (65504.0, f64::INFINITY);
    let close = |rtol, atol| Rule::Close { rtol, atol, why: String::new() };
    let ulp = |max| Rule::Ulp { max };
    let passes = [
        (Rule::Equal, 0.0, -0.0, false),
        (Rule::Equal, f64::NAN, f64::NAN, true),
        (Rule::Equal, 1.0, 1.0009765625, false),
        (ulp(0), 0.0, -0.0, true),
        (ulp(1), 1.0, 1.0009765625, true),
        (ulp(1), 1.0, 1.001953125, false),
        (ulp(1), max, inf, false),
        (ulp(9), f64::NAN, 1.0, false),
        (close(0.0, 0.5), 1.0, 1.5, true),
        (close(0.0, 0.5), 1.0, 1.501953125, false),
        (close(0.5, 0.0), 3.0, 2.0, true),
        (close(9.0, inf), inf, -inf, false),
        (close(9.0, inf), f64::NAN, 1.0, false),
    ];
    let of = |x| Tensor::from_f64s(DType::F16, vec![1], vec![x]);
    for (rule, got, expected, pass) in passes {
        let v = judge(&rule, &of(got), &of(expected))?;
        if (v.wrong == 0) != pass {
            return Err(format!("{rule:?} of {got} and {expected}: {v:?}").into());
        }
    }
    let wide = Tensor::zeros(DType::F32, vec![1]);
    match judge(&Rule::Equal, &wide, &of(0.0)) {
        Ok(_) => Err("dtypes differ, and that passes".into()),
        Err(_) => Ok(()),
    }
}

/// The manifest names the topics that are committed, with as many cases as they have.
fn manifest() -> Result<(), Failed> {
    let text = std::fs::read_to_string(folder().join("manifest.json"))?;
    let m: serde_json::Value = serde_json::from_str(&text)?;
    let stated: BTreeMap<String, u64> = m["topics"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(n, t)| (n.clone(), t["cases"].as_u64().unwrap_or(0)))
        .collect();
    let mut found = BTreeMap::new();
    for name in topics() {
        let cases = Topic::read(&name)?.cases.len() as u64;
        found.insert(name, cases);
    }
    if stated == found {
        return Ok(());
    }
    Err(format!("the manifest states {stated:?}, found {found:?}").into())
}

fn main() {
    let mut trials = vec![
        Trial::test("rules", rules),
        Trial::test("every op has cases", every_op),
        Trial::test("the manifest is of these files", manifest),
    ];
    for name in topics() {
        trials.push(Trial::test(format!("topic {name}"), move || topic(&name)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

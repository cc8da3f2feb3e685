//! Inputs too large to be kept in files, through the binary: an answer in short time, with a short
//! excerpt, and no overflow of the stack.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Compiles a text, in a file of its own.
fn compile(name: &str, text: &str) -> (Output, Duration) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    let start = Instant::now();
    let out = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(["compile", name])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let took = start.elapsed();
    std::fs::remove_file(path).unwrap();
    (out, took)
}

fn program(expr: &str) -> String {
    format!(
        "module M {{\n    target \"nvidia.h200_sxm\";\n\n    entry func f(x: f32[4]) -> f32[4] {{\n        \
         {expr}\n    }}\n}}\n"
    )
}

/// One error, exit status 1, every line of the report short.
fn refused(name: &str, text: &str, code: &str) -> Duration {
    let (out, took) = compile(name, text);
    let report = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", &report[..report.len().min(2000)]);
    assert!(report.contains(code), "{}", &report[..report.len().min(2000)]);
    let widest = report.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    assert!(widest < 200, "a line of {widest} columns");
    took
}

#[test]
fn a_line_of_ten_megabytes() {
    // an unknown name at the end of a comment's, and of an expression's, line
    let long = format!("x + y // {}", "-".repeat(10 << 20));
    let took = refused("long_comment.tf", &program(&long), "TF0201");
    let pad = " ".repeat(10 << 20);
    let took = took.max(refused("long_line.tf", &program(&format!("x +{pad}y")), "TF0201"));
    // a build without optimisation is some ten times slower
    let limit = if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(took < Duration::from_secs(limit), "{took:?}");
}

#[test]
fn ten_thousand_nested_parentheses() {
    let n = 10_000;
    let text = format!("{}x{}", "(".repeat(n), ")".repeat(n));
    refused("parentheses.tf", &program(&text), "TF0105");
    refused("open_parentheses.tf", &program(&"(".repeat(n)), "TF0104");
    let blocks = format!("{}x{}", "{ ".repeat(n), " }".repeat(n));
    refused("blocks.tf", &program(&blocks), "TF0105");
    let signs = format!("{}x", "-".repeat(n));
    refused("signs.tf", &program(&signs), "TF0105");
}

#[test]
fn long_sums_are_read() {
    let (out, _) = compile("sum.tf", &program(&format!("x{}", " + x".repeat(300))));
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
}

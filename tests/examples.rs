//! Runs the examples as their READMEs say and holds them against `expect.toml`. Examples and runs
//! are found, never listed.
//!
//! A `[[run]]` has `args` of the binary, started in the example's folder, the `exit` status (0),
//! parts of `stdout` and `stderr`, and `json`: pairs of a pointer into what is printed and a value.
//! Integers are met exactly, floats in six digits.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

#[derive(serde::Deserialize)]
struct Expect {
    run: Vec<Run>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    args: Vec<String>,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    stdout: Vec<String>,
    #[serde(default)]
    stderr: Vec<String>,
    #[serde(default)]
    json: Vec<(String, toml::Value)>,
}

fn same(found: &serde_json::Value, want: &toml::Value) -> bool {
    match want {
        toml::Value::Integer(i) => found.as_f64() == Some(*i as f64),
        toml::Value::Float(f) => found.as_f64().is_some_and(|x| (x - f).abs() <= 5e-6 * f.abs()),
        toml::Value::Boolean(b) => found.as_bool() == Some(*b),
        toml::Value::String(s) => found.as_str() == Some(s),
        _ => false,
    }
}

fn run(dir: &Path, r: &Run) -> Result<(), Failed> {
    let out = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(&r.args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .output()?;
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    let mut wrong = vec![];
    if out.status.code() != Some(r.exit) {
        wrong.push(format!("exit status {:?}, expected {}", out.status.code(), r.exit));
    }
    for (name, found, parts) in [("stdout", &stdout, &r.stdout), ("stderr", &stderr, &r.stderr)] {
        for p in parts.iter().filter(|p| !found.contains(*p)) {
            wrong.push(format!("`{p}` is not in {name}"));
        }
    }
    if !r.json.is_empty() {
        let record: serde_json::Value = serde_json::from_str(&stdout)
            .map_err(|e| format!("stdout is no JSON: {e}\n{stderr}"))?;
        for (pointer, want) in &r.json {
            match record.pointer(pointer) {
                Some(found) if same(found, want) => {}
                found => wrong.push(format!("{pointer} is {found:?}, expected {want}")),
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let shown = if r.json.is_empty() { stdout } else { String::new() };
    Err(format!("{}\n{}\n{shown}\n{stderr}", r.args.join(" "), wrong.join("\n")).into())
}

/// A README starts with five lines, and says in them how to run the example. Of an example with
/// kernels it goes on: how they were reached.
fn readme(dir: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(dir.join("README.md"))?;
    let (head, story) = text.split_once("\n## ").map_or((&*text, None), |(h, s)| (h, Some(s)));
    let lines = head.lines().filter(|l| !l.trim().is_empty()).count();
    if lines != 5 {
        return Err(format!("{lines} lines before the first section, expected 5").into());
    }
    let kernels =
        std::fs::read_dir(dir)?.flatten().any(|e| e.path().extension().is_some_and(|e| e == "cu"));
    if kernels != story.is_some() {
        return Err("a section tells how the kernels were reached, where there are any".into());
    }
    if !head.contains("`tilefoundry ") {
        return Err("the command is missing".into());
    }
    Ok(())
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    dirs.sort();
    let mut trials = vec![];
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let at = dir.clone();
        trials.push(Trial::test(format!("{name}/README.md"), move || readme(&at)));
        let expect = std::fs::read_to_string(dir.join("expect.toml"))
            .map_err(|e| e.to_string())
            .and_then(|t| toml::from_str::<Expect>(&t).map_err(|e| e.to_string()));
        match expect {
            Ok(e) => {
                for (n, r) in e.run.into_iter().enumerate() {
                    let dir = dir.clone();
                    let what = r.args.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
                    trials.push(Trial::test(format!("{name}/{n} {what}"), move || run(&dir, &r)));
                }
            }
            Err(e) => {
                trials.push(Trial::test(format!("{name}/expect.toml"), move || Err(e.into())));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

//! How far predicted times are from measured ones.
//!
//! `tests/accuracy/cases.toml` names twins, sizes and whether buffers are cold. Of these,
//! `predict` writes what `analyze --performance` says into `predictions.toml`; that file is
//! committed first. Then a machine with the device measures each case, and `record FILE..` puts the
//! answers of `measure --json` into `measured.toml`, each with the prediction that stood there.
//!
//! ```text
//! cargo run --release --example tf-accuracy            the table
//! cargo run --release --example tf-accuracy predict    predictions.toml
//! cargo run --release --example tf-accuracy commands   what a machine with the device is to run
//! cargo run --release --example tf-accuracy record DATE FILE..
//! ```

mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use table::{Case, Prediction, Row, cases, predictions, rows};
use tilefoundry::analysis::{self, Options};
use tilefoundry::cli::Disk;
use tilefoundry::session::{Selection, Session, Targets, points};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => table::print(&root()),
        ["predict"] => predict(),
        ["commands"] => commands(),
        ["record", date, files @ ..] if !files.is_empty() => record(date, files),
        _ => Err("expected nothing, `predict`, `commands` or `record DATE FILE..`".into()),
    };
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("tf-accuracy: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Nanoseconds that the module of a twin is predicted to take.
fn predicted(c: &Case) -> Result<f64, String> {
    let sel = Selection::parse(&c.twin);
    let file = root().join(&sel.file).display().to_string();
    let consts: Vec<(String, String)> =
        c.consts.iter().map(|(n, v)| (n.clone(), v.to_string())).collect();
    let s = Session::open(&Disk, &file, &consts, Targets::default());
    let p = &s.program;
    let name = sel.module.as_deref().unwrap_or_default();
    let twin = p.twins().into_iter().find(|(n, _)| *n == name);
    let (_, twin) = twin.ok_or_else(|| format!("`{}` has no twin `{name}`", sel.file))?;
    let (_, boundary) = s.select_twin(&sel, twin)?;
    let compiled = s.compile(boundary);
    let graph = compiled.graph.as_ref().ok_or_else(|| format!("{:?}", compiled.diags))?;
    let sizes: Vec<(String, Vec<i64>)> =
        c.dims.iter().map(|(n, v)| (n.clone(), vec![*v])).collect();
    let at = points(graph, &sizes)?;
    let env = at.into_iter().next().unwrap_or_default().env;
    let module = tilefoundry::hir::ItemRef {
        file: boundary.file,
        module: None,
        item: boundary.module.unwrap_or_default(),
    };
    let target = s.target(module);
    let options = Options { no_advice: true, no_search: true, ..Options::default() };
    let a = analysis::analyze(graph, &env, target.as_deref(), &options).map_err(|d| d.message)?;
    let p = a.prediction.ok_or_else(|| format!("{}: no prediction", c.twin))?;
    let ps = if c.cold { p.ps } else { p.warm_ps };
    Ok((ps.as_f64() / 10.0).round() / 100.0)
}

fn predict() -> Result<String, String> {
    let mut out = vec![];
    for c in cases(&root())? {
        let predicted_ns = predicted(&c)?;
        let Case { twin, dims, consts, cold } = c;
        out.push(Prediction { twin, dims, consts, cold, predicted_ns });
    }
    table::write_predictions(&root(), &out)?;
    Ok(format!("{} predictions\n", out.len()))
}

/// One line of arguments for each case.
fn commands() -> Result<String, String> {
    let mut out = String::new();
    for c in cases(&root())? {
        out += &format!("measure {} --json --graph", c.twin);
        for (n, v) in &c.consts {
            out += &format!(" --const {n}={v}");
        }
        for (n, v) in &c.dims {
            out += &format!(" --dim {n}={v}");
        }
        if c.cold {
            out += " --cold";
        }
        out.push('\n');
    }
    Ok(out)
}

/// The rows of `measure --json`, in the order of the cases.
fn record(date: &str, files: &[&str]) -> Result<String, String> {
    let known = predictions(&root())?;
    let mut all = rows(&root()).unwrap_or_default();
    let mut n = 0;
    for f in files {
        let text = std::fs::read_to_string(f).map_err(|e| format!("{f}: {e}"))?;
        for v in serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>() {
            let v = v.map_err(|e| format!("{f}: {e}"))?;
            let twin = v["selection"].as_str().ok_or_else(|| format!("{f}: no `selection`"))?;
            for r in v["runs"].as_array().into_iter().flatten() {
                let row = Row::new(twin, date, r).ok_or_else(|| format!("{f}: {r}"))?;
                let k = row.key();
                let p = known.iter().find(|p| p.key() == k);
                let p =
                    p.ok_or_else(|| format!("{k} has no prediction: `predict` and commit first"))?;
                all.retain(|x| x.key() != k);
                all.push(Row { predicted_ns: p.predicted_ns, ..row });
                n += 1;
            }
        }
    }
    let place = |r: &Row| known.iter().position(|p| p.key() == r.key());
    all.sort_by_key(place);
    table::write_rows(&root(), &all)?;
    Ok(format!("{n} rows of {}\n", all.len()))
}

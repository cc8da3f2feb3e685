//! Reports read cold: `reading.toml` of each example says what is true of its programs and what a
//! reader answered who was given the report and nothing else. The truth is held against the record
//! that is reported today, and the answers against the truth. Examples are found, never listed.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    report: Vec<Report>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    /// The command whose report is read, in the example's folder.
    args: Vec<String>,
    /// The resource that bounds the program; the storage that it does not fit.
    bound: String,
    /// The time of the bound; the bytes that the storage has.
    limit: String,
    /// The kind of the finding to act on; `none` where nothing lowers the bound.
    next: String,
    /// The time off the bound.
    gain: String,
    read: Answers,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    date: String,
    /// Of the text that was read.
    sha256: String,
    bound: String,
    limit: String,
    next: String,
    gain: String,
}

/// The first time or size of a text, in nanoseconds or bytes.
fn amount(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "~(),;".contains(c)).collect();
    words.windows(2).find_map(|w| {
        let n: f64 = w[0].replace(',', "").parse().ok()?;
        let unit = match w[1].trim_end_matches('.') {
            "ps" => 1e-3,
            "ns" | "B" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "KiB" => 1024.0,
            "MiB" => 1048576.0,
            "GiB" => 1073741824.0,
            _ => return None,
        };
        Some(n * unit)
    })
}

/// Equal as far as three significant digits say.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 5.1e-3 * a.abs().max(b.abs())
}

/// A number of the record: an integer, or `num/den`.
fn ratio(v: &Value) -> Option<f64> {
    let text = match v {
        Value::String(s) => s.clone(),
        v => v.to_string(),
    };
    match text.split_once('/') {
        Some((n, d)) => Some(n.parse::<f64>().ok()? / d.parse::<f64>().ok()?),
        None => text.parse().ok(),
    }
}

/// The same four answers from the record.
fn recorded(record: &Value) -> Option<[String; 4]> {
    let none = vec![];
    let all = record["advice"].as_array().unwrap_or(&none);
    let first = all.first();
    let capacity = record["capacity"].as_array().unwrap_or(&none);
    if let Some(p) = capacity.iter().find(|p| p["exceeded"] == true) {
        let kind = first.filter(|f| f["blocking"] == true)?["kind"].as_str()?;
        let limit = format!("{} B", p["limit"]);
        return Some([p["storage"].as_str()?.into(), limit, kind.into(), "it runs".into()]);
    }
    let bounds = record["roofline"]["bounds"].as_array()?;
    let placed = bounds.iter().find(|b| b["name"] == "placed" && b["form"] == "cold")?;
    let ns = |v: &Value| ratio(v).map(|ps| format!("{} ns", ps / 1000.0));
    // what is predicted slower is not what to do next, but for a launch that only it is charged
    let saves = |f: &&Value| {
        let s = &f["saves"];
        let of = |k: &str| ratio(&s["predicted"][k]);
        let rises = of("to_ps").zip(of("launch_ps")).zip(of("from_ps"));
        let rises = rises.is_some_and(|((to, launch), from)| to - launch > from);
        ratio(&s["ps"]).is_some_and(|n| n > 0.0) && !rises
    };
    let (next, gain) = match all.iter().find(saves) {
        Some(f) => (f["kind"].as_str()?.to_string(), ns(&f["saves"]["ps"])?),
        None => ("none".to_string(), "0 ns".to_string()),
    };
    Some([placed["binds"].as_str()?.into(), ns(&placed["ps"])?, next, gain])
}

/// What differs between the truth and other answers.
fn differ(truth: &Report, [bound, limit, next, gain]: [&str; 4]) -> Vec<String> {
    let plain = |s: &str| {
        let s = s.to_lowercase().replace(['`', '_'], " ");
        let s = s.split(['(', ':', ',']).next().unwrap_or_default();
        // a storage may be named with its owner
        s.split(" of ").next().unwrap_or_default().trim().to_string()
    };
    let number = |a: &str, b: &str| match (amount(a), amount(b)) {
        (Some(a), Some(b)) => close(a, b),
        (None, None) => plain(a) == plain(b),
        _ => false,
    };
    let says = match truth.next.as_str() {
        "none" => ["none", "nothing"].iter().any(|w| plain(next).starts_with(w)),
        kind => next.contains(kind),
    };
    let mut out = vec![];
    for (name, want, found, same) in [
        ("bound", &truth.bound, bound, plain(&truth.bound) == plain(bound)),
        ("limit", &truth.limit, limit, number(&truth.limit, limit)),
        ("next", &truth.next, next, says),
        ("gain", &truth.gain, gain, number(&truth.gain, gain)),
    ] {
        if !same {
            out.push(format!("{name} is `{want}`, found `{found}`"));
        }
    }
    out
}

fn check(dir: &Path, r: &Report) -> Result<(), Failed> {
    let out = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(r.args.iter().chain([&"--json".to_string()]))
        .current_dir(dir)
        .output()?;
    let record: Value = serde_json::from_slice(&out.stdout)?;
    let found = recorded(&record).ok_or("the record has no bound")?;
    let [a, b, c, d] = &found;
    let wrong = differ(r, [a, b, c, d]);
    if !wrong.is_empty() {
        return Err(format!("the record: {}", wrong.join("; ")).into());
    }
    let read = &r.read;
    if read.sha256.len() != 64 || read.date.len() != 10 {
        return Err("what was read and when is not said".into());
    }
    match differ(r, [&read.bound, &read.limit, &read.next, &read.gain]).as_slice() {
        [] => Ok(()),
        wrong => Err(format!("the reader: {}", wrong.join("; ")).into()),
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let found = std::fs::read_dir(&root).into_iter().flatten().flatten().map(|e| e.path());
    let models = std::fs::read_dir(root.join("models")).into_iter().flatten().flatten();
    let found = found.filter(|p| !p.ends_with("models")).chain(models.map(|e| e.path()));
    let mut dirs: Vec<PathBuf> = found.filter(|p| p.is_dir()).collect();
    dirs.sort();
    let mut trials = vec![];
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let reading = std::fs::read_to_string(dir.join("reading.toml"))
            .map_err(|e| e.to_string())
            .and_then(|t| toml::from_str::<Reading>(&t).map_err(|e| e.to_string()));
        match reading {
            Ok(all) => {
                for r in all.report {
                    let dir = dir.clone();
                    let of = r.args.iter().find(|a| a.contains(".tf")).cloned().unwrap_or_default();
                    trials.push(Trial::test(format!("{name}/{of}"), move || check(&dir, &r)));
                }
            }
            Err(e) => trials.push(Trial::test(format!("{name}/reading.toml"), || Err(e.into()))),
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

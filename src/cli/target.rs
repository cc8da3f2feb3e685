//! `target`: documents that describe devices.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::common::{Common, Reply, document_id};
use super::progress::Bar;
use crate::eval::Progress;
use crate::session::Targets;
use crate::target::{self, DocumentKind, NewFact};
use crate::twin::calibrate::{self, Measured};
use crate::twin::device::{Device, DeviceError};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the targets
    List,
    /// Show every fact of a target with its origin and source
    Show {
        /// The id of a target
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a document
    Check {
        /// A `.toml` file, a device or an architecture
        file: PathBuf,
    },
    /// Measure the device of this machine, and write what it sustains into a target's document
    Calibrate {
        /// The id of the target whose document takes the measured facts
        base: String,
        /// Where the document goes, `ID.toml`; the id of the target is the file's name
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let targets = match common.targets() {
        Ok(t) => t,
        Err(r) => return r,
    };
    match &args.command {
        Command::List => {
            let mut out = String::new();
            let ids = targets.ids();
            let width = ids.iter().map(|i| i.len()).max().unwrap_or(0);
            for id in ids {
                // an architecture of the user's own is a document too, but no target
                let name = match targets.find(id) {
                    Ok(t) => format!("{} ({})", t.name(), t.architecture()),
                    Err(_) => continue,
                };
                out += &format!("{id:width$}  {name}\n");
            }
            Reply::answer(out)
        }
        Command::Show { id, json } => match targets.find(id) {
            Ok(t) => Reply::answer(show(&t, *json)),
            Err(e) => Reply::usage(e.to_string()),
        },
        Command::Check { file } => {
            let text = match std::fs::read_to_string(file) {
                Ok(t) => t,
                Err(e) => return Reply::lacks(format!("cannot read `{}`: {e}", file.display())),
            };
            let beside = file.parent().map(PathBuf::from).unwrap_or_default();
            let lookup = |id: &str| {
                let own = targets.0.get(id).cloned();
                own.or_else(|| std::fs::read_to_string(beside.join(format!("{id}.toml"))).ok())
            };
            let id = document_id(file);
            match target::check(&id, &text, lookup) {
                Ok(DocumentKind::Device) => Reply::answer(format!("device `{id}`: no problems\n")),
                Ok(DocumentKind::Architecture) => {
                    Reply::answer(format!("architecture `{id}`: no problems\n"))
                }
                Err(e) => {
                    let n = e.problems.len();
                    let word = if n == 1 { "problem" } else { "problems" };
                    Reply { out: String::new(), err: format!("{e}\n{n} {word}\n"), status: 1 }
                }
            }
        }
        Command::Calibrate { base, output } => calibrate(&targets, base, output.as_deref()),
    }
}

const STAGES: u64 = 5;

fn calibrate(targets: &Targets, base: &str, output: Option<&Path>) -> Reply {
    let target = match targets.find(base) {
        Ok(t) => t,
        Err(e) => return Reply::usage(e.to_string()),
    };
    let id = output.map_or(base.to_string(), document_id);
    let device = match Device::open() {
        Ok(d) => d,
        Err(e) => {
            return Reply::lacks(format!(
                "{e}\nrun `target calibrate` on the machine that has the device"
            ));
        }
    };
    let measured = measure(&device, target.architecture());
    let (source, facts) = match measured {
        Ok(m) => m,
        Err(reply) => return reply,
    };
    let new = |m: &Measured| NewFact {
        path: m.path.clone(),
        value: m.value,
        integer: m.is_count(),
        unit: m.unit.into(),
        source: source.clone(),
        note: m.how.clone(),
    };
    let new: Vec<NewFact> = facts.iter().map(new).collect();
    let text = targets.0.get(base).map(String::as_str).or_else(|| target::builtin_device(base));
    let document = match target::with_measured(text.unwrap_or_default(), &id, &new) {
        Ok(d) => d,
        Err(e) => return Reply::refused(format!("the document of `{base}` takes no facts: {e}")),
    };
    if let Err(e) = target::Target::parse(&id, &document, |a| targets.0.get(a).cloned()) {
        return Reply::refused(format!("the document with the measured facts does not hold: {e}"));
    }
    let Some(file) = output else { return Reply::answer(document) };
    if let Err(e) = std::fs::write(file, document) {
        return Reply::lacks(format!("cannot write `{}`: {e}", file.display()));
    }
    let wide = facts.iter().map(|m| m.path.len()).max().unwrap_or(0);
    let row = |m: &Measured| format!("{:wide$}  {:>12.4e} {}\n", m.path, m.value, m.unit);
    let rows: String = facts.iter().map(row).collect();
    Reply::answer(format!("{source}\n{rows}wrote `{}`\n", file.display()))
}

/// The figures of a device of an architecture, and what they were measured on.
fn measure(device: &Device, architecture: &str) -> Result<(String, Vec<Measured>), Reply> {
    let lacks = |e: DeviceError| Reply::lacks(e.to_string());
    let (major, minor) = device.capability().map_err(lacks)?;
    let name = device.name().map_err(lacks)?;
    let here = format!("sm_{major}{minor}");
    if here != architecture {
        return Err(Reply::refused(format!(
            "the device is `{here}` ({name}), and the target describes `{architecture}`\n\
             choose a target of its architecture: `tilefoundry target list`"
        )));
    }
    let bar = Bar::new();
    let stage = Cell::new(0);
    let say = |what: &str| {
        bar.step(stage.get(), STAGES, what);
        stage.set(stage.get() + 1);
    };
    let facts = calibrate::calibrate(device, &say).map_err(lacks)?;
    let version = device.driver_version().map_err(lacks)?;
    let (a, b) = (version / 1000, version % 1000 / 10);
    let units = device.multiprocessors().map_err(lacks)?;
    Ok((format!("`target calibrate` on an {name}: {units} SMs, driver for CUDA {a}.{b}"), facts))
}

fn show(t: &target::Target, json: bool) -> String {
    if json {
        let doc = serde_json::json!({
            "schema": "tilefoundry.target/1",
            "id": t.id(),
            "name": t.name(),
            "architecture": t.architecture(),
            "levels": t.levels().iter().map(|l| &l.name).collect::<Vec<_>>(),
            "facts": t.facts(),
            "instructions": t.instructions(),
        });
        return format!("{doc:#}\n");
    }
    let levels: Vec<&str> = t.levels().iter().map(|l| l.name.as_str()).collect();
    let facts = t.facts();
    let rows: Vec<(&str, String, &str, &str)> = facts
        .iter()
        .map(|f| {
            let value = match &f.value {
                Some(v) => format!("{v} {}", f.unit).trim().to_string(),
                None => "unknown".into(),
            };
            let origin = f.origin.map_or("", |o| o.as_str());
            (f.path.as_str(), value, origin, f.source.as_str())
        })
        .collect();
    let wide = rows.iter().map(|r| r.0.len()).max().unwrap_or(0);
    let value_wide = rows.iter().map(|r| r.1.len()).max().unwrap_or(0);
    let table: String = rows
        .iter()
        .map(|(path, value, origin, source)| {
            format!("{path:wide$}  {value:>value_wide$}  {origin:9}  {source}\n")
        })
        .collect();
    let mut hints: Vec<&str> = t.instructions().iter().map(|i| i.hint.as_str()).collect();
    hints.sort_unstable();
    hints.dedup();
    format!(
        "{}: {} ({})\nlevels: {}\ninstructions: {}\n\n{table}",
        t.id(),
        t.name(),
        t.architecture_name(),
        levels.join(", "),
        hints.join(", ")
    )
}

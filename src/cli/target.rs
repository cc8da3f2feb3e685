//! `target`: documents that describe devices.

use std::path::PathBuf;

use super::common::{Common, Reply, document_id};
use crate::target::{self, DocumentKind};
use clap::Subcommand;

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
    }
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

//! The command line: one file for each command. A command reads what it needs, and gives back
//! texts for standard output and error with an exit status; only [`run`] writes them.
//!
//! Exit status: 0 for an answer, 1 for a refusal or a negative verdict, 2 for wrong usage, 3 when
//! the environment lacks something.

mod analyze;
mod check;
mod common;
mod compile;
mod explain;
mod fmt;
mod measure;
mod progress;
mod sizes;
mod target;
mod twins;

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::twin::host::{self, WORKER};

pub use common::{Common, Disk, MessageFormat, Reply};

#[derive(Parser)]
#[command(
    name = "tilefoundry",
    version,
    about = "Reads tile programs and answers: what they cost, what bounds them, and whether they agree",
    after_help = "Exit status: 0 for an answer, 1 for a refusal or a negative verdict, 2 for wrong usage, 3 when the environment lacks something.",
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Check a program and print it in one of its forms
    Compile(compile::Args),
    /// Count work, bytes and capacity, and bound the time
    Analyze(analyze::Args),
    /// Run a program and judge its outputs against a reference
    Check(check::Args),
    /// Time a twin's kernels on the device, against the bounds of its program
    Measure(measure::Args),
    /// Rewrite files in the one layout
    Fmt(fmt::Args),
    /// Explain a diagnostic code
    Explain(explain::Args),
    /// Show and check target documents
    Target(target::Args),
    /// Drive the device for another process
    #[command(name = WORKER, hide = true)]
    Worker,
}

/// Runs one command and writes what it says. Gives the exit status.
pub fn run(cli: Cli) -> u8 {
    cli.common.color.write_global();
    if matches!(cli.command, Command::Worker) {
        return host::serve();
    }
    let reply = match cli.command {
        Command::Compile(a) => compile::run(&cli.common, &a),
        Command::Analyze(a) => analyze::run(&cli.common, &a),
        Command::Check(a) => check::run(&cli.common, &a),
        Command::Measure(a) => measure::run(&cli.common, &a),
        Command::Fmt(a) => fmt::run(&cli.common, &a),
        Command::Explain(a) => explain::run(&a),
        Command::Target(a) => target::run(&cli.common, &a),
        Command::Worker => Reply::default(),
    };
    let Reply { out, err, status } = reply;
    // a reader that went away has what it wanted: the status is the answer's in any case
    let mut e = anstream::stderr().lock();
    let _ = e.write_all(err.as_bytes()).and_then(|()| e.flush());
    let mut o = anstream::stdout().lock();
    match o.write_all(out.as_bytes()).and_then(|()| o.flush()) {
        Err(x) if x.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(e, "tilefoundry: cannot write: {x}");
            3
        }
        _ => status,
    }
}

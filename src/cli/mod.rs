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
mod generate;
mod measure;
mod models;
mod new;
mod progress;
mod sizes;
mod spec;
mod target;
mod tutorial;
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
    pub command: Option<Command>,
}

/// In the order of the work.
#[derive(Subcommand)]
pub enum Command {
    /// Write a starting project
    New(new::Args),
    /// Learn it, page by page
    Tutorial(tutorial::Args),
    /// Look something up: the language, ops, the library, analyses, check, targets
    Spec(spec::Args),
    /// List whole models, and print one
    Models(models::Args),
    /// Check a program and print it in one of its forms
    Compile(compile::Args),
    /// Run a program and judge its outputs against a reference
    Check(check::Args),
    /// Count work, bytes and capacity, and bound the time
    Analyze(analyze::Args),
    /// Generate tokens with a model's step, greedily
    Generate(generate::Args),
    /// Time a twin's kernels on the device, against the bounds of its program
    Measure(measure::Args),
    /// Show and check target documents
    Target(target::Args),
    /// Explain a diagnostic code
    Explain(explain::Args),
    /// Rewrite files in the one layout
    Fmt(fmt::Args),
    /// Drive the device for another process
    #[command(name = WORKER, hide = true)]
    Worker,
}

/// What is said where no command is given: the commands in the order of the work.
const OVERVIEW: &str = "\
tilefoundry reads .tf programs, which say what a kernel computes, where each value lives and how it is
split, and answers: is it right, what does it cost, does it agree. The commands, in the order of the work:

  new NAME                         write a starting project that runs
  tutorial [PAGE]                  learn it: six pages, from a PyTorch class to a kernel that is bound
  spec [TOPIC [SECTION]]           look it up: the language, ops, library, analyses, check, targets
  spec --find WORD                 which sections have a word
  models [NAME [--source]]         whole models, to read and to copy
  compile FILE                     everything that is wrong with a program, with the fix
  check FILE:Module --inputs ..    run it on the CPU and judge its outputs against a reference
  analyze FILE:Module              work, bytes, capacity, bounds of the time, advice
  generate FILE:Module ..          the tokens that a model gives behind a prompt, by its step
  measure FILE:Twin                time hand-written kernels against the bounds of their program
  target list | show | check       the devices, each fact with its source
  explain [CODE]                   what a diagnostic means and what to do
  fmt FILE..                       rewrite files in the one layout

`tilefoundry COMMAND --help` has the options of a command. Nothing needs a GPU but `measure`, `check` of
a twin, and `target calibrate`. Exit status: 0 for an answer, 1 for a refusal or a negative verdict, 2 for
wrong usage, 3 when the environment lacks something.

next: `tilefoundry tutorial` lists its pages; `tilefoundry new NAME` writes a project
";

/// Runs one command and writes what it says. Gives the exit status.
pub fn run(cli: Cli) -> u8 {
    cli.common.color.write_global();
    let Some(command) = cli.command else { return write(Reply::answer(OVERVIEW)) };
    write(match command {
        Command::Worker => return host::serve(),
        Command::New(a) => new::run(&a),
        Command::Tutorial(a) => tutorial::run(&a),
        Command::Spec(a) => spec::run(&a),
        Command::Models(a) => models::run(&a),
        Command::Compile(a) => compile::run(&cli.common, &a),
        Command::Analyze(a) => analyze::run(&cli.common, &a),
        Command::Check(a) => check::run(&cli.common, &a),
        Command::Generate(a) => generate::run(&cli.common, &a),
        Command::Measure(a) => measure::run(&cli.common, &a),
        Command::Fmt(a) => fmt::run(&cli.common, &a),
        Command::Explain(a) => explain::run(&a),
        Command::Target(a) => target::run(&cli.common, &a),
    })
}

fn write(reply: Reply) -> u8 {
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

//! The `tilefoundry` binary.

use std::process::ExitCode;

use clap::Parser;
use tilefoundry::cli::{Cli, run};

/// Elaboration makes many small values; this allocator serves them faster than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Programs nest, and the compiler follows them: more stack than a main thread has everywhere.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || run(cli));
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => ExitCode::from(status),
        // the panic has said what it is
        Ok(Err(_)) => ExitCode::from(101),
        Err(_) => ExitCode::from(3),
    }
}

//! How long a command takes, from its start to its end: `cargo bench --bench process`.

use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 50;

const COMMANDS: &[&[&str]] = &[
    &["--version"],
    &["compile", "examples/gqa_decode/gqa_decode.tf"],
    &["analyze", "examples/gqa_decode/gqa_decode.tf:Decode", "--dim", "ctx=4096", "--memory"],
    &["analyze", "examples/gqa_decode/gqa_decode.tf:Decode", "--dim", "ctx=4096"],
    &["analyze", "examples/paged_decode/paged_decode.tf:Placed"],
];

fn main() {
    for args in COMMANDS {
        let mut times: Vec<f64> = (0..RUNS).map(|_| run(args)).collect();
        times.sort_by(f64::total_cmp);
        let (least, median) = (times[0] * 1e3, times[RUNS / 2] * 1e3);
        println!("{least:6.1} ms least, {median:6.1} ms median: tilefoundry {}", args.join(" "));
    }
}

/// Seconds of one process.
fn run(args: &[&str]) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilefoundry"));
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("the binary runs");
    let took = start.elapsed().as_secs_f64();
    assert!(status.success(), "{args:?}: {status}");
    took
}

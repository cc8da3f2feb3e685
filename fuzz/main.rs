//! Feeds damaged inputs to the readers and looks for panics, hangs and large allocations.
//!
//!     tf-fuzz TARGET --seconds N --seed S [--plant]
//!
//! Runs on stable: inputs are mutated from a corpus, without feedback. A finding is written to a
//! file in the working directory and ends the run with exit code 1. `--plant` adds a panic that
//! only a mutated input reaches, to show that the harness finds panics.

mod memory;
mod mutate;
mod parser;
mod program;

use mutate::Rng;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tilefoundry::base::FileId;
use tilefoundry::syntax::{dump::dump_plain, parse_strict};
use tilefoundry::tensorio::{self, Kind};
use tilefoundry::twin::image::Image;

/// What a target makes of an input: a text that tells accepted inputs apart, `None` if refused.
type Run = fn(&[u8]) -> Option<String>;

/// A mutation that knows the format; `None` when it does not apply.
type Mutate = fn(&mut Rng, &[u8]) -> Option<Vec<u8>>;

struct Target {
    name: &'static str,
    run: Run,
    /// The endings of the corpus files.
    endings: &'static [&'static str],
    handmade: fn() -> Vec<Vec<u8>>,
    /// Mutates what a checksum would otherwise guard.
    structured: Option<Mutate>,
}

static TARGETS: [Target; 6] = [
    Target {
        name: "parser",
        run: |input| {
            parser::run(input);
            let text = std::str::from_utf8(input).ok()?;
            parse_strict(FileId(0), text).ok().map(|file| dump_plain(&file))
        },
        endings: &["tf"],
        handmade: Vec::new,
        structured: None,
    },
    Target {
        name: "safetensors",
        run: |input| signature(Kind::Safetensors, input),
        endings: &["safetensors"],
        handmade: || {
            let header = br#"{"__metadata__":{"k":"v"},"a":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]},"b":{"dtype":"BOOL","shape":[],"data_offsets":[3,4]}}"#;
            let mut file = (header.len() as u64).to_le_bytes().to_vec();
            file.extend_from_slice(header);
            file.extend_from_slice(&[1, 2, 3, 1]);
            vec![file, vec![2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']]
        },
        structured: None,
    },
    Target {
        name: "npy",
        run: |input| {
            let kind = if input.starts_with(b"PK") { Kind::Npz } else { Kind::Npy };
            signature(kind, input)
        },
        endings: &["npy", "npz"],
        handmade: || {
            let header = b"{'shape': (2L, 1), 'fortran_order': True, 'descr': '>u4'}\n";
            let mut file = b"\x93NUMPY\x01\x00".to_vec();
            file.extend_from_slice(&(header.len() as u16).to_le_bytes());
            file.extend_from_slice(header);
            file.extend_from_slice(&[0; 8]);
            vec![file]
        },
        structured: Some(|rng, file| mutate::inside_zip(rng, file, ".npy")),
    },
    Target {
        name: "pt",
        run: |input| signature(Kind::Pt, input),
        endings: &["pt"],
        handmade: Vec::new,
        structured: Some(|rng, file| mutate::inside_zip(rng, file, "data.pkl")),
    },
    Target {
        name: "program",
        run: program::run,
        endings: &["tf"],
        handmade: Vec::new,
        structured: Some(program::tokens),
    },
    Target {
        name: "image",
        run: |input| {
            let image = Image::read(input).ok()?;
            Some(format!("{:?} {:?} {:?}", image.kind, image.archs, image.entries))
        },
        endings: &["ptx", "cubin"],
        handmade: Vec::new,
        structured: None,
    },
];

/// The names, dtypes and shapes of a file that is accepted.
fn signature(kind: Kind, input: &[u8]) -> Option<String> {
    let all = tensorio::read_bytes(kind, input).ok()?;
    let describe = |t: &tensorio::NamedTensor| {
        format!("{:?} {} {:?};", t.name, t.tensor.dtype(), t.tensor.shape())
    };
    Some(all.iter().map(describe).collect())
}

/// The corpus: the test files of these endings and the handmade inputs.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<_> = ["tests", "examples", "stdlib"].map(|d| root.join(d)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if target.endings.contains(&ending) {
                files.push(path);
            }
        }
    }
    // A seed gives one run, in whatever order a file system lists its files.
    files.sort();
    let mut out: Vec<Vec<u8>> = files.iter().filter_map(|f| std::fs::read(f).ok()).collect();
    out.extend((target.handmade)());
    out
}

struct Options {
    target: &'static Target,
    seconds: u64,
    seed: u64,
    plant: bool,
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next()?;
    let target = TARGETS.iter().find(|t| t.name == name)?;
    let mut out = Options { target, seconds: 60, seed: 1, plant: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => out.seconds = arguments.next()?.parse().ok()?,
            "--seed" => out.seed = arguments.next()?.parse().ok()?,
            "--plant" => out.plant = true,
            _ => return None,
        }
    }
    Some(out)
}

/// Why an input is a finding, if it is.
fn judge(options: &Options, seeds: &HashSet<String>, input: &[u8]) -> Result<bool, String> {
    memory::reset();
    let start = Instant::now();
    let run = AssertUnwindSafe(|| {
        let got = (options.target.run)(input);
        if options.plant && got.as_ref().is_some_and(|s| !seeds.contains(s)) {
            panic!("planted: accepted an input unlike any seed");
        }
        got.is_some()
    });
    let accepted = catch_unwind(run).map_err(|cause| {
        let text = cause.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        format!("panic: {}", text.unwrap_or_default())
    })?;
    // Honest time is far below a millisecond; a busy machine may well stall for a second.
    if start.elapsed() > Duration::from_secs(5) {
        return Err(format!("slow: {:.1} s", start.elapsed().as_secs_f64()));
    }
    // Content may grow to 64 times the file and 16 MiB, and is held up to four times over
    // while it is converted.
    let peak = memory::peak();
    if peak > 256 * input.len() + (64 << 20) {
        return Err(format!("allocated {peak} bytes for an input of {}", input.len()));
    }
    Ok(accepted)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
        eprintln!("usage: tf-fuzz {} --seconds N --seed S [--plant]", names.join("|"));
        return ExitCode::from(2);
    };
    std::panic::set_hook(Box::new(|_| {}));
    let corpus = corpus(options.target);
    let seeds: HashSet<String> = corpus.iter().filter_map(|c| (options.target.run)(c)).collect();
    println!(
        "target {}, seed {}, {} corpus inputs",
        options.target.name,
        options.seed,
        corpus.len()
    );
    let mut rng = Rng::new(options.seed);
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (mut executions, mut accepted) = (0u64, 0u64);
    while Instant::now() < end {
        let Some(seed) = corpus.get(rng.below(corpus.len())) else { break };
        let structured = options.target.structured.filter(|_| rng.below(3) != 0);
        let input = structured
            .and_then(|mutate| mutate(&mut rng, seed))
            .unwrap_or_else(|| mutate::bytes(&mut rng, seed, &corpus));
        executions += 1;
        match judge(&options, &seeds, &input) {
            Ok(yes) => accepted += yes as u64,
            Err(why) => {
                let file =
                    format!("fuzz-{}-{}-{executions}.bin", options.target.name, options.seed);
                println!("finding after {executions} executions: {why}");
                match std::fs::write(&file, &input) {
                    Ok(()) => println!("input written to {file}"),
                    Err(e) => println!("input not written to {file}: {e}"),
                }
                return ExitCode::from(1);
            }
        }
    }
    println!("{executions} executions, {accepted} accepted, 0 findings");
    ExitCode::SUCCESS
}

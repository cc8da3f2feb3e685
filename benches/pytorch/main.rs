//! The evaluator beside PyTorch on this machine: same inputs, outputs compared, runs interleaved.
//!
//! `cargo bench --bench pytorch -- --python PATH [--threads N] [--runs N] [CASE ...]`, where `PATH`
//! is a Python with `torch` and `safetensors`. Prints medians in milliseconds and their ratio, and
//! the relative L2 distance of the outputs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use tilefoundry::eval::{Options, evaluate, shape_of};
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::tensorio::{self, write_safetensors};
use tilefoundry::types::dim::Env;
use tilefoundry::types::value::Tensor;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Torch {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Torch {
    fn start(python: &str, threads: usize) -> Torch {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/pytorch/serve.py");
        let mut child = Command::new(python)
            .args([script, &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("`{python}` does not start: {e}"));
        let to = child.stdin.take().expect("its input is piped");
        let from = BufReader::new(child.stdout.take().expect("its output is piped"));
        Torch { child, to, from }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").and_then(|()| self.to.flush()).expect("PyTorch has ended");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("PyTorch has ended");
        answer.trim().to_string()
    }
}

struct Args {
    python: String,
    threads: usize,
    runs: usize,
    cases: Vec<String>,
}

fn args() -> Args {
    let mut a = Args { python: "python3".into(), threads: 2, runs: 9, cases: vec![] };
    let mut rest = std::env::args().skip(1);
    while let Some(word) = rest.next() {
        let mut value = || rest.next().unwrap_or_else(|| panic!("`{word}` takes a value"));
        match word.as_str() {
            "--python" => a.python = value(),
            "--threads" => a.threads = value().parse().expect("a number of threads"),
            "--runs" => a.runs = value().parse().expect("a number of runs"),
            "--bench" => {}
            _ => a.cases.push(word),
        }
    }
    a
}

fn main() {
    let args = args();
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global().expect("once");
    let mut torch = Torch::start(&args.python, args.threads);
    let dir = std::env::temp_dir().join(format!("tilefoundry-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder for the tensors");
    let sources = MemorySources::one("cases.tf", include_str!("cases.tf"));
    let session = Session::open(&sources, "cases.tf", &[], Targets::default());
    println!("| case | tilefoundry ms | PyTorch ms | ratio | distance |\n|---|---|---|---|---|");
    for root in session.roots() {
        let compiled = session.compile(root);
        let Some(graph) = compiled.graph.as_ref() else {
            panic!("{:?}", session.diagnostics_of(root))
        };
        let name = graph.module.clone().unwrap_or_default();
        if !args.cases.is_empty() && !args.cases.contains(&name) {
            continue;
        }
        let env = Env::default();
        let mut seed = 1u64;
        let mut inputs = vec![];
        for p in &graph.params {
            let shape = shape_of(graph, p.value, &env).expect("sizes are fixed");
            // weights of about 1 / sqrt(fan in), so that values keep their size
            let fan = if shape.len() == 2 { shape[1] as f64 } else { 1.0 };
            let scale = if p.name.starts_with('w') { fan.powf(-0.5) * 1.7 } else { 1.0 };
            let n = shape.iter().product::<usize>();
            let draw = (0..n).map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
                ((seed >> 40) as f64 / (1u64 << 23) as f64 - 1.0) * scale
            });
            let t = Tensor::from_f64_iter(graph.ty(p.value).dtype, shape, draw);
            inputs.push((p.name.clone(), t));
        }
        let file = dir.join(format!("{name}.safetensors"));
        std::fs::write(&file, write_safetensors(&inputs).expect("they can be written"))
            .expect("there is room for the tensors");
        assert_eq!(torch.ask(&format!("load {name} {}", file.display())), "ok");
        let inputs: Vec<Tensor> = inputs.into_iter().map(|(_, t)| t).collect();
        let (mut ours, mut theirs, mut last) = (vec![], vec![], None);
        for i in 0..=args.runs {
            let (us, out) = warmed(|| {
                let start = Instant::now();
                let out = evaluate(graph, &env, &inputs, &Options::default()).expect("it runs");
                (start.elapsed().as_secs_f64(), out)
            });
            let (them, ()) = warmed(|| {
                let seconds = torch.ask(&format!("run {name}"));
                (seconds.parse().expect("seconds"), ())
            });
            // the first run of each warms up
            if i > 0 {
                ours.push(us);
                theirs.push(them);
            }
            last = Some(out);
        }
        assert_eq!(torch.ask(&format!("save {name} {}", file.display())), "ok");
        let want = tensorio::read(&file).expect("PyTorch wrote it");
        let far = match (&last, want.first()) {
            (Some(out), Some(want)) => distance(&out.outputs[0], &want.tensor),
            _ => f64::NAN,
        };
        assert_eq!(torch.ask(&format!("free {name}")), "ok");
        let _ = std::fs::remove_file(&file);
        let (x, y) = (median(ours), median(theirs));
        println!("| {name} | {:.2} | {:.2} | {:.2} | {far:.1e} |", x * 1e3, y * 1e3, x / y);
    }
    let _ = std::fs::remove_dir_all(&dir);
    drop(torch.to);
    let _ = torch.child.wait();
}

/// The last of the runs that together take 50 ms: the threads of the side that ran before may spin
/// for work in the first, and its own threads and caches are still cold.
fn warmed<T>(mut run: impl FnMut() -> (f64, T)) -> (f64, T) {
    let start = Instant::now();
    loop {
        let before = start.elapsed().as_millis();
        let found = run();
        if before >= 50 {
            return found;
        }
    }
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

fn distance(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64s(), b.to_f64s());
    let apart: f64 = a.iter().zip(b.iter()).map(|(x, y)| (x - y).powi(2)).sum();
    (apart / b.iter().map(|y| y * y).sum::<f64>()).sqrt()
}

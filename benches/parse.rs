//! How fast a file is read: `cargo bench --bench parse`.

use std::hint::black_box;
use std::time::Instant;

use tilefoundry::base::FileId;
use tilefoundry::syntax::{parse, token};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<_> =
        std::fs::read_dir(dir).expect("the samples").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.retain(|p| p.extension().is_some_and(|e| e == "tf"));
    let samples: Vec<_> =
        files.iter().map(|p| std::fs::read_to_string(p).expect("a sample")).collect();
    let text = samples.concat().repeat(25);
    measure("lex", text.len(), || token::lex(FileId(0), &text));
    measure("parse", text.len(), || parse(FileId(0), &text));
}

/// The best of several runs, since whatever else runs only makes it slower.
fn measure<T>(what: &str, bytes: usize, mut run: impl FnMut() -> T) {
    let times = (0..10).map(|_| {
        let start = Instant::now();
        let result = black_box(run());
        let time = start.elapsed();
        drop(result);
        time
    });
    let best = times.min().unwrap_or_default();
    let rate = bytes as f64 / best.as_secs_f64() / 1e6;
    println!("{what}: {bytes} bytes in {best:.2?}, {rate:.1} MB/s");
}

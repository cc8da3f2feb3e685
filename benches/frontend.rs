//! How fast a large program is read, checked and placed: `cargo bench --bench frontend`.

use std::fmt::Write as _;
use std::time::Instant;

use tilefoundry::session::{MemorySources, Session, Targets};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A file of at least `lines` lines: modules of placed and unplaced functions, each called.
fn program(lines: usize) -> String {
    let mut s = String::from(
        "use std::nn::{softmax, rms_norm};\n\nconst EPS = 1e-6;\ndim n in 1..=4096;\n\n",
    );
    let mut k = 0;
    while s.lines().count() < lines {
        let _ = write!(
            s,
            r#"module M{k} {{
    target "nvidia.h200_sxm";
    topology cta, thread = 256;
    weight w: bf16[512] from "w";

    func helper(x: bf16[n, 512]) -> bf16[n, 512] {{
        let a = rms_norm(x, w, eps = EPS);
        let b = a * a + x;
        b
    }}

    pub func placed(x: bf16[1024, 512]) -> bf16[1024, 512] {{
        mesh g = cta[row: 8, col: 4], t = thread[y: 32, x: 8] {{
            let xr = reshard(x, rmem[1024 @ (g.row, t.y), 512 @ (g.col, t.x)]);
            let a = xr * xr;
            let b = a + xr;
            let c = exp(cast(b, f32));
            reshard(cast(c, bf16), gmem)
        }}
    }}

    entry func step(x: bf16[n, 512]) -> bf16[n, 512] {{
        let h = helper(x);
        let p = softmax(h, dim = -1);
        let mut acc = h;
        for i in 0..4 {{
            acc = acc + p;
        }}
        acc
    }}
}}

"#
        );
        k += 1;
    }
    s
}

fn main() {
    let text = program(5_000);
    let lines = text.lines().count();
    let sources = MemorySources::one("large.tf", text.clone());
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        let session = Session::open(&sources, "large.tf", &[], Targets::default());
        let diags = session.diagnostics();
        best = best.min(start.elapsed().as_secs_f64());
        assert!(diags.is_empty(), "{diags:?}");
    }
    println!("{lines} lines, {} bytes: checked in {:.1} ms (best of 10)", text.len(), best * 1e3);
}

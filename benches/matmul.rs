//! The evaluator's matrix product beside the library it uses, called alone:
//! `cargo bench --bench matmul`.

use std::time::Instant;

use tilefoundry::session::{MemorySources, Session, Targets};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const N: usize = 2048;
const RUNS: usize = 7;

fn main() {
    let text = format!(
        "module M {{\n    target \"nvidia.h200_sxm\";\n    entry func mm(a: f32[{N}, {N}], b: f32[{N}, {N}]) -> f32[{N}, {N}] {{\n        matmul(a, b)\n    }}\n}}\n"
    );
    let sources = MemorySources::one("mm.tf", text);
    let session = Session::open(&sources, "mm.tf", &[], Targets::default());
    let root = session.roots()[0];
    let compiled = session.compile(root);
    let graph = compiled.graph.as_ref().expect("a matmul compiles");
    let data = |seed: u32| -> Vec<f32> {
        let mut s = seed;
        (0..N * N)
            .map(|_| {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (s >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect()
    };
    let (a, b) = (data(1), data(2));
    let tensor = |v: &[f32]| {
        let d = tilefoundry::types::value::Data::F32(v.to_vec());
        tilefoundry::types::value::Tensor::new(tilefoundry::types::dtype::DType::F32, vec![N, N], d)
            .expect("the lengths agree")
    };
    let inputs = [tensor(&a), tensor(&b)];
    let env = tilefoundry::types::dim::Env::default();
    let opts = tilefoundry::eval::Options::default();
    let (mut ours, mut theirs) = (vec![], vec![]);
    let mut c = vec![0f32; N * N];
    // one after the other, so that a change of the machine's speed meets both
    for _ in 0..RUNS {
        let t = Instant::now();
        let out = tilefoundry::eval::evaluate(graph, &env, &inputs, &opts).expect("it runs");
        ours.push(t.elapsed().as_secs_f64());
        std::hint::black_box(out);
        let t = Instant::now();
        library(&a, &b, &mut c);
        theirs.push(t.elapsed().as_secs_f64());
    }
    let (x, y) = (median(ours), median(theirs));
    let rate = |t: f64| 2.0 * (N as f64).powi(3) / t / 1e9;
    println!("evaluator {:.1} ms, {:.0} GFLOP/s", x * 1e3, rate(x));
    println!("gemm crate {:.1} ms, {:.0} GFLOP/s", y * 1e3, rate(y));
    println!("ratio {:.2}", x / y);
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

#[allow(unsafe_code)]
fn library(a: &[f32], b: &[f32], c: &mut [f32]) {
    let n = N as isize;
    // SAFETY: all three are N x N, row-major and live for the call.
    unsafe {
        gemm::gemm(
            N,
            N,
            N,
            c.as_mut_ptr(),
            1,
            n,
            false,
            a.as_ptr(),
            1,
            n,
            b.as_ptr(),
            1,
            n,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(0),
        );
    }
}

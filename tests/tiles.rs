//! Values that run block by block are the same as values computed whole. A run that keeps every
//! value gathers nothing, so it is the other side.

#[path = "tiles/draw.rs"]
mod draw;

use draw::Draw;
use tilefoundry::eval::{Options, evaluate, shape_of};
use tilefoundry::graph::Graph;
use tilefoundry::session::{MemorySources, Session, Targets};
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

fn with_graph(body: &str, f: impl FnOnce(&Graph)) {
    let text = format!(
        "use std::nn::{{attention, layer_norm, log_softmax, rms_norm, rope, softmax}};\n\
         module M {{ target \"nvidia.h200_sxm\";\n topology cta;\n entry func main{body} }}"
    );
    let sources = MemorySources::one("m.tf", text);
    let session = Session::open(&sources, "m.tf", &[], Targets::default());
    let root = session.roots()[0];
    let compiled = session.compile(root);
    let Some(g) = compiled.graph.as_ref() else { panic!("{:#?}", session.diagnostics_of(root)) };
    f(g);
}

fn inputs(g: &Graph) -> Vec<Tensor> {
    let mut seed = 7u64;
    let mut draw = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        seed >> 40
    };
    let one = |p: &tilefoundry::graph::Param| {
        let shape = shape_of(g, p.value, &Env::default()).unwrap();
        let n: usize = shape.iter().product();
        match g.ty(p.value).dtype {
            DType::I32 => {
                Tensor::from_i64s(DType::I32, shape, (0..n).map(|_| (draw() % 5) as i64).collect())
            }
            d => {
                let v = (0..n).map(|_| draw() as f64 / (1u64 << 22) as f64 - 2.0).collect();
                Tensor::from_f64s(d, shape, v)
            }
        }
    };
    g.params.iter().map(one).collect()
}

/// Every value of a run in blocks and of one that keeps all values.
fn both(body: &str, tolerance: f64) {
    both_so(body, tolerance, (false, false));
}

/// The same, in f64 or in index order where asked for.
fn both_so(body: &str, tolerance: f64, (wide, exact_order): (bool, bool)) {
    let options = || Options { wide, exact_order, ..Options::default() };
    with_graph(body, |g| {
        let x = inputs(g);
        let env = Env::default();
        let tiled = evaluate(g, &env, &x, &options()).unwrap();
        assert_eq!(tiled.whole, 0, "a group falls back: {body}");
        let keep = g.values().map(|(v, _)| v).collect();
        let plain = evaluate(g, &env, &x, &Options { keep, ..options() }).unwrap();
        for (a, b) in tiled.outputs.iter().zip(&plain.outputs) {
            if tolerance == 0.0 {
                assert!(a.bit_equal(b), "{body}");
                continue;
            }
            let (a, b) = (a.to_f64s(), b.to_f64s());
            let worst = a.iter().zip(b.iter()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(worst <= tolerance, "{body}: differs by {worst}");
        }
        // one thread and several give the same bits
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| evaluate(g, &env, &x, &options())).unwrap();
            assert!(again.outputs.iter().zip(&tiled.outputs).all(|(a, b)| a.bit_equal(b)));
        }
    });
}

#[test]
fn elementwise_chains_and_rows() {
    for t in ["f32", "f16", "bf16"] {
        both(&format!("(x: {t}[300, 257]) -> {t}[300, 257] {{ softmax(x) }}"), 0.0);
        both(&format!("(x: {t}[300, 257]) -> {t}[300, 257] {{ softmax(x, dim = 0) }}"), 0.0);
        both(&format!("(x: {t}[80001], y: {t}[80001]) -> {t}[80001] {{ relu(x * y + x) }}"), 0.0);
        both(
            &format!(
                "(x: {t}[3, 90, 310], w: {t}[310], b: {t}[310]) -> {t}[3, 90, 310] {{ \
                 layer_norm(rms_norm(x, w), w, b) * exp(x) }}"
            ),
            0.0,
        );
    }
    both("(x: f64[3, 90, 310]) -> f64[3, 90, 310] { log_softmax(x, dim = 1) }", 0.0);
}

#[test]
fn chains_keep_what_is_used_later() {
    for t in ["f32", "f16", "bf16"] {
        both(
            &format!(
                "(x: {t}[150, 700], y: {t}[150, 700], z: {t}[700]) -> ({t}[150, 700], {t}[150]) {{ \
                 let a = x * y; let b = exp(a * 0.25 - 1.0); let c = b / (1.0 + b); \
                 let d = sum(c * a, dim = -1); (maximum(c, z) - b, d + max(c, dim = -1)) }}"
            ),
            0.0,
        );
    }
}

#[test]
fn sizes_that_are_not_multiples() {
    // more blocks than one, the last one shorter
    both("(x: f32[70001, 9]) -> f32[70001] { sum(exp(x) + 1.0, dim = -1) }", 0.0);
    both("(x: f32[9, 70001]) -> f32[70001] { sum(exp(x) + 1.0, dim = 0) }", 0.0);
    both("(x: f32[400000]) -> (f32, f32[400000]) { let y = x * 2.0; (max(y), y - 1.0) }", 0.0);
}

#[test]
fn views_between() {
    both(
        "(x: f32[40, 50, 64]) -> f32[2000, 32] { \
         let y = relu(flatten(x, start = 0, end = 1)); \
         let (a, b) = split(y * 3.0, [32, 32], dim = -1); silu(a) * b }",
        0.0,
    );
    both(
        "(x: f32[60, 40, 50]) -> f32[50, 40, 60] { \
         exp(transpose(x * 2.0, [2, 1, 0])) - 1.0 }",
        0.0,
    );
    both(
        "(x: f32[60, 2000]) -> f32[60, 20, 100] { \
         let y = unflatten(x + 1.0, [20, 100], dim = 1); y / sum(y, dim = 1, keepdim = true) }",
        0.0,
    );
    both(
        "(x: f32[500, 1], y: f32[300]) -> f32[500, 300] { \
         expand(x * 2.0, [500, 300]) * y + concat([y, y], dim = 0)[0..300] }",
        0.0,
    );
}

#[test]
fn attention_in_blocks() {
    let f = |t: &str, more: &str| {
        format!(
            "(q: {t}[2, 130, 8, 32], k: {t}[2, 150, 2, 32], v: {t}[2, 150, 2, 24]) -> \
             {t}[2, 130, 8, 24] {{ attention(q, k, v{more}) }}"
        )
    };
    both(&f("f32", ""), 1e-5);
    both(&f("f32", ", causal = true"), 1e-5);
    both(&f("f64", ", causal = true"), 1e-13);
    // one unit in the last place of a bf16 around 2
    both(&f("bf16", ", causal = true"), 2f64.powi(-6));
}

#[test]
fn a_layer_of_a_model() {
    both(
        "(h: bf16[100, 256], ln: bf16[256], wq: bf16[256, 256], wk: bf16[128, 256], \
         cos: f32[100, 32], sin: f32[100, 32]) -> bf16[100, 256] { \
         let x = rms_norm(h, ln); \
         let q = rope(reshape(matmul(x, wq, transpose_b = true), [100, 8, 32]), cos, sin); \
         let k = rope(reshape(matmul(x, wk, transpose_b = true), [100, 4, 32]), cos, sin); \
         h + reshape(attention(q, k, k, causal = true), [100, 256]) }",
        2f64.powi(-3),
    );
}

#[test]
fn a_failure_tells_the_index_of_the_whole_value() {
    let body = "(x: f32[90, 700], i: i32[90, 700]) -> f32[90, 700] { \
                gather(x * 2.0, i + 1, dim = 1) }";
    with_graph(body, |g| {
        let env = Env::default();
        let mut x = inputs(g);
        x[1].write_block(&[77, 3], &Tensor::from_i64s(DType::I32, vec![1, 1], vec![699]));
        let keep = g.values().map(|(v, _)| v).collect();
        let a = evaluate(g, &env, &x, &Options::default()).unwrap_err();
        let b = evaluate(g, &env, &x, &Options { keep, ..Options::default() }).unwrap_err();
        assert_eq!(a.message, b.message);
        assert!(a.message.contains("700"), "{}", a.message);
    });
}

#[test]
fn drawn_programs() {
    // more programs, or others, by these variables
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |s| s.parse().unwrap());
    let from = number("TF_DRAWN_FROM", 1);
    for seed in from..from + number("TF_DRAWN_COUNT", 40) {
        let dtype = ["f32", "bf16", "f64"][(seed % 3) as usize];
        let (text, products) = Draw::program(seed, dtype, 14);
        // products of blocks add up in another order, but where the order is fixed
        let (wide, exact) = (seed % 5 == 0, seed % 7 == 0);
        let tolerance = match (products && !exact, dtype) {
            (false, _) => 0.0,
            (_, "f64") => 1e-9,
            _ => 1e-2,
        };
        both_so(&text, tolerance, (wide, exact));
    }
}

#[test]
fn empty_extents_diagonals_and_writes_in_place() {
    let gram = |shape: &str, spec: &str, out: &str, t: &str| {
        format!("(x: {t}{shape}) -> {t}{out} {{ einsum(\"{spec}\", x, x) * 0.5 }}")
    };
    for (text, tolerance) in [
        ("(x: f32[200000]) -> f32 { sum(relu(x)) }".to_string(), 0.0),
        (
            "(x: f32[0, 70000], y: f32[70000]) -> (f32[0, 70000], f32[70000]) { \
             let z = relu(x) * y; (z, sum(z, dim = 0) + y * 2.0) }"
                .into(),
            0.0,
        ),
        ("(a: bf16[100, 640], b: bf16[640, 0]) -> bf16[100, 0] { relu(matmul(a * 2.0, b)) }".into(), 0.0),
        ("(a: bf16[9, 100, 640], b: bf16[9, 640, 0]) -> bf16[9, 100, 0] { relu(matmul(a * 2.0, b)) }".into(), 0.0),
        ("(a: f32[40, 100, 0], b: f32[40, 0, 100]) -> f32[40, 100, 100] { relu(matmul(a, b)) + 1.0 }".into(), 0.0),
        ("(a: bf16[40, 100, 0], b: bf16[40, 0, 100]) -> bf16[40, 100, 100] { relu(matmul(a, b)) + 1.0 }".into(), 0.0),
        (gram("[2, 2, 100000]", "bij,bkj->bik", "[2, 2, 2]", "f32"), 100.0),
        (gram("[16, 80, 80]", "bij,bkj->bik", "[16, 80, 80]", "f32"), 1e-2),
        (gram("[16, 80, 80]", "bij,bjk->bik", "[16, 80, 80]", "f32"), 1e-2),
        (gram("[16, 80, 80]", "bij,bij->b", "[16]", "f32"), 1e-1),
        (gram("[16, 80, 80]", "bii,bij->bi", "[16, 80]", "f32"), 1e-2),
        (gram("[16, 80, 80]", "abc,bac->c", "[80]", "f32").replace("[16, 80, 80]", "[40, 40, 80]"), 1e-1),
        (
            "(x: f32[300, 257], n: i32 range 0..5) -> (f32[300, 257], f32[300, 257]) { \
             let mut y = x * 2.0; let r = relu(x) + 1.0; y[n..n + 1] = r[n..n + 1]; (y, tanh(r)) }"
                .into(),
            0.0,
        ),
        (
            "(x: f32[300, 257]) -> (f32[300, 257], f32[300, 257]) { \
             let mut y = x * 2.0; let z = relu(y) + 1.0; y[0..1] = z[0..1]; (tanh(z), y) }"
                .into(),
            0.0,
        ),
        (
            "(x: f32[300, 257]) -> (f32[300, 257], f32[300, 257]) { \
             let mut y = x; for i in 0..3 { let z = relu(y) * 0.5 + x; y[i * 100..(i + 1) * 100] = z[0..100]; } \
             (y, tanh(x) - y) }"
                .into(),
            0.0,
        ),
        (
            "(x: f32[300, 257]) -> (f32[300, 257], f32[300, 257]) { \
             let mut y = empty(f32[300, 257]); let z = x * 2.0; \
             mesh g = cta[m: 3] { let w = g.m * 100..(g.m + 1) * 100; \
             y[w] = relu(z[w]) + softmax(z[w]); } let u = y * z; (u + 1.0, tanh(y) - y) }"
                .into(),
            0.0,
        ),
        ("(x: f32[20000, 40]) -> f32[20000, 40] { softmax(x, dim = 0) }".into(), 0.0),
        ("(x: f32[40000, 40]) -> f32[40, 40000] { tanh(transpose(x * 2.0, [1, 0])) }".into(), 0.0),
        ("(x: f32[1, 90000, 1]) -> f32[1, 90000, 1] { softmax(x * 2.0, dim = 0) + relu(x) }".into(), 0.0),
        ("(x: f32[3, 90000]) -> (f32[3, 1], bool[3]) { let y = log(x); (sum(y, dim = 1, keepdim = true), any(is_nan(y * 2.0), dim = 1)) }".into(), 0.0),
    ] {
        both(&text, tolerance);
    }
}

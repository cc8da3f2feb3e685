//! Programs of `tests/samples` at small sizes: two plans of one computation must agree.

use std::path::Path;

use tilefoundry::eval::{Options, evaluate, shape_of};
use tilefoundry::graph::Graph;
use tilefoundry::graph::verify::verify;
use tilefoundry::hir::functions::compile;
use tilefoundry::hir::load::{Sources, load};
use tilefoundry::hir::value::Val;
use tilefoundry::types::dim::{Env, Expr};
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|e| e.to_string())
    }
}

/// The graph of a sample's function with some consts replaced.
fn graph(file: &str, module: &str, func: &str, consts: &[(&str, i64)]) -> Graph {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(file);
    let mut p = load(&Disk, root.to_str().unwrap());
    p.overrides = consts.iter().map(|(n, v)| (n.to_string(), Val::int(Expr::int(*v)))).collect();
    let show = |d: &[tilefoundry::diag::Diagnostic]| {
        d.iter()
            .map(|d| format!("{}: {}", p.sources.locate(d.span().unwrap()), d.message))
            .collect::<Vec<_>>()
    };
    assert!(p.diags.is_empty(), "{:#?}", show(&p.diags));
    let module = p.modules().into_iter().find(|(n, _)| *n == module).unwrap().1;
    let (item, _) = p.funcs(module).into_iter().find(|(_, f)| f.name.text == func).unwrap();
    let c = compile(&p, item);
    let Some(g) = c.graph else { panic!("{:#?}", show(&c.diags)) };
    assert_eq!(verify(&g), Ok(()), "{}", tilefoundry::graph::print::print(&g));
    g
}

/// Deterministic inputs in the shapes that a graph declares.
fn inputs(g: &Graph, env: &Env) -> Vec<Tensor> {
    let mut seed = 1u64;
    g.params
        .iter()
        .map(|p| {
            let shape = shape_of(g, p.value, env).unwrap();
            let n: usize = shape.iter().product();
            let draw = (0..n).map(|_| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((seed >> 40) as f64 / (1u64 << 23) as f64 - 1.0) * 0.5
            });
            Tensor::from_f64_iter(g.ty(p.value).dtype, shape, draw)
        })
        .collect()
}

fn run(g: &Graph, env: &Env, inputs: &[Tensor]) -> Vec<Tensor> {
    match evaluate(g, env, inputs, &Options::default()) {
        Ok(o) => o.outputs,
        Err(d) => panic!("{d:#?}\n{}", tilefoundry::graph::print::print(g)),
    }
}

fn close(a: &Tensor, b: &Tensor, tol: f64) {
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
    let (x, y) = (a.to_f64s(), b.to_f64s());
    let worst = x.iter().zip(y.iter()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(worst <= tol, "differs by {worst}");
    assert!(x.iter().any(|v| *v != 0.0));
}

fn env(g: &Graph, dims: &[(&str, i64)]) -> Env {
    let mut env = Env::default();
    for (n, v) in dims {
        if let Some(d) = g.dims.iter().find(|d| g.vars.name(**d) == *n) {
            env.set(*d, *v);
        }
    }
    env
}

#[test]
fn gemm_from_the_position_is_gemm_from_above() {
    let consts =
        [("M", 64), ("N", 96), ("K", 48), ("BM", 16), ("BN", 16), ("BK", 16), ("GROUP", 2)];
    let p = graph("gemm.tf", "Position", "gemm", &consts);
    let g = graph("gemm.tf", "Global", "gemm", &consts);
    let env = Env::default();
    let x = inputs(&p, &env);
    let (a, b) = (run(&p, &env, &x), run(&g, &env, &x));
    assert_eq!(a[0].dtype(), DType::Bf16);
    close(&a[0], &b[0], 0.0);
}

#[test]
fn three_plans_of_decode_attention_agree() {
    let consts = [("D", 128), ("BK", 8), ("NH", 8), ("NKV", 2), ("NS", 4), ("B", 2)];
    let plans = ["head_split", "context_split_fused", "context_split"];
    for ctx in [1, 5, 37] {
        let mut outs = vec![];
        for f in plans {
            let g = graph("gqa_decode.tf", "Decode", f, &consts);
            let env = env(&g, &[("ctx", ctx)]);
            outs.push(run(&g, &env, &inputs(&g, &env)).remove(0));
        }
        close(&outs[1], &outs[0], 4e-3);
        close(&outs[2], &outs[0], 4e-3);
    }
}

#[test]
fn paged_decode_ignores_how_keys_are_split() {
    let consts = |ns: i64| {
        [
            ("B", 2),
            ("NKV", 2),
            ("G", 2),
            ("D", 16),
            ("PAGE", 4),
            ("PAGES", 16),
            ("MAXP", 8),
            ("NS", ns),
        ]
    };
    let outs: Vec<Tensor> = [1, 4]
        .into_iter()
        .map(|ns| {
            let g = graph("paged_decode.tf", "Paged", "decode", &consts(ns));
            let env = Env::default();
            let mut x = inputs(&g, &env);
            let table = (0..16).map(|i| (i * 7 + 3) % 16).collect();
            x[3] = Tensor::from_i64s(DType::I32, vec![2, 8], table);
            x[4] = Tensor::from_i64s(DType::I32, vec![2], vec![3, 29]);
            run(&g, &env, &x).remove(0)
        })
        .collect();
    close(&outs[1], &outs[0], 4e-3);
}

#[test]
fn mamba_prefill_leaves_what_steps_leave() {
    let consts = [("L", 16), ("CH", 4), ("NH", 4), ("P", 8), ("G", 2), ("N", 8)];
    let pre = graph("mamba2.tf", "Mamba2", "prefill", &consts);
    let step = graph("mamba2.tf", "Mamba2", "step", &consts);
    let env = Env::default();
    let x = inputs(&pre, &env);
    let whole = run(&pre, &env, &x);
    let find = |g: &Graph, n: &str| g.params.iter().position(|p| p.name == n).unwrap();
    let shapes: Vec<Tensor> = inputs(&step, &env);
    let mut conv = Tensor::zeros(DType::Bf16, shapes[find(&step, "conv")].shape().to_vec());
    let mut h = Tensor::zeros(DType::F32, shapes[find(&step, "h")].shape().to_vec());
    let (xbc, dt) = (&x[find(&pre, "xbc")], &x[find(&pre, "dt")]);
    let row = |t: &Tensor, i: usize| {
        let n = t.shape()[1];
        t.slice_block(&[i, 0], &[1, n]).reshape(vec![n])
    };
    let mut ys = vec![];
    for i in 0..16 {
        let args: Vec<Tensor> = step
            .params
            .iter()
            .map(|p| match p.name.as_str() {
                "xbc" => row(xbc, i),
                "dt" => row(dt, i),
                "conv" => conv.clone(),
                "h" => h.clone(),
                n => x[find(&pre, n)].clone(),
            })
            .collect();
        let out = run(&step, &env, &args);
        ys.extend(out[0].to_f64s().into_owned());
        (conv, h) = (out[1].clone(), out[2].clone());
    }
    let y = Tensor::from_f64s(DType::Bf16, whole[0].shape().to_vec(), ys);
    close(&whole[0], &y, 0.05);
    close(&whole[1], &conv, 0.0);
    close(&whole[2], &h, 0.02);
}

#[test]
fn experts_by_tiles_are_the_rows_products() {
    let consts = [("H", 16), ("F", 16), ("E", 3), ("TOPK", 2), ("BM", 4), ("BN", 8), ("BK", 8)];
    let g = graph("moe.tf", "Moe", "grouped_up", &consts);
    let env = env(&g, &[("T", 9)]);
    let mut x = inputs(&g, &env);
    let find = |n: &str| g.params.iter().position(|p| p.name == n).unwrap();
    let offsets = [0, 7, 7, 18];
    x[find("offsets")] = Tensor::from_i64s(DType::I32, vec![4], offsets.to_vec());
    let y = run(&g, &env, &x).remove(0);
    let (xs, w) = (x[find("xs")].to_f64s(), x[find("w_up")].to_f64s());
    let want = (0..18 * 16).map(|i| {
        let (r, f) = (i / 16, i % 16);
        let e = if r < 7 { 0 } else { 2 };
        (0..16).map(|k| xs[r * 16 + k] * w[(e * 16 + f) * 16 + k]).sum::<f64>()
    });
    close(&y, &Tensor::from_f64_iter(DType::Bf16, vec![18, 16], want), 0.01);
}

/// A function of the norms, on these values.
fn norms(func: &str, inputs: &[(DType, &[usize], &[f64])]) -> Vec<f64> {
    let g = graph("../programs/functions/norms.tf", "Norms", func, &[]);
    let inputs: Vec<Tensor> = inputs
        .iter()
        .map(|(d, shape, v)| Tensor::from_f64s(*d, shape.to_vec(), v.to_vec()))
        .collect();
    run(&g, &Env::default(), &inputs).remove(0).to_f64s().into_owned()
}

fn near(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    let ok = |(g, w): (&f64, &f64)| {
        (g - w).abs() <= 2e-7 * w.abs().max(1.0) || g == w || (g.is_nan() && w.is_nan())
    };
    assert!(got.iter().zip(want).all(ok), "{got:?}");
}

#[test]
fn norms_of_the_library_are_what_their_formulas_say() {
    // mean 3, variance 3.5; a row without variance is its bias
    let x = [1.0, 2.0, 3.0, 6.0, -5.0, -5.0, -5.0, -5.0];
    let (w, b) = ([1.0, 2.0, -1.0, 0.5], [0.0, 1.0, 10.0, -1.0]);
    let d = DType::F32;
    let got = norms("wide", &[(d, &[2, 4], &x), (d, &[4], &w), (d, &[4], &b)]);
    let row = [-1.0688922796581, -0.0688922796581, 10.0, -0.1983307902564];
    near(&got, &[&row[..], &b[..]].concat());
    // -1.0690434, -0.0690434 and -0.1982174 rounded; -0.0703125 had the quotient been rounded too
    let d = DType::Bf16;
    let got = norms("narrow", &[(d, &[1, 2, 4], &x), (d, &[4], &w), (d, &[4], &b)]);
    let row = [-1.0703125, -0.06884765625, 10.0, -0.1982421875];
    assert_eq!(got, [&row[..], &b[..]].concat());

    // columns 1, 2, 4 and 1000, -1000, 999, whose exponentials overflow
    let x = [1.0, 1000.0, 2.0, -1000.0, 4.0, 999.0];
    let want = [
        [-3.1698460195563, -0.3132616875182],
        [-2.1698460195563, -2000.3132616875182],
        [-0.1698460195563, -1.3132616875182],
    ];
    near(&norms("logs", &[(DType::F32, &[3, 2], &x)]), want.as_flattened());
    // the same rounded; -inf stays, and ln 2 is 0.6931472
    let inf = f64::INFINITY;
    let got = norms("last", &[(d, &[2, 3], &[0.0, 1.0, 3.0, -inf, 0.0, 0.0])]);
    let want = [-3.171875, -2.171875, -0.169921875, -inf, -0.69140625, -0.69140625];
    assert_eq!(got, want);
    let got = norms("last", &[(d, &[2, 3], &[-inf, -inf, -inf, 0.0, 0.0, 0.0])]);
    assert!(got[..3].iter().all(|v| v.is_nan()) && got[3] == -1.1015625, "{got:?}");
}

//! Programs of `tests/samples` at small sizes: two plans of one computation must agree.

use std::path::Path;

use tilefoundry::check::suggest::lineage;
use tilefoundry::eval::{Options, Progress, evaluate, shape_of};
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
    p.overrides = consts.iter().map(|(n, v)| (0, n.to_string(), Val::int(Expr::int(*v)))).collect();
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
    // a tolerance counts the terms of all trips: 3 tiles of 16, rounded to bf16 once
    let l = lineage(&g, g.outputs[0].value, &env);
    assert_eq!((l.reduced, l.roundings, l.coarsest), (48, 1, 2f64.powi(-8)));
}

#[test]
fn a_run_says_how_far_it_is() {
    #[derive(Default)]
    struct Seen(std::sync::Mutex<Vec<(u64, u64)>>);
    impl Progress for Seen {
        fn step(&self, done: u64, total: u64, _: &str) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let g = graph("chain.tf", "Placed", "chain", &[]);
    let env = Env::default();
    let seen = Seen::default();
    let opts = Options { progress: Some(&seen), ..Options::default() };
    evaluate(&g, &env, &inputs(&g, &env), &opts).unwrap();
    let seen = seen.0.into_inner().unwrap();
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 == w[1].1));
    assert!(seen.last().is_some_and(|(done, total)| done <= total));
}

#[test]
fn three_plans_of_decode_attention_agree() {
    let consts = [("BK", 8), ("NH", 4), ("NKV", 2), ("NS", 4), ("B", 2)];
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
fn a_scan_in_chunks_leaves_what_steps_leave() {
    let consts = [("L", 16), ("CH", 4), ("NH", 4), ("P", 8), ("G", 2), ("N", 8)];
    let pre = graph("mamba2.tf", "Mamba2", "ssd_prefill", &consts);
    let step = graph("mamba2.tf", "Mamba2", "ssd_step", &consts);
    let env = Env::default();
    let x = inputs(&pre, &env);
    let whole = run(&pre, &env, &x);
    let of = |n: &str| x[pre.params.iter().position(|p| p.name == n).unwrap()].clone();
    let row = |t: &Tensor, i: usize| {
        let mut lens = t.shape().to_vec();
        lens[0] = 1;
        let mut at = vec![0; lens.len()];
        at[0] = i;
        t.slice_block(&at, &lens)
    };
    let mut h = Tensor::zeros(DType::F32, whole[1].shape().to_vec());
    let mut ys = vec![];
    for i in 0..16 {
        let args: Vec<Tensor> = step
            .params
            .iter()
            .map(|p| match p.name.as_str() {
                "u" => {
                    let parts = ["x", "b", "c"].map(|n| row(&of(n), i).to_f64s().into_owned());
                    let u = parts.concat();
                    Tensor::from_f64s(DType::Bf16, vec![u.len()], u)
                }
                "dt" => row(&of("dt"), i).reshape(vec![4]),
                "h" => h.clone(),
                n => of(n),
            })
            .collect();
        let out = run(&step, &env, &args);
        ys.extend(out[0].to_f64s().into_owned());
        h = out[1].clone();
    }
    let y = Tensor::from_f64s(DType::Bf16, whole[0].shape().to_vec(), ys);
    close(&whole[0], &y, 0.03);
    close(&whole[1], &h, 0.01);
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

#[test]
fn three_plans_of_prefill_attention_agree() {
    let consts =
        [("B", 1), ("Q", 16), ("S", 32), ("NH", 4), ("NKV", 2), ("D", 32), ("BQ", 8), ("BK", 8)];
    let outs: Vec<Tensor> = ["Logical", "Tiled", "Specialized"]
        .into_iter()
        .map(|m| {
            let g = graph("gqa_prefill.tf", m, "attend", &consts);
            let env = Env::default();
            run(&g, &env, &inputs(&g, &env)).remove(0)
        })
        .collect();
    close(&outs[1], &outs[0], 8e-3);
    close(&outs[2], &outs[0], 8e-3);
}

#[test]
fn fused_and_split_quantizers_give_the_same_codes() {
    let outs: Vec<Vec<Tensor>> = ["TwoPass", "Fused"]
        .into_iter()
        .map(|m| {
            let g = graph("rms_norm_quant.tf", m, "norm_quant", &[]);
            let env = Env::default();
            run(&g, &env, &inputs(&g, &env))
        })
        .collect();
    for (a, b) in outs[0].iter().zip(&outs[1]) {
        close(a, b, 0.0);
    }
}

#[test]
fn a_block_scaled_product_is_near_the_logical_one() {
    let consts = [("M", 128), ("N", 256), ("K", 256)];
    let outs: Vec<Tensor> = ["linear", "logical"]
        .into_iter()
        .map(|f| {
            let g = graph("f8_block_quant.tf", "BlockF8", f, &consts);
            let env = Env::default();
            let mut x = inputs(&g, &env);
            for (p, t) in g.params.iter().zip(&mut x) {
                // scales are positive
                if g.ty(p.value).dtype == DType::F32 {
                    let v: Vec<f64> = t.to_f64s().iter().map(|x| x.abs() + 0.1).collect();
                    *t = Tensor::from_f64s(DType::F32, t.shape().to_vec(), v);
                }
            }
            run(&g, &env, &x).remove(0)
        })
        .collect();
    close(&outs[0], &outs[1], 0.1);
}

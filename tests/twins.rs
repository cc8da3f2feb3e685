//! Launch plans of twins, held to what the programs say by hand. Nothing here needs a device.

use std::collections::HashMap;

use tilefoundry::graph::ParamKind;
use tilefoundry::hir::ItemRef;
use tilefoundry::hir::steps::{self, Step, Steps};
use tilefoundry::session::{MemorySources, Session, Targets, has_errors};
use tilefoundry::twin::job::{self, Arg, Role};
use tilefoundry::twin::plan::{Plan, plan};
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

const PROGRAM: &str = r#"
dim n in 1..=4096;
const L = 3;

module Layer {
    target "nvidia.h200_sxm";
    weight w: f32[8, 4] from "w";
    entry func step(x: f32[n, 8], inout c: f32[2, n]) -> f32[n, 8] {
        c[0] = sum(x, dim = 1);
        x + sum(transpose(w, [1, 0]), dim = 0)
    }
}

module Model {
    target "nvidia.h200_sxm";
    child layers: Layer[L] from "model.layers";
    entry func run(x: f32[n, 8], inout c: f32[L, 2, n]) -> f32[8 * n] {
        let mut y = x;
        for i in 0..L {
            y = layers[i](y, inout c[i]);
        }
        reshape(y, [8 * n])
    }
}

twin LayerFast for Layer {
    extern kernel layer(x: in f32[n, 8], w: in f32[4, 8], c: inout f32[2, n], y: out f32[n, 8], m: u32, s: f32)
        from "k.ptx" entry "layer";
    prepare w_t: f32[4, 8] = transpose(w, [1, 0]);
    func step(x, inout c) {
        let y = alloc(f32[n, 8]);
        launch layer(x, w_t, c, y, n, 0.5) grid(ceil_div(n, 32), 2) block(32, 4) smem(n * 4);
        y
    }
}

twin ModelFast for Model {
    child layers: LayerFast;
    extern kernel add(a: in f32[8 * n], t: inout i32[1], b: out f32[8 * n]) from "k.ptx" entry "add";
    func run(x, inout c) {
        let mut y = x;
        for i in 0..L {
            y = layers[i](y, inout c[i]);
        }
        let t = zeros(i32[1]);
        let z = alloc(f32[8 * n]);
        match n {
            1..=100 => {
                launch add(reshape(y, [8 * n]), t, z) grid(1) block(n);
            },
            101..=4096 => {
                launch add(reshape(y, [8 * n]), t, z) grid(n) block(256) cluster(2) cooperative;
            },
        }
        z
    }
}
"#;

fn open(text: &str) -> Session {
    let s = Session::open(&MemorySources::one("t.tf", text), "t.tf", &[], Targets::default());
    let d = s.diagnostics();
    assert!(!has_errors(&d), "{d:#?}");
    s
}

/// The steps of a twin's only function at a size of `n`.
fn follow(s: &Session, twin: &str, n: i64) -> (Steps, Env) {
    let p = &s.program;
    let (_, r) = p.twins().into_iter().find(|(x, _)| *x == twin).unwrap();
    let (func, _) = p.funcs(r)[0];
    let mut env = Env::default();
    for d in p.dims.values() {
        env.set(*d, n);
    }
    (steps::steps(p, func, &env).map_err(|d| format!("{d:#?}")).unwrap(), env)
}

/// The steps of a twin's only function for all sizes of its dim in a range.
fn follow_over(s: &Session, twin: &str, (lo, hi): (i64, i64)) -> Result<Steps, String> {
    let p = &s.program;
    let (_, r) = p.twins().into_iter().find(|(x, _)| *x == twin).unwrap();
    let (func, _) = p.funcs(r)[0];
    let dim = *p.dims.values().next().unwrap();
    let over = (dim, lo, hi);
    steps::steps_over(p, func, &Env::default(), over).map_err(|d| d[0].message.clone())
}

fn planned(s: &Session, twin: &str, n: i64) -> Plan {
    let (steps, env) = follow(s, twin, n);
    plan_of(s, &steps, &env)
}

fn plan_of(s: &Session, steps: &Steps, env: &Env) -> Plan {
    let g = &steps.graph;
    let params: Vec<Tensor> = g
        .params
        .iter()
        .map(|q| {
            let shape = g.ty(q.value).shape.iter().map(|e| e.eval(env).unwrap() as usize);
            Tensor::zeros(g.ty(q.value).dtype, shape.collect())
        })
        .collect();
    let mut images = HashMap::new();
    for st in &steps.steps {
        if let Step::Launch(l) = st {
            images.insert(l.kernel, ("k.ptx".to_string(), std::sync::Arc::new(b"code".to_vec())));
        }
    }
    plan(&s.program, steps, env, &params, &images).map_err(|d| format!("{d:#?}")).unwrap()
}

fn launches(p: &Plan) -> Vec<&job::Launch> {
    let one = |s: &'_ job::Step| matches!(s, job::Step::Launch(_));
    assert!(p.job.steps.iter().any(one));
    p.job
        .steps
        .iter()
        .filter_map(|s| match s {
            job::Step::Launch(l) => Some(l),
            job::Step::Fill { .. } => None,
        })
        .collect()
}

fn buffer<'p>(p: &'p Plan, a: &Arg) -> (&'p str, u64) {
    match a {
        Arg::Address { buffer, offset } => (p.job.buffers[*buffer].name.as_str(), *offset),
        other => panic!("{other:?}"),
    }
}

#[test]
fn children_weights_windows_and_scalars_become_addresses() {
    let s = open(PROGRAM);
    let p = planned(&s, "ModelFast", 64);
    let all = launches(&p);
    assert_eq!(all.len(), 4);
    for (i, l) in all[..3].iter().enumerate() {
        assert_eq!((l.grid, l.block, l.shared), ([2, 2, 1], [32, 4, 1], 64 * 4));
        // the i-th window of c: 2 x 64 floats each
        assert_eq!(buffer(&p, &l.args[2]), ("c", i as u64 * 2 * 64 * 4));
        assert!(matches!(&l.args[4], Arg::Bytes(b) if *b == 64u32.to_le_bytes()));
        assert!(matches!(&l.args[5], Arg::Bytes(b) if *b == 0.5f32.to_le_bytes()));
    }
    // each layer has its own prepared weight, and reads what the one before wrote
    let weights: Vec<&str> = all[..3].iter().map(|l| buffer(&p, &l.args[1]).0).collect();
    assert_eq!(weights, ["layers[0].w_t", "layers[1].w_t", "layers[2].w_t"]);
    let slot = |a: &Arg| match a {
        Arg::Address { buffer, .. } => *buffer,
        other => panic!("{other:?}"),
    };
    assert_eq!(buffer(&p, &all[0].args[0]).0, "x");
    for i in 1..3 {
        assert_eq!(slot(&all[i].args[0]), slot(&all[i - 1].args[3]));
    }
    assert_eq!(slot(&all[3].args[0]), slot(&all[2].args[3]));
    // results: the value, then what is updated; the update stays where it lies
    let names: Vec<&str> = p.outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["output", "c"]);
    assert_eq!(p.outputs[0].shape, [512]);
    assert_eq!(p.job.buffers[p.outputs[1].buffer].role, Role::Inout);
    assert_eq!(p.job.buffers[p.outputs[0].buffer].role, Role::Out);
    assert!(p.job.buffers.iter().filter(|b| b.name == "x").all(|b| b.role == Role::In));
}

/// What is followed once for many sizes is, at each of them, what is followed there.
#[test]
fn steps_over_sizes_are_those_at_each() {
    let lm = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/lm.tf"),
    );
    let (s, lm) = (open(PROGRAM), open(&lm.unwrap()));
    for (s, twin, range, sizes) in [
        (&s, "ModelFast", (1, 100), [1, 57, 100]),
        (&s, "ModelFast", (101, 4096), [101, 102, 4096]),
        (&lm, "LmRight", (1, 7), [1, 2, 7]),
        (&lm, "LmRight", (8, 64), [8, 33, 64]),
    ] {
        let all = follow_over(s, twin, range).unwrap();
        for n in sizes {
            let (_, env) = follow(s, twin, n);
            let (found, want) = (plan_of(s, &all, &env), planned(s, twin, n));
            assert_eq!(found.job.steps, want.job.steps, "{twin} at {n}");
            assert_eq!(found.outputs, want.outputs);
            let bytes = |p: &Plan| p.job.buffers.iter().map(|b| b.bytes).collect::<Vec<_>>();
            assert_eq!(bytes(&found), bytes(&want));
        }
    }
    let why = follow_over(&s, "ModelFast", (100, 101)).map(|_| ()).unwrap_err();
    assert!(why.contains("not the same at all sizes"), "{why}");
    assert!(follow_over(&lm, "LmRight", (7, 8)).is_err());
}

/// Each layer's window of the cache stands on the one before: 64 of them take 64 lookups, not 2^64.
#[test]
fn views_of_views_are_followed_once() {
    let s = open(&PROGRAM.replace("const L = 3;", "const L = 64;"));
    let p = planned(&s, "ModelFast", 64);
    let all = launches(&p);
    assert_eq!(all.len(), 65);
    for (i, l) in all[..64].iter().enumerate() {
        assert_eq!(buffer(&p, &l.args[2]), ("c", i as u64 * 2 * 64 * 4));
    }
}

#[test]
fn a_match_takes_its_arm_and_a_fill_stands_before_the_launch() {
    let s = open(PROGRAM);
    for (n, grid, cluster) in [(100, 1, None), (101, 101, Some([2, 1, 1]))] {
        let p = planned(&s, "ModelFast", n);
        let last = *launches(&p).last().unwrap();
        assert_eq!(last.grid[0], grid);
        assert_eq!((last.cluster, last.cooperative), (cluster, cluster.is_some()));
        let at = p.job.steps.len() - 2;
        let job::Step::Fill { buffer, pattern } = &p.job.steps[at] else { panic!("no fill") };
        assert_eq!(pattern, &[0, 0, 0, 0]);
        assert_eq!(p.job.buffers[*buffer].bytes, 4);
    }
}

#[test]
fn a_prepared_value_is_a_graph_of_weights_alone() {
    let s = open(PROGRAM);
    let (steps, env) = follow(&s, "ModelFast", 5);
    assert_eq!(steps.prepared.len(), 3);
    for (i, x) in steps.prepared.iter().enumerate() {
        assert!(x.graph.params.iter().all(|q| matches!(q.kind, ParamKind::Weight { .. })));
        // w of all layers, 0, 1, 2, ..: the i-th is transposed
        let all: Vec<f64> = (0..3 * 32).map(f64::from).collect();
        let w = Tensor::from_f64s(DType::F32, vec![3, 8, 4], all);
        let options = tilefoundry::eval::Options::default();
        let out = tilefoundry::eval::evaluate(&x.graph, &env, &[w], &options).unwrap().outputs;
        let want: Vec<f64> =
            (0..32).map(|k| f64::from(i as u32 * 32 + k % 8 * 4 + k / 8)).collect();
        assert_eq!(out[0].to_f64s().as_ref(), want.as_slice());
    }
}

/// The first error of a twin, either of its text or of its plan.
fn refused(body: &str) -> String {
    let text = format!(
        r#"
dim n in 1..=64;
module M {{
    target "nvidia.h200_sxm";
    entry func run(x: f32[n, 4]) -> f32[n, 4] {{ x }}
}}
twin T for M {{
    extern kernel k(x: in f32[n, 4], y: out f32[n, 4]) from "k.ptx" entry "k";
    func run(x) {{ {body} }}
}}
"#
    );
    let s = Session::open(&MemorySources::one("t.tf", text), "t.tf", &[], Targets::default());
    let d = s.diagnostics();
    if let Some(e) = d.iter().find(|d| has_errors(std::slice::from_ref(d))) {
        return e.message.clone();
    }
    let (steps, env) = follow(&s, "T", 8);
    let x = Tensor::zeros(DType::F32, vec![8, 4]);
    let images: HashMap<ItemRef, _> = steps
        .steps
        .iter()
        .filter_map(|st| match st {
            Step::Launch(l) => Some((l.kernel, ("k.ptx".to_string(), Default::default()))),
            Step::Fill(_) => None,
        })
        .collect();
    match plan(&s.program, &steps, &env, &[x], &images) {
        Ok(_) => String::new(),
        Err(d) => d[0].message.clone(),
    }
}

#[test]
fn what_is_no_address_is_refused() {
    let launch = "launch k(x, y) grid(1) block(32);";
    assert_eq!(refused(&format!("let y = alloc(f32[n, 4]); {launch} y")), "");
    let m = refused(&format!("let y = alloc(f32[n, 4]); {launch} y + 1.0"));
    assert!(m.contains("`add` computes"), "{m}");
    let m = refused(
        "let y = alloc(f32[4, n]); launch k(x, transpose(y, [1, 0])) grid(1) block(32); transpose(y, [1, 0])",
    );
    assert!(m.contains("`transpose` reorders"), "{m}");
    // a view of an input is an input
    let m = refused("let y = reshape(x, [n, 4]); launch k(x, y) grid(1) block(32); y");
    assert!(m.contains("`x` is an input, and `y` writes it"), "{m}");
    let m = refused(
        "let z = alloc(f32[n, 8]); let y = z[.., 0..4]; launch k(x, y) grid(1) block(32); y",
    );
    assert!(m.contains("not one run of memory"), "{m}");
    let m = refused("let y = arange(4 * n, dtype = i32); reshape(cast(y, f32), [n, 4])");
    assert!(!m.is_empty());
}

#[test]
fn a_fill_has_one_value_and_a_window_a_whole_byte() {
    let launch = "launch k(x, y) grid(1) block(32);";
    for fill in ["zeros(f32[n, 4])", "ones(f32[n, 4])", "full(f32[n, 4], 2.5)"] {
        assert_eq!(refused(&format!("let y = {fill}; {launch} y")), "", "{fill}");
    }
    let m = refused(&format!("let m = tril_mask([4, 4]); let y = alloc(f32[n, 4]); {launch} y"));
    assert!(m.contains("no fill with one value"), "{m}");
    let m = refused(&format!(
        "let m = arange(4, start = 256, dtype = i32); let y = alloc(f32[n, 4]); {launch} y"
    ));
    assert!(m.contains("no fill with one value"), "{m}");
}

#[test]
fn results_are_the_parts_that_are_given() {
    let text = r#"
module M {
    target "nvidia.h200_sxm";
    entry func run(x: f32[8], inout c: f32[8]) -> f32[8] { c = c + x; x }
}
twin Half for M {
    extern kernel k(x: in f32[8], c: inout f32[8], y: out f32[2, 8]) from "k.ptx" entry "k";
    func run(x, inout c) {
        let y = alloc(f32[2, 8]);
        launch k(x, c, y) grid(1) block(32);
        y[1]
    }
}
twin Rebound for M {
    extern kernel k(x: in f32[8], c: in f32[8], d: out f32[8], y: out f32[8]) from "k.ptx" entry "k";
    func run(x, inout c) {
        let d = alloc(f32[8]);
        let y = alloc(f32[8]);
        launch k(x, c, d, y) grid(1) block(32);
        c = d;
        y
    }
}
"#;
    let s = open(text);
    let p = planned(&s, "Half", 1);
    let parts: Vec<_> =
        p.job.buffers.iter().map(|b| (b.name.as_str(), b.results.clone())).collect();
    assert_eq!(parts, [("x", vec![]), ("c", vec![(0, 32)]), ("y", vec![(32, 32)])]);
    let l = launches(&p)[0];
    assert_eq!((l.reads.as_slice(), l.writes.as_slice()), ([0].as_slice(), [1, 2].as_slice()));
    assert_eq!(l.shown, "launch 1, `k` in `run`");
    // the caller's buffer would not be written
    let (steps, env) = follow(&s, "Rebound", 1);
    let eight = Tensor::zeros(DType::F32, vec![8]);
    let images = steps.steps.iter().filter_map(|st| match st {
        Step::Launch(l) => Some((l.kernel, ("k.ptx".to_string(), Default::default()))),
        Step::Fill(_) => None,
    });
    let d = plan(&s.program, &steps, &env, &[eight.clone(), eight], &images.collect());
    let d = d.err().unwrap();
    assert!(d[0].message.contains("its own is not updated"), "{}", d[0].message);
}

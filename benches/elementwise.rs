//! Elementwise ops, casts and reductions alone, in nanoseconds an element: on one thread with
//! tensors that fit the second cache, and on all threads with large ones.
//! `cargo bench --bench elementwise [-- NAME]`.

use std::time::Instant;

use tilefoundry::ops::{Attr, Attrs, EvalCx, OutTy, alone, registry};
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COLUMNS: usize = 4096;
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::Bf16];

/// A shape, for a number of rows.
type Shape = fn(usize) -> Vec<usize>;

struct Case {
    name: String,
    op: &'static str,
    attrs: Attrs,
    inputs: Vec<(DType, Shape)>,
    out: (DType, Shape),
}

fn whole(rows: usize) -> Vec<usize> {
    vec![rows, COLUMNS]
}

fn one_row(_: usize) -> Vec<usize> {
    vec![COLUMNS]
}

fn column(rows: usize) -> Vec<usize> {
    vec![rows, 1]
}

fn kept(rows: usize) -> Vec<usize> {
    vec![rows]
}

fn scalar(_: usize) -> Vec<usize> {
    vec![]
}

fn cases() -> Vec<Case> {
    let mut out = vec![];
    let plain = |op, name: &str, d: DType, inputs: Vec<_>| Case {
        name: format!("{op}{name} {d}"),
        op,
        attrs: Attrs::default(),
        inputs,
        out: (d, whole),
    };
    for d in FLOATS {
        for op in ["neg", "sqrt", "silu", "exp", "log", "tanh", "gelu", "sin"] {
            let mut case = plain(op, "", d, vec![(d, whole as Shape)]);
            case.attrs = Attrs(vec![("approximate", Attr::Str("none".into()))]);
            out.push(case);
        }
        out.push(plain("add", "", d, vec![(d, whole as Shape), (d, whole)]));
        out.push(plain("mul", "", d, vec![(d, whole as Shape), (d, whole)]));
        out.push(plain("mul", " row", d, vec![(d, whole as Shape), (d, one_row)]));
        out.push(plain("mul", " column", d, vec![(d, whole as Shape), (d, column)]));
        out.push(plain("mul", " scalar", d, vec![(d, whole as Shape), (d, scalar)]));
        out.push(plain("pow", " scalar", d, vec![(d, whole as Shape), (d, scalar)]));
        let bool = (DType::Bool, whole as Shape);
        out.push(plain("where", "", d, vec![bool, (d, whole), (d, whole)]));
        out.push(plain("where", " scalar", d, vec![bool, (d, whole), (d, scalar)]));
        let mut case = plain("lt", "", d, vec![(d, whole as Shape), (d, whole)]);
        case.out.0 = DType::Bool;
        out.push(case);
        for (op, dim) in [("sum", 1), ("max", 1), ("sum", 0), ("argmax", 1), ("logsumexp", 1)] {
            let mut case = plain(op, "", d, vec![(d, whole as Shape)]);
            case.name = format!("{op} over axis {dim} {d}");
            case.attrs = Attrs(vec![("dim", Attr::Ints(vec![dim]))]);
            case.out = match (op, dim) {
                ("argmax", _) => (DType::I64, kept),
                (_, 0) => (d, one_row),
                _ => (d, kept),
            };
            out.push(case);
        }
    }
    let casts = [
        (DType::F32, DType::Bf16),
        (DType::F32, DType::F16),
        (DType::F32, DType::F8e4m3),
        (DType::F16, DType::F32),
        (DType::F16, DType::Bf16),
        (DType::F8e4m3, DType::F32),
        (DType::F32, DType::I32),
        (DType::I32, DType::F32),
    ];
    for (from, to) in casts {
        let mut case = plain("cast", "", from, vec![(from, whole as Shape)]);
        case.name = format!("cast {from} to {to}");
        case.attrs = Attrs(vec![("dtype", Attr::DType(to))]);
        case.out.0 = to;
        out.push(case);
    }
    let i = DType::I32;
    out.push(plain("add", "", i, vec![(i, whole as Shape), (i, whole)]));
    let mut case = plain("lt", "", i, vec![(i, whole as Shape), (i, whole)]);
    case.out.0 = DType::Bool;
    out.push(case);
    out
}

fn tensor(dtype: DType, shape: Vec<usize>, seed: u32) -> Tensor {
    let mut s = seed;
    let mut next = || {
        s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (s >> 8) as f32 / 1_048_576.0 - 8.0
    };
    let n = shape.iter().product();
    let v: Vec<f32> = (0..n).map(|_| next()).collect();
    let v = match dtype {
        DType::Bool => v.iter().map(|x| (*x > 0.0) as u8 as f32).collect(),
        _ => v,
    };
    Tensor::from_f32s(DType::F32, shape, v).cast(dtype)
}

/// The least time of an evaluation, in nanoseconds an element.
fn time(case: &Case, rows: usize, runs: usize) -> f64 {
    let op = registry::find(case.op).expect("the op exists");
    let made = case.inputs.iter().zip(1..);
    let inputs: Vec<Tensor> = made.map(|((d, shape), i)| tensor(*d, shape(rows), i)).collect();
    let outs = [OutTy { dtype: case.out.0, shape: (case.out.1)(rows) }];
    let env = Env::default();
    let attrs = &case.attrs;
    let declared: Vec<DType> = inputs.iter().map(Tensor::dtype).collect();
    let cx = EvalCx {
        inputs: &inputs,
        declared: &declared,
        attrs,
        env: &env,
        outs: &outs,
        wide: false,
        exact_order: false,
    };
    let mut best = f64::MAX;
    for _ in 0..runs {
        let t = Instant::now();
        std::hint::black_box(op.eval(&cx).expect("it runs"));
        best = best.min(t.elapsed().as_secs_f64());
    }
    best * 1e9 / (rows * COLUMNS) as f64
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    println!("{:28} {:>10} {:>10}", "ns an element", "64K, one", "8M, all");
    for case in cases() {
        if filter.as_ref().is_some_and(|f| !case.name.contains(f.as_str())) {
            continue;
        }
        let small = alone(|| time(&case, 16, 200));
        println!("{:28} {small:>10.3} {:>10.3}", case.name, time(&case, 2048, 7));
    }
}

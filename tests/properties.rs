//! What must hold of every program: results are of the inferred types, placements change no value,
//! and the evaluation in f64 is nearer to the truth. Programs are drawn with fixed seeds.

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult};

use tilefoundry::check::inputs::{random, wanted};
use tilefoundry::eval::{Options, evaluate, shape_of};
use tilefoundry::graph::Graph;
use tilefoundry::session::{MemorySources, Selection, Session, Targets};
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::Tensor;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// The graph of `main`, or of `M.f` where the text has a module.
fn graph(text: &str) -> Result<Graph, String> {
    let sources = MemorySources::one("p.tf", text);
    let s = Session::open(&sources, "p.tf", &[], Targets::default());
    let (module, func) = match text.contains("module M") {
        true => ("M", Some("f".to_string())),
        false => ("main", None),
    };
    let sel = Selection { file: "p.tf".into(), module: Some(module.into()), func };
    let f = s.select(&sel)?;
    s.compile(f).graph.clone().ok_or_else(|| {
        let lines = s.diagnostics_of(f).into_iter().map(|d| d.message);
        format!("{}\n{text}", lines.collect::<Vec<_>>().join("\n"))
    })
}

fn run(g: &Graph, inputs: &[Tensor], wide: bool) -> Result<Vec<Tensor>, String> {
    let opts = Options { wide, ..Options::default() };
    evaluate(g, &Env::default(), inputs, &opts).map(|o| o.outputs).map_err(|d| d.message)
}

fn fail(e: String) -> TestCaseError {
    TestCaseError::fail(e)
}

// -- random programs --------------------------------------------------------------------------

/// A value of the program that is being written.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
}

impl Value {
    fn ty(&self) -> String {
        let dims: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        match dims.is_empty() {
            true => self.dtype.to_string(),
            false => format!("{}[{}]", self.dtype, dims.join(", ")),
        }
    }

    fn named(&self, dtype: DType, shape: Vec<usize>) -> Value {
        Value { name: String::new(), dtype, shape }
    }
}

/// What a step draws: an op, its operand, and two numbers that pick its details.
type Step = (u8, usize, usize, usize);

const KINDS: u8 = 16;
const UNARY: [&str; 6] = ["neg", "abs", "square", "relu", "sign", "neg"];
const FLOAT: [&str; 6] = ["exp", "sqrt", "tanh", "floor", "sigmoid", "erf"];
const BINARY: [&str; 5] = ["add", "sub", "mul", "maximum", "minimum"];
const COMPARE: [&str; 4] = ["lt", "eq", "ge", "ne"];
const REDUCE: [&str; 4] = ["max", "min", "abs_max", "sum"];
const DTYPES: [DType; 8] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::Bf16,
    DType::I64,
    DType::I32,
    DType::U32,
    DType::Bool,
];

fn pick<T: Copy>(of: &[T], n: usize) -> T {
    of[n % of.len()]
}

/// The expression of a step on `x`, and the type that the rules of the op give it; `None` where the
/// op does not take it. Written from the language's rules, apart from the compiler.
fn step(values: &[Value], (kind, at, a, b): Step) -> Option<(String, Value)> {
    let x = &values[at % values.len()];
    let (n, rank) = (&x.name, x.shape.len());
    let axis = (rank > 0).then(|| a % rank);
    let number = x.dtype != DType::Bool;
    let peer = values.iter().find(|v| v.name != *n && v.dtype == x.dtype && v.shape == x.shape);
    let peer = peer.unwrap_or(x);
    let kept = x.named(x.dtype, x.shape.clone());
    Some(match kind % KINDS {
        0 if number => (format!("{}({n})", pick(&UNARY, b)), kept),
        1 if x.dtype.is_float() => (format!("{}({n})", pick(&FLOAT, b)), kept),
        2 if number => (format!("{}({n}, {})", pick(&BINARY, b), peer.name), kept),
        3 if number => {
            let c = format!("{}({n}, {})", pick(&COMPARE, b), peer.name);
            (c, x.named(DType::Bool, x.shape.clone()))
        }
        4 => {
            let to = pick(&DTYPES, b);
            (format!("cast({n}, {to})"), x.named(to, x.shape.clone()))
        }
        // broadcasting against a row or a column of itself
        5 if number && rank > 0 => {
            let d = axis?;
            let m = format!("mul({n}, max({n}, dim = {d}, keepdim = true))");
            (x.shape[d] > 0).then_some((m, kept))?
        }
        6 if number && rank > 0 => {
            let d = axis?;
            let mut shape = x.shape.clone();
            let keep = b % 2 == 0;
            if keep {
                shape[d] = 1;
            } else {
                shape.remove(d);
            }
            let op = pick(&REDUCE, b / 2);
            let empty_ok = op == "sum" || op == "abs_max";
            (empty_ok || x.shape[d] > 0).then_some(())?;
            (format!("{op}({n}, dim = {d}, keepdim = {keep})"), x.named(x.dtype, shape))
        }
        7 if x.dtype == DType::Bool && rank > 0 => {
            let mut shape = x.shape.clone();
            shape.remove(axis?);
            let op = pick(&["any", "all"], b);
            (format!("{op}({n}, dim = {})", axis?), x.named(DType::Bool, shape))
        }
        8 if number && rank > 0 => {
            let mut shape = x.shape.clone();
            (shape.remove(axis?) > 0).then_some(())?;
            (format!("argmax({n}, dim = -{})", rank - axis?), x.named(DType::I64, shape))
        }
        9 if rank > 1 => {
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.rotate_left(1 + b % (rank - 1));
            let shape = perm.iter().map(|p| x.shape[*p]).collect();
            (format!("transpose({n}, {perm:?})"), x.named(x.dtype, shape))
        }
        10 => {
            let len = x.shape.iter().product();
            (format!("reshape({n}, [{len}, 1])"), x.named(x.dtype, vec![len, 1]))
        }
        11 if rank < 4 => {
            let d = a % (rank + 1);
            let mut shape = x.shape.clone();
            shape.insert(d, 1);
            (format!("unsqueeze({n}, dim = {d})"), x.named(x.dtype, shape))
        }
        12 if rank > 0 => {
            let d = axis?;
            let mut shape = x.shape.clone();
            shape[d] *= 2;
            (format!("concat([{n}, {}], dim = {d})", peer.name), x.named(x.dtype, shape))
        }
        13 if rank > 1 && number => {
            let mut shape = x.shape.clone();
            shape[rank - 1] = shape[rank - 2];
            (format!("matmul({n}, {n}, transpose_b = true)"), x.named(x.dtype, shape))
        }
        14 if rank > 0 => {
            let d = axis?;
            let mut subs = vec![".."; rank];
            let end = x.shape[d] - x.shape[d] / 2;
            let text = format!("0..{end}");
            subs[d] = &text;
            let mut shape = x.shape.clone();
            shape[d] = end;
            (format!("{n}[{}]", subs.join(", ")), x.named(x.dtype, shape))
        }
        15 if rank > 0 => (format!("flip({n}, dim = {})", axis?), kept),
        _ => return None,
    })
}

/// A program of these steps, and the values that it returns: the last ones.
fn program(dtype: DType, shape: Vec<usize>, steps: &[Step]) -> (String, Vec<Value>) {
    let first = |name: &str| Value { name: name.into(), dtype, shape: shape.clone() };
    let mut values = vec![first("x"), first("y")];
    let mut body = String::new();
    for s in steps {
        let Some((text, mut v)) = step(&values, *s) else { continue };
        // keep what runs small
        if v.shape.iter().product::<usize>() > 2000 {
            continue;
        }
        v.name = format!("v{}", values.len());
        body += &format!("    let {}: {} = {text};\n", v.name, v.ty());
        values.push(v);
    }
    let outs: Vec<Value> = values.iter().rev().take(3).cloned().collect();
    let types: Vec<String> = outs.iter().map(Value::ty).collect();
    let names: Vec<&str> = outs.iter().map(|v| v.name.as_str()).collect();
    let ty = first("").ty();
    let text = format!(
        "func main(x: {ty}, y: {ty}) -> ({}) {{\n{body}    ({})\n}}\n",
        types.join(", "),
        names.join(", ")
    );
    (text, outs)
}

fn keeps_types(dtype: DType, shape: Vec<usize>, steps: &[Step]) -> TestCaseResult {
    let (text, outs) = program(dtype, shape, steps);
    let g = graph(&text).map_err(fail)?;
    let inputs = random(&wanted(&g, &Env::default()).unwrap(), 3, 2.0).tensors;
    for wide in [false, true] {
        let got = run(&g, &inputs, wide).map_err(|e| fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(got.len(), outs.len());
        for ((t, want), o) in got.iter().zip(&outs).zip(&g.outputs) {
            let inferred = shape_of(&g, o.value, &Env::default());
            prop_assert_eq!(Some(t.shape().to_vec()), inferred, "{}", &text);
            prop_assert_eq!(t.shape(), &want.shape[..], "{}", &text);
            let dtype = if wide && want.dtype.is_float() { DType::F64 } else { want.dtype };
            prop_assert_eq!(t.dtype(), dtype, "{}", &text);
        }
    }
    Ok(())
}

// -- placements -------------------------------------------------------------------------------

/// Placements of an `[8, 6]` value that a mesh of 2 x 3 CTAs and 4 threads admits.
const PLACES: [&str; 8] = [
    "gmem",
    "smem",
    "smem[8 @ g.r, 6]",
    "smem[8, 6 @ g.c]",
    "rmem[8 @ g.r, 6 @ g.c]",
    "rmem[(2, 4 @ t.x), 6]",
    "rmem[(2 @ g.r, 4 @ t.x), 6 @ g.c]",
    "rmem[8 @ t.x, pad(2, 3 @ g.c)]",
];
/// On a float `v`, and `w` of its type; each keeps shape and dtype.
const POINTWISE: [&str; 9] = [
    "v * w",
    "v + w",
    "exp(v)",
    "v - maximum(v, w)",
    "where(v > w, v, w)",
    "silu(v)",
    "abs(v)",
    "v * 0.5",
    "maximum(v, w)",
];
/// How the value leaves; its reductions are completed.
const ENDS: [(&str, &str); 5] = [
    ("v", "8, 6"),
    ("complete(sum(v, dim = 0))", "6"),
    ("complete(mean(v, dim = 1))", "8"),
    ("complete(max(v, dim = [0, 1], keepdim = true))", "1, 1"),
    ("transpose(v, [1, 0])", "6, 8"),
];

/// The program unplaced, or placed one way for its first ops and another way for the rest.
fn placed(d: &str, ops: &[usize], end: usize, place: Option<(usize, usize)>) -> String {
    let (end, shape) = ENDS[end % ENDS.len()];
    let lines = |ops: &[usize]| -> String {
        ops.iter().map(|o| format!("            v = {};\n", pick(&POINTWISE, *o))).collect()
    };
    let (first, rest) = ops.split_at(ops.len() / 2);
    let (first, rest) = (lines(first), lines(rest));
    let move_to = |n: usize| {
        let p = pick(&PLACES, n);
        format!("            v = reshard(v, {p});\n            w = reshard(w, {p});\n")
    };
    let (open, result, close, [a, b]) = match place {
        None => ("", end.to_string(), "", [String::new(), String::new()]),
        Some((a, b)) => (
            "mesh g = cta[r: 2, c: 3], t = thread[x: 4] {",
            format!("reshard({end}, gmem)"),
            "}",
            [move_to(a), move_to(b)],
        ),
    };
    format!(
        "module M {{\n    target \"nvidia.h200_sxm\";\n    topology cta = 6, thread = 4;\n\n    entry \
         func f(x: {d}[8, 6], y: {d}[8, 6]) -> {d}[{shape}] {{\n        {open}\n            let mut v = \
         x;\n            let mut w = y;\n{a}{first}{b}{rest}            {result}\n        {close}\n    \
         }}\n}}\n"
    )
}

// -- the truth --------------------------------------------------------------------------------

/// A number of at most 24 bits times a power of two, in units of 2^-64.
const UNIT: i32 = 64;

fn exact(x: f64) -> i128 {
    let scaled = x * 2f64.powi(UNIT);
    // a product with a power of two is exact; what is below the unit would be lost
    assert_eq!(scaled.fract(), 0.0);
    scaled as i128
}

fn values() -> impl Strategy<Value = Vec<f32>> {
    let one = (-(1i32 << 23)..(1 << 23), -30i32..=-16).prop_map(|(m, e)| m as f32 * 2f32.powi(e));
    prop::collection::vec(one, 1..900)
}

proptest! {
    #![proptest_config(config(250))]

    #[test]
    fn results_are_of_the_inferred_types(
        dtype in 0usize..7,
        shape in prop::collection::vec(0usize..5, 0..4),
        steps in prop::collection::vec((0u8..KINDS, 0usize..20, 0usize..8, 0usize..40), 1..14),
    ) {
        keeps_types(DTYPES[dtype], shape, &steps)?;
    }

    #[test]
    fn placements_change_no_value(
        d in 0usize..3,
        ops in prop::collection::vec(0usize..POINTWISE.len(), 0..5),
        end in 0usize..ENDS.len(),
        at in (0usize..PLACES.len(), 0usize..PLACES.len()),
    ) {
        let d = ["f32", "f16", "bf16"][d];
        let plain = graph(&placed(d, &ops, end, None)).map_err(fail)?;
        let inputs = random(&wanted(&plain, &Env::default()).unwrap(), 7, 2.0).tensors;
        let want = run(&plain, &inputs, false).map_err(fail)?;
        let text = placed(d, &ops, end, Some(at));
        let g = graph(&text).map_err(fail)?;
        let got = run(&g, &inputs, false).map_err(fail)?;
        prop_assert!(got[0].bit_equal(&want[0]), "{text}\n{:?}\n{:?}", got[0], want[0]);
    }

    #[test]
    fn wide_sums_are_nearer_to_the_truth(x in values()) {
        let n = x.len();
        let g = graph(&format!("func main(x: f32[{n}]) -> f32 {{ sum(x, dim = 0) }}\n")).map_err(fail)?;
        let truth: i128 = x.iter().map(|v| exact(*v as f64)).sum();
        let x = Tensor::from_f64_iter(DType::F32, vec![n], x.iter().map(|v| *v as f64));
        let off = |wide| -> Result<u128, TestCaseError> {
            let t = run(&g, std::slice::from_ref(&x), wide).map_err(fail)?;
            Ok(exact(t[0].get_f64(0)).abs_diff(truth))
        };
        prop_assert!(off(true)? <= off(false)?);
    }

    #[test]
    fn wide_products_are_nearer_to_the_truth(x in values()) {
        let n = x.len() / 2;
        let text = format!(
            "func main(a: f32[1, {n}], b: f32[{n}, 1]) -> f32[1, 1] {{ matmul(a, b) }}\n"
        );
        let g = graph(&text).map_err(fail)?;
        // multiples of 2^-12, so that a product is one of the unit
        let short = |v: &f32| ((*v as f64) * 4096.0).trunc() / 4096.0;
        let (a, b): (Vec<f64>, Vec<f64>) = (x[..n].iter().map(short).collect(), x[n..2 * n].iter().map(short).collect());
        let truth: i128 = a.iter().zip(&b).map(|(a, b)| exact(a * b)).sum();
        let of = |v: &[f64], shape| Tensor::from_f64_iter(DType::F32, shape, v.iter().copied());
        let inputs = [of(&a, vec![1, n]), of(&b, vec![n, 1])];
        let off = |wide| -> Result<u128, TestCaseError> {
            let t = run(&g, &inputs, wide).map_err(fail)?;
            Ok(exact(t[0].get_f64(0)).abs_diff(truth))
        };
        prop_assert!(off(true)? <= off(false)?);
    }
}

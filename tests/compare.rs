//! Sweeps, differences, crossings, polynomials, charts and the schema of `analyze`.

use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;
use tilefoundry::analysis::crossings::{self, Lower};
use tilefoundry::analysis::{Analysis, Options, analyze, schema};
use tilefoundry::hir::ItemRef;
use tilefoundry::hir::load::Sources;
use tilefoundry::session::{Selection, Session, Targets, points};

const GQA: &str = "examples/gqa_decode/gqa_decode.tf";
const RMS: &str = "tests/samples/rms_norm_quant.tf";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(args: &[&str]) -> (i32, String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_tilefoundry"));
    let out = c.arg("analyze").args(args).current_dir(root()).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

fn json(args: &[&str]) -> Value {
    let (_, out, err) = run(args);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|e| e.to_string())
    }
}

/// `of(analysis)` at each size of the one dim of a function, with what it is refused for.
fn at_sizes<T: Send>(
    selection: &str,
    sizes: Vec<i64>,
    options: &Options,
    of: impl Fn(&Analysis) -> T + Sync,
) -> Vec<T> {
    let sel = Selection::parse(selection);
    let s = Session::open(&Disk, &sel.file, &[], Targets::default());
    let f = s.select(&sel).unwrap();
    let c = s.compile(f);
    let g = c.graph.as_ref().unwrap();
    let module = f.module.map(|item| ItemRef { file: f.file, module: None, item });
    let target = module.and_then(|m| s.target(m));
    let dims: Vec<(String, Vec<i64>)> =
        g.dims.iter().map(|d| (g.vars.name(*d).to_string(), sizes.clone())).collect();
    let all = points(g, &dims).unwrap();
    let t = target.as_deref();
    all.par_iter().map(|p| of(&analyze(g, &p.env, t, options).unwrap())).collect()
}

#[test]
fn several_functions_and_ranges_are_one_table() {
    let rungs = ["logical", "heads", "split", "streamed", "step"];
    let first = format!("{GQA}:Decode.logical");
    let rest: Vec<String> = rungs.iter().skip(1).map(|r| format!(":Decode.{r}")).collect();
    let mut args = vec![first.as_str()];
    args.extend(rest.iter().map(String::as_str));
    args.extend(["--dim", "ctx=128..=512 step x2"]);
    let (status, out, err) = run(&args);
    assert_eq!((status, err.as_str()), (0, ""));
    let rows: Vec<Vec<&str>> = out.lines().skip(1).map(|l| l.split("  ").collect()).collect();
    assert_eq!(rows.len(), 15, "{out}");
    for (row, (size, rung)) in
        rows.iter().zip([128, 256, 512].iter().flat_map(|s| rungs.iter().map(move |r| (s, r))))
    {
        assert_eq!((row[0].trim(), row[1].trim()), (format!("ctx = {size}").as_str(), *rung));
    }
    let head: Vec<&str> = out.lines().next().unwrap().split("  ").map(str::trim).collect();
    assert_eq!(head.last(), Some(&"predicted"), "{out}");
    let one = json(&[&first, "--dim", "ctx=128", "--json"]);
    let ps = one["prediction"]["ps"].to_string();
    let (num, den) = ps.trim_matches('"').split_once('/').unwrap_or((ps.as_str(), "1"));
    let us = num.parse::<f64>().unwrap() / den.parse::<f64>().unwrap() / 1e6;
    let cell = rows[0].last().unwrap().trim().strip_suffix(" us").unwrap();
    assert!((cell.parse::<f64>().unwrap() / us - 1.0).abs() < 0.01, "{out}");
    // one column for each function of one figure
    args.extend(["--metric", "gmem.write.total"]);
    let (_, out, _) = run(&args);
    let head: Vec<&str> = out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((head[0], &head[1..]), ("size", rungs.as_slice()), "{out}");
    assert_eq!(out.lines().count(), 5);
}

/// 264 rows of 7168 bf16 are 3,784,704 B, which the two passes write and read back.
#[test]
fn fusing_removes_the_round_trip_and_names_it() {
    let bytes = 264 * 7168 * 2;
    let this = format!("{RMS}:Fused");
    let d = json(&[&this, "--against", ":TwoPass", "--json"]);
    let change = |name: &str| {
        let c = d["totals"].as_array().unwrap().iter().find(|c| c["figure"] == name).unwrap();
        c["this"].as_i64().unwrap() - c["against"].as_i64().unwrap()
    };
    assert_eq!((change("gmem.read.total"), change("gmem.write.total")), (-bytes, -bytes));
    // the predicted times are those of the two reports
    let predicted = d["totals"].as_array().unwrap().iter().find(|c| c["figure"] == "predicted");
    let of = |name: &str| json(&[&format!("{RMS}:{name}"), "--json"])["prediction"]["ps"].clone();
    assert_eq!(predicted.unwrap()["this"], of("Fused"));
    assert_eq!(predicted.unwrap()["against"], of("TwoPass"));
    let trips = d["round_trips"].as_array().unwrap();
    assert_eq!(trips.len(), 1, "{trips:?}");
    assert_eq!((&trips[0]["only_in"], &trips[0]["write"]), (&"against".into(), &bytes.into()));
    assert_eq!(trips[0]["read"], bytes);
    let source = std::fs::read_to_string(root().join(RMS)).unwrap();
    let line = 1 + source.lines().position(|l| l.contains("reshard(normalize(xr")).unwrap();
    let place = format!("{RMS}:{line}:");
    assert!(trips[0]["site"]["at"].as_str().unwrap().starts_with(&place), "{trips:?}");
    // the two ops of the boundary are the only ones without a like
    let ops = d["ops"].as_array().unwrap();
    let alone: Vec<&Value> = ops.iter().filter(|o| o["in"] != "both").collect();
    assert!(alone.iter().all(|o| o["in"] == "against" && o["op"] == "reshard"), "{alone:?}");
    assert_eq!(alone.len(), 2);
    let (status, out, _) = run(&[&this, "--against", ":TwoPass"]);
    assert_eq!(status, 0);
    assert!(out.contains("-3784704 B") && out.lines().count() < 40, "{out}");
    // the other way round it is new
    let (_, out, _) = run(&[&format!("{RMS}:TwoPass"), "--against", ":Fused"]);
    assert!(out.contains("new: a round trip") && out.contains("+3784704 B"), "{out}");
    let same = json(&[&this, "--against", ":Fused", "--json"]);
    assert_eq!((&same["totals"], &same["ops"]), (&Value::Array(vec![]), &Value::Array(vec![])));
}

/// Tiles of 64 in the 16 parts of the context, as the loops of `split` make them.
fn tiles(ctx: i64) -> i64 {
    let size = (ctx + 15) / 16;
    let part = |s: i64| {
        let lo = (s * size).min(ctx);
        let hi = (lo + size).min(ctx);
        let mut n = 0;
        let mut at = lo;
        while at < hi {
            n += 1;
            at += 64;
        }
        n
    };
    (0..16).map(part).sum()
}

/// Reads at `gmem` by hand: each of 8 heads copies 128 B of K and V for a token; each of 2 KV heads
/// and 16 parts reads whole tiles of 64 tokens, padding included. The rest does not depend on ctx.
#[test]
fn crossings_are_exact_at_every_size() {
    let most = 8192i64;
    let options = Options::counts();
    let path = "gmem.read.total";
    let of = |f: &str| {
        at_sizes(&format!("{GQA}:Decode.{f}"), (1..=most).collect(), &options, |a| {
            (a.figure(path).unwrap(), crossings::side(Ok(a), path))
        })
    };
    let (heads, split) = (of("heads"), of("split"));
    let rest = |found: u128, varying: i64| found - u128::try_from(varying).unwrap();
    let head_rest = rest(heads[0].0, 8 * 128);
    let split_rest = rest(split[0].0, tiles(1) * 2 * 64 * 128);
    for ((ctx, h), s) in (1i64..).zip(&heads).zip(&split) {
        assert_eq!(rest(h.0, 8 * 128 * ctx), head_rest, "heads at {ctx}");
        assert_eq!(rest(s.0, tiles(ctx) * 2 * 64 * 128), split_rest, "split at {ctx}");
        assert_eq!((h.1.is_ok(), s.1.is_ok()), (ctx <= 1815, true), "{ctx}");
    }
    let points: Vec<_> =
        (1i64..).zip(heads.into_iter().zip(split)).map(|(ctx, (h, s))| (ctx, h.1, s.1)).collect();
    let (runs, found) = crossings::find(&points);
    let by_hand = |ctx: i64| {
        let h = i128::try_from(head_rest).unwrap() + i128::from(1024 * ctx);
        h - i128::try_from(split_rest).unwrap() - i128::from(tiles(ctx) * 2 * 64 * 128)
    };
    let mut expected = vec![];
    let mut ahead: Option<(i64, i128)> = None;
    for ctx in 1..=1815 {
        let sign = by_hand(ctx).signum();
        if sign == 0 {
            continue;
        }
        expected.extend(ahead.filter(|(_, s)| *s != sign).map(|(last, _)| (last, ctx)));
        ahead = Some((ctx, sign));
    }
    assert!(!expected.is_empty());
    assert_eq!(found.iter().map(|c| (c.last, c.first)).collect::<Vec<_>>(), expected);
    let last = runs.last().unwrap();
    assert_eq!((last.from, last.to, last.lower), (1816, most, Lower::OnlyAgainst));
}

#[test]
fn crossings_are_told_with_both_figures() {
    let heads = format!("{GQA}:Decode.heads");
    let args = [heads.as_str(), "--against", ":Decode.split", "--dim", "ctx=290..=310"];
    let more = ["--crossings", "--metric", "gmem.read.total"];
    let (status, out, err) = run(&[&args[..], &more].concat());
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("cross once, at each of 21 sizes of `ctx` computed"), "{out}");
    let c = json(&[&args[..], &more, &["--json"]].concat());
    let x = &c["crossings"][0];
    assert_eq!(
        (x["last"].as_i64().unwrap() + 1, x["lower_after"].as_str()),
        (x["first"].as_i64().unwrap(), Some("against"))
    );
    assert!(x["this_last"].as_i64() <= x["against_last"].as_i64());
    assert!(x["this_first"].as_i64() > x["against_first"].as_i64());
}

/// The arms of `step` are those of `heads` and `streamed`, so that their curves are those functions'
/// at every size, inside the arm's range and outside of it.
#[test]
fn arms_are_compared_beyond_their_ranges() {
    let sizes = ["--dim", "ctx=1..=2048 step 97", "--crossings"];
    let step = format!("{GQA}:Decode.step");
    let heads = format!("{GQA}:Decode.heads");
    for metric in ["bound", "gmem.read.total"] {
        let more = ["--metric", metric, "--json"];
        let arms = json(&[&[step.as_str()], &sizes[..], &more].concat());
        let two = ["--against", ":Decode.streamed"];
        let functions = json(&[&[heads.as_str()], &two[..], &sizes, &more].concat());
        assert_eq!(arms["switches"].as_array().unwrap().len(), 1);
        let s = &arms["switches"][0];
        assert_eq!(s["at"], 1816);
        for part in ["runs", "crossings", "sizes", "unit"] {
            assert_eq!(s["curves"][part], functions[part], "{metric}: {part}");
        }
    }
    let (status, out, _) = run(&[&[step.as_str()], &sizes[..]].concat());
    assert_eq!(status, 0);
    assert!(out.contains("the match switches at 1816, "), "{out}");
}

/// 8 heads copy 128 B a token, up to the capacity and beyond, whatever the arm.
#[test]
fn a_cost_is_a_polynomial_of_the_dim() {
    let step = format!("{GQA}:Decode.step");
    let args = [step.as_str(), "--poly", "ctx", "--dim", "ctx=1790..=1840"];
    let p = json(&[&args[..], &["--metric", "gmem.read.total", "--json"]].concat());
    let pieces = p["figures"][0]["pieces"].as_array().unwrap();
    assert_eq!(pieces.len(), 2, "{pieces:?}");
    assert_eq!((&pieces[0]["from"], &pieces[0]["to"]), (&1790.into(), &1815.into()));
    assert_eq!((&pieces[1]["from"], &pieces[1]["to"]), (&1816.into(), &1840.into()));
    let terms = pieces[0]["form"]["terms"].as_array().unwrap();
    let slope = terms.iter().find(|t| t["power"] == 1).unwrap();
    assert_eq!(slope["coefficient"], 8 * 128);
    let (status, out, _) = run(&args);
    assert_eq!(status, 0);
    assert!(out.contains("for 1790 <= ctx <= 1815") && out.lines().count() < 40, "{out}");
}

/// A layer that is called 28 times costs 28 times what it costs alone.
#[test]
fn children_are_folded_with_their_count() {
    let options = Options { no_search: true, ..Options::default() };
    let of = |sel: &str| {
        let sel = format!("tests/samples/qwen3_1_7b.tf:{sel}");
        at_sizes(&sel, vec![1024], &options, Analysis::clone).remove(0)
    };
    let (model, layer) = (of("Qwen3.step"), of("Layer.layer"));
    let scope = |path: &str| model.scopes.iter().find(|s| s.path == path).unwrap();
    let (whole, folded) = (scope("step"), scope("step/layer"));
    assert_eq!((whole.calls, folded.calls, scope("step/layer/mlp").calls), (1, 28, 28));
    assert_eq!(whole.costs, model.costs);
    assert!(!layer.costs.flops.is_empty());
    for f in &layer.costs.flops {
        assert_eq!(folded.costs.flops(f.dtype).unwrap().total, 28 * f.total);
    }
    // the parts of a layer are all of it
    let flops = |p: &str| scope(p).costs.flops.iter().map(|f| f.total).sum::<u128>();
    assert_eq!(flops("step/layer"), flops("step/layer/attend") + flops("step/layer/mlp"));
}

#[test]
fn charts_are_documents_with_every_series_and_op() {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = |name: &str| dir.join(name).to_str().unwrap().to_string();
    let (sweep, roof) = (file("sweep.svg"), file("roof.svg"));
    let heads = format!("{GQA}:Decode.heads");
    let args = [heads.as_str(), ":Decode.split", "--dim", "ctx=8..=64 step x2", "--plot", &sweep];
    assert_eq!(run(&args).0, 0);
    let text = std::fs::read_to_string(&sweep).unwrap();
    assert_eq!(text.matches("<circle").count(), 8, "{text}");
    assert!(text.contains(">heads</text>") && text.contains(">split</text>"));
    assert!(text.contains("(ps") && text.contains(">ctx</text>"), "{text}");
    assert_eq!(text.matches("<title>").count(), text.matches("</title>").count());
    assert_eq!(run(&[&heads, "--dim", "ctx=64", "--plot", &roof]).0, 0);
    let text = std::fs::read_to_string(&roof).unwrap();
    for part in ["op/B, log", "op/s (log)", "ridge of tensor.bf16", ">matmul</text>", "</svg>"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // a roof for whatever the target rates and an op needs longest: special functions, and the array
    // of a target that is no GPU
    let logical = format!("{GQA}:Decode.logical");
    assert_eq!(run(&[&logical, "--dim", "ctx=64", "--plot", &roof]).0, 0);
    assert!(std::fs::read_to_string(&roof).unwrap().contains("ridge of sfu"));
    let product = file("product.tf");
    let text = "module M { target \"example.array\"; entry func f(a: i8[64, 64], b: i8[64, 64]) -> \
                i32[64, 64] { matmul(a, b, out = i32) } }";
    std::fs::write(&product, text).unwrap();
    let dir = ["--target-dir", "examples/accelerator/targets"];
    assert_eq!(run(&[&dir[..], &[&product, "--plot", &roof]].concat()).0, 0);
    assert!(std::fs::read_to_string(&roof).unwrap().contains("ridge of tensor.i8"));
}

/// The same name in two files is two programs.
#[test]
fn files_tell_equal_names_apart() {
    let text =
        |ops: &str| format!("module M {{ entry func f(x: f32[8]) -> f32[8] {{ {ops} }} }}\n");
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("alike");
    std::fs::create_dir_all(&dir).unwrap();
    let file = |name: &str, ops: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text(ops)).unwrap();
        path.to_str().unwrap().to_string()
    };
    let (a, b) = (file("a.tf", "exp(x) + x"), file("b.tf", "exp(x)"));
    let (_, out, _) = run(&[&a, &b, "--metric", "work.sfu.total"]);
    assert!(out.contains("a.tf:M.f") && out.contains("b.tf:M.f"), "{out}");
    let (_, out, _) = run(&[&a, "--against", &b]);
    // one op more reads its 2 operands of 32 B and writes 32 B
    assert!(out.contains("+64 B") && out.contains("+32 B") && out.contains("ops only in"), "{out}");
}

#[test]
fn wrong_usage_is_told_with_the_fix() {
    let says = |args: &[&str], status: i32, part: &str| {
        let (s, out, err) = run(args);
        assert!(s == status && err.contains(part), "{args:?}: {s} {out}{err}");
    };
    let heads = format!("{GQA}:Decode.heads");
    let h = heads.as_str();
    let fused = format!("{RMS}:Fused");
    says(&[h, "--dim", "ctx=9..=3"], 2, "is empty: write `3..=9`");
    says(&[h, "--dim", "ctx=1..9 step 0"], 2, "must be at least 1");
    says(&[h, "--dim", "ctxx=1..9"], 2, "did you mean `ctx`?");
    says(&[h, "--dim", "ctx=1,2", "--metric", "gmem.raed"], 2, "did you mean `gmem.read");
    says(&[h, "--dim", "ctx=1", "--against", ":Decode.heds"], 2, "did you mean `heads`?");
    says(&[h, "--dim", "ctx=1", "--against", "absent.tf"], 3, "absent.tf");
    says(&[h, "--dim", "ctx=1", "--crossings"], 2, "--dim NAME=LO..=HI");
    says(&[h, "--dim", "ctx=1..4", "--crossings"], 2, "name another function with `--against`");
    let other = ["--against", fused.as_str(), "--crossings"];
    says(&[&[h, "--dim", "ctx=1..4"], &other[..]].concat(), 2, "has no dim `ctx` to sweep");
    let split = ["--against", ":Decode.split", "--crossings"];
    says(&[&[h, "--dim", "ctx=1"], &split[..]].concat(), 2, "--dim NAME=LO..=HI");
    let unknown = [h, "--dim", "ctx=1..4", "--metric", "bund"];
    says(&[&unknown[..], &split].concat(), 2, "did you mean `bound`?");
    says(&[h, "--poly", "ctxx"], 2, "did you mean `ctx`?");
    says(&[h, "--poly", "ctx", "--dim", "ctx=1,5"], 2, "every size of a range");
    says(&[h, "--poly", "ctx", "--dim", "ctx=1..9", "--metric", "bound"], 2, "takes counts");
    says(&[h, "--dim", "ctx=8", "--plot", "absent/x.svg"], 3, "cannot write");
    says(&[":Decode.heads"], 2, "write `FILE:Decode.heads`");
    // a function with other dims is compared all the same
    assert_eq!(run(&[h, "--dim", "ctx=8", "--against", &fused]).0, 0);
}

/// What a schema says is wrong with a value. Knows the words that the schema uses, no others.
fn violations(s: &Value, v: &Value, all: &Value, at: &str, out: &mut Vec<String>) {
    let Value::Object(words) = s else { return };
    let mut here = vec![];
    let mut wrong = |what: String| here.push(format!("{at}: {what}"));
    for (word, arg) in words {
        match word.as_str() {
            "$schema" | "title" | "description" | "$defs" | "format" | "default" => {}
            "required" => {
                for r in arg.as_array().unwrap() {
                    if v.as_object().is_some_and(|o| !o.contains_key(r.as_str().unwrap())) {
                        wrong(format!("lacks {r}"));
                    }
                }
            }
            "const" if v != arg => wrong(format!("{v} is not {arg}")),
            "enum" if !arg.as_array().unwrap().contains(v) => wrong(format!("{v} is not in {arg}")),
            "minimum" if v.as_f64() < arg.as_f64() && v.is_number() => wrong("too small".into()),
            "const" | "enum" | "minimum" => {}
            "type" => {
                let is = |t: &Value| match t.as_str().unwrap() {
                    "object" => v.is_object(),
                    "array" => v.is_array(),
                    "string" => v.is_string(),
                    "boolean" => v.is_boolean(),
                    "integer" => v.is_u64() || v.is_i64(),
                    "number" => v.is_number(),
                    "null" => v.is_null(),
                    other => panic!("unknown type {other}"),
                };
                if !arg.as_array().map_or_else(|| is(arg), |a| a.iter().any(is)) {
                    wrong(format!("{v} is not of type {arg}"));
                }
            }
            "pattern" => {
                // all patterns here are of digits, a sign and a stroke
                let ok = |t: &str| t.chars().all(|c| c.is_ascii_digit() || "/-".contains(c));
                if v.as_str().is_some_and(|t| t.is_empty() || !ok(t)) {
                    wrong(format!("{v} is not {arg}"));
                }
            }
            "$ref" => {
                let name = arg.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                violations(&all["$defs"][name], v, all, at, out);
            }
            "anyOf" | "oneOf" => {
                let fits = |s: &Value| {
                    let mut o = vec![];
                    violations(s, v, all, at, &mut o);
                    o
                };
                let tried: Vec<Vec<String>> = arg.as_array().unwrap().iter().map(fits).collect();
                if tried.iter().all(|t| !t.is_empty()) {
                    out.push(format!("{at}: no alternative holds: {tried:?}"));
                }
            }
            "items"
            | "prefixItems"
            | "properties"
            | "additionalProperties"
            | "minItems"
            | "maxItems" => {}
            other => panic!("the schema uses `{other}`, which this check does not know"),
        }
    }
    out.extend(here);
    nested(words, v, all, at, out);
}

fn nested(
    words: &serde_json::Map<String, Value>,
    v: &Value,
    all: &Value,
    at: &str,
    out: &mut Vec<String>,
) {
    if let (Some(items), Some(list)) = (words.get("items"), v.as_array()) {
        for (i, x) in list.iter().enumerate() {
            violations(items, x, all, &format!("{at}/{i}"), out);
        }
    }
    let Some(object) = v.as_object() else { return };
    let properties = words.get("properties").and_then(Value::as_object);
    let more = words.get("additionalProperties");
    for (k, x) in object {
        let at = format!("{at}/{k}");
        match (properties.and_then(|p| p.get(k)), more) {
            (Some(s), _) | (None, Some(s)) => violations(s, x, all, &at, out),
            // what is printed is stated
            (None, None) if properties.is_some() => out.push(format!("{at}: not in the schema")),
            (None, None) => {}
        }
    }
}

fn holds(all: &Value, v: &Value) {
    let mut out = vec![];
    violations(all, v, all, "", &mut out);
    assert!(out.is_empty(), "{:?}", out.iter().map(|o| &o[..o.len().min(600)]).collect::<Vec<_>>());
}

/// `TF_UPDATE=1` writes the file.
#[test]
fn the_published_schema_is_that_of_the_records() {
    let file = root().join("book/src/analysis.schema.json");
    let now = schema::schema();
    if std::env::var_os("TF_UPDATE").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == now, "run `TF_UPDATE=1 cargo test --test compare`");
    assert_eq!(run(&["--schema"]).1, now);
}

#[test]
fn what_is_printed_holds_to_the_schema() {
    let all: Value = serde_json::from_str(&schema::schema()).unwrap();
    let mut seen = 0;
    for dir in std::fs::read_dir(root().join("examples")).unwrap().flatten() {
        for f in std::fs::read_dir(dir.path()).unwrap().flatten() {
            let path = f.path();
            if path.extension().is_none_or(|x| x != "tf") {
                continue;
            }
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
            let s = Session::open(&Disk, name, &[], Targets::default());
            for r in s.roots() {
                let c = s.compile(r);
                let Some(g) = &c.graph else { continue };
                let module = r.module.map(|item| ItemRef { file: r.file, module: None, item });
                let target = module.and_then(|m| s.target(m));
                let dims: Vec<(String, Vec<i64>)> = g
                    .dims
                    .iter()
                    .filter_map(|d| {
                        Some((g.vars.name(*d).into(), vec![g.vars.upper(&g.vars.get(*d)?.lo)?]))
                    })
                    .collect();
                for p in points(g, &dims).unwrap_or_default() {
                    let a = analyze(g, &p.env, target.as_deref(), &Options::default());
                    let Ok(mut a) = a else { continue };
                    a.locate(s.sources());
                    holds(&all, &serde_json::to_value(&a).unwrap());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 10, "{seen}");
    let heads = format!("{GQA}:Decode.heads");
    let h = heads.as_str();
    holds(&all, &json(&[h, ":Decode.step", "--dim", "ctx=1,9000", "--json"]));
    let split = [h, "--against", ":Decode.split", "--json"];
    holds(&all, &json(&[&split[..], &["--dim", "ctx=9"]].concat()));
    holds(&all, &json(&[&split[..], &["--dim", "ctx=1..9", "--crossings"]].concat()));
    holds(&all, &json(&[h, "--poly", "ctx", "--dim", "ctx=1..30", "--json"]));
    // a check that cannot fail would hold nothing
    let mut out = vec![];
    let mut wrong = json(&[h, "--dim", "ctx=9", "--json"]);
    wrong["costs"]["work"][0]["total"] = "many".into();
    violations(&all, &wrong, &all, "", &mut out);
    assert!(!out.is_empty());
}

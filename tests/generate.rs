//! `generate` on the small models of `tests/models`: the tokens must be those that the published
//! classes gave (`make.py` there wrote them), and what is no step of a causal LM is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tilefoundry::cli::Disk;
use tilefoundry::eval::{Options, direct, evaluate_owned, prepared, shape_of};
use tilefoundry::graph::{Graph, ParamKind, ValueId};
use tilefoundry::hir::load::Settings;
use tilefoundry::session::{MemorySources, Selection, Session, Targets};
use tilefoundry::tensorio::Checkpoint;
use tilefoundry::types::dim::Env;
use tilefoundry::types::dtype::DType;
use tilefoundry::types::value::{Slice, Tensor};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(args: &[&str]) -> (i32, String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_tilefoundry"));
    let Output { status, stdout, stderr } =
        c.arg("generate").args(args).current_dir(root()).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// The decoder of a folder of `tests/models`, with caches of 64 tokens.
fn model(name: &str, module: &str, more: &[&str]) -> (i32, String, String) {
    let args = [
        format!("examples/models/{name}/{name}.tf:{module}"),
        format!("--config=cfg=tests/models/{name}/config.json"),
        "--const=MAX=64".to_string(),
        format!("--weights=tests/models/{name}/model.safetensors"),
    ];
    let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    run(&args)
}

fn qwen(more: &[&str]) -> (i32, String, String) {
    model("qwen3_1_7b", "Qwen3", more)
}

/// The ids of the class's greedy run, the first one given.
fn published(name: &str) -> Vec<i64> {
    let file = root().join(format!("tests/models/{name}/expected.safetensors"));
    let tokens = Checkpoint::open(&file).unwrap().get("tokens").unwrap().unwrap();
    tokens.to_i64s().to_vec()
}

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn ids(doc: &Value) -> Vec<i64> {
    doc["ids"].as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
}

fn list(ids: &[i64]) -> String {
    ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// A file with this text, in a folder of the tests' own.
fn file(name: &str, text: &str) -> String {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("generate");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn decoders_give_the_tokens_of_their_classes() {
    for (name, module) in [("qwen3_1_7b", "Qwen3"), ("nemotron_h", "NemotronH")] {
        let want = published(name);
        let (status, out, err) =
            model(name, module, &["--prompt", &list(&want[..1]), "--tokens", "64", "--json"]);
        assert_eq!(status, 0, "{err}");
        let doc = json(&out);
        assert_eq!(ids(&doc), want[1..], "{name}");
        assert!(doc["least_gap"].as_f64().unwrap() > 0.0 && doc["stopped"] == false, "{out}");
        // the class would go on so from its own first ten
        let (status, out, err) =
            model(name, module, &["--prompt", &list(&want[..10]), "--tokens", "7", "--json"]);
        assert_eq!(status, 0, "{err}");
        assert_eq!(ids(&json(&out)), want[10..17], "{name}");
    }
}

#[test]
fn a_stop_id_is_the_last() {
    let want = published("qwen3_1_7b");
    let stop = 10;
    let end = want.iter().position(|t| *t == stop).unwrap();
    let (status, out, err) =
        qwen(&["--prompt", &list(&want[..1]), "--tokens", "64", "--stop", "95,10", "--json"]);
    assert_eq!(status, 0, "{err}");
    assert!(!want.contains(&95));
    assert_eq!(ids(&json(&out)), want[1..=end]);
    assert_eq!(json(&out)["stopped"], true);
    let (_, out, _) = qwen(&["--prompt", "1", "--tokens", "64", "--stop", "10"]);
    assert!(out.contains(&format!("ids: {}\n", list(&want[1..=end]))), "{out}");
    assert!(out.contains("stopped at 10\n"), "{out}");
}

#[test]
fn text_goes_through_the_tokenizer() {
    // the id of the word `w7` is 7
    let vocab: serde_json::Map<String, Value> =
        (0..96).map(|i| (format!("w{i}"), Value::from(i))).collect();
    let doc = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": { "type": "WhitespaceSplit" },
        "post_processor": null, "decoder": null,
        "model": { "type": "WordLevel", "vocab": vocab, "unk_token": "w0" },
    });
    let words = file("tokenizer.json", &doc.to_string());
    let want = published("qwen3_1_7b");
    let text = |ids: &[i64]| ids.iter().map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
    let (status, out, err) =
        qwen(&["--text", &text(&want[..3]), "--tokenizer", &words, "--tokens", "9", "--json"]);
    assert_eq!(status, 0, "{err}");
    assert_eq!(json(&out)["prompt"], serde_json::json!(want[..3]));
    assert_eq!(json(&out)["text"], text(&want[3..12]));
    let broken = file("broken.json", "{\"model\": 1}");
    let says = |more: &[&str], status: i32, part: &str| {
        let (s, out, err) = qwen(more);
        assert!(s == status && err.contains(part), "{s}: {out}{err}");
    };
    says(&["--text", "w1", "--tokenizer", &broken], 1, "is no tokenizer");
    says(&["--text", "w1", "--tokenizer", "absent.json"], 3, "cannot read `absent.json`");
    says(&["--text", " ", "--tokenizer", &words], 1, "the text has no tokens");
    says(&["--text", "w1"], 2, "--tokenizer");
    says(&[], 2, "--prompt");
}

#[test]
fn what_does_not_fit_the_model_is_refused() {
    let says = |more: &[&str], status: i32, part: &str| {
        let (s, out, err) = qwen(more);
        assert!(s == status && err.contains(part), "{s}: {out}{err}");
    };
    says(&["--prompt", "1,96"], 2, "the prompt has the id 96: `token` takes 0..=95");
    says(&["--prompt", "1,x"], 2, "invalid value 'x'");
    says(&["--prompt", "1", "--tokens", "0"], 2, "--tokens");
    let long = "1 tokens of prompt and 65 to generate are 65 steps, and `ctx` ends at 64";
    says(&["--prompt", "1", "--tokens", "65"], 2, long);
    let bare =
        ["examples/models/qwen3_1_7b/qwen3_1_7b.tf:Qwen3", "--const", "MAX=64", "--prompt", "1"];
    let config = ["--config", "cfg=tests/models/qwen3_1_7b/config.json"];
    let (status, _, err) = run(&[&bare[..], &config[..]].concat());
    assert!(status == 2 && err.contains("weights must be stated"), "{err}");
}

#[test]
fn a_token_that_the_next_step_does_not_take_is_refused() {
    let text = "func step(token: i32[1] range 0..10) -> i32[1] { token + 5 }\n";
    let f = file("beyond.tf", text) + ":step";
    let (status, out, err) = run(&[&f, "--prompt", "3", "--tokens", "2"]);
    assert!(status == 0 && out.contains("ids: 8,13\n"), "{out}{err}");
    let (status, _, err) = run(&[&f, "--prompt", "3", "--tokens", "3"]);
    assert!(status == 1 && err.contains("step 3 got the id 13: `token` takes 0..=9"), "{err}");
    let wide = file("wide.tf", "func step(token: i16[1]) -> i16[1] { token }\n") + ":step";
    let (status, _, err) = run(&[&wide, "--prompt", "32768"]);
    assert!(status == 2 && err.contains("`token` is i16, which does not hold it"), "{err}");
}

/// Without a device all that needs none is looked at; with one it gives the evaluator's tokens.
#[test]
fn a_twin_runs_where_there_is_a_device() {
    let more = ["--prompt", "5,0,96", "--tokens", "20"];
    let (status, out, err) = run(&[&["tests/kernels/lm.tf:LmRight"][..], &more].concat());
    if status == 3 {
        let holds = "what needs no device holds: 3 launches of 3 kernels and 1 image on 6 buffers";
        assert!(err.contains(holds), "{err}");
        return;
    }
    assert_eq!(status, 0, "{err}");
    let ids = |text: &str| text.lines().find(|l| l.starts_with("ids: ")).map(str::to_string);
    let (_, want, _) = run(&[&["tests/kernels/lm.tf:Lm"][..], &more].concat());
    assert!(ids(&want).is_some());
    assert_eq!(ids(&out), ids(&want));
}

#[test]
fn a_twin_that_is_no_step_is_refused() {
    let (status, _, err) = run(&["examples/chain/chain.tf:Chain", "--prompt", "1"]);
    assert!(status == 1 && err.contains("is no step of a causal LM"), "{err}");
    let (status, _, err) = run(&["tests/kernels/lm.tf:LmRight", "--prompt", "97"]);
    assert!(status == 2 && err.contains("`token` takes 0..=96"), "{err}");
}

/// Tokens count up by the number of steps so far.
const COUNTER: &str = "\
func step(token: i32[1] range 0..10, inout n: i32[1]) -> i32[1] {
    n[0..1] = n + 1;
    rem(token + n, 10)
}
";

#[test]
fn a_step_without_a_dim_runs_and_its_state_is_handed_on() {
    let f = file("counter.tf", COUNTER) + ":step";
    let (status, out, err) = run(&[&f, "--prompt", "3", "--tokens", "40"]);
    let mut want = vec![];
    let mut at = 3;
    for n in 1..=40 {
        at = (at + n) % 10;
        want.push(at);
    }
    assert_eq!(status, 0, "{err}");
    assert!(out.contains(&format!("ids: {}\n", list(&want))), "{out}");
}

#[test]
fn what_is_no_step_of_a_causal_lm_is_refused() {
    let refused = |head: &str, part: &str| {
        let (_, rest) = head.split_once(") -> ").unwrap();
        let body = match rest {
            "f32[1]" => "cast(token, f32)",
            "i32[2]" => "concat([token, token], dim = 0)",
            _ => "token",
        };
        let text = format!("dim n in 1..=8;\ndim m in 2..=8;\n\nfunc step{head} {{ {body} }}\n");
        let f = file(&format!("{}.tf", head.len()), &text) + ":step";
        let (status, out, err) = run(&[&f, "--prompt", "1"]);
        assert!(status == 1 && err.contains(part), "{text}{out}{err}");
        let told = "a step takes the token, an integer of one element";
        assert!(!part.starts_with("its") || err.contains(told), "{err}");
    };
    refused("(token: i32[1], x: f32[4]) -> i32[1]", "its parameter `x: f32[4]` is not a token");
    refused("(token: f32[1]) -> f32[1]", "its parameter `token: f32[1]` is not a token");
    refused("(token: i32[1], k: i64[1, 1]) -> i32[1]", "both `token: i32[1]` and `k: i64[1, 1]`");
    refused("(inout token: i32[1]) -> i32[1]", "no parameter is a token");
    refused("(token: i32[1]) -> f32[1]", "no result is a next token; it has `f32[1]`");
    refused("(token: i32[1]) -> i32[2]", "no result is a next token; it has `i32[2]`");
    let grows = "the shape of `cache: f32[n]` depends on `n`, which grows";
    refused("(token: i32[1], inout cache: f32[n]) -> i32[1]", grows);
    let two = "it depends on 2 dims, `n`, `m`: make consts";
    refused("(token: i32[1], inout a: f32[n], inout b: f32[m]) -> i32[1]", two);
    let late = "`m` is in 2..=8, and is 1 at the first step";
    refused("(token: i32[1], inout caches: f32[m]) -> i32[1]", late);
    let encoder = "examples/models/minilm/minilm.tf:MiniLM";
    let (status, _, err) = run(&[encoder, "--prompt", "1", "--weights", "random"]);
    assert!(status == 1 && err.contains("its parameter `ids: i32[B, S]` is not a token"), "{err}");
}

/// The address of the first element.
fn address(t: &Tensor) -> *const f32 {
    match t.data() {
        Slice::F32(v) => v.as_ptr(),
        _ => panic!("the cache is f32"),
    }
}

/// Runs a step on ones, its caches given away; the addresses of the caches before and after.
fn in_place(g: &Graph) -> (Vec<Tensor>, Vec<*const f32>, Vec<*const f32>) {
    let mut env = Env::default();
    g.dims.iter().for_each(|d| env.set(*d, 1));
    let all = tilefoundry::check::inputs::wanted(g, &env).unwrap();
    let inputs: Vec<Tensor> =
        all.iter().map(|w| Tensor::full(w.dtype, w.shape.clone(), 1.0)).collect();
    let caches = all.iter().zip(&inputs).filter(|(w, _)| w.kind == ParamKind::Inout);
    let before: Vec<*const f32> = caches.map(|(_, t)| address(t)).collect();
    let out = evaluate_owned(g, &env, inputs, &Options::default()).unwrap().outputs;
    let after = out[out.len() - before.len()..].iter().map(address).collect();
    (out, before, after)
}

/// Ops that read or write all rows of a window of the first axis.
fn whole(g: &Graph, rows: i64) -> usize {
    let reads = |v: &ValueId| g.ty(*v).shape.first().and_then(|e| e.as_int()) == Some(rows);
    let all = g.regions().flat_map(|(_, r)| &r.nodes);
    all.filter(|n| g.node(**n).outputs.iter().any(reads)).count()
}

#[test]
fn caches_that_are_given_away_change_in_place() {
    let file = "examples/models/qwen3_1_7b/qwen3_1_7b.tf";
    let config = root().join("tests/models/qwen3_1_7b/config.json").display().to_string();
    let configs = [("cfg".to_string(), config)];
    let consts = [("MAX".to_string(), "4096".to_string())];
    let settings = Settings { consts: &consts, configs: &configs };
    let path = root().join(file).display().to_string();
    let s = Session::open_with(&Disk, &path, &settings, Targets::default());
    let f = s.select(&Selection::parse(&format!("{path}:Qwen3.step"))).unwrap();
    let g = s.compile(f).graph.clone().unwrap();
    let d = direct(&g);
    // the tables of angles are as long as the caches: cos and sin, and what they are made of
    let (tables, windows) = (whole(&d, 4096), whole(&g, 4096));
    assert!(windows >= tables + 4, "{windows} {tables}");
    let (out, before, after) = in_place(&d);
    assert_eq!((before.len(), &after), (2, &before));
    let (plain, _, _) = in_place(&g);
    assert!(out.iter().zip(&plain).all(|(a, b)| a.bit_equal(b)));
}

/// Windows of windows that become one, and others that must stay.
const WINDOWS: &str = "\
func nested(x: f32[4], inout c: f32[3, 2, 8, 4]) -> f32[2, 4] {
    for i in 0..3 {
        layer(x, inout c[i]);
    }
    c[2, .., 5]
}

func layer(x: f32[4], inout c: f32[2, 8, 4]) {
    head(x, inout c[0]);
    head(x * c[0, 5], inout c[1]);
}

func head(x: f32[4], inout c: f32[8, 4]) {
    c[5] = x;
    c[6] = c[5] + c[6];
}

func read_whole(x: f32[4], inout c: f32[3, 8, 4]) -> f32[4] {
    reads(x, inout c[1])
}

func reads(x: f32[4], inout c: f32[8, 4]) -> f32[4] {
    c[5] = x;
    sum(c, dim = 0)
}

func part(x: f32[4], inout c: f32[3, 8, 4]) -> f32[4] {
    row(x, inout c[1, 2..6])
}

func row(x: f32[4], inout c: f32[4, 4]) -> f32[4] {
    c[3] = x;
    c[3] + c[2]
}

func old(x: f32[4], inout c: f32[3, 8, 4]) -> f32[8, 4] {
    let before = c[1];
    let _y = reads(x, inout c[1]);
    before + c[1]
}
";

#[test]
fn windows_of_windows_mean_the_same_in_their_buffer() {
    let sources = MemorySources::one("w.tf", WINDOWS);
    let s = Session::open(&sources, "w.tf", &[], Targets::default());
    for (name, fewer) in [("nested", true), ("read_whole", false), ("part", false), ("old", false)]
    {
        let f = s.select(&Selection::parse(&format!("w.tf:{name}"))).unwrap();
        let g = s.compile(f).graph.clone();
        let g = g.unwrap_or_else(|| panic!("{:?}", s.diagnostics_of(f)));
        let d = direct(&g);
        let count = |g: &Graph| g.regions().map(|(_, r)| r.nodes.len()).sum::<usize>();
        assert_eq!(count(&d) < count(&g), fewer, "{name}");
        let inputs: Vec<Tensor> = g
            .params
            .iter()
            .map(|p| {
                let shape = shape_of(&g, p.value, &Env::default()).unwrap();
                let n = shape.iter().product::<usize>();
                let values = (0..n).map(|i| (i % 7) as f64 - 2.0);
                Tensor::from_f64_iter(DType::F32, shape, values)
            })
            .collect();
        let run = |g: &Graph| {
            evaluate_owned(g, &Env::default(), inputs.clone(), &Options::default()).unwrap().outputs
        };
        let (a, b) = (run(&g), run(&d));
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(&b).all(|(a, b)| a.bit_equal(b)), "{name}");
    }
}

/// Prepared values of weights, of each other, and one that depends on a dim.
const PREPARED: &str = "\
dim n in 1..=8;

module M {
    target \"nvidia.h200_sxm\";
    weight w: f32[4] from \"w\";
    prepare twice: f32[4] = w * 2.0;
    prepare more: f32[4] = twice + 1.0;
    prepare pos: f32[n] = cast(arange(n, dtype = i32), f32);

    entry func step(x: f32[4]) -> (f32[4], f32[]) {
        (x * more + twice, sum(pos, dim = 0))
    }
}
";

#[test]
fn prepared_values_are_made_once_and_then_given() {
    let sources = MemorySources::one("p.tf", PREPARED);
    let s = Session::open(&sources, "p.tf", &[], Targets::default());
    let f = s.select(&Selection::parse("p.tf:M.step")).unwrap();
    let g = s.compile(f).graph.clone();
    let g = g.unwrap_or_else(|| panic!("{:?}", s.diagnostics_of(f)));
    let row = |values: [f64; 4]| Tensor::from_f64_iter(DType::F32, vec![4], values);
    let (w, x) = (row([1.0, 2.0, 3.0, -4.0]), row([1.0, 10.0, 100.0, 1000.0]));
    let of = |g: &Graph, rows, more: &[Tensor]| {
        let mut env = Env::default();
        env.set(g.dims[0], rows);
        let given = g.params.iter().take(2).map(|p| if p.name == "w" { &w } else { &x });
        let inputs: Vec<Tensor> = given.chain(more).cloned().collect();
        (env, inputs)
    };
    let (env, inputs) = of(&g, 1, &[]);
    let (rest, made) = prepared(&g, &env, &inputs).unwrap();
    let names: Vec<&str> = rest.params[2..].iter().map(|p| p.name.as_str()).collect();
    assert_eq!((g.params.len(), names.len(), made.len()), (2, 2, 2));
    for (name, t) in names.iter().zip(&made) {
        let want = if *name == "twice" { [2.0, 4.0, 6.0, -8.0] } else { [3.0, 5.0, 7.0, -7.0] };
        assert_eq!(t.to_f64s().to_vec(), want, "{name}");
    }
    // a row of `x * more + twice` and a sum of positions, which is made at each size
    let run = |rows, more: &[Tensor]| {
        let (env, inputs) = of(&rest, rows, more);
        let out = evaluate_owned(&rest, &env, inputs, &Options::default()).unwrap().outputs;
        (out[0].to_f64s().to_vec(), out[1].get_f64(0))
    };
    assert_eq!(run(3, &made), (vec![5.0, 54.0, 706.0, -7008.0], 3.0));
    let ones = [row([1.0; 4]), row([1.0; 4])];
    assert_eq!(run(5, &ones), (vec![2.0, 11.0, 101.0, 1001.0], 10.0));
}

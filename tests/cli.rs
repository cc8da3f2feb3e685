//! The binary as a user meets it: streams, formats and exit statuses.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn command(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_tilefoundry"));
    c.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    c
}

fn run(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A file with this text, in a folder of the test's own.
fn file(test: &str, text: &str) -> String {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("a.tf");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

const CHAIN: &str = "examples/chain/chain.tf";

const WRONG: &str = "\
func f(x: f32[4]) -> f32[4] {
    x + y
}

func g(x: f32[4], z: f16[4]) -> f32[4] {
    x + z
}

func h(x: f32[4]) -> f32[4] {
    relo(x)
}
";

#[test]
fn independent_errors_are_told_in_order_and_counted() {
    let path = file("order", WRONG);
    let (status, out, err) = run(&["compile", &path, "--message-format", "short"]);
    assert_eq!((status, out.as_str()), (1, ""));
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 4, "{err}");
    for (line, (place, code)) in
        lines.iter().zip([("2:9", "0201"), ("6:5", "0205"), ("10:5", "0202")])
    {
        assert!(line.starts_with(&format!("{path}:{place}: error[TF{code}]: ")), "{line}");
    }
    assert_eq!(lines[3], "3 errors");
}

#[test]
fn json_is_one_object_a_line_and_human_text_has_no_colour_in_a_pipe() {
    let path = file("json", WRONG);
    let (_, _, err) = run(&["compile", &path, "--message-format", "json"]);
    let codes: Vec<String> = err
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["code"].to_string())
        .collect();
    assert_eq!(codes, ["\"TF0201\"", "\"TF0205\"", "\"TF0202\""]);
    let (_, _, err) = run(&["compile", &path]);
    assert!(!err.contains('\u{1b}') && err.trim_end().ends_with("3 errors"), "{err}");
    let (_, _, err) = run(&["compile", &path, "--color", "always"]);
    assert!(err.contains('\u{1b}'));
    let (_, _, err) = run(&["compile", &path, "--color", "never"]);
    assert!(!err.contains('\u{1b}'));
}

#[test]
fn every_form_is_printed() {
    for (form, part) in [
        ("ast", "module"),
        ("hir", "entry func chain(x: f16[1, 4096, 2048] in gmem)"),
        ("graph", "graph Placed.chain"),
        ("dot", "digraph"),
        ("json", "\"tilefoundry.graph/1\""),
    ] {
        let (status, out, err) = run(&["compile", CHAIN, "--emit", form]);
        assert_eq!((status, err.as_str()), (0, ""), "{form}");
        assert!(out.contains(part), "{form}: {out}");
    }
}

#[test]
fn exit_statuses() {
    let status = |args: &[&str]| run(args).0;
    assert_eq!(status(&["--help"]), 0);
    assert_eq!(status(&["frobnicate"]), 2);
    assert_eq!(status(&["compile", "absent.tf"]), 3);
    assert_eq!(status(&["analyze", "examples/chain/chain.tf:Placed"]), 0);
    assert_eq!(status(&["analyze", "examples/chain/chain.tf:Crowded"]), 1);
    assert_eq!(status(&["explain", "TF0206"]), 0);
    assert_eq!(status(&["explain", "TF9999"]), 2);
    assert_eq!(status(&["target", "show", "nvidia.h20_sxm"]), 2);
    assert_eq!(status(&["target", "check", "targets/nvidia.h200_sxm.toml"]), 0);
    assert_eq!(status(&["target", "check", "absent.toml"]), 3);
    assert_eq!(status(&["target", "calibrate", "nvidia.h20_sxm"]), 2);
}

#[test]
fn selections_consts_and_dims_are_held_against_the_program() {
    let says = |args: &[&str], status: i32, part: &str| {
        let (s, _, err) = run(args);
        assert_eq!(s, status, "{err}");
        assert!(err.contains(part), "{err}");
    };
    says(&["analyze", CHAIN], 2, "choose one: `examples/chain/chain.tf:Placed`");
    says(
        &["analyze", "examples/chain/chain.tf:Plaecd"],
        2,
        "did you mean `examples/chain/chain.tf:Placed`?",
    );
    says(&["analyze", "examples/chain/chain.tf:Placed.chian"], 2, "did you mean `chain`?");
    says(&["analyze", "examples/chain/chain.tf:Placed", "--dim", "n=1"], 2, "no dims");
    let rms = "examples/rms_norm_quant/rms_norm_quant.tf";
    says(&["compile", rms, "--const", "ROW=3"], 2, "did you mean `ROWS`?");
    says(&["compile", rms, "--const", "ROWS=x"], 2, "is an integer, found `x`");
    let gqa = "examples/gqa_decode/gqa_decode.tf:Decode.heads";
    says(&["analyze", gqa], 2, "dim `ctx` in 1..=8192 needs a size");
    says(&["analyze", gqa, "--dim", "ctx=9000"], 2, "is in 1..=8192, found 9000");
    says(&["analyze", gqa, "--dim", "ctx=1", "--dim", "ctx=2"], 2, "`ctx` is stated twice");
    says(&["compile", rms, "--const", "ROWS=3", "--const", "ROWS=4"], 2, "`ROWS` is given twice");
}

#[test]
fn a_sweep_refuses_one_size_and_answers_the_others() {
    let gqa = "examples/gqa_decode/gqa_decode.tf:Decode.heads";
    let (status, out, err) = run(&["analyze", gqa, "--dim", "ctx=1,9000"]);
    assert_eq!(status, 0, "{err}");
    let last: Vec<&str> = out.lines().skip(1).map(str::trim_end).collect();
    assert!(last[0].starts_with("ctx = 1 ") && last[0].contains("330 kflop"), "{out}");
    assert!(last[1].starts_with("ctx = 9000  refused: ") && last[1].contains("1..=8192"), "{out}");
    assert!(err.contains("TF0501"), "{err}");
    assert_eq!(run(&["analyze", gqa, "--dim", "ctx=9000,9001"]).0, 1);
}

#[test]
fn what_data_decides_is_no_lower_bound() {
    let text = "\
module Lens {
    target \"nvidia.h200_sxm\";
    topology cta = 4, thread = 32;
    entry func f(x: f32[4, 100], l: i32[4] range 0..=100) -> f32[4] {
        let mut o = empty(f32[4]);
        mesh g = cta[p: 4] {
            let mut s = zeros(f32);
            for w in tile(0..l[g.p], 16, pad = 0.0) {
                s = s + sum(x[g.p, w]);
            }
            o[g.p] = s;
        }
        o
    }
}
";
    let (status, out, err) = run(&["analyze", &file("lens", text)]);
    assert_eq!(status, 0, "{err}");
    assert!(out.contains("if all of it is used, bound by gmem in flight"), "{out}");
    assert!(!out.contains("at least"), "{out}");
}

#[test]
fn a_verdict_over_by_little_is_told_in_bytes() {
    let gqa = "examples/gqa_decode/gqa_decode.tf:Decode.heads";
    let (status, out, _) = run(&["analyze", gqa, "--dim", "ctx=1816", "--memory"]);
    assert_eq!(status, 1);
    let said = "does not fit: smem of a cta needs 232512 B at its peak and has 232448 B";
    assert!(out.contains(said), "{out}");
}

#[test]
fn check_assumes_nothing() {
    let says = |args: &[&str], status: i32, part: &str| {
        let text = file("check", "func f(x: f32[8]) -> f32[8] { x + x }\n") + ":f";
        let all: Vec<&str> = ["check", &text].into_iter().chain(args.iter().copied()).collect();
        let (s, out, err) = run(&all);
        assert_eq!(s, status, "{out}{err}");
        assert!(format!("{out}{err}").contains(part), "{out}{err}");
    };
    says(&["--fn", "finite"], 2, "inputs must be stated");
    says(&["--inputs", "random"], 1, "no predicate judges output `output`");
    says(&["--inputs", "random", "--fn", "equal"], 1, "needs a reference");
    says(&["--inputs", "random:x", "--fn", "finite"], 2, "a seed is a whole number");
    says(&["--inputs", "random", "--scale", "nan", "--fn", "finite"], 2, "is not negative");
    says(&["--inputs", "src", "--fn", "finite"], 3, "cannot read `src`: it is a directory");
    says(&["--inputs", "absent.npy", "--fn", "finite"], 3, "no such file");
    says(&["--inputs", "random", "--fn", "alclose"], 1, "did you mean `allclose`?");
    says(&["--inputs", "random", "--atol", "1", "--fn", "finite"], 2, "stands after the `--fn`");
    says(&["--inputs", "random", "--fn", "finite"], 0, "PASS");
    says(&["--inputs", "random", "--fn", "finite", "--json"], 0, "\"pass\": true");
}

#[test]
fn integers_are_finite_and_a_failure_names_its_op_once() {
    let most = "func f(x: f32[8]) -> (f32[1], i64[1]) { topk(x, k = 1) }\n";
    let most = file("finite", most) + ":f";
    let (status, out, err) = run(&["check", &most, "--inputs", "random", "--fn", "finite"]);
    assert_eq!(status, 0, "{out}{err}");
    let rest = "func f(x: i32[4]) -> i32[4] { floor_div(x, x - x) }\n";
    let rest = file("once", rest) + ":f";
    let (status, _, err) = run(&["check", &rest, "--inputs", "random", "--fn", "finite"]);
    assert_eq!(status, 1);
    assert!(err.contains("]: `floor_div`: division by zero"), "{err}");
}

#[test]
fn a_size_that_cannot_run_keeps_the_reports_before_it() {
    let text = "\
dim n in 1..=9;

func f(x: f32[n]) -> i64[n] {
    floor_div(arange(n), arange(n, start = -2))
}
";
    let f = file("part", text) + ":f";
    let args = ["check", &f, "--dim", "n=2,3", "--inputs", "random", "--fn", "finite"];
    let (status, out, err) = run(&args);
    assert_eq!(status, 1);
    assert!(out.contains("at n = 2\n") && out.contains("not every size: FAIL"), "{out}");
    assert!(err.contains("division by zero"), "{err}");
    let (_, out, _) = run(&[&args[..], &["--json"]].concat());
    assert!(out.contains("\"pass\": false"), "{out}");
}

#[test]
fn fmt_checks_and_rewrites() {
    let path = file("fmt", "func f( x :f32[4] )->f32[4]{x+x}\n");
    let (status, out, _) = run(&["fmt", "--check", &path]);
    assert_eq!((status, out.contains(":1: not formatted")), (1, true));
    let (_, shown, _) = run(&["fmt", "--stdout", &path]);
    assert_eq!(run(&["fmt", &path]).0, 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), shown);
    assert_eq!(run(&["fmt", "--check", &path]).0, 0);
    let mut c =
        command(&["fmt", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    c.stdin.take().unwrap().write_all(b"func f(x:f32[4])->f32[4]{x+x}").unwrap();
    assert_eq!(String::from_utf8(c.wait_with_output().unwrap().stdout).unwrap(), shown);
}

#[test]
fn a_reader_that_leaves_is_no_panic() {
    let mut c = command(&["compile", "examples/gqa_decode/gqa_decode.tf", "--emit", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(c.stdout.take());
    let out = c.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// A petabyte of input is refused before anything is allocated.
#[test]
#[cfg(target_os = "linux")]
fn a_run_larger_than_the_machine_is_refused() {
    let dir = std::env::temp_dir().join(format!("tf-room-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("huge.tf");
    std::fs::write(
        &file,
        "module M {\n    target \"nvidia.h200_sxm\";\n\n    entry func f(x: f32[4000000, 4000000]) -> f32[4000000, 4000000] {\n        x + x\n    }\n}\n",
    )
    .unwrap();
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(["check", file.to_str().unwrap(), "--inputs", "random", "--out", "output"])
        .args(["--fn", "finite"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr).to_string();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(out.status.code(), Some(3), "{err}");
    assert!(err.contains("this machine has"), "{err}");
}

//! The answers that the binary carries: each is short, ends with what to ask next, and is found.

use std::path::{Path, PathBuf};
use std::process::Command;

use tilefoundry::book::{self, MODELS, MOST, pages, places};
use tilefoundry::diag::Code;
use tilefoundry::hir::load::STD;
use tilefoundry::ops::registry::OPS;

/// An answer of fewer than [`MOST`] lines, whose last one says what to ask next.
fn short(what: &str, answer: &str) {
    let count = answer.lines().count();
    assert!(count < MOST, "{what} has {count} lines");
    let last = answer.lines().last().unwrap_or_default();
    assert!(last.starts_with("next: `tilefoundry "), "{what} ends with `{last}`");
}

/// The words after `tilefoundry` of the commands that an answer ends with.
fn offered(answer: &str) -> Vec<Vec<String>> {
    let last = answer.lines().last().unwrap_or_default();
    let commands = last.split("`tilefoundry ").skip(1).filter_map(|c| c.split_once('`'));
    commands.map(|(c, _)| c.split(' ').map(String::from).collect()).collect()
}

fn spec(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
    book::spec(&words).unwrap_or_else(|e| panic!("spec {words:?}: {}", e.0))
}

/// The answer of a command that another answer offered.
fn ask(words: &[String]) -> Result<String, String> {
    let said = match (words[0].as_str(), words.get(1).map(String::as_str)) {
        ("spec", Some("--find")) => return Ok(String::new()),
        ("spec", _) => book::spec(&words[1..]),
        ("tutorial", page) => book::tutorial(page),
        ("explain", None) => return Ok(book::codes()),
        ("explain", Some(c)) => {
            return Code::find(c).map(book::explain).ok_or_else(|| format!("no code `{c}`"));
        }
        _ => return Ok(String::new()),
    };
    said.map_err(|e| e.0)
}

#[test]
fn every_answer_is_short_and_what_it_offers_exists() {
    let mut answers = vec![
        ("spec".to_string(), book::topics()),
        ("explain".to_string(), book::codes()),
        ("tutorial".to_string(), book::tutorial(None).unwrap_or_else(|e| panic!("{}", e.0))),
    ];
    for (page, section) in places() {
        let command = book::command((page, section));
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        let answer = ask(&words).unwrap_or_else(|e| panic!("{command}: {e}"));
        assert!(
            answer.contains(&section.title) || page.tutorial || command.starts_with("explain"),
            "`{command}` does not show `{}`:\n{answer}",
            section.title
        );
        answers.push((command, answer));
    }
    for c in Code::ALL {
        answers.push((c.id().into(), book::explain(*c)));
    }
    for (command, answer) in answers {
        short(&command, &answer);
        for offer in offered(&answer) {
            ask(&offer).unwrap_or_else(|e| panic!("`{command}` offers {offer:?}: {e}"));
        }
    }
}

#[test]
fn headings_are_found_by_their_words() {
    for (page, section) in places() {
        let words: Vec<String> = section.title.split(' ').map(String::from).collect();
        let found = book::find(&words).unwrap_or_else(|e| panic!("{words:?}: {}", e.0));
        short(&section.title, &found);
        let command = format!("tilefoundry {}", book::command((page, section)));
        assert!(
            found.lines().any(|l| l.split("  ").next() == Some(&command)),
            "`{}` does not lead to `{command}`:\n{found}",
            section.title
        );
    }
    assert!(book::find(&["xylophone".into()]).is_err());
}

/// Words that people of PyTorch and CUDA type, with what the first answer has.
#[test]
fn words_of_others_lead_to_ours() {
    for (word, first) in [
        ("fp8", "f8e4m3"),
        ("float8", "f8e4m3"),
        ("e4m3", "f8e4m3"),
        ("amax", "spec max"),
        ("quantize", "spec quantize"),
        ("quantization", "spec quantize"),
        ("int8", "i8"),
        ("fp16", "f16"),
        ("float32", "f32"),
        ("mxfp8", "spec quantize_mx"),
        ("kv cache", "inout"),
        ("kv-cache", "inout"),
        ("kvcache", "inout"),
        ("past_key_values", "inout"),
        ("softmax", "spec softmax"),
        ("silu", "spec silu"),
        ("swish", "spec silu"),
        ("layernorm", "spec layer_norm"),
        ("LayerNorm", "spec layer_norm"),
        ("rmsnorm", "spec rms_norm"),
        ("flash attention", "spec attention"),
        ("flash_attention", "spec attention"),
        ("sdpa", "spec attention"),
        ("scaled_dot_product_attention", "spec attention"),
        ("rotary", "spec rope"),
        ("bmm", "spec matmul"),
        ("cat", "spec concat"),
        ("permute", "spec transpose"),
        ("view", "spec reshape"),
        ("masked_fill", "spec where"),
        ("dropout", "forward pass"),
        ("shared memory", "spec placement storages"),
        ("__shared__", "spec placement storages"),
        ("registers", "spec placement storages"),
        ("threadIdx", "spec placement meshes"),
        ("thread block", "spec placement meshes"),
        ("warp shuffle", "spec complete"),
        ("__syncthreads", "order follows"),
        ("atomicAdd", "spec complete"),
        ("tensor cores", "spec placement hints"),
        ("wmma", "spec placement hints"),
        ("cp.async", "via"),
        ("double buffer", "buffers"),
        ("pipeline", "buffers"),
        ("persistent kernel", "persistent"),
        ("coalescing", "uncoalesced"),
        ("autotune", "analyze predicts"),
        ("triton", "twin"),
        ("state_dict", "weight"),
        ("sampling", "generate"),
        ("nccl", "several devices"),
    ] {
        let words: Vec<String> = word.split(' ').map(String::from).collect();
        let found = book::find(&words).unwrap_or_else(|e| panic!("{word}: {}", e.0));
        short(word, &found);
        let line = found.lines().next().unwrap();
        assert!(line.contains(first), "`{word}` leads to\n{found}");
    }
    // what the table offers is there
    let table = spec(&["language", "words of pytorch and cuda"]);
    let offers = table.split('`').filter(|t| t.starts_with("spec ") && !t.contains("--find"));
    for o in offers {
        let words: Vec<&str> = o.split(' ').skip(1).collect();
        spec(&words);
    }
}

#[test]
fn ops_functions_and_codes_are_topics() {
    for op in OPS {
        let said = spec(&[op.name()]);
        assert!(said.starts_with(&format!("### {}(", op.name())), "{said}");
    }
    for (module, _) in STD {
        assert!(spec(&[module]).contains(&format!("std::{module}")) || *module == "attention");
    }
    assert!(spec(&["rms_norm"]).contains("func rms_norm<"));
    assert!(spec(&["std::nn::rms_norm"]).contains("func rms_norm<"));
    assert_eq!(spec(&["tf0310"]), spec(&["partial-operand"]));
    let refused = book::spec(&["matmull".into()]).err().map(|e| e.0).unwrap_or_default();
    assert!(refused.contains("did you mean `matmul`?"), "{refused}");
}

#[test]
fn every_page_of_the_summary_is_carried() {
    let summary = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src/SUMMARY.md");
    let summary = std::fs::read_to_string(summary).unwrap();
    let links = summary.matches(".md)").count();
    assert_eq!(pages().len(), links);
    assert!(pages().iter().any(|p| p.tutorial) && pages().iter().any(|p| !p.tutorial));
}

fn run(args: &[&str], dir: &Path) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

/// An empty folder of a test's own.
fn empty(test: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn a_new_project_does_what_its_readme_says() {
    let dir = empty("new_project");
    let (status, out, err) = run(&["new", "my_step"], &dir);
    assert_eq!((status, err.as_str()), (0, ""));
    short("new", &out);
    let project = dir.join("my_step");
    let readme = std::fs::read_to_string(project.join("README.md")).unwrap();
    let commands: Vec<&str> =
        readme.lines().filter_map(|l| l.strip_prefix("$ tilefoundry ")).collect();
    assert_eq!(commands.len(), 5);
    for c in commands {
        let args: Vec<&str> = c.split(' ').collect();
        let (status, out, err) = run(&args, &project);
        assert_eq!((status, err.as_str()), (0, ""), "{c}\n{out}");
        assert!(!c.starts_with("check") || out.ends_with("PASS\n"), "{out}");
    }
    // a second time, nothing is touched
    std::fs::write(project.join("my_step.tf"), "mine").unwrap();
    let (status, _, err) = run(&["new", "my_step"], &dir);
    assert!(status == 1 && err.contains("nothing is overwritten"), "{err}");
    assert_eq!(std::fs::read_to_string(project.join("my_step.tf")).unwrap(), "mine");
    for wrong in ["../up", "a/b", "", "1st", "a b"] {
        assert_eq!(run(&["new", wrong], &dir).0, 2, "{wrong}");
    }
}

#[test]
fn models_are_listed_printed_and_copied() {
    let dir = empty("models");
    let (status, out, _) = run(&["models"], &dir);
    assert_eq!(status, 0);
    short("models", &out);
    for (name, files) in MODELS {
        assert!(out.contains(name));
        short(name, &run(&["models", name], &dir).1);
        // the parts of a program are the whole of it
        let (_, text) = files.iter().find(|(f, _)| f.ends_with(".tf")).unwrap();
        let mut whole: Vec<String> = vec![];
        while whole.len() < text.lines().count() {
            let from = (whole.len() + 1).to_string();
            let (status, part, err) = run(&["models", name, "--source", "--from", &from], &dir);
            assert_eq!(status, 0, "{err}");
            short(name, &part);
            let lines: Vec<&str> = part.lines().collect();
            whole.extend(lines[..lines.len() - 2].iter().map(|l| l.to_string()));
        }
        assert_eq!(whole, text.lines().collect::<Vec<_>>());
        let copy = format!("my_{name}");
        assert_eq!(run(&["new", &copy, "--model", name], &dir).0, 0);
        for (file, text) in *files {
            let copied = std::fs::read_to_string(dir.join(&copy).join(file)).unwrap();
            assert_eq!(copied, *text);
        }
    }
    assert_eq!(run(&["models", "gpt9"], &dir).0, 2);
}

#[test]
fn without_a_command_the_commands_are_listed() {
    let dir = empty("no_command");
    let (status, out, err) = run(&[], &dir);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.lines().count() < 40);
    short("no command", &out);
    let order = [
        "new ",
        "tutorial ",
        "spec ",
        "compile ",
        "check ",
        "analyze ",
        "measure ",
        "target ",
        "explain ",
        "fmt ",
    ];
    let at: Vec<Option<usize>> = order
        .iter()
        .map(|c| out.lines().position(|l| l.strip_prefix("  ").is_some_and(|l| l.starts_with(c))))
        .collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}\n{out}");
}

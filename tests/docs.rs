//! Holds the documentation against the program.
//!
//! In README.md, `book/src/*.md` and `examples/*/README.md`:
//!
//! - every line `$ tilefoundry ..` of a `console` block runs at the root of the repository, and what
//!   it says, standard error first, is what stands below it. `| head -N` keeps the first lines,
//!   a `\` at the end of a line goes on with the next, and a status other than 0 is shown as the
//!   last line `[exit status 1]`.
//! - every `tf` block compiles, or its comments `// error[TF0201]` name what is reported.
//!
//! The chapters of the tutorial run one after the other in one empty folder, as a reader's do: `$ cd
//! probs` moves on, and a block ```` ```tf,file=a.tf ```` is written there before what follows it.
//!
//! The pages of ops, of the standard library and of diagnostics are generated from the registry,
//! the doc comments of `stdlib/*.tf` and the list of codes.
//! `TF_UPDATE=1 cargo test --test docs` rewrites outputs and pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use tilefoundry::analysis::advice::{RULES, Rule};
use tilefoundry::analysis::schema::schema;
use tilefoundry::base::SourceMap;
use tilefoundry::book;
use tilefoundry::diag::{Code, GROUPS, render_text};
use tilefoundry::hir::load::{STD, Sources};
use tilefoundry::ops::registry::OPS;
use tilefoundry::ops::{DefaultValue, Op, Param, ParamKind};
use tilefoundry::session::{Session, Targets};
use tilefoundry::syntax::ast::ItemKind;
use tilefoundry::syntax::parser::parse;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn update() -> bool {
    std::env::var_os("TF_UPDATE").is_some_and(|v| v == "1")
}

fn read(path: &Path) -> Result<String, Failed> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()).into())
}

fn pages() -> Vec<PathBuf> {
    let below = |dir: &str| {
        let list = std::fs::read_dir(root().join(dir)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = list.map(|e| e.path()).collect();
        paths.sort();
        paths
    };
    let mut out = vec![root().join("README.md")];
    out.extend(below("book/src").into_iter().filter(|p| p.extension().is_some_and(|e| e == "md")));
    out.extend(below("examples").into_iter().map(|p| p.join("README.md")).filter(|p| p.is_file()));
    out
}

/// A page as text and fenced blocks, in order; together they are the page.
enum Part {
    Text(String),
    /// The fence's line, the lines inside, the closing line.
    Block {
        open: String,
        lines: Vec<String>,
        close: String,
    },
}

fn parts(page: &str) -> Vec<Part> {
    let mut out = vec![];
    let mut lines = page.lines();
    let mut text = String::new();
    while let Some(l) = lines.next() {
        if !l.starts_with("```") {
            text += l;
            text.push('\n');
            continue;
        }
        out.push(Part::Text(std::mem::take(&mut text)));
        let mut inside = vec![];
        let mut close = "```".to_string();
        for l in lines.by_ref() {
            if l.starts_with("```") {
                close = l.to_string();
                break;
            }
            inside.push(l.to_string());
        }
        out.push(Part::Block { open: l.to_string(), lines: inside, close });
    }
    out.push(Part::Text(text));
    out
}

/// Words of a command line; quotes keep blanks.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quote, mut any) = (vec![], String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => (quote, any) = (Some(c), true),
            (Some(q), c) if q == c => quote = None,
            (None, ' ') => {
                if any || !word.is_empty() {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            _ => word.push(c),
        }
    }
    if any || !word.is_empty() {
        out.push(word);
    }
    out
}

fn output(command: &str, dir: &Path) -> Result<Vec<String>, Failed> {
    let (command, keep) = match command.split_once(" | head -") {
        Some((c, n)) => (c, n.trim().parse::<usize>().map_err(|e| e.to_string())?),
        None => (command, usize::MAX),
    };
    let args = words(command);
    let run = Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(&args[1..])
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .output()?;
    let mut text = String::from_utf8_lossy(&run.stderr).into_owned();
    text += &String::from_utf8_lossy(&run.stdout);
    let mut lines: Vec<String> =
        text.lines().map(|l| l.trim_end().to_string()).take(keep).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    match run.status.code() {
        Some(0) => {}
        Some(n) => lines.push(format!("[exit status {n}]")),
        None => lines.push("[killed]".into()),
    }
    Ok(lines)
}

/// A console block with what its commands say now, in a folder that `cd` changes.
fn console(lines: &[String], dir: &mut PathBuf) -> Result<Vec<String>, Failed> {
    let mut out = vec![];
    let mut i = 0;
    while i < lines.len() {
        let Some(first) = lines[i].strip_prefix("$ ") else {
            // output before any command, or of one that is not run
            out.push(lines[i].clone());
            i += 1;
            continue;
        };
        let mut command = first.to_string();
        out.push(lines[i].clone());
        i += 1;
        while command.ends_with('\\') && i < lines.len() {
            command.pop();
            command = format!("{} {}", command.trim_end(), lines[i].trim());
            out.push(lines[i].clone());
            i += 1;
        }
        if let Some(to) = command.strip_prefix("cd ") {
            dir.push(to);
        }
        if !command.starts_with("tilefoundry ") {
            continue;
        }
        while i < lines.len() && !lines[i].starts_with("$ ") {
            i += 1;
        }
        out.extend(output(&command, dir)?);
        if i < lines.len() {
            out.push(String::new());
        }
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    Ok(out)
}

/// The files of a folder, and a block as one of them.
struct Beside<'a> {
    dir: &'a Path,
    text: &'a str,
}

impl Sources for Beside<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "block.tf" => Ok(self.text.into()),
            _ => std::fs::read(self.dir.join(path)).map_err(|e| e.to_string()),
        }
    }
}

fn block(text: &str, dir: &Path) -> Result<(), Failed> {
    let session = Session::open(&Beside { dir, text }, "block.tf", &[], Targets::default());
    let mut wanted: Vec<(usize, String)> = vec![];
    for (n, line) in text.lines().enumerate() {
        for level in ["// error[", "// warning["] {
            let parts = line.split(level).skip(1).filter_map(|r| r.split_once(']'));
            wanted.extend(parts.map(|(code, _)| (n + 1, code.to_string())));
        }
    }
    let mut problems = vec![];
    for d in session.diagnostics() {
        let line = d.span().and_then(|s| Some(session.sources().get(s.file)?.position(s.start).0));
        match wanted.iter().position(|(l, c)| Some(*l) == line && c == d.code.id()) {
            Some(i) => drop(wanted.remove(i)),
            None => problems.push(render_text(&d, session.sources(), false)),
        }
    }
    problems.extend(wanted.iter().map(|(l, c)| format!("line {l}: {c} is not reported")));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{text}\n{}", problems.join("\n")).into())
    }
}

fn page(path: &Path) -> Result<(), Failed> {
    page_in(path, &mut root().to_path_buf())
}

/// The chapters of the tutorial, in order, in a folder of their own.
fn tutorial() -> Result<(), Failed> {
    let mut dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    let mut wrong = vec![];
    for p in book::pages().iter().filter(|p| p.tutorial) {
        // one that is wrong leaves its files to those that follow
        let path = root().join("book/src").join(format!("{}.md", p.name));
        wrong.extend(page_in(&path, &mut dir).err().map(|e| format!("{e:?}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn page_in(path: &Path, dir: &mut PathBuf) -> Result<(), Failed> {
    let old = read(path)?;
    let mut new = String::new();
    for p in parts(&old) {
        match p {
            Part::Text(t) => new += &t,
            Part::Block { open, lines, close } => {
                let kind = open.trim_start_matches('`').split([',', ' ']).next().unwrap_or("");
                if kind == "tf" {
                    let text = lines.join("\n") + "\n";
                    block(&text, dir)?;
                    if let Some((_, file)) = open.split_once(",file=") {
                        std::fs::write(dir.join(file), text)?;
                    }
                }
                let now = if kind == "console" { console(&lines, dir)? } else { lines };
                new += &format!("{open}\n");
                for l in now {
                    new += &format!("{l}\n");
                }
                new += &format!("{close}\n");
            }
        }
    }
    same(path, &old, &new)
}

/// The page is as it should be, or becomes so under `TF_UPDATE=1`.
fn same(path: &Path, old: &str, new: &str) -> Result<(), Failed> {
    if old.trim_end() == new.trim_end() {
        return Ok(());
    }
    if update() {
        std::fs::write(path, new)?;
        return Ok(());
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let at = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let show = |l: &[&str]| l.iter().skip(at).take(12).copied().collect::<Vec<_>>().join("\n");
    Err(format!(
        "{}:{} differs (`TF_UPDATE=1 cargo test --test docs` rewrites it)\nwritten:\n{}\nnow:\n{}",
        path.display(),
        at + 1,
        show(&a),
        show(&b)
    )
    .into())
}

fn generated(name: &str, text: String) -> Result<(), Failed> {
    let path = root().join("book/src").join(name);
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    same(&path, &old, &text)
}

fn show_param(p: &Param) -> String {
    let name = p.name;
    match &p.default {
        DefaultValue::Required if !p.positional => format!("{name} = .."),
        DefaultValue::Absent if !p.positional => format!("[{name} = ..]"),
        DefaultValue::Required if matches!(p.kind, ParamKind::Tensors) => format!("{name}.."),
        DefaultValue::Required => name.to_string(),
        DefaultValue::Absent => format!("[{name}]"),
        DefaultValue::Bool(b) => format!("{name} = {b}"),
        DefaultValue::Int(i) => format!("{name} = {i}"),
        DefaultValue::Float(x) => format!("{name} = {x:?}"),
        DefaultValue::Str(s) => format!("{name} = {s:?}"),
    }
}

fn op(o: &dyn Op) -> String {
    let doc = o.doc();
    let params: Vec<String> = o.params().iter().map(show_param).collect();
    let mut out = format!(
        "### `{}({})`\n\n{}\n\n{}\n\n",
        o.name(),
        params.join(", "),
        doc.summary,
        doc.details
    );
    for e in doc.examples {
        out += "```text\n";
        for (name, ty, values) in e.inputs {
            out += &format!("{name}: {ty} = {}\n", numbers(values));
        }
        let (ty, values) = e.result;
        out += &format!("{}\n-> {ty} = {}\n```\n\n", e.code, numbers(values));
    }
    out
}

fn numbers(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(16).map(f64::to_string).collect();
    let dots = if values.len() > 16 { ", .." } else { "" };
    format!("[{}{dots}]", shown.join(", "))
}

fn ops_page() -> Result<(), Failed> {
    let mut out = String::from(
        "# Ops\n\nGenerated from the registry. Parameters in brackets may be left out; those with `=` are given by name.\nEvery example runs in the tests.\n\n",
    );
    let mut group = "";
    for o in OPS {
        if o.group() != group {
            group = o.group();
            out += &format!("## {group}\n\n");
        }
        out += &op(*o);
    }
    generated("ops.md", out)
}

/// Modules of the standard library, and their functions that have doc comments.
fn stdlib_page() -> Result<(), Failed> {
    let mut out = String::from(
        "# Standard library\n\nGenerated from the doc comments of `stdlib/*.tf`. The library is written in the language, so a function\ncosts what its body costs, and a program reads it with `use std::nn::{rms_norm, rope};`. A parameter\nwith a default is given by name, and may be left out.\n\n",
    );
    let mut modules: Vec<_> = STD.iter().collect();
    modules.sort();
    for (module, text) in modules {
        let id = SourceMap::default().add(*module, *text);
        let file = parse(id, text).file;
        out += &format!("## `std::{module}`\n\n{}\n\n", file.doc.unwrap_or_default().trim());
        for item in &file.items {
            let ItemKind::Func(f) = &item.kind else { continue };
            // those without are the library's own
            let Some(doc) = &item.doc else { continue };
            let header = &text[f.header.range()];
            out += &format!("### `{}`\n\n{}\n\n", f.name.text, doc.trim());
            out += &format!("```text\n{header}\n```\n\n");
        }
    }
    generated("stdlib.md", out)
}

fn diagnostics_page() -> Result<(), Failed> {
    let mut out = String::from(
        "# Diagnostics\n\nGenerated from the list of codes; `tilefoundry explain CODE` prints one.\n\n",
    );
    for (digits, group) in GROUPS {
        out += &format!("## {group}\n\n");
        let mut codes: Vec<&Code> = Code::ALL.iter().filter(|c| c.in_group(digits)).collect();
        codes.sort_by_key(|c| c.id());
        for c in codes {
            out += &format!(
                "### {} {}\n\n*{}*: {}.\n\n{}\n\n",
                c.id(),
                c.name(),
                c.level().as_str(),
                c.summary(),
                c.long()
            );
        }
    }
    generated("diagnostics.md", out)
}

/// The findings of `--advice` in the page on analyses, between two comments.
fn advice_section() -> Result<(), Failed> {
    let rule = |r: &&Rule| {
        format!(
            "### {}\n\n{}. {}\n\n- Size: {}\n- Remedy: {}\n\n",
            r.kind,
            capital(r.title),
            r.means,
            r.size,
            r.remedy
        )
    };
    let rules: String = RULES.iter().map(rule).collect();
    between("analyses.md", "<!-- advice: from the registry -->", "<!-- /advice -->", &rules)
}

/// The part of a page between two comments is this text.
fn between(page: &str, open: &str, close: &str, text: &str) -> Result<(), Failed> {
    let path = root().join("book/src").join(page);
    let old = read(&path)?;
    let (open, close) = (format!("{open}\n"), format!("{close}\n"));
    let lacks = || format!("{page} has no `{}`", open.trim());
    let (before, rest) = old.split_once(&open).ok_or_else(lacks)?;
    let (_, after) = rest.split_once(&close).ok_or_else(lacks)?;
    same(&path, &old, &format!("{before}{open}\n{text}{close}{after}"))
}

/// The records of `analyze --json`, from their schema.
fn records_section() -> Result<(), Failed> {
    let schema: serde_json::Value = serde_json::from_str(&schema()).map_err(|e| e.to_string())?;
    let text = |v: &serde_json::Value| {
        let d = v.get("description").and_then(|d| d.as_str()).unwrap_or_default();
        d.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    };
    let mut out = String::new();
    for (name, def) in schema.get("$defs").and_then(|d| d.as_object()).into_iter().flatten() {
        let fields = def.get("properties").and_then(|p| p.as_object());
        let Some(fields) = fields.filter(|f| !f.is_empty()) else { continue };
        out += &format!("### {name}\n\n{}\n\n| field | is |\n|---|---|\n", text(def));
        for (field, v) in fields {
            out += &format!("| `{field}` | {} |\n", text(v));
        }
        out.push('\n');
    }
    between("json.md", "<!-- records: from the schema -->", "<!-- /records -->", &out)
}

fn capital(s: &str) -> String {
    let mut c = s.chars();
    c.next().map_or(String::new(), |f| f.to_uppercase().chain(c).collect())
}

/// Every path that CONTRIBUTING.md names in backticks exists.
fn contributing() -> Result<(), Failed> {
    let text = read(&root().join("CONTRIBUTING.md"))?;
    let is_path =
        |s: &&str| s.contains('/') && !s.contains([' ', '<', '*', ':']) && !s.starts_with("//");
    let missing: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(is_path)
        .filter(|p| !root().join(p).exists())
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no such path: {missing:?}").into()) }
}

/// Every page of the book is in its summary, and every link of the summary has a page.
fn summary() -> Result<(), Failed> {
    let text = read(&root().join("book/src/SUMMARY.md"))?;
    let links: Vec<&str> =
        text.split("](").skip(1).filter_map(|r| r.split_once(')')).map(|(l, _)| l).collect();
    for p in pages().iter().filter(|p| p.starts_with(root().join("book/src"))) {
        let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if name != "SUMMARY.md" && !links.contains(&name.as_str()) {
            return Err(format!("{name} is not in SUMMARY.md").into());
        }
    }
    match links.iter().find(|l| !root().join("book/src").join(l).exists()) {
        Some(l) => Err(format!("SUMMARY.md links {l}, which does not exist").into()),
        None => Ok(()),
    }
}

/// The test command of the README is what CI runs.
fn readme() -> Result<(), Failed> {
    let (readme, ci) = (read(&root().join("README.md"))?, read(&root().join(".ci/run"))?);
    for c in ["cargo test --release", ".ci/run"] {
        if !readme.contains(c) {
            return Err(format!("README.md does not name `{c}`").into());
        }
    }
    if !ci.lines().any(|l| l.trim() == "cargo test --release") {
        return Err("`.ci/run` does not run `cargo test --release`".into());
    }
    Ok(())
}

fn main() {
    let args = Arguments::from_args();
    // two tests hold one page: its section is written before both
    if update() {
        for section in [advice_section, records_section] {
            if let Err(e) = section() {
                eprintln!("{e:?}");
            }
        }
    }
    let mut trials = vec![
        Trial::test("ops_page", ops_page),
        Trial::test("stdlib_page", stdlib_page),
        Trial::test("diagnostics_page", diagnostics_page),
        Trial::test("contributing", contributing),
        Trial::test("advice_section", advice_section),
        Trial::test("records_section", records_section),
        Trial::test("summary", summary),
        Trial::test("tutorial", tutorial),
        Trial::test("readme", readme),
    ];
    let chapter = |p: &Path| {
        let name = p.file_stem().unwrap_or_default();
        p.starts_with(root().join("book"))
            && book::pages().iter().any(|c| c.tutorial && name == c.name)
    };
    for p in pages().into_iter().filter(|p| !chapter(p)) {
        let name = p.strip_prefix(root()).unwrap_or(&p).display().to_string();
        trials.push(Trial::test(name, move || page(&p)));
    }
    libtest_mimic::run(&args, trials).exit();
}

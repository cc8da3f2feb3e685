//! Runs every `.tf` file of the corpus and holds it against what its comments say. Files are
//! found, never listed: a file is a test.
//!
//! In `tests/programs`, `tests/errors`, `tests/samples` and `examples` (files whose names begin
//! with `_` are only imported by others):
//!
//! - `// error[TF0201]: message part` stands on the line at which the diagnostic is reported;
//!   `// warning[..]` likewise. Where that line cannot bear a comment,
//!   `// error[TF0201] at 7: message part` or `at 7:13` names line and column. Every diagnostic
//!   must be expected.
//! - `// reveal: name: type` asserts the type and placement of a named value of some graph;
//!   `// reveal: func.name: type` of the graph of one function.
//! - `// cost: gmem.read = 123` asserts a figure of the analysis (`Analysis::figure`) of the only
//!   boundary, or the only entry, or the only function; `// cost: Module.func: gmem.read = 123`
//!   names one. `// dim: ctx = 128` sets a size.
//! - `// set: NAME = VALUE` replaces a const.
//! - `// unformatted: reason` says why a file is not in the one layout.
//! - `// run: check FILE --inputs random:1 --fn finite` runs the binary with these words, for what
//!   only a run finds (codes TF04xx and TF05xx). FILE stands for the file's own path, other paths
//!   are relative to the root of the repository, spaces separate words, and there is no shell. The
//!   run must end with status 1, and everything that it reports must be expected by the comments
//!   of the file. A diagnostic without a place is `// error[TF0421] anywhere: message part`.
//!
//! A file of `tests/errors/<code>/` must report that code. If a diagnostic of it has a fix, the
//! comment `// fixed` asserts that the file compiles once all fixes are applied; if none has,
//! `// no fix: reason` says why.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tilefoundry::analysis::{Options, analyze};
use tilefoundry::diag::{Code, Diagnostic, Level, render_json, render_text};
use tilefoundry::graph::{dot, json, print};
use tilefoundry::hir::ItemRef;
use tilefoundry::hir::load::Sources;
use tilefoundry::session::{MemorySources, Selection, Session, Targets, has_errors, points, tidy};
use tilefoundry::syntax::ast::{ItemKind, Vis};
use tilefoundry::syntax::format_text;
use tilefoundry::twin::image;

/// Codes that no file of `tests/errors` can trigger, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("TF0109", "a file of 4 GiB is not kept; the parser's own tests hold it"),
    ("TF0200", "a defect of the compiler; none is known"),
    ("TF0409", "TF0237 holds the arms against the dim, and a size outside the dim is refused"),
    ("TF0411", "TF0204 refuses a step that is not proved positive"),
];

/// Codes of what only a run finds: `// run:` triggers them.
const RUN_ONLY: &[&str] = &["TF04", "TF05"];

fn only_a_run(code: &str) -> bool {
    RUN_ONLY.iter().any(|p| code.starts_with(p))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All `.tf` files below a folder, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut out = vec![];
    let mut todo = vec![root().join(folder)];
    while let Some(dir) = todo.pop() {
        for e in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = e.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|x| x == "tf") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|e| e.to_string())
    }
}

/// A diagnostic that a comment asks for.
#[derive(Debug)]
struct Want {
    level: Level,
    code: String,
    place: Option<WantPlace>,
    part: String,
}

#[derive(Debug)]
struct WantPlace {
    file: String,
    line: usize,
    col: Option<usize>,
}

/// A diagnostic as it was reported, by the library or by the binary.
struct Found {
    level: String,
    code: String,
    message: String,
    place: Option<(String, usize, usize)>,
    /// All other texts: labels, notes, help, titles of fixes.
    texts: Vec<String>,
    has_fix: bool,
    shown: String,
}

impl Want {
    fn fits(&self, f: &Found) -> bool {
        let place = match (&self.place, &f.place) {
            (Some(w), Some((file, line, col))) => {
                w.file == *file && w.line == *line && w.col.is_none_or(|c| c == *col)
            }
            (None, None) => true,
            _ => false,
        };
        place
            && self.code == f.code
            && self.level.as_str() == f.level
            && f.message.contains(&self.part)
    }

    fn show(&self) -> String {
        let place = match &self.place {
            None => "anywhere".to_string(),
            Some(WantPlace { file, line, col: None }) => format!("{file}:{line}"),
            Some(WantPlace { file, line, col: Some(c) }) => format!("{file}:{line}:{c}"),
        };
        format!("{place}: {}[{}]: {}", self.level.as_str(), self.code, self.part)
    }
}

/// Pairs what was found with what is wanted.
fn matched<'a>(found: &[Found], wanted: impl IntoIterator<Item = &'a Want>) -> Result<(), Failed> {
    let mut left: Vec<&Want> = wanted.into_iter().collect();
    let mut problems = vec![];
    for f in found {
        match left.iter().position(|w| w.fits(f)) {
            Some(i) => drop(left.remove(i)),
            None => problems.push(format!("not expected:\n{}", f.shown)),
        }
    }
    problems.extend(left.iter().map(|w| format!("not reported: {}", w.show())));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// The comments of a file that ask for something.
#[derive(Default)]
struct Wants {
    diags: Vec<Want>,
    reveals: Vec<(String, String)>,
    costs: Vec<(String, String)>,
    dims: Vec<(String, i64)>,
    fixed: bool,
    no_fix: bool,
    unformatted: bool,
}

fn pair(text: &str, sep: &str) -> Option<(String, String)> {
    let (a, b) = text.split_once(sep)?;
    Some((a.trim().to_string(), b.trim().to_string()))
}

impl Wants {
    fn read(&mut self, file: &str, text: &str) -> Result<(), Failed> {
        for (n, line) in text.lines().enumerate() {
            for part in line.split("// ").skip(1).map(str::trim) {
                self.comment(file, n + 1, part).map_err(|e| format!("{file}:{}: {e}", n + 1))?;
            }
        }
        Ok(())
    }

    fn comment(&mut self, file: &str, line: usize, text: &str) -> Result<(), String> {
        for level in [Level::Error, Level::Warning] {
            let Some(rest) = text.strip_prefix(level.as_str()).and_then(|t| t.strip_prefix('['))
            else {
                continue;
            };
            let (code, rest) = rest.split_once(']').ok_or("expected `]`")?;
            let (at, part) = rest.split_once(':').map_or((rest, ""), |(a, b)| (a, b));
            // `at 7:13: message` has a colon in its place
            let (at, part) = match part.split_once(':') {
                Some((col, more))
                    if !at.trim().is_empty() && col.chars().all(|c| c.is_ascii_digit()) =>
                {
                    (format!("{at}:{col}"), more)
                }
                _ => (at.to_string(), part),
            };
            let place = match (at.trim(), at.trim().strip_prefix("at ")) {
                ("anywhere", _) => None,
                (_, Some(p)) => {
                    let (l, c) = p.split_once(':').map_or((p, None), |(l, c)| (l, Some(c)));
                    let number = |t: &str| t.trim().parse::<usize>().map_err(|e| e.to_string());
                    let (line, col) = (number(l)?, c.map(number).transpose()?);
                    Some(WantPlace { file: file.into(), line, col })
                }
                ("", None) => Some(WantPlace { file: file.into(), line, col: None }),
                (other, None) => return Err(format!("`{other}` is no place")),
            };
            let (code, part) = (code.into(), part.trim().into());
            self.diags.push(Want { level, code, place, part });
        }
        if let Some(r) = text.strip_prefix("reveal: ") {
            self.reveals.push(pair(r, ": ").ok_or("expected `reveal: name: type`")?);
        }
        if let Some(r) = text.strip_prefix("cost: ") {
            self.costs.push(pair(r, "=").ok_or("expected `cost: gmem.read = 123`")?);
        }
        if let Some(r) = text.strip_prefix("dim: ") {
            let (name, v) = pair(r, "=").ok_or("expected `dim: ctx = 128`")?;
            self.dims.push((name, v.parse().map_err(|_| "expected an integer")?));
        }
        self.fixed |= text == "fixed";
        self.no_fix |= text.starts_with("no fix: ");
        self.unformatted |= text.starts_with("unformatted: ");
        Ok(())
    }
}

/// `// set: NAME = VALUE` of the root file.
fn consts(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(|l| pair(l.split_once("// set: ")?.1, "=")).collect()
}

/// `// run: ..` of the root file, as words.
fn command(name: &str, text: &str) -> Result<Option<Vec<String>>, Failed> {
    let mut all = text.lines().filter_map(|l| l.strip_prefix("// run: "));
    let Some(line) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err("a file has one `// run:`".into());
    }
    Ok(Some(line.split_whitespace().map(|w| w.replace("FILE", name)).collect()))
}

/// Runs the binary and reads what it reports.
fn reported(words: &[String]) -> Result<Vec<Found>, Failed> {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_tilefoundry"))
        .args(words)
        .args(["--message-format", "json"])
        .current_dir(root())
        .output()?;
    let err = String::from_utf8_lossy(&out.stderr);
    if out.status.code() != Some(1) {
        return Err(format!("the run ended with {}, expected 1:\n{err}", out.status).into());
    }
    err.lines().map(found).collect()
}

/// A line of the binary's report.
fn found(line: &str) -> Result<Found, Failed> {
    let v: Value =
        serde_json::from_str(line).map_err(|e| format!("not a line of JSON ({e}): {line}"))?;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let number = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let labels = list(&v["labels"]);
    let texts = (labels.iter().map(|l| text(&l["text"])))
        .chain(list(&v["notes"]).into_iter().map(|n| text(&n)))
        .chain(v["help"].as_str().map(String::from))
        .chain(v["fix"]["title"].as_str().map(String::from));
    Ok(Found {
        level: text(&v["level"]),
        code: text(&v["code"]),
        message: text(&v["message"]),
        place: labels.first().map(|l| (text(&l["file"]), number(&l["line"]), number(&l["col"]))),
        texts: texts.collect(),
        has_fix: !v["fix"].is_null(),
        shown: format!("{v:#}"),
    })
}

struct Case {
    session: Session,
    wants: Wants,
    diags: Vec<Diagnostic>,
    /// What a `// run:` reported.
    ran: Vec<Found>,
}

/// The documents of a folder `targets` beside a file, as `--target-dir` reads them.
fn beside(name: &str) -> Targets {
    let dir = Path::new(name).parent().unwrap_or(Path::new("")).join("targets");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let toml = files.filter(|f| f.extension().is_some_and(|x| x == "toml"));
    let read = |f: PathBuf| {
        let id = f.file_stem()?.to_str()?.to_string();
        Some((id, std::fs::read_to_string(&f).ok()?))
    };
    Targets(toml.filter_map(read).collect())
}

/// What `compile` says: of the program, and of the images of its kernels.
fn diagnostics(session: &Session, sources: &dyn Sources) -> Vec<Diagnostic> {
    let mut all = session.diagnostics();
    all.extend(image::check::diagnostics(session, sources));
    tidy(all)
}

fn open(sources: &dyn Sources, name: &str, text: &str) -> Result<Case, Failed> {
    let session = Session::open(sources, name, &consts(text), beside(name));
    let mut wants = Wants::default();
    for (_, f) in session.sources().files() {
        if !f.name.starts_with("std::") {
            wants.read(&f.name, &f.text)?;
        }
    }
    let diags = diagnostics(&session, sources);
    Ok(Case { session, wants, diags, ran: vec![] })
}

impl Case {
    fn shown(&self, d: &Diagnostic) -> String {
        render_text(d, self.session.sources(), false)
    }

    /// What compiling found.
    fn found(&self) -> Vec<Found> {
        let one = |d: &Diagnostic| {
            let place = d.span().and_then(|s| {
                let f = self.session.sources().get(s.file)?;
                let (line, col) = f.position(s.start);
                Some((f.name.clone(), line, col))
            });
            let texts = (d.labels.iter().map(|l| &l.text))
                .chain(&d.notes)
                .chain(&d.help)
                .chain(d.fix.iter().map(|f| &f.title));
            Found {
                level: d.level.as_str().into(),
                code: d.code.id().into(),
                message: d.message.clone(),
                place,
                texts: texts.cloned().collect(),
                has_fix: d.fix.is_some(),
                shown: self.shown(d),
            }
        };
        self.diags.iter().map(one).collect()
    }

    fn diagnostics(&self) -> Result<(), Failed> {
        if !self.session.wrong_settings.is_empty() {
            return Err(self.session.wrong_settings.join("\n").into());
        }
        matched(&self.found(), self.wants.diags.iter().filter(|w| !only_a_run(&w.code)))
    }

    /// The run that the root file asks for.
    fn run(&mut self, name: &str, text: &str) -> Result<(), Failed> {
        match command(name, text)? {
            Some(words) => {
                self.ran = reported(&words)?;
                matched(&self.ran, &self.wants.diags)?;
                wording(&self.ran)
            }
            None if self.wants.diags.iter().any(|w| only_a_run(&w.code)) => {
                Err("only a run reports this code: say which with `// run: ..`".into())
            }
            None => Ok(()),
        }
    }

    fn reveals(&self) -> Result<(), Failed> {
        for (name, want) in &self.wants.reveals {
            let mut found = BTreeSet::new();
            for r in self.session.roots() {
                let c = self.session.compile(r);
                let Some(g) = &c.graph else { continue };
                let value = match name.split_once('.') {
                    Some((f, v)) if f == g.name => v,
                    Some(_) => continue,
                    None => name.as_str(),
                };
                for (_, v) in g.values() {
                    if v.name.as_deref() == Some(value) {
                        found.insert(v.ty.show_placed(&g.vars, &g.meshes));
                    }
                }
            }
            if !found.contains(want) {
                let all: Vec<String> = found.into_iter().collect();
                let all = if all.is_empty() { "no such value".into() } else { all.join("\n  ") };
                return Err(format!("reveal: {name}\n  {want}\nexpected, found\n  {all}").into());
            }
        }
        Ok(())
    }

    /// The function that a cost without a name is about.
    fn main_function(&self) -> Option<ItemRef> {
        let p = &self.session.program;
        let roots = self.session.roots();
        let vis = |r: &ItemRef| match p.item(*r).map(|i| &i.kind) {
            Some(ItemKind::Func(f)) => f.vis,
            _ => Vis::Private,
        };
        let only = |keep: &dyn Fn(&Vis) -> bool| {
            let mut fit = roots.iter().filter(|r| keep(&vis(r)));
            fit.next().copied().filter(|_| fit.next().is_none())
        };
        only(&|v| *v != Vis::Private)
            .or_else(|| only(&|v| *v == Vis::Entry))
            .or_else(|| only(&|_| true))
    }

    fn costs(&self) -> Result<(), Failed> {
        for (path, want) in &self.wants.costs {
            let (func, path) = match path.split_once(':') {
                Some((f, p)) => {
                    let sel = Selection::parse(&format!("x.tf:{}", f.trim()));
                    (Some(self.session.select(&sel)?), p.trim())
                }
                None => (self.main_function(), path.as_str()),
            };
            let Some(func) = func else {
                return Err("cost: several functions; write `// cost: Module.func: ..`".into());
            };
            let c = self.session.compile(func);
            let Some(g) = &c.graph else { return Err("cost: the function has no graph".into()) };
            let known = |n: &str| g.dims.iter().any(|d| g.vars.name(*d) == n);
            let dims: Vec<(String, Vec<i64>)> = (self.wants.dims.iter())
                .filter(|(n, _)| known(n))
                .map(|(n, v)| (n.clone(), vec![*v]))
                .collect();
            let point = points(g, &dims)?.into_iter().next().ok_or("cost: no sizes")?;
            let target = func.module.and_then(|m| {
                self.session.target(ItemRef { file: func.file, module: None, item: m })
            });
            let found = analyze(g, &point.env, target.as_deref(), &Options::default())
                .map_err(|d| self.shown(&d))?;
            let want: u128 = want.replace(['_', ','], "").parse().map_err(|_| "not an integer")?;
            if found.figure(path) != Some(want) {
                let now = found.figure(path).map_or("no such figure".into(), |n| n.to_string());
                return Err(format!("cost: {path}: expected {want}, found {now}").into());
            }
        }
        Ok(())
    }

    /// Every form of output, as one text.
    fn emitted(&self) -> String {
        let mut out = String::new();
        for r in self.session.roots() {
            let c = self.session.compile(r);
            if let Some(g) = &c.graph {
                out += &print::print(g);
                out += &dot::dot(g);
                out += &json::json(g).to_string();
            }
        }
        for d in &self.diags {
            out += &self.shown(d);
            out += &render_json(d, self.session.sources());
        }
        out
    }
}

/// No message speaks of the compiler's insides.
fn wording(all: &[Found]) -> Result<(), Failed> {
    const BANNED: &[&str] = &[
        "NodeId",
        "ValueId",
        "RegionId",
        "ScopeId",
        "VarId",
        "AxisId",
        "MeshId",
        "ItemRef",
        "Some(",
        "None",
        "Ok(",
        "Err(",
        "petgraph",
        "lalrpop",
        "logos",
        "unwrap",
        "panicked",
        "src/",
        ".rs:",
        "TensorTy",
        "Expr {",
        "Placement {",
        "you ",
        "You ",
    ];
    for f in all {
        for t in std::iter::once(&f.message).chain(&f.texts) {
            // a suggestion has this form, and what stands in backticks is the program's own
            let t = t.strip_prefix("did you mean ").unwrap_or(t);
            let plain: String = t.split('`').step_by(2).collect();
            if let Some(b) = BANNED.iter().find(|b| plain.contains(**b)) {
                return Err(format!("`{b}` in a message: {t}").into());
            }
        }
        let m = &f.message;
        let starts_upper = m.chars().next().is_some_and(char::is_uppercase);
        if m.ends_with('.') || m.trim().is_empty() || starts_upper {
            return Err(format!("a message is lower case without a full stop: {m}").into());
        }
    }
    Ok(())
}

/// Formatting twice changes nothing more, and what is no lesson in mistakes is formatted.
fn layout(name: &str, text: &str, as_it_is: bool) -> Result<(), Failed> {
    let Ok(once) = format_text(text) else { return Ok(()) };
    let Ok(twice) = format_text(&once) else { return Err("the formatted file has errors".into()) };
    if once != twice {
        return Err("formatting twice is not formatting once".into());
    }
    if once != text && !as_it_is && !name.starts_with("tests/errors") {
        return Err(format!("not formatted: `tilefoundry fmt {name}`").into());
    }
    Ok(())
}

/// What holds for every file.
fn program(path: &Path) -> Result<Case, Failed> {
    let name = path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let bytes = std::fs::read(path)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut case = open(&Disk, &name, &text)?;
    wording(&case.found())?;
    case.diagnostics()?;
    case.run(&name, &text)?;
    case.reveals()?;
    case.costs()?;
    layout(&name, &text, case.wants.unformatted)?;
    let again = open(&Disk, &name, &text)?;
    if case.emitted() != again.emitted() {
        return Err("compiled twice, the outputs differ".into());
    }
    Ok(case)
}

/// What holds for a file of `tests/errors/<code>/`.
fn error(path: &Path) -> Result<(), Failed> {
    let case = program(path)?;
    let folder = path.strip_prefix(root().join("tests/errors")).ok().and_then(|p| p.iter().next());
    let folder = folder.and_then(|f| f.to_str()).unwrap_or_default();
    let Some(code) = Code::find(folder) else {
        return Err(format!("`{folder}` is no code").into());
    };
    let ran = case.ran.iter().any(|f| f.code == code.id());
    if !ran && !case.diags.iter().any(|d| d.code == code) {
        return Err(format!("{} is not among the diagnostics", code.id()).into());
    }
    if case.ran.iter().any(|f| f.has_fix && only_a_run(&f.code)) {
        return Err("nothing holds the fix of a diagnostic that only a run reports".into());
    }
    let has_fix = case.diags.iter().any(|d| d.fix.is_some());
    match (has_fix, case.wants.fixed, case.wants.no_fix) {
        (true, true, false) => fixed(path, &case),
        (false, false, true) => Ok(()),
        (true, ..) => Err("a diagnostic has a fix: hold it with `// fixed`".into()),
        (false, ..) => Err("no diagnostic has a fix: say why with `// no fix: reason`".into()),
    }
}

/// Applies all fixes to the root file; the result must compile.
fn fixed(path: &Path, case: &Case) -> Result<(), Failed> {
    let name = path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let Some((id, file)) = case.session.sources().files().find(|(_, f)| f.name == name) else {
        return Err("the file has no text".into());
    };
    let mut edits: Vec<_> = case
        .diags
        .iter()
        .filter_map(|d| d.fix.as_ref())
        .flat_map(|f| &f.edits)
        .filter(|(s, _)| s.file == id)
        .collect();
    edits.sort_by_key(|(s, _)| (s.start, s.end));
    edits.dedup();
    let mut text = file.text.to_string();
    for (span, new) in edits.iter().rev() {
        text.replace_range(span.range(), new);
    }
    struct Over<'a>(&'a str, &'a MemorySources);
    impl Sources for Over<'_> {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            if path == self.0 { self.1.read(path) } else { Disk.read(path) }
        }
    }
    let memory = MemorySources::one(name.clone(), text.clone());
    let sources = Over(&name, &memory);
    let session = Session::open(&sources, &name, &consts(&text), beside(&name));
    let left = diagnostics(&session, &sources);
    if has_errors(&left) {
        let shown: Vec<String> =
            left.iter().map(|d| render_text(d, session.sources(), false)).collect();
        return Err(format!("the fixed file does not compile:\n{}", shown.join("\n")).into());
    }
    Ok(())
}

/// Every code has a file that triggers it.
fn every_code() -> Result<(), Failed> {
    let mut with: BTreeSet<&str> = BTreeSet::new();
    for path in files("tests/errors") {
        let folder = path.parent().and_then(|p| p.file_name()).and_then(|f| f.to_str());
        with.extend(folder.and_then(Code::find).map(Code::id));
    }
    let missing: Vec<&str> = Code::ALL
        .iter()
        .map(|c| c.id())
        .filter(|id| !with.contains(id) && !ELSEWHERE.iter().any(|(e, _)| e == id))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("codes without a file in tests/errors: {}", missing.join(", ")).into())
}

/// Elaboration recurses over what is written; give it the stack that the binary has.
fn on_big_stack(f: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Result<(), Failed> {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(f);
    match thread.map(|t| t.join()) {
        Ok(Ok(r)) => r,
        Ok(Err(panic)) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
            Err(format!("panicked: {}", text.unwrap_or_default()).into())
        }
        Err(e) => Err(e.to_string().into()),
    }
}

fn main() {
    let args = Arguments::from_args();
    let mut trials = vec![Trial::test("every_code", every_code)];
    for folder in ["tests/programs", "tests/samples", "tests/errors", "examples", "stdlib"] {
        for path in files(folder) {
            if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('_')) {
                continue;
            }
            let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let is_error = folder == "tests/errors";
            trials.push(Trial::test(name, move || {
                on_big_stack(move || if is_error { error(&path) } else { program(&path).map(drop) })
            }));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

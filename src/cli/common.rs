//! What the commands share: options, reading programs, and telling diagnostics.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anstream::ColorChoice;
use clap::ValueEnum;

use super::twins::Twin;
use crate::base::SourceMap;
use crate::book::Refusal;
use crate::diag::{Diagnostic, Level, render_json, render_short, render_text};
use crate::graph::Graph;
use crate::hir::ItemRef;
use crate::hir::load::{Settings, Sources};
use crate::hir::{twin_calls, twins};
use crate::session::{Selection, Session, Targets, has_errors};
use crate::target::Target;
use crate::twin::image;

#[derive(clap::Args)]
pub struct Common {
    /// How diagnostics are written to standard error
    #[arg(long, global = true, value_enum, default_value = "human", value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Colour: only on a terminal and without NO_COLOR, always, or never
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN", value_parser = color)]
    pub color: ColorChoice,
    /// Give a const another value: NAME of the file, alias::NAME of one that it imports
    #[arg(long = "const", global = true, value_name = "NAME=VALUE", value_parser = name_value)]
    pub consts: Vec<(String, String)>,
    /// Read a config from another JSON file: NAME of the file, alias::NAME of one that it imports
    #[arg(long = "config", global = true, value_name = "NAME=FILE", value_parser = name_file)]
    pub configs: Vec<(String, String)>,
    /// Read target documents from this directory too
    #[arg(long, global = true, value_name = "DIR")]
    pub target_dir: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// With an excerpt of the source
    Human,
    /// One line each
    Short,
    /// One JSON object on a line each
    Json,
}

fn color(text: &str) -> Result<ColorChoice, String> {
    match text {
        "auto" => Ok(ColorChoice::Auto),
        "always" => Ok(ColorChoice::Always),
        "never" => Ok(ColorChoice::Never),
        _ => Err("expected `auto`, `always` or `never`".into()),
    }
}

fn name_value(text: &str) -> Result<(String, String), String> {
    assigned(text).ok_or_else(|| "expected NAME=VALUE".into())
}

fn name_file(text: &str) -> Result<(String, String), String> {
    assigned(text).ok_or_else(|| "expected NAME=FILE".into())
}

fn assigned(text: &str) -> Option<(String, String)> {
    let (n, v) = text.split_once('=')?;
    let (n, v) = (n.trim(), v.trim());
    (!n.is_empty() && !v.is_empty()).then(|| (n.into(), v.into()))
}

/// The largest file that is read whole: a device file may have no end.
const LARGEST: u64 = 1 << 30;

/// The file system.
pub struct Disk;

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let said = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a directory".into(),
            _ => e.to_string(),
        };
        let file = std::fs::File::open(path).map_err(said)?;
        let mut out = vec![];
        file.take(LARGEST + 1).read_to_end(&mut out).map_err(said)?;
        match out.len() as u64 > LARGEST {
            true => Err("it is larger than 1 GiB".into()),
            false => Ok(out),
        }
    }
}

/// What a command says, and its exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub out: String,
    pub err: String,
    pub status: u8,
}

impl Reply {
    pub fn answer(out: impl Into<String>) -> Reply {
        Reply { out: out.into(), ..Reply::default() }
    }

    /// What the book has, or which question to ask instead.
    pub fn found(answer: Result<String, Refusal>) -> Reply {
        answer.map_or_else(|r| Reply::usage(r.0), Reply::answer)
    }

    fn failure(status: u8, text: &str) -> Reply {
        let err = text.lines().map(|l| format!("tilefoundry: {l}\n")).collect();
        Reply { out: String::new(), err, status }
    }

    /// A refusal that has no place in a source.
    pub fn refused(text: impl AsRef<str>) -> Reply {
        Reply::failure(1, text.as_ref())
    }

    /// The same after what was told before.
    pub fn after(mut self, err: &str) -> Reply {
        self.err.insert_str(0, err);
        self
    }

    /// Wrong usage.
    pub fn usage(text: impl AsRef<str>) -> Reply {
        Reply::failure(2, text.as_ref())
    }

    /// The environment lacks something.
    pub fn lacks(text: impl AsRef<str>) -> Reply {
        Reply::failure(3, text.as_ref())
    }
}

/// The documents of the directories given, by id.
fn targets(dirs: &[PathBuf]) -> Result<Targets, Reply> {
    let mut found = BTreeMap::new();
    for dir in dirs {
        let list = std::fs::read_dir(dir)
            .map_err(|e| Reply::lacks(format!("cannot read `{}`: {e}", dir.display())))?;
        let mut files: Vec<PathBuf> = list.flatten().map(|e| e.path()).collect();
        files.sort();
        for f in files {
            if f.extension().is_some_and(|x| x == "toml") {
                let text = std::fs::read_to_string(&f)
                    .map_err(|e| Reply::lacks(format!("cannot read `{}`: {e}", f.display())))?;
                found.insert(document_id(&f), text);
            }
        }
    }
    Ok(Targets(found))
}

/// A document's id is its file's name without `.toml`.
pub fn document_id(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    name.strip_suffix(".toml").unwrap_or(&name).to_string()
}

impl Common {
    pub fn targets(&self) -> Result<Targets, Reply> {
        targets(&self.target_dir)
    }

    /// Reads a program.
    pub fn open(&self, file: &str) -> Result<Session, Reply> {
        let settings = Settings { consts: &self.consts, configs: &self.configs };
        let s = Session::open_with(&Disk, file, &settings, self.targets()?);
        if s.root_missing() {
            let why = s.program.diags.first().map(|d| d.message.clone());
            return Err(Reply::lacks(why.unwrap_or_else(|| format!("cannot read `{file}`"))));
        }
        if !s.wrong_settings.is_empty() {
            return Err(Reply::usage(s.wrong_settings.join("\n")));
        }
        Ok(s)
    }

    /// Reads a program and compiles the function of a selection.
    pub fn selected(&self, text: &str) -> Result<Selected, Reply> {
        self.selected_in(&mut vec![], text)
    }

    /// The same; a selection that starts with its colon is of the file of another.
    pub fn selected_beside(&self, other: &str, text: &str) -> Result<Selected, Reply> {
        match text.starts_with(':') {
            true => self.selected(&format!("{}{text}", Selection::parse(other).file)),
            false => self.selected(text),
        }
    }

    /// The functions of several selections. A file is read once; a selection that starts with its
    /// colon is of the file before.
    pub fn selected_all(&self, texts: &[String]) -> Result<Vec<Selected>, Reply> {
        let mut opened: Opened = vec![];
        let mut out: Vec<Selected> = vec![];
        for text in texts {
            let file = opened.last().filter(|_| text.starts_with(':')).map(|(f, _)| f.clone());
            if file.is_none() && text.starts_with(':') {
                let fix = format!("`FILE{text}`");
                return Err(Reply::usage(format!("`{text}` is of no file: write {fix}")));
            }
            let mut s =
                self.selected_in(&mut opened, &format!("{}{text}", file.unwrap_or_default()))?;
            if out.iter().any(|o| o.err == s.err) {
                // what is said of a file is said once
                s.err.clear();
            }
            out.push(s);
        }
        Ok(out)
    }

    /// The function of a selection, or a twin's with the boundary that it implements.
    pub fn chosen(&self, text: &str) -> Result<(Selected, Option<Twin>), Reply> {
        let (session, sel) = self.opened(&mut vec![], text)?;
        let name = sel.module.as_deref();
        let p = &session.program;
        let twin = p.twins().into_iter().find(|(n, _)| Some(*n) == name).map(|(_, r)| r);
        let Some(twin) = twin else { return Ok((self.compiled(session, &sel)?, None)) };
        let family = twin_calls::family(p, twin);
        let mut own: Vec<Diagnostic> = family.iter().flat_map(|t| twins::check(p, *t)).collect();
        if !has_errors(&own) {
            own.extend(family.iter().flat_map(|t| image::check::twin(&session, &Disk, *t)));
        }
        if has_errors(&own) {
            return Err(self.refusal(&crate::session::tidy(own), session.sources()));
        }
        let (func, boundary) = session.select_twin(&sel, twin).map_err(Reply::usage)?;
        let at = |r: ItemRef| match p.item(r).map(|i| &i.kind) {
            Some(crate::syntax::ast::ItemKind::Func(f)) => f.name.text.clone(),
            _ => String::new(),
        };
        let name = format!("{}.{}", name.unwrap_or_default(), at(func));
        let module = self.compiled_func(session.clone(), boundary)?;
        Ok((module, Some(Twin { session, twin, func, name })))
    }

    fn selected_in(&self, opened: &mut Opened, text: &str) -> Result<Selected, Reply> {
        let (session, sel) = self.opened(opened, text)?;
        self.compiled(session, &sel)
    }

    /// The program of a selection, free of errors that reading it shows.
    fn opened(&self, opened: &mut Opened, text: &str) -> Result<(Rc<Session>, Selection), Reply> {
        let sel = Selection::parse(text);
        // a file may have a colon in its name
        let sel = if sel.module.is_some() && Path::new(text).is_file() {
            Selection { file: text.into(), module: None, func: None }
        } else {
            sel
        };
        let found = opened.iter().position(|(f, _)| *f == sel.file);
        let session = match found.map(|i| opened.remove(i)) {
            Some((_, s)) => s,
            None => Rc::new(self.open(&sel.file)?),
        };
        // the last one is the file before
        opened.push((sel.file.clone(), session.clone()));
        let diags = session.program.diags.clone();
        if has_errors(&diags) {
            return Err(self.refusal(&crate::session::tidy(diags), session.sources()));
        }
        Ok((session, sel))
    }

    fn compiled(&self, session: Rc<Session>, sel: &Selection) -> Result<Selected, Reply> {
        let func = session.select(sel).map_err(Reply::usage)?;
        self.compiled_func(session, func)
    }

    fn compiled_func(&self, session: Rc<Session>, func: ItemRef) -> Result<Selected, Reply> {
        let diags = session.diagnostics_of(func);
        let err = self.tell(&diags, session.sources());
        let graph = session.compile(func).graph.clone();
        match graph {
            Some(graph) if !has_errors(&diags) => Ok(Selected { session, func, graph, err }),
            _ => Err(Reply { out: String::new(), err, status: 1 }),
        }
    }

    fn refusal(&self, diags: &[Diagnostic], map: &SourceMap) -> Reply {
        Reply { out: String::new(), err: self.tell(diags, map), status: 1 }
    }

    /// Diagnostics in the format that was chosen, and how many there are.
    pub fn tell(&self, diags: &[Diagnostic], map: &SourceMap) -> String {
        let mut out = String::new();
        for d in diags {
            match self.message_format {
                MessageFormat::Human => {
                    // the stream drops colour where there is no terminal
                    out += render_text(d, map, true).trim_end();
                    out += "\n\n";
                }
                MessageFormat::Short => out += &(render_short(d, map) + "\n"),
                MessageFormat::Json => out += &(render_json(d, map) + "\n"),
            }
        }
        if !diags.is_empty() && self.message_format != MessageFormat::Json {
            out += &summary(diags);
            out.push('\n');
        }
        out
    }
}

/// `3 errors, 1 warning`
pub fn summary(diags: &[Diagnostic]) -> String {
    let of = |level: Level| diags.iter().filter(|d| d.level == level).count();
    let parts: Vec<String> = [Level::Error, Level::Warning, Level::Note]
        .into_iter()
        .map(|l| (of(l), l.as_str()))
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
        .collect();
    parts.join(", ")
}

/// Programs that were read, by file.
type Opened = Vec<(String, Rc<Session>)>;

/// A function that compiled, with the warnings to tell.
pub struct Selected {
    pub session: Rc<Session>,
    pub func: ItemRef,
    pub graph: Graph,
    pub err: String,
}

impl Selected {
    /// The target of the function's module.
    pub fn target(&self) -> Option<Rc<Target>> {
        let module = self.func.module?;
        self.session.target(ItemRef { file: self.func.file, module: None, item: module })
    }

    /// `Module.func`
    pub fn name(&self) -> String {
        match &self.graph.module {
            Some(m) => format!("{m}.{}", self.graph.name),
            None => self.graph.name.clone(),
        }
    }
}

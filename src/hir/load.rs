//! Reads the root file and all it names, and makes the tables of names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Decl, FileInfo, ItemRef, Program, item_name, module_items};
use crate::base::{HashMap, SourceMap, Span};
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::syntax::{ast, parser};
use crate::types::dim::{Expr, VarInfo, VarKind, VarTable};

/// Where sources come from. The core reads nothing by itself.
pub trait Sources {
    /// The bytes of a file. The error is shown as it is.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// The path of `name` as named in the file `from`.
    fn resolve(&self, from: &str, name: &str) -> String {
        let joined = match from.rsplit_once('/') {
            Some((dir, _)) if !name.starts_with('/') => format!("{dir}/{name}"),
            _ => name.to_string(),
        };
        // one file has one path, so that a cycle is seen
        let mut out: Vec<&str> = vec![];
        for part in joined.split('/') {
            match (part, out.last()) {
                (".", _) => {}
                ("..", Some(last)) if !matches!(*last, "" | "..") => {
                    out.pop();
                }
                (p, _) => out.push(p),
            }
        }
        out.join("/")
    }
}

/// The standard library, by module name.
pub static STD: &[(&str, &str)] = &[
    ("attention", include_str!("../../stdlib/attention.tf")),
    ("moe", include_str!("../../stdlib/moe.tf")),
    ("nn", include_str!("../../stdlib/nn.tf")),
    ("quant", include_str!("../../stdlib/quant.tf")),
    ("ssm", include_str!("../../stdlib/ssm.tf")),
];

struct Loader<'a> {
    sources: &'a dyn Sources,
    map: SourceMap,
    files: Vec<FileInfo>,
    /// Index of each file by resolved path; `None` while it is being read.
    seen: HashMap<String, Option<usize>>,
    /// Configs with the names of their files, and the paths of those that have them.
    configs: Vec<(ItemRef, ast::Name, ast::Str, String)>,
    diags: Vec<Diagnostic>,
}

/// Reads a program. Diagnostics are in the result.
pub fn load(sources: &dyn Sources, root: &str) -> Program {
    load_with(sources, root, &Settings::default()).0
}

/// What one command sets, as (name, text): names of the root file, `alias::NAME` of one that it
/// imports.
#[derive(Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Values of consts.
    pub consts: &'a [(String, String)],
    /// Paths of the files that configs are read from.
    pub configs: &'a [(String, String)],
}

/// Reads a program with some consts and configs of the root file set otherwise. Gives what is
/// wrong with those beside the program.
pub fn load_with(sources: &dyn Sources, root: &str, settings: &Settings) -> (Program, Vec<String>) {
    let mut l = Loader {
        sources,
        map: SourceMap::default(),
        files: vec![],
        seen: HashMap::default(),
        configs: vec![],
        diags: vec![],
    };
    l.file(root, None);
    let (given, mut wrong) = super::overrides::configs(&l.files, settings.configs);
    let configs = l.read_configs(&given);
    let mut p = Program {
        sources: l.map,
        files: l.files,
        configs,
        vars: VarTable::default(),
        dims: HashMap::default(),
        overrides: vec![],
        diags: l.diags,
        consts: Default::default(),
    };
    // before the bounds of dims are folded, which may use them
    wrong.extend(super::overrides::apply(&mut p, settings.consts));
    declare_dims(&mut p);
    (p, wrong)
}

impl Loader<'_> {
    fn error(&mut self, at: Option<Span>, code: Code, msg: String) {
        // the root file has no place that names it: an empty source stands for it
        let span = at.unwrap_or_else(|| {
            let id = self.map.add("<command line>", "");
            Span::new(id, 0, 0)
        });
        self.diags.push(Diagnostic::new(code, span, msg));
    }

    fn file(&mut self, path: &str, at: Option<Span>) -> Option<usize> {
        match self.seen.get(path) {
            Some(Some(i)) => return Some(*i),
            Some(None) => {
                self.error(at, Code::ImportCycle, format!("`{path}` imports itself"));
                return None;
            }
            None => {}
        }
        let std = path.strip_prefix("std::").map(|n| STD.iter().find(|(m, _)| *m == n));
        let bytes = match std {
            Some(Some((_, text))) => Ok(text.as_bytes().to_vec()),
            Some(None) => Err("the standard library has no such module".to_string()),
            None => self.sources.read(path),
        };
        let bytes = match bytes {
            Ok(b) => b,
            Err(e) => {
                self.error(at, Code::FileNotFound, format!("cannot read `{path}`: {e}"));
                return None;
            }
        };
        let text = match String::from_utf8(bytes) {
            Ok(t) => t,
            Err(e) => {
                let n = e.utf8_error().valid_up_to();
                let lossy = String::from_utf8_lossy(&e.into_bytes()).into_owned();
                let id = self.map.add(path, lossy);
                self.diags.push(Diagnostic::new(
                    Code::NotUtf8,
                    Span::new(id, n, n + 3),
                    format!("`{path}` is not UTF-8: the byte at offset {n} begins no character"),
                ));
                return None;
            }
        };
        self.seen.insert(path.to_string(), None);
        let id = self.map.add(path, text.as_str());
        let parsed = parser::parse(id, &text);
        self.diags.extend(parsed.diags);
        let index = self.files.len();
        let lost = lost_names(&parsed.file);
        self.files.push(FileInfo {
            id,
            ast: parsed.file,
            names: BTreeMap::new(),
            inner: HashMap::default(),
            lost,
        });
        self.declare(index);
        self.imports(index, path);
        self.seen.insert(path.to_string(), Some(index));
        Some(index)
    }

    /// Enters the items of a file, and of its modules and twins, in the tables.
    fn declare(&mut self, file: usize) {
        let Some(info) = self.files.get(file) else { return };
        let mut names = BTreeMap::new();
        let mut inner = HashMap::default();
        let mut diags = vec![];
        for (n, item) in info.ast.items.iter().enumerate() {
            if let Some(name) = item_name(&item.kind) {
                let r = ItemRef { file, module: None, item: n };
                if let Some(Decl::Item(old)) = names.insert(name.text.clone(), Decl::Item(r)) {
                    diags.push(twice(name, info.ast.items.get(old.item)));
                }
            }
            params_twice(item, &mut diags);
            entries_twice(item, &mut diags);
            if let Some(items) = module_items(item) {
                items.iter().for_each(|i| params_twice(i, &mut diags));
                let mut own = BTreeMap::new();
                for (k, i) in items.iter().enumerate() {
                    if let Some(name) = item_name(&i.kind)
                        && let Some(old) = own.insert(name.text.clone(), k)
                    {
                        diags.push(twice(name, items.get(old)));
                    }
                }
                inner.insert(n, own);
            }
        }
        self.diags.extend(diags);
        if let Some(info) = self.files.get_mut(file) {
            info.names = names;
            info.inner = inner;
        }
    }

    fn imports(&mut self, file: usize, path: &str) {
        let Some(info) = self.files.get(file) else { return };
        let items: Vec<(ItemRef, ast::ItemKind, Span)> = info
            .ast
            .items
            .iter()
            .enumerate()
            .flat_map(|(n, i)| {
                let inner = module_items(i).unwrap_or(&[]).iter().enumerate();
                std::iter::once((ItemRef { file, module: None, item: n }, i))
                    .chain(inner.map(move |(k, i)| (ItemRef { file, module: Some(n), item: k }, i)))
            })
            .filter(|(_, i)| {
                use ast::ItemKind::*;
                matches!(i.kind, Use { .. } | UseFile { .. } | Config { .. })
            })
            .map(|(r, i)| (r, i.kind.clone(), i.span))
            .collect();
        for (r, kind, span) in items {
            match kind {
                ast::ItemKind::UseFile { path: name, alias } => {
                    let target = self.sources.resolve(path, &name.value);
                    if let Some(f) = self.file(&target, Some(name.span)) {
                        self.bind(file, &alias, Decl::File(f));
                    } else if let Some(info) = self.files.get_mut(file) {
                        info.lost.push(alias.text);
                    }
                }
                ast::ItemKind::Use { path: from, names } => self.use_std(file, &from, names, span),
                ast::ItemKind::Config { name: config, path: name } => {
                    self.configs.push((r, config, name, path.to_string()));
                }
                _ => {}
            }
        }
    }

    /// Reads the configs: those that are given from elsewhere, the others from beside their files.
    fn read_configs(
        &mut self,
        given: &[(usize, &str, &str)],
    ) -> HashMap<ItemRef, Arc<serde_json::Value>> {
        let mut out = HashMap::default();
        for (r, config, name, path) in std::mem::take(&mut self.configs) {
            let target = match given.iter().find(|(f, n, _)| (*f, *n) == (r.file, &config.text)) {
                Some((_, _, path)) => (*path).to_string(),
                None => self.sources.resolve(&path, &name.value),
            };
            let text = self.sources.read(&target);
            let json = text.and_then(|b| {
                serde_json::from_slice(&b).map_err(|e| format!("it is no JSON: {e}"))
            });
            match json {
                Ok(v) => {
                    out.insert(r, Arc::new(v));
                }
                Err(e) => self.error(
                    Some(name.span),
                    Code::FileNotFound,
                    format!("cannot read `{target}`: {e}"),
                ),
            }
        }
        out
    }

    fn use_std(
        &mut self,
        file: usize,
        from: &ast::Path,
        names: Option<Vec<ast::Name>>,
        span: Span,
    ) {
        let known: Vec<String> = STD.iter().map(|(m, _)| format!("std::{m}")).collect();
        let all: Vec<&str> = from.segs.iter().map(|s| s.text.as_str()).collect();
        let whole = all.join("::");
        if names.is_none() && known.contains(&whole) {
            let msg = format!("`{whole}` is a module; a `use` takes functions of it");
            let help = format!("name those that the file calls: `use {whole}::{{..}};`");
            self.diags.push(Diagnostic::new(Code::UnknownImport, span, msg).help(help));
            if let Some(info) = self.files.get_mut(file) {
                info.lost.extend(all.last().map(ToString::to_string));
            }
            return;
        }
        let mut segs = from.segs.clone();
        let names = names.unwrap_or_else(|| segs.pop().into_iter().collect());
        let module: Vec<&str> = segs.iter().map(|s| s.text.as_str()).collect();
        let path = module.join("::");
        if !known.contains(&path) {
            let mut d = Diagnostic::new(
                Code::UnknownImport,
                span,
                format!("there is no library module `{path}`"),
            );
            d = match did_you_mean(&path, known.iter().map(String::as_str)) {
                Some(m) => d.help(format!("a module `{m}` exists")),
                None => d.help(format!(
                    "library modules: `{}`; a file is imported with `use \"f.tf\" as f;`",
                    known.join("`, `")
                )),
            };
            self.diags.push(d);
            if let Some(info) = self.files.get_mut(file) {
                info.lost.extend(names.into_iter().map(|n| n.text));
            }
            return;
        }
        let Some(f) = self.file(&path, Some(span)) else { return };
        for n in names {
            let found = self.files.get(f).and_then(|i| i.names.get(&n.text).copied());
            match found {
                Some(d) => self.bind(file, &n, d),
                None => {
                    let all: Vec<&str> = self
                        .files
                        .get(f)
                        .map_or(vec![], |i| i.names.keys().map(String::as_str).collect());
                    let mut d = Diagnostic::new(
                        Code::UnknownImport,
                        n.span,
                        format!("`{path}` has no `{}`", n.text),
                    );
                    if crate::ops::registry::find(&n.text).is_some() {
                        d = d.help(format!("`{}` is an op: it needs no `use`", n.text));
                    } else if let Some(m) = did_you_mean(&n.text, all.iter().copied()) {
                        d = d.help(format!("`{m}` exists")).fix("rename", n.span, m);
                    } else {
                        d = d.help(format!("it has `{}`", all.join("`, `")));
                    }
                    self.diags.push(d);
                    if let Some(info) = self.files.get_mut(file) {
                        info.lost.push(n.text);
                    }
                }
            }
        }
    }

    fn bind(&mut self, file: usize, name: &ast::Name, decl: Decl) {
        let Some(info) = self.files.get_mut(file) else { return };
        if let Some(Decl::Item(old)) = info.names.insert(name.text.clone(), decl)
            && old.file == file
        {
            let d = twice(name, info.ast.items.get(old.item));
            self.diags.push(d);
        }
    }
}

fn twice(name: &ast::Name, old: Option<&ast::Item>) -> Diagnostic {
    let d = Diagnostic::new(
        Code::DeclaredTwice,
        name.span,
        format!("`{}` is declared twice", name.text),
    )
    .here("declared again here");
    match old.and_then(|i| item_name(&i.kind)) {
        Some(first) => d.label(first.span, "first declared here"),
        None => d,
    }
}

/// A module has one `entry`.
fn entries_twice(item: &ast::Item, diags: &mut Vec<Diagnostic>) {
    let funcs = module_items(item).unwrap_or(&[]).iter().filter_map(|i| match &i.kind {
        ast::ItemKind::Func(f) if f.vis == ast::Vis::Entry => Some(f),
        _ => None,
    });
    let mut first: Option<&ast::Func> = None;
    for f in funcs {
        match first {
            None => first = Some(f),
            Some(old) => diags.push(
                Diagnostic::new(Code::DeclaredTwice, f.name.span, "a module has one `entry func`")
                    .label(old.name.span, format!("`{}` is it", old.name.text))
                    .help("`pub func` makes another boundary"),
            ),
        }
    }
}

/// Parameters and generics of one function share their names.
fn params_twice(item: &ast::Item, diags: &mut Vec<Diagnostic>) {
    let ast::ItemKind::Func(f) = &item.kind else { return };
    let generics = f.generics.iter().map(|g| match g {
        ast::Generic::Extent(n) | ast::Generic::Pack(n) | ast::Generic::DType { name: n, .. } => n,
    });
    let mut seen: Vec<&ast::Name> = vec![];
    for n in generics.chain(f.params.iter().map(|p| &p.name)) {
        match seen.iter().find(|s| s.text == n.text) {
            Some(first) => diags.push(
                Diagnostic::new(
                    Code::DeclaredTwice,
                    n.span,
                    format!("`{}` is declared twice", n.text),
                )
                .label(first.span, "first declared here"),
            ),
            None => seen.push(n),
        }
    }
}

fn lost_names(file: &ast::File) -> Vec<String> {
    let mut out = vec![];
    for i in &file.items {
        for i in std::iter::once(i).chain(module_items(i).unwrap_or(&[])) {
            if let ast::ItemKind::Error { names } = &i.kind {
                out.extend(names.iter().map(|n| n.text.clone()));
            }
        }
    }
    out
}

/// Makes a variable for each dim; bounds are folded once all names exist.
fn declare_dims(p: &mut Program) {
    let mut todo = vec![];
    for (f, info) in p.files.iter().enumerate() {
        for (n, item) in info.ast.items.iter().enumerate() {
            let own = std::iter::once((None, n, item));
            let inner = module_items(item).unwrap_or(&[]).iter().enumerate();
            for (module, k, i) in own.chain(inner.map(|(k, i)| (Some(n), k, i))) {
                if let ast::ItemKind::Dim { name, range } = &i.kind {
                    let r = ItemRef { file: f, module, item: k };
                    todo.push((r, name.clone(), range.clone()));
                }
            }
        }
    }
    for (r, name, _) in &todo {
        let v = p.vars.add(VarInfo {
            name: name.text.clone(),
            kind: VarKind::Dim,
            lo: Expr::zero(),
            hi: Expr::int(i64::from(i32::MAX)),
            span: name.span,
        });
        p.dims.insert(*r, v);
    }
    for (r, name, range) in todo {
        let bounds = super::elab::fold_dim_range(p, r, &range);
        match bounds {
            Ok((lo, hi)) if lo >= 0 && lo <= hi => {
                if let Some(v) = p.dims.get(&r) {
                    p.vars.set_bounds(*v, Expr::int(lo), Expr::int(hi));
                }
            }
            Ok((lo, hi)) => p.diags.push(
                Diagnostic::new(
                    Code::BadDim,
                    range.span,
                    format!("the bounds of dim `{}` are {lo}..={hi}", name.text),
                )
                .here("must not be negative or empty"),
            ),
            Err(d) => p.diags.extend(d),
        }
    }
}

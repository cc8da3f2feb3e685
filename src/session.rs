//! One program and its memoised graphs: where the command line, editors and tests come in.
//!
//! In: a way to read sources, a root file, and what the command sets. Out: diagnostics of all of
//! it, functions by name, graphs that passed the verifier, and sizes for dims.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::base::{HashMap, HashSet, SourceMap};
use crate::diag::{Code, Diagnostic, Level, did_you_mean};
use crate::graph::{Graph, verify};
use crate::hir::functions::{self, Compiled};
use crate::hir::load::{self, Settings, Sources};
use crate::hir::{ItemRef, Program, elab, item_name, module_items, modules, twin_calls, twins};
use crate::syntax::ast::{self, ItemKind, TypeKind, Vis};
use crate::syntax::token::lex;
use crate::target::{self, Target, TargetError};
use crate::types::dim::{Env, VarId};

/// Sources held in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct MemorySources(pub BTreeMap<String, Vec<u8>>);

impl MemorySources {
    /// One file.
    pub fn one(path: impl Into<String>, text: impl Into<Vec<u8>>) -> MemorySources {
        MemorySources([(path.into(), text.into())].into())
    }
}

impl Sources for MemorySources {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".into())
    }
}

/// Target documents of the user's own, by id; they go before the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Targets(pub BTreeMap<String, String>);

impl Targets {
    /// The target of an id.
    ///
    /// # Errors
    /// The id is unknown, or its document has problems.
    pub fn find(&self, id: &str) -> Result<Target, TargetError> {
        let own: Vec<&str> = self.0.keys().map(String::as_str).collect();
        Target::find(id, |i| self.0.get(i).cloned(), &own)
    }

    /// All ids that exist.
    pub fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = target::ids().collect();
        ids.extend(self.0.keys().map(String::as_str));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// `FILE[:Module[.func]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub file: String,
    pub module: Option<String>,
    pub func: Option<String>,
}

impl Selection {
    /// Splits the text at its last colon, if names stand behind it.
    pub fn parse(text: &str) -> Selection {
        let name = |s: &str| {
            s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some((file, rest)) = text.rsplit_once(':') {
            let (module, func) = match rest.split_once('.') {
                Some((m, f)) => (m, Some(f)),
                None => (rest, None),
            };
            if !file.is_empty() && name(module) && func.is_none_or(name) {
                return Selection {
                    file: file.into(),
                    module: Some(module.into()),
                    func: func.map(String::from),
                };
            }
        }
        Selection { file: text.into(), module: None, func: None }
    }
}

/// A read program. Everything asked of it is computed once.
pub struct Session {
    pub program: Program,
    pub targets: Targets,
    /// What is wrong with the consts and configs that the command sets.
    pub wrong_settings: Vec<String>,
    graphs: RefCell<HashMap<ItemRef, Rc<Compiled>>>,
    found: RefCell<HashMap<ItemRef, Option<Rc<Target>>>>,
    documents: RefCell<HashMap<String, Result<Rc<Target>, TargetError>>>,
}

impl Session {
    /// Reads a program. What is wrong with it is in [`Session::diagnostics`].
    pub fn open(
        sources: &dyn Sources,
        root: &str,
        consts: &[(String, String)],
        targets: Targets,
    ) -> Session {
        let settings = Settings { consts, ..Settings::default() };
        Session::open_with(sources, root, &settings, targets)
    }

    /// Reads a program with consts and configs of the root file set otherwise.
    pub fn open_with(
        sources: &dyn Sources,
        root: &str,
        settings: &Settings,
        targets: Targets,
    ) -> Session {
        let (program, wrong_settings) = load::load_with(sources, root, settings);
        Session {
            program,
            targets,
            wrong_settings,
            graphs: RefCell::default(),
            found: RefCell::default(),
            documents: RefCell::default(),
        }
    }

    pub fn sources(&self) -> &SourceMap {
        &self.program.sources
    }

    /// The root file could not be read at all.
    pub fn root_missing(&self) -> bool {
        self.program.files.is_empty()
            && self.program.diags.iter().all(|d| d.code == Code::FileNotFound)
    }

    /// The target of a module, if it names one that exists.
    pub fn target(&self, module: ItemRef) -> Option<Rc<Target>> {
        if let Some(t) = self.found.borrow().get(&module) {
            return t.clone();
        }
        let (t, _) = modules::check(&self.program, module, &|id| self.document(id));
        self.found.borrow_mut().insert(module, t.clone());
        t
    }

    /// The target of an id; its documents are read once.
    fn document(&self, id: &str) -> Result<Rc<Target>, TargetError> {
        if let Some(t) = self.documents.borrow().get(id) {
            return t.clone();
        }
        let t = self.targets.find(id).map(Rc::new);
        self.documents.borrow_mut().insert(id.to_string(), t.clone());
        t
    }

    /// The graph of a function and its diagnostics, those of its target included. A graph that
    /// is given passed the verifier.
    pub fn compile(&self, func: ItemRef) -> Rc<Compiled> {
        if let Some(c) = self.graphs.borrow().get(&func) {
            return c.clone();
        }
        let mut c = functions::compile(&self.program, func);
        if let Some(g) = c.graph.take() {
            if let Some(m) = func.module {
                let module = ItemRef { file: func.file, module: None, item: m };
                if let Some(t) = self.target(module) {
                    c.diags.extend(modules::check_graph(&g, &t));
                }
            }
            match verify::verify(&g) {
                Ok(()) => c.graph = Some(g),
                Err(broken) => c.diags.push(self.internal(func, &g, &broken)),
            }
        }
        if has_errors(&c.diags) {
            c.graph = None;
        }
        let c = Rc::new(c);
        self.graphs.borrow_mut().insert(func, c.clone());
        c
    }

    fn internal(&self, func: ItemRef, g: &Graph, broken: &[String]) -> Diagnostic {
        let span = match self.program.item(func).map(|i| &i.kind) {
            Some(ItemKind::Func(f)) => f.name.span,
            _ => crate::hir::file_start(crate::base::FileId(0)),
        };
        let mut d = Diagnostic::new(
            Code::Internal,
            span,
            format!("the graph of `{}` breaks rules that the compiler relies on", g.name),
        );
        d.notes = broken.iter().take(5).cloned().collect();
        d.help("this is a defect of the compiler: please report it with the program")
    }

    /// The functions that `compile` checks on their own, in the order of the file: boundaries of
    /// modules, and helpers that nothing calls and that can stand alone.
    pub fn roots(&self) -> Vec<ItemRef> {
        let Some(root) = self.program.files.first() else { return vec![] };
        let uses = self.uses();
        let mut out = vec![];
        for (n, item) in root.ast.items.iter().enumerate() {
            match &item.kind {
                ItemKind::Func(f) if uncalled(f, &uses) && alone(f) => {
                    out.push(ItemRef { file: 0, module: None, item: n });
                }
                ItemKind::Module { .. } => {
                    let module = ItemRef { file: 0, module: None, item: n };
                    for (r, f) in self.program.funcs(module) {
                        if f.vis != Vis::Private || (uncalled(f, &uses) && alone(f)) {
                            out.push(r);
                        }
                    }
                }
                _ => {}
            }
        }
        self.unreached(&uses, &mut out);
        out
    }

    /// Adds helpers to which no root leads, such as those that only call each other.
    fn unreached(&self, uses: &[(String, u32)], roots: &mut Vec<ItemRef>) {
        let Some(root) = self.program.files.first() else { return };
        let mut funcs: Vec<(ItemRef, &ast::Func)> = vec![];
        for (n, item) in root.ast.items.iter().enumerate() {
            let r = ItemRef { file: 0, module: None, item: n };
            match &item.kind {
                ItemKind::Func(f) => funcs.push((r, f)),
                ItemKind::Module { .. } => funcs.extend(self.program.funcs(r)),
                _ => {}
            }
        }
        let own = |f: &ast::Func| f.header.start..f.body.span.end;
        // what stands outside of functions counts as reached
        let mut names: HashSet<&str> = uses
            .iter()
            .filter(|(_, at)| !funcs.iter().any(|(_, f)| own(f).contains(at)))
            .map(|(n, _)| n.as_str())
            .collect();
        let mut done: HashSet<ItemRef> = HashSet::default();
        loop {
            let next = funcs
                .iter()
                .filter(|(r, f)| {
                    !done.contains(r) && (roots.contains(r) || names.contains(f.name.text.as_str()))
                })
                .map(|(r, f)| (*r, own(f)))
                .next();
            let (r, range) = match next {
                Some(n) => n,
                None => match funcs.iter().find(|(r, f)| !done.contains(r) && alone(f)) {
                    Some((r, f)) => {
                        roots.push(*r);
                        (*r, own(f))
                    }
                    None => break,
                },
            };
            done.insert(r);
            names.extend(uses.iter().filter(|(_, at)| range.contains(at)).map(|(n, _)| n.as_str()));
        }
        roots.sort_by_key(|r| (r.module.unwrap_or(r.item), r.item));
    }

    /// Every place of the root file where the name of one of its functions stands.
    fn uses(&self) -> Vec<(String, u32)> {
        let Some(info) = self.program.files.first() else { return vec![] };
        let Some(file) = self.program.sources.get(info.id) else { return vec![] };
        let items = info
            .ast
            .items
            .iter()
            .flat_map(|i| std::iter::once(i).chain(module_items(i).unwrap_or_default()));
        let names: HashSet<&str> = items
            .filter_map(|i| match &i.kind {
                ItemKind::Func(f) => Some(f.name.text.as_str()),
                _ => None,
            })
            .collect();
        lex(info.id, &file.text)
            .tokens
            .iter()
            .filter_map(|t| Some((file.text.get(t.start as usize..t.end as usize)?, t.start)))
            .filter(|(text, _)| names.contains(text))
            .map(|(text, at)| (text.to_string(), at))
            .collect()
    }

    /// Everything there is to say about the program: of reading it, of each item, of modules
    /// against their targets, of twins, and of each function of [`Session::roots`].
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let p = &self.program;
        let mut all = p.diags.clone();
        all.extend(self.items());
        for (_, m) in p.modules() {
            all.extend(modules::check(p, m, &|id| self.document(id)).1);
        }
        for (_, t) in p.twins() {
            all.extend(twins::check(p, t));
        }
        for r in self.roots() {
            all.extend(self.compile(r).diags.iter().cloned());
        }
        tidy(all)
    }

    /// What bears on one function only: reading, its module's target, and itself.
    pub fn diagnostics_of(&self, func: ItemRef) -> Vec<Diagnostic> {
        let p = &self.program;
        let mut all = p.diags.clone();
        if let Some(m) = func.module {
            let module = ItemRef { file: func.file, module: None, item: m };
            all.extend(modules::check(p, module, &|id| self.document(id)).1);
        }
        all.extend(self.compile(func).diags.iter().cloned());
        tidy(all)
    }

    /// Folds the items of the root file that no function may use.
    fn items(&self) -> Vec<Diagnostic> {
        let Some(root) = self.program.files.first() else { return vec![] };
        let mut diags = vec![];
        for (n, item) in root.ast.items.iter().enumerate() {
            let inner = module_items(item).unwrap_or(&[]).iter().enumerate();
            let all = std::iter::once((ItemRef { file: 0, module: None, item: n }, item))
                .chain(inner.map(|(k, i)| (ItemRef { file: 0, module: Some(n), item: k }, i)));
            for (r, i) in all {
                diags.extend(self.item(r, i));
            }
        }
        diags
    }

    fn item(&self, r: ItemRef, item: &ast::Item) -> Vec<Diagnostic> {
        use ItemKind::*;
        let in_twin = r.module.is_some_and(|m| {
            let outer = ItemRef { file: r.file, module: None, item: m };
            self.program.item(outer).is_some_and(|i| matches!(i.kind, Twin { .. }))
        });
        if in_twin {
            return vec![];
        }
        let (Const { name, .. }
        | TypeAlias { name, .. }
        | Weight { name, .. }
        | Prepare { name, .. }
        | Child { name, .. }) = &item.kind
        else {
            return vec![];
        };
        let mut e = elab::Elab::new(&self.program, elab::Cx::of(r), &name.text, name.span);
        if let Some(m) = r.module {
            e.enter_module(ItemRef { file: r.file, module: None, item: m });
        }
        e.path(&ast::Path { segs: vec![name.clone()], span: name.span });
        e.diags
    }

    /// The function of a selection; an entry where none is named.
    ///
    /// # Errors
    /// Nothing fits, or more than one thing does: the text lists the choices.
    pub fn select(&self, sel: &Selection) -> Result<ItemRef, String> {
        let p = &self.program;
        let all = p.modules();
        let names: Vec<&str> = all.iter().map(|(n, _)| *n).collect();
        let module = match &sel.module {
            Some(m) => match all.iter().find(|(n, _)| n == m) {
                Some((_, r)) => *r,
                None => return self.select_free(sel, m, &names),
            },
            None => match all.as_slice() {
                [(_, r)] => *r,
                [] => {
                    return Err(format!("`{}` has no module; name a function: {}", sel.file, {
                        let free = self.free_functions();
                        list(free.iter().map(|(n, _)| *n))
                    }));
                }
                _ => {
                    let choices = names.iter().map(|n| format!("{}:{n}", sel.file));
                    let choices: Vec<String> = choices.collect();
                    return Err(format!(
                        "`{}` has {} modules; choose one: {}",
                        sel.file,
                        all.len(),
                        list(choices.iter().map(String::as_str))
                    ));
                }
            },
        };
        let funcs = p.funcs(module);
        let shown = names_of(p, module);
        match &sel.func {
            Some(f) => {
                funcs.iter().find(|(_, x)| x.name.text == *f).map(|(r, _)| *r).ok_or_else(|| {
                    let known: Vec<&str> =
                        funcs.iter().map(|(_, f)| f.name.text.as_str()).collect();
                    nearest(&format!("module `{shown}` has no function `{f}`"), f, &known)
                })
            }
            None => p.entry(module).map(|(r, _)| r).ok_or_else(|| {
                let known: Vec<String> = funcs
                    .iter()
                    .map(|(_, f)| format!("{}:{shown}.{}", sel.file, f.name.text))
                    .collect();
                format!(
                    "module `{shown}` has no `entry func`; choose one of its functions: {}",
                    list(known.iter().map(String::as_str))
                )
            }),
        }
    }

    /// The function of a twin, its only one where none is named, and the boundary it implements.
    ///
    /// # Errors
    /// Nothing fits, or more than one thing does: the text lists the choices.
    pub fn select_twin(
        &self,
        sel: &Selection,
        twin: ItemRef,
    ) -> Result<(ItemRef, ItemRef), String> {
        let p = &self.program;
        let funcs = p.funcs(twin);
        let shown = names_of(p, twin);
        let known: Vec<&str> = funcs.iter().map(|(_, f)| f.name.text.as_str()).collect();
        let entry = twin_calls::module_of(p, twin).and_then(|m| p.entry(m));
        let name = match (&sel.func, entry) {
            (Some(f), _) => f.as_str(),
            (None, Some((_, e))) => e.name.text.as_str(),
            (None, None) => {
                let all: Vec<String> =
                    known.iter().map(|f| format!("{}:{shown}.{f}", sel.file)).collect();
                return Err(format!(
                    "the module of twin `{shown}` has no `entry func`; choose one of its functions: {}",
                    list(all.iter().map(String::as_str))
                ));
            }
        };
        let own = funcs.iter().find(|(_, f)| f.name.text == name).map(|(r, _)| *r);
        let pair = own.and_then(|r| Some((r, twin_calls::boundary(p, r)?.0)));
        pair.ok_or_else(|| {
            nearest(&format!("twin `{shown}` has no function `{name}`"), name, &known)
        })
    }

    /// `FILE:func` names a function outside modules.
    fn select_free(
        &self,
        sel: &Selection,
        name: &str,
        modules: &[&str],
    ) -> Result<ItemRef, String> {
        if self.program.twins().iter().any(|(n, _)| *n == name) {
            return Err(format!(
                "`{name}` is a twin, whose kernels run on a device; name its module instead"
            ));
        }
        let free = self.free_functions();
        if sel.func.is_none()
            && let Some((_, r)) = free.iter().find(|(n, _)| *n == name)
        {
            return Ok(*r);
        }
        let file = &sel.file;
        let what = format!("`{file}` has no module and no function outside modules `{name}`");
        // a function of a module is named behind it
        let modules_of = self.program.modules().into_iter();
        let inside = modules_of.filter(|(_, m)| {
            self.program.funcs(*m).iter().any(|(_, f)| f.name.text == name && sel.func.is_none())
        });
        let inside: Vec<String> = inside.map(|(m, _)| format!("{file}:{m}.{name}")).collect();
        if !inside.is_empty() {
            let all = list(inside.iter().map(String::as_str));
            return Err(format!("{what}; modules have one: {all}"));
        }
        let known = || modules.iter().copied().chain(free.iter().map(|(n, _)| *n));
        if let Some(m) = did_you_mean(name, known()) {
            return Err(format!("{what}: did you mean `{file}:{m}`?"));
        }
        let form = |n: &&str| format!("{file}:{n}");
        let of = |what: &str, names: Vec<String>| match names.as_slice() {
            [] => String::new(),
            all => format!("; {what}: {}", list(all.iter().map(String::as_str))),
        };
        let here = of("modules", modules.iter().map(form).collect());
        let free = of("functions", free.iter().map(|(n, _)| form(n)).collect());
        let inner = match modules.first() {
            Some(m) => format!("; a function of a module: `{file}:{m}.NAME`"),
            None => String::new(),
        };
        Err(format!("{what}{here}{free}{inner}"))
    }

    fn free_functions(&self) -> Vec<(&str, ItemRef)> {
        let Some(root) = self.program.files.first() else { return vec![] };
        root.ast
            .items
            .iter()
            .enumerate()
            .filter_map(|(n, i)| match &i.kind {
                ItemKind::Func(f) => {
                    Some((f.name.text.as_str(), ItemRef { file: 0, module: None, item: n }))
                }
                _ => None,
            })
            .collect()
    }
}

/// Whether a function's name stands nowhere but in itself.
fn uncalled(f: &ast::Func, uses: &[(String, u32)]) -> bool {
    let own = f.header.start..f.body.span.end;
    !uses.iter().any(|(n, at)| *n == f.name.text && !own.contains(at))
}

/// Whether a function needs nothing from a caller but whole tensors.
fn alone(f: &ast::Func) -> bool {
    f.generics.is_empty()
        && f.params.iter().all(|q| {
            q.default.is_none()
                && q.ty.as_ref().is_some_and(|t| match &t.kind {
                    TypeKind::Tensor { .. } => true,
                    TypeKind::Named(path) => {
                        path.segs.iter().all(|s| !matches!(s.text.as_str(), "index" | "dtype"))
                    }
                    TypeKind::Mesh(_) => false,
                    TypeKind::Tuple(_) | TypeKind::Apply { .. } | TypeKind::Error => true,
                })
        })
}

fn names_of(p: &Program, module: ItemRef) -> String {
    p.item(module).and_then(|i| item_name(&i.kind)).map_or_else(String::new, |n| n.text.clone())
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    if names.is_empty() { "it has none".into() } else { names.join(", ") }
}

fn nearest(what: &str, name: &str, known: &[&str]) -> String {
    match did_you_mean(name, known.iter().copied()) {
        Some(m) => format!("{what}: did you mean `{m}`?"),
        None => format!("{what}; it has {}", list(known.iter().copied())),
    }
}

pub fn has_errors(diags: &[Diagnostic]) -> bool {
    diags.iter().any(|d| d.level == Level::Error)
}

/// Sorted by file and place, each once.
pub fn tidy(mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diags.sort_by_key(|d| (d.span().map(|s| (s.file, s.start, s.end)), d.level, d.code));
    let mut seen = HashSet::default();
    diags.retain(|d| seen.insert((d.code, d.span(), d.message.clone())));
    diags
}

/// Sizes of dims for one run, with their names.
#[derive(Clone, Debug, Default)]
pub struct Point {
    pub env: Env,
    pub sizes: Vec<(String, i64)>,
}

/// Every combination of the sizes stated for the dims of a graph.
///
/// # Errors
/// A dim is unknown, has no size, or a size is outside its bounds: the text lists them all.
pub fn points(g: &Graph, stated: &[(String, Vec<i64>)]) -> Result<Vec<Point>, String> {
    let (all, outside) = sweep(g, stated)?;
    if outside.is_empty() { Ok(all) } else { Err(outside.join("\n")) }
}

/// Every combination of the sizes stated, and what is said of sizes that are outside their dims.
///
/// # Errors
/// A dim is unknown, has no size, or is stated twice: the text lists them all, and the sizes
/// outside their dims.
pub fn sweep(
    g: &Graph,
    stated: &[(String, Vec<i64>)],
) -> Result<(Vec<Point>, Vec<String>), String> {
    let (mut wrong, mut outside) = (vec![], vec![]);
    let known: Vec<(VarId, &str, String)> = g
        .dims
        .iter()
        .filter_map(|d| {
            let i = g.vars.get(*d)?;
            Some((*d, i.name.as_str(), format!("{}..={}", g.vars.show(&i.lo), g.vars.show(&i.hi))))
        })
        .collect();
    for (name, _) in stated {
        if !known.iter().any(|k| k.1 == name) {
            let names: Vec<&str> = known.iter().map(|k| k.1).collect();
            wrong.push(match did_you_mean(name, names.iter().copied()) {
                Some(m) => format!("`{}` has no dim `{name}`: did you mean `{m}`?", g.name),
                None if names.is_empty() => format!("`{}` has no dims, so no `{name}`", g.name),
                None => {
                    format!("`{}` has no dim `{name}`; it has {}", g.name, list(names.into_iter()))
                }
            });
        }
    }
    for (i, (name, _)) in stated.iter().enumerate() {
        if stated.iter().take(i).any(|(n, _)| n == name) {
            wrong.push(format!("dim `{name}` is stated twice: `--dim {name}=N,N` gives two sizes"));
        }
    }
    let mut out = vec![Point::default()];
    for (var, name, bounds) in &known {
        let Some((_, sizes)) = stated.iter().find(|(n, _)| n == name) else {
            wrong.push(format!("dim `{name}` in {bounds} needs a size: `--dim {name}=N`"));
            continue;
        };
        let info = g.vars.get(*var);
        for s in sizes {
            let (lo, hi) =
                info.map_or((None, None), |i| (g.vars.lower(&i.lo), g.vars.upper(&i.hi)));
            if lo.is_some_and(|lo| *s < lo) || hi.is_some_and(|hi| *s > hi) {
                outside.push(format!("dim `{name}` is in {bounds}, found {s}"));
            }
        }
        let old = std::mem::take(&mut out);
        for p in old {
            for s in sizes {
                let mut q = p.clone();
                q.env.set(*var, *s);
                q.sizes.push(((*name).to_string(), *s));
                out.push(q);
            }
        }
    }
    if wrong.is_empty() {
        return Ok((out, outside));
    }
    wrong.append(&mut outside);
    Err(wrong.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections() {
        let s = Selection::parse("a/b.tf:M.f");
        assert_eq!(
            (s.file.as_str(), s.module.as_deref(), s.func.as_deref()),
            ("a/b.tf", Some("M"), Some("f"))
        );
        let s = Selection::parse("c:/x.tf");
        assert_eq!((s.file.as_str(), s.module), ("c:/x.tf", None));
        assert_eq!(Selection::parse("x.tf:M").module.as_deref(), Some("M"));
    }

    #[test]
    fn consts_are_replaced_before_dims() {
        let text = "const N = 4;\ndim d in 1..=N;\nfunc f(x: f32[d]) -> f32[d] { x }\n";
        let consts = [("N".to_string(), "9".to_string()), ("M".to_string(), "1".to_string())];
        let s =
            Session::open(&MemorySources::one("a.tf", text), "a.tf", &consts, Targets::default());
        assert_eq!(s.wrong_settings, ["the file has no const `M`: it has `N`"]);
        let f = s.select(&Selection::parse("a.tf:f")).unwrap();
        let c = s.compile(f);
        let g = c.graph.as_ref().unwrap();
        assert!(points(g, &[("d".into(), vec![9])]).is_ok());
        let twice = points(g, &[("d".into(), vec![1]), ("d".into(), vec![2])]);
        assert!(twice.is_err_and(|e| e.contains("stated twice")));
        assert_eq!(
            points(g, &[("d".into(), vec![10])]).unwrap_err(),
            "dim `d` is in 1..=9, found 10"
        );
        assert!(points(g, &[]).unwrap_err().contains("needs a size"));
    }

    #[test]
    fn configs_are_read_from_elsewhere() {
        let text = "config cfg = \"c.json\";\nfunc f(x: f32[cfg.n]) -> f32[cfg.n] { x }\n";
        let all = [("d/a.tf", text), ("d/c.json", "{\"n\": 4}"), ("e.json", "{\"n\": 9}")];
        let all = all.map(|(n, t)| (n.to_string(), t.as_bytes().to_vec()));
        let sources = MemorySources(all.into());
        let shape = |configs: &[(String, String)]| {
            let settings = Settings { configs, ..Settings::default() };
            let s = Session::open_with(&sources, "d/a.tf", &settings, Targets::default());
            let c = s.compile(s.select(&Selection::parse("d/a.tf:f")).unwrap());
            let n = c.graph.as_ref().and_then(|g| g.ty(g.params[0].value).shape[0].as_int());
            (n, s.wrong_settings)
        };
        assert_eq!(shape(&[]), (Some(4), vec![]));
        assert_eq!(shape(&[("cfg".into(), "e.json".into())]), (Some(9), vec![]));
        let wrong = "the file has no config `conf`: it has `cfg`".to_string();
        assert_eq!(shape(&[("conf".into(), "e.json".into())]), (Some(4), vec![wrong]));
        assert_eq!(shape(&[("cfg".into(), "f.json".into())]).0, None);
    }

    #[test]
    fn settings_reach_imported_files() {
        let model = "config cfg = \"c.json\";\nconst N = 2;\nconst M = N + cfg.n;\n";
        let root = "use \"m.tf\" as model;\nuse \"m.tf\" as again;\nconst N = 1;\nfunc f(x: f32[model::M, N]) -> f32[model::M, N] { x }\n";
        let all =
            [("a.tf", root), ("m.tf", model), ("c.json", "{\"n\": 4}"), ("e.json", "{\"n\": 9}")];
        let all = all.map(|(n, t)| (n.to_string(), t.as_bytes().to_vec()));
        let sources = MemorySources(all.into());
        let shape = |consts: &[(&str, &str)], configs: &[(&str, &str)]| {
            let owned = |l: &[(&str, &str)]| -> Vec<(String, String)> {
                l.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
            };
            let (consts, configs) = (owned(consts), owned(configs));
            let settings = Settings { consts: &consts, configs: &configs };
            let s = Session::open_with(&sources, "a.tf", &settings, Targets::default());
            let c = s.compile(s.select(&Selection::parse("a.tf:f")).unwrap());
            let g = c.graph.as_ref().unwrap();
            let n = g.ty(g.params[0].value).shape.iter().map(|e| e.as_int().unwrap()).collect();
            let n: Vec<i64> = n;
            (n, s.wrong_settings)
        };
        assert_eq!(shape(&[], &[]), (vec![6, 1], vec![]));
        assert_eq!(shape(&[("model::N", "10")], &[]), (vec![14, 1], vec![]));
        let both = shape(&[("N", "3"), ("model::N", "10")], &[("model::cfg", "e.json")]);
        assert_eq!(both, (vec![19, 3], vec![]));
        let wrong = |name| shape(&[(name, "1")], &[]).1.join("");
        assert_eq!(
            wrong("modle::N"),
            "const `modle::N`: there is no import `modle`: did you mean `model`?"
        );
        assert_eq!(wrong("model::K"), "the file has no const `model::K`: it has `N`, `M`");
        let twice = shape(&[("model::N", "1"), ("again::N", "2")], &[]);
        let said = "const `again::N` is given twice: `model::N` is the same one";
        assert_eq!(twice, (vec![5, 1], vec![said.to_string()]));
        let configs = shape(&[], &[("model::cfg", "e.json"), ("again::cfg", "c.json")]).1.join("");
        assert_eq!(configs, "config `again::cfg` is given twice: `model::cfg` is the same one");
        assert_eq!(wrong("M"), "the file has no const `M`: did you mean `again::M`?");
        let configs = shape(&[], &[("cfg", "e.json")]).1.join("");
        assert_eq!(configs, "the file has no config `cfg`: did you mean `again::cfg`?");
        let configs = shape(&[], &[("gfc", "e.json")]).1.join("");
        assert_eq!(configs, "the file has no config `gfc`: it has none");
    }

    #[test]
    fn what_to_select_is_listed() {
        let text = "module A { entry func f(x: f32[4]) -> f32[4] { x } }\nmodule Bee { pub func g(x: f32[4]) -> f32[4] { x } }\nfunc helper(x: f32[4]) -> f32[4] { x }\n";
        let s = Session::open(&MemorySources::one("a.tf", text), "a.tf", &[], Targets::default());
        let err = |t: &str| s.select(&Selection::parse(t)).unwrap_err();
        assert!(err("a.tf").contains("`a.tf:A`, `a.tf:Bee`"));
        assert!(err("a.tf:Be").contains("did you mean `a.tf:Bee`?"));
        // modules and functions apart, in the form that selects them
        let apart = "modules: `a.tf:A`, `a.tf:Bee`; functions: `a.tf:helper`; a function of a module: `a.tf:A.NAME`";
        assert!(err("a.tf:Quux").contains(apart), "{}", err("a.tf:Quux"));
        assert!(err("a.tf:g").ends_with("modules have one: `a.tf:Bee.g`"));
        assert!(err("a.tf:Bee").contains("no `entry func`"));
        assert!(s.select(&Selection::parse("a.tf:A.f")).is_ok());
        assert!(s.diagnostics().is_empty());
    }
}

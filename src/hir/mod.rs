//! Names, types and placements resolved: from syntax trees to graphs.
//!
//! A [`Program`] holds the files that one command reads, with every item in a table by name.
//! Consts are folded on demand. A function becomes a graph by *elaboration* ([`elab`]): its body
//! is interpreted with symbolic integers for dims, coordinates and loop variables, and with one
//! graph value for each tensor; calls are pasted where they stand, so generics are bound to what
//! each call gives them. What a body means is one [`value::Val`] for each expression:
//!
//! - numbers, bools, strings, dtypes and types exist only here and are folded;
//! - tensors are values of the graph, and every op adds a node;
//! - `let mut` names are bindings whose value changes; a region (loop, mesh, role, match) that
//!   assigns an outer one returns its new value.
//!
//! Elaboration fixes dtypes, shapes and what varies. The placement of each value is then inferred
//! by [`place`], forward from operands and backward from destinations. Both report diagnostics
//! and go on, with an error value that keeps later uses silent.

pub mod args;
mod assigns;
pub mod calls;
pub mod elab;
pub mod exprs;
mod fit;
pub mod functions;
pub mod hints;
pub mod kernels;
pub mod load;
pub mod loops;
pub mod matches;
pub mod meshes;
pub mod modules;
pub mod overrides;
pub mod paste;
pub mod place;
pub mod placements;
pub mod print;
pub mod regions;
pub mod split;
pub mod steps;
pub mod stmts;
pub mod subscripts;
pub mod twin_calls;
pub mod twins;
pub mod types;
pub mod value;
pub mod weights;
pub mod writes;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::{FileId, HashMap, SourceMap, Span};
use crate::diag::Diagnostic;
use crate::syntax::ast;
use crate::types::dim::{VarId, VarTable};
use value::Val;

/// An item: of a file, or of a module or twin that is itself an item of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemRef {
    pub file: usize,
    /// The index of the module or twin among the file's items.
    pub module: Option<usize>,
    pub item: usize,
}

/// What a name of a file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decl {
    Item(ItemRef),
    /// `use "f.tf" as f;`
    File(usize),
}

/// One file that was read.
pub struct FileInfo {
    pub id: FileId,
    pub ast: ast::File,
    pub names: BTreeMap<String, Decl>,
    /// Names of each module and twin, by its index among the items.
    pub inner: HashMap<usize, BTreeMap<String, usize>>,
    /// Names that a dropped item would have declared.
    pub lost: Vec<String>,
}

/// Everything that one command reads.
pub struct Program {
    pub sources: SourceMap,
    /// The first is the root.
    pub files: Vec<FileInfo>,
    pub configs: HashMap<ItemRef, Arc<serde_json::Value>>,
    /// The dims of all files.
    pub vars: VarTable,
    pub dims: HashMap<ItemRef, VarId>,
    /// `--const NAME=VALUE`
    pub overrides: Vec<(usize, String, Val)>,
    pub diags: Vec<Diagnostic>,
    consts: RefCell<HashMap<ItemRef, Option<Val>>>,
}

impl Program {
    /// Forgets the values of consts, which change with the overrides.
    pub(crate) fn forget_consts(&self) {
        self.consts.borrow_mut().clear();
    }
}

impl Program {
    /// Whether a file is one of the standard library.
    pub fn is_library(&self, file: FileId) -> bool {
        self.sources.get(file).is_some_and(|s| s.name.starts_with("std::"))
    }

    /// The item of a reference.
    pub fn item(&self, r: ItemRef) -> Option<&ast::Item> {
        let items = &self.files.get(r.file)?.ast.items;
        match r.module {
            None => items.get(r.item),
            Some(m) => module_items(items.get(m)?)?.get(r.item),
        }
    }

    /// The modules of the root file, in order, as (name, item).
    pub fn modules(&self) -> Vec<(&str, ItemRef)> {
        self.root_items(|k| matches!(k, ast::ItemKind::Module { .. }))
    }

    pub fn twins(&self) -> Vec<(&str, ItemRef)> {
        self.root_items(|k| matches!(k, ast::ItemKind::Twin { .. }))
    }

    fn root_items(&self, want: fn(&ast::ItemKind) -> bool) -> Vec<(&str, ItemRef)> {
        let Some(root) = self.files.first() else { return vec![] };
        root.ast
            .items
            .iter()
            .enumerate()
            .filter(|(_, i)| want(&i.kind))
            .filter_map(|(n, i)| {
                let name = item_name(&i.kind)?;
                Some((name.text.as_str(), ItemRef { file: 0, module: None, item: n }))
            })
            .collect()
    }

    /// The functions of a module or twin, in order.
    pub fn funcs(&self, module: ItemRef) -> Vec<(ItemRef, &ast::Func)> {
        let Some(items) = self.item(module).and_then(module_items) else { return vec![] };
        items
            .iter()
            .enumerate()
            .filter_map(|(n, i)| match &i.kind {
                ast::ItemKind::Func(f) => {
                    Some((ItemRef { file: module.file, module: Some(module.item), item: n }, f))
                }
                _ => None,
            })
            .collect()
    }

    /// A module's entry function.
    pub fn entry(&self, module: ItemRef) -> Option<(ItemRef, &ast::Func)> {
        self.funcs(module).into_iter().find(|(_, f)| f.vis == ast::Vis::Entry)
    }

    /// The item that a path names, seen from a file and possibly a module.
    pub fn lookup(&self, file: usize, module: Option<usize>, path: &ast::Path) -> Option<Decl> {
        let (first, rest) = path.segs.split_first()?;
        let info = self.files.get(file)?;
        let mut at = module
            .and_then(|m| Some((m, *info.inner.get(&m)?.get(&first.text)?)))
            .map(|(m, i)| Decl::Item(ItemRef { file, module: Some(m), item: i }))
            .or_else(|| info.names.get(&first.text).copied())?;
        for seg in rest {
            at = match at {
                Decl::File(f) => self.files.get(f)?.names.get(&seg.text).copied()?,
                Decl::Item(r) if r.module.is_none() => {
                    let i = *self.files.get(r.file)?.inner.get(&r.item)?.get(&seg.text)?;
                    Decl::Item(ItemRef { file: r.file, module: Some(r.item), item: i })
                }
                Decl::Item(_) => return None,
            };
        }
        Some(at)
    }

    /// Functions and children that can be called from a place, for suggestions.
    pub fn callable(&self, file: usize, module: Option<usize>) -> Vec<&str> {
        let Some(info) = self.files.get(file) else { return vec![] };
        let own = module.and_then(|m| info.inner.get(&m));
        let inner = own
            .into_iter()
            .flatten()
            .map(|(n, i)| (n, Decl::Item(ItemRef { file, module, item: *i })));
        inner
            .chain(info.names.iter().map(|(n, d)| (n, *d)))
            .filter(|(_, d)| match d {
                Decl::Item(r) => self.item(*r).is_some_and(|i| {
                    matches!(i.kind, ast::ItemKind::Func(_) | ast::ItemKind::Child { .. })
                }),
                Decl::File(_) => false,
            })
            .map(|(n, _)| n.as_str())
            .collect()
    }

    /// Names that can be seen from a place, for suggestions.
    pub fn visible(&self, file: usize, module: Option<usize>) -> Vec<&str> {
        let Some(info) = self.files.get(file) else { return vec![] };
        let inner = module.and_then(|m| info.inner.get(&m));
        inner
            .into_iter()
            .flat_map(|n| n.keys())
            .chain(info.names.keys())
            .map(String::as_str)
            .collect()
    }
}

/// The items inside a module or twin.
pub fn module_items(item: &ast::Item) -> Option<&[ast::Item]> {
    match &item.kind {
        ast::ItemKind::Module { items, .. } | ast::ItemKind::Twin { items, .. } => Some(items),
        _ => None,
    }
}

/// The name an item declares.
pub fn item_name(kind: &ast::ItemKind) -> Option<&ast::Name> {
    use ast::ItemKind::*;
    match kind {
        Config { name, .. }
        | Const { name, .. }
        | TypeAlias { name, .. }
        | Dim { name, .. }
        | Module { name, .. }
        | Twin { name, .. }
        | Weight { name, .. }
        | Prepare { name, .. }
        | Child { name, .. }
        | ExternKernel { name, .. } => Some(name),
        Func(f) => Some(&f.name),
        Use { .. } | UseFile { .. } | Target(_) | Topology(_) | Mesh(_) | Error { .. } => None,
    }
}

/// The span of the file's first byte, for what has no better place.
pub fn file_start(file: FileId) -> Span {
    Span { file, start: 0, end: 0 }
}

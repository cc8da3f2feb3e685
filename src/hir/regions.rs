//! Blocks that own a region of the graph: meshes, roles, and the variables they assign.

use super::assigns::block_assigns;
use super::elab::Elab;
use super::value::{Binding, Val};
use crate::base::{HashSet, Span};
use crate::diag::{Code, Diagnostic};
use crate::graph::{NodeKind, RegionId, ValueId};
use crate::syntax::ast::{self};
use crate::types::placement::{MeshId, Storage};
use crate::types::ty::TensorTy;

/// The bindings that a region assigns, and what they were before.
pub(super) type Assigned = Vec<((usize, usize), Val)>;

impl Elab<'_> {
    /// The outer variables that a block assigns.
    pub(super) fn assigned(&self, body: &[&ast::Block]) -> Assigned {
        let mut names = vec![];
        for b in body {
            block_assigns(b, &mut HashSet::default(), &mut names);
        }
        let mut out: Assigned = vec![];
        for n in names {
            if let Some(at) = self.find(&n)
                && !out.iter().any(|(a, _)| *a == at)
                && let Some(b) = self.binding(at)
            {
                out.push((at, b.val.clone()));
            }
        }
        out
    }

    /// The tensors of variables, left to right.
    pub(super) fn leaves_of(&self, at: &Assigned) -> Vec<ValueId> {
        let mut out = vec![];
        for (a, _) in at {
            if let Some(b) = self.binding(*a) {
                b.val.leaves(&mut out);
            }
        }
        out
    }

    /// Gives variables new tensors, left to right.
    pub(super) fn set_leaves(&mut self, at: &Assigned, new: &[ValueId]) {
        let mut it = new.iter().copied();
        for (a, _) in at {
            if let Some(b) = self.binding_mut(*a) {
                b.val = b.val.with_leaves(&mut it);
            }
        }
    }

    /// A number that a region changed cannot leave it.
    pub(super) fn check_numbers(&mut self, at: &Assigned, span: Span) {
        for (a, old) in at {
            let Some(b) = self.binding(*a).cloned() else { continue };
            if let (Val::Num(x), Val::Num(y)) = (old, &b.val)
                && x != y
            {
                let d = Diagnostic::new(
                    Code::NumberCarried,
                    span,
                    format!("`{}` is a compile-time number, it cannot change here", b.name),
                )
                .label(b.span, "declared here")
                .help("a value that changes from trip to trip is a tensor: `full(i32, 0)`");
                self.push(d);
            }
        }
    }

    pub(super) fn in_region(&mut self, f: impl FnOnce(&mut Self) -> Val) -> (RegionId, Val) {
        let region = self.g.add_region();
        let outer = std::mem::replace(&mut self.region, region);
        let v = f(self);
        self.region = outer;
        (region, v)
    }

    /// Finishes a region without carried values: results are the value's tensors and the
    /// variables', which become the node's outputs. Gives the value seen outside.
    pub(super) fn close(
        &mut self,
        region: RegionId,
        v: Val,
        at: &Assigned,
        kind: NodeKind,
        span: Span,
        outside: bool,
    ) -> Val {
        let mut results = vec![];
        v.leaves(&mut results);
        let own = results.len();
        results.extend(self.leaves_of(at));
        let tys: Vec<TensorTy> = results
            .iter()
            .map(|r| {
                let mut t = self.g.ty(*r).clone();
                if outside && t.place.storage != Storage::Gmem {
                    // what is wrong with leaving is said by the placement rules
                    t.place.varying.clear();
                }
                t
            })
            .collect();
        let names: Vec<Option<String>> =
            results.iter().map(|r| self.g.value(*r).name.clone()).collect();
        self.g.region_mut(region).results = results;
        let outs = self.add_node(kind, vec![], tys, span);
        for (o, n) in outs.iter().zip(names) {
            self.g.value_mut(*o).name = n;
        }
        self.set_leaves(at, outs.get(own..).unwrap_or(&[]));
        v.with_leaves(&mut outs.iter().copied())
    }

    pub fn mesh_block(&mut self, binds: &[ast::MeshBind], body: &ast::Block, span: Span) -> Val {
        if self.constant {
            return self.error(Code::NotConstant, span, "a mesh block is no compile-time value");
        }
        let at = self.assigned(&[body]);
        let mut meshes: Option<Vec<MeshId>> = None;
        let (region, v) = self.in_region(|s| {
            s.block_frame(|s| {
                meshes = s.bind_meshes(binds);
                let Some(ms) = &meshes else {
                    s.declare_broken(binds);
                    return s.block(body);
                };
                let n = s.open.len();
                s.open.extend(ms.iter().copied());
                let v = s.block(body);
                s.open.truncate(n);
                v
            })
        });
        self.check_numbers(&at, span);
        let Some(meshes) = meshes else { return Val::Error };
        let outermost = self.open.is_empty();
        let kind = NodeKind::Mesh { meshes, body: region };
        let header = Span { end: body.span.start, ..span };
        self.close(region, v, &at, kind, header, outermost)
    }

    /// After an error in a mesh's declaration its names are silent.
    fn declare_broken(&mut self, binds: &[ast::MeshBind]) {
        for b in binds {
            if self.find(&b.name.text).is_none() {
                self.declare(Binding {
                    name: b.name.text.clone(),
                    val: Val::Error,
                    mutable: false,
                    place: None,
                    span: b.name.span,
                });
            }
        }
    }

    pub fn on_block(&mut self, part: &ast::Name, body: &ast::Block, span: Span) -> Val {
        let path = ast::Path { segs: vec![part.clone()], span: part.span };
        let m = match self.path(&path) {
            Val::Mesh(m) => m,
            Val::Error => return Val::Error,
            other => {
                let msg = format!("`on` takes a part of a mesh, found {}", other.what());
                return self.error(Code::BadArgs, part.span, msg);
            }
        };
        let at = self.assigned(&[body]);
        let (region, v) = self.in_region(|s| s.block(body));
        self.check_numbers(&at, span);
        let header = Span { end: body.span.start, ..span };
        self.close(region, v, &at, NodeKind::On { part: m, body: region }, header, false)
    }
}

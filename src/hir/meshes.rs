//! Meshes: named arrangements of the positions of topology levels.

use super::elab::{Elab, Frame};
use super::value::{Binding, Val};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::syntax::ast::{self, ExprKind};
use crate::types::dim::{Decision, Expr, VarInfo, VarKind};
use crate::types::placement::{AxisId, Mesh, MeshAxis, MeshId};

impl Elab<'_> {
    /// An axis of a mesh by name.
    pub fn mesh_axis(&mut self, m: MeshId, name: &ast::Name) -> Option<AxisId> {
        let mesh = self.g.meshes.mesh(m)?.clone();
        let short = |a: &AxisId| {
            let full = self.g.meshes.axis_name(*a);
            full.rsplit_once('.').map_or(full, |(_, s)| s).to_string()
        };
        if let Some(a) = mesh.axes.iter().find(|a| short(a) == name.text) {
            return Some(*a);
        }
        let known: Vec<String> = mesh.axes.iter().map(short).collect();
        let msg = format!("mesh `{}` has no axis `{}`", mesh.name, name.text);
        let mut d = Diagnostic::new(Code::UnknownAxis, name.span, msg)
            .label(mesh.span, format!("it has {}", list(&known)));
        d = match did_you_mean(&name.text, known.iter().map(String::as_str)) {
            Some(m) => d.help(format!("it has `{m}`")).fix("rename", name.span, m),
            None => d.help(format!("it has {}", list(&known))),
        };
        self.push(d);
        None
    }

    /// Binds meshes, in order: later ones may be parts of earlier ones.
    pub fn bind_meshes(&mut self, binds: &[ast::MeshBind]) -> Option<Vec<MeshId>> {
        let mut out = vec![];
        for b in binds {
            let m = self.bind_mesh(b)?;
            self.finer_than(m, &out)?;
            self.declare(Binding {
                name: b.name.text.clone(),
                val: Val::Mesh(m),
                mutable: false,
                place: None,
                span: b.name.span,
            });
            out.push(m);
        }
        Some(out)
    }

    /// A mesh over a level stands inside meshes of coarser levels only: the positions of one
    /// level are arranged once.
    fn finer_than(&mut self, m: MeshId, beside: &[MeshId]) -> Option<()> {
        let mesh = self.g.meshes.mesh(m)?.clone();
        if mesh.parent.is_some() {
            return Some(());
        }
        let mut around = self.open.iter().chain(beside).filter_map(|o| self.g.meshes.mesh(*o));
        let Some(outer) = around.rfind(|o| o.rank >= mesh.rank).cloned() else {
            return Some(());
        };
        let msg = if outer.rank == mesh.rank {
            format!("`{}` is already arranged by mesh `{}`", mesh.level, outer.name)
        } else {
            format!(
                "mesh `{}` of `{}` stands inside one of `{}`",
                mesh.name, mesh.level, outer.level
            )
        };
        let help = if outer.rank == mesh.rank {
            format!(
                "other axes for the same positions: `{} = {}[..] as [..]`",
                mesh.name, outer.name
            )
        } else {
            "meshes go from coarse to fine".to_string()
        };
        let d = Diagnostic::new(Code::MeshTooLarge, mesh.span, msg)
            .label(outer.span, "this mesh")
            .help(help);
        self.push(d);
        None
    }

    fn bind_mesh(&mut self, b: &ast::MeshBind) -> Option<MeshId> {
        let [name] = b.of.segs.as_slice() else {
            self.error(Code::UnknownLevel, b.of.span, "expected a topology level or a mesh");
            return None;
        };
        if let Some(Val::Mesh(parent)) =
            self.find(&name.text).and_then(|at| self.binding(at)).map(|x| x.val.clone())
        {
            return self.mesh_part(b, parent);
        }
        let Some(rank) = self.g.topology.iter().position(|(l, _)| *l == name.text) else {
            let levels: Vec<String> = self.g.topology.iter().map(|(l, _)| l.clone()).collect();
            let msg = format!("`{}` is no level of this module's topology", name.text);
            let mut d = Diagnostic::new(Code::UnknownLevel, name.span, msg);
            d = match did_you_mean(&name.text, levels.iter().map(String::as_str)) {
                Some(m) => d.help(format!("it has `{m}`")).fix("rename", name.span, m),
                None if levels.is_empty() => {
                    d.help("declare one in the module: `topology cta = 132, thread = 256;`")
                }
                None => d.help(format!("it has {}", list(&levels))),
            };
            self.push(d);
            return None;
        };
        let extents = self.axis_list(&b.subs, b)?;
        let size = Expr::product(extents.iter().map(|(_, e)| e));
        if self.g.vars.upper(&size).is_some_and(|n| n > i64::from(i32::MAX)) {
            let msg = format!("mesh `{}` has more than 2^31 - 1 positions", b.name.text);
            self.error(Code::MeshTooLarge, b.span, msg);
            return None;
        }
        let limit = self.g.topology.get(rank).and_then(|(_, e)| e.clone());
        if let Some(limit) = limit
            && self.g.vars.ge(&limit, &size) != Decision::Yes
        {
            let (have, want) = (self.g.vars.show(&limit), self.g.vars.show(&size));
            let d = Diagnostic::new(
                Code::MeshTooLarge,
                b.span,
                format!(
                    "mesh `{}` has {want} positions, the topology has {have} of `{}`",
                    b.name.text, name.text
                ),
            )
            .help(format!("`topology {} = {want}` would hold it", name.text));
            self.push(d);
            return None;
        }
        let level = name.text.clone();
        self.new_mesh(b, level, rank, None, Expr::zero(), size, Expr::one(), extents)
    }

    fn axis_list(
        &mut self,
        subs: &[ast::MeshSub],
        b: &ast::MeshBind,
    ) -> Option<Vec<(ast::Name, Expr)>> {
        let mut out: Vec<(ast::Name, Expr)> = vec![];
        for s in subs {
            let ast::MeshSub::Axis(a) = s else {
                let msg = "a mesh over a level names its axes: `cta[row: 8, col: 32]`";
                self.error(Code::UnknownAxis, b.span, msg);
                return None;
            };
            let e = self.extent(&a.extent)?;
            if let Some((n, _)) = out.iter().find(|(n, _)| n.text == a.name.text) {
                let d = Diagnostic::new(
                    Code::DeclaredTwice,
                    a.name.span,
                    format!("axis `{}` is declared twice", a.name.text),
                )
                .label(n.span, "first declared here");
                self.push(d);
                return None;
            }
            if self.g.vars.upper(&e).is_some_and(|u| u < 1) {
                self.error(Code::BadExtent, a.extent.span, "a mesh axis has at least one position");
                return None;
            }
            out.push((a.name.clone(), e));
        }
        Some(out)
    }

    #[allow(clippy::too_many_arguments)]
    fn new_mesh(
        &mut self,
        b: &ast::MeshBind,
        level: String,
        rank: usize,
        parent: Option<MeshId>,
        offset: Expr,
        size: Expr,
        unit: Expr,
        extents: Vec<(ast::Name, Expr)>,
    ) -> Option<MeshId> {
        let mesh = self.g.meshes.add_mesh(Mesh {
            name: b.name.text.clone(),
            level,
            rank,
            axes: vec![],
            parent,
            offset,
            size,
            span: b.span,
        });
        // the last axis varies fastest
        let mut strides = vec![];
        let mut stride = unit;
        for (_, e) in extents.iter().rev() {
            strides.push(stride.clone());
            stride = stride.mul(e);
        }
        let mut axes = vec![];
        for ((n, e), stride) in extents.into_iter().zip(strides.into_iter().rev()) {
            let name = format!("{}.{}", b.name.text, n.text);
            let next = self.g.meshes.next_axis();
            let var = self.g.vars.add(VarInfo {
                name: name.clone(),
                kind: VarKind::Coord(next.0),
                lo: Expr::zero(),
                hi: e.sub(&Expr::one()),
                span: n.span,
            });
            axes.push(self.g.meshes.add_axis(MeshAxis { name, mesh, extent: e, var, stride }));
        }
        self.g.meshes.mesh_mut(mesh)?.axes = axes;
        Some(mesh)
    }

    /// `wg[1..3]`, `wg[0]`, `wg[1..3] as [a: 2]`: positions of a mesh, with coordinates from 0.
    fn mesh_part(&mut self, b: &ast::MeshBind, parent: MeshId) -> Option<MeshId> {
        let whole = self.g.meshes.mesh(parent)?.clone();
        if b.subs.len() > whole.axes.len() {
            let msg = format!("mesh `{}` has {} axes", whole.name, whole.axes.len());
            self.error(Code::UnknownAxis, b.span, msg);
            return None;
        }
        let mut offset = whole.offset.clone();
        let mut kept: Vec<(ast::Name, Expr, Expr)> = vec![];
        for (i, a) in whole.axes.iter().enumerate() {
            let axis = self.g.meshes.axis(*a)?.clone();
            let short = axis.name.rsplit_once('.').map_or(axis.name.as_str(), |(_, s)| s);
            let name = ast::Name { text: short.to_string(), span: b.span };
            let sub = match b.subs.get(i) {
                None => {
                    kept.push((name, axis.extent, axis.stride));
                    continue;
                }
                Some(ast::MeshSub::Sub(e)) => e,
                Some(ast::MeshSub::Axis(_)) => {
                    let msg = "a part of a mesh takes positions: `wg[1..3]`";
                    self.error(Code::UnknownAxis, b.span, msg);
                    return None;
                }
            };
            let (lo, hi, one) = self.part_range(sub, &axis.extent)?;
            if self.g.vars.ge(&axis.extent, &hi) != Decision::Yes
                || self.g.vars.ge(&lo, &Expr::zero()) != Decision::Yes
            {
                let n = self.g.vars.show(&axis.extent);
                let msg = format!("the part reaches past the {n} positions of `{}`", axis.name);
                self.error(Code::MeshTooLarge, sub.span, msg);
                return None;
            }
            if self.g.vars.ge(&hi, &lo.add(&Expr::one())) == Decision::No {
                let (a, b) = (self.g.vars.show(&lo), self.g.vars.show(&hi));
                let msg = format!("the part `{a}..{b}` has no positions");
                self.error(Code::BadExtent, sub.span, msg);
                return None;
            }
            offset = offset.add(&lo.mul(&axis.stride));
            if !one {
                kept.push((name, hi.sub(&lo), axis.stride));
            }
        }
        let size = Expr::product(kept.iter().map(|(_, e, _)| e));
        let (unit, extents) = match &b.axes {
            Some(axes) => {
                let subs: Vec<ast::MeshSub> =
                    axes.iter().cloned().map(ast::MeshSub::Axis).collect();
                let new = self.axis_list(&subs, b)?;
                let n = Expr::product(new.iter().map(|(_, e)| e));
                if self.g.vars.equal(&n, &size) != Decision::Yes {
                    let msg = format!(
                        "the axes give {} positions, the part has {}",
                        self.g.vars.show(&n),
                        self.g.vars.show(&size)
                    );
                    self.error(Code::MeshTooLarge, b.span, msg);
                    return None;
                }
                (kept.last().map_or_else(Expr::one, |k| k.2.clone()), new)
            }
            None => {
                let unit = kept.last().map_or_else(Expr::one, |k| k.2.clone());
                (unit, kept.into_iter().map(|(n, e, _)| (n, e)).collect())
            }
        };
        let (level, rank) = (whole.level, whole.rank);
        self.new_mesh(b, level, rank, Some(parent), offset, size, unit, extents)
    }

    /// Start, end, and whether it is a single position.
    fn part_range(&mut self, e: &ast::Expr, extent: &Expr) -> Option<(Expr, Expr, bool)> {
        if let ExprKind::Range { lo, hi, inclusive } = &e.kind {
            let a = match lo {
                Some(x) => self.int_expr(x)?,
                None => Expr::zero(),
            };
            let b = match hi {
                Some(x) => self.int_expr(x)?,
                None => extent.clone(),
            };
            let b = if *inclusive { b.add(&Expr::one()) } else { b };
            return Some((a, b, false));
        }
        let i = self.int_expr(e)?;
        Some((i.clone(), i.add(&Expr::one()), true))
    }

    /// Declares the meshes of a module itself; their axes may stand in weights and signatures.
    pub fn module_meshes(&mut self, items: &[ast::Item]) {
        for i in items {
            if let ast::ItemKind::Mesh(binds) = &i.kind {
                self.bind_meshes(binds);
            }
        }
    }

    /// Runs `f` in a new block of names.
    pub fn block_frame(&mut self, f: impl FnOnce(&mut Self) -> Val) -> Val {
        self.frames.push(Frame::default());
        let v = f(self);
        self.frames.pop();
        v
    }

    pub fn mesh_span(&self, m: MeshId) -> Option<Span> {
        self.g.meshes.mesh(m).map(|m| m.span)
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    quoted.join(", ")
}

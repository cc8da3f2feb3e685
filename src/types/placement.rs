//! Where a value lives and how it is split over the axes of meshes.
//!
//! A placement never changes a logical shape. Each logical axis is whole, or a list of factors,
//! major first, some of which are spread over a mesh axis.

use super::dim::{Expr, VarId, VarTable};
use crate::base::Span;
pub use crate::syntax::ast::Storage;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeshId(pub u32);

/// One axis of a mesh.
#[derive(Clone, Debug)]
pub struct MeshAxis {
    /// As it is written: `g.row`.
    pub name: String,
    pub mesh: MeshId,
    pub extent: Expr,
    /// The variable that stands for the coordinate.
    pub var: VarId,
    /// How many positions of the level apart two neighbours are.
    pub stride: Expr,
}

/// A named arrangement of the positions `offset..offset + size` of one topology level.
#[derive(Clone, Debug)]
pub struct Mesh {
    pub name: String,
    /// The level's name: `cta`.
    pub level: String,
    /// The level's rank in the target, 0 is the coarsest.
    pub rank: usize,
    /// The last varies fastest.
    pub axes: Vec<AxisId>,
    /// The mesh of which this one is a part.
    pub parent: Option<MeshId>,
    pub offset: Expr,
    pub size: Expr,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
pub struct MeshTable {
    meshes: Vec<Mesh>,
    axes: Vec<MeshAxis>,
}

impl MeshTable {
    pub fn add_mesh(&mut self, mesh: Mesh) -> MeshId {
        self.meshes.push(mesh);
        MeshId(self.meshes.len() as u32 - 1)
    }

    pub fn add_axis(&mut self, axis: MeshAxis) -> AxisId {
        self.axes.push(axis);
        AxisId(self.axes.len() as u32 - 1)
    }

    /// The id the next axis will get.
    pub fn next_axis(&self) -> AxisId {
        AxisId(self.axes.len() as u32)
    }

    pub fn mesh(&self, id: MeshId) -> Option<&Mesh> {
        self.meshes.get(id.0 as usize)
    }

    pub fn mesh_mut(&mut self, id: MeshId) -> Option<&mut Mesh> {
        self.meshes.get_mut(id.0 as usize)
    }

    pub fn axis(&self, id: AxisId) -> Option<&MeshAxis> {
        self.axes.get(id.0 as usize)
    }

    pub fn meshes(&self) -> impl Iterator<Item = (MeshId, &Mesh)> {
        self.meshes.iter().enumerate().map(|(i, m)| (MeshId(i as u32), m))
    }

    pub fn axes(&self) -> impl Iterator<Item = (AxisId, &MeshAxis)> {
        self.axes.iter().enumerate().map(|(i, a)| (AxisId(i as u32), a))
    }

    pub fn axis_name(&self, id: AxisId) -> &str {
        self.axis(id).map_or("?", |a| a.name.as_str())
    }

    /// The rank of the level an axis belongs to.
    pub fn axis_rank(&self, id: AxisId) -> usize {
        self.axis(id).and_then(|a| self.mesh(a.mesh)).map_or(0, |m| m.rank)
    }

    pub fn axis_extent(&self, id: AxisId) -> Expr {
        self.axis(id).map_or_else(Expr::one, |a| a.extent.clone())
    }
}

/// How values of several positions are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduction {
    Sum,
    Max,
    Min,
    Prod,
}

impl Reduction {
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Prod => "prod",
        }
    }

    pub fn parse(name: &str) -> Option<Reduction> {
        [Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::Prod]
            .into_iter()
            .find(|r| r.name() == name)
    }
}

/// One factor of an axis, spread over a mesh axis or kept whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    pub extent: Expr,
    pub axis: Option<AxisId>,
}

/// The factors of one logical axis, major first. No factors: the axis is whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct AxisSplit {
    pub factors: Vec<Factor>,
    /// The factors' product may exceed the axis (`pad(..)`).
    pub padded: bool,
}

impl AxisSplit {
    pub fn is_whole(&self) -> bool {
        self.factors.iter().all(|f| f.axis.is_none())
    }

    pub fn mesh_axes(&self) -> impl Iterator<Item = AxisId> + '_ {
        self.factors.iter().filter_map(|f| f.axis)
    }

    /// Elements of the axis in one position, padding counted. `extent` is the logical extent.
    pub fn local(&self, extent: &Expr) -> Expr {
        if self.is_whole() && !self.padded {
            return extent.clone();
        }
        Expr::product(self.factors.iter().filter(|f| f.axis.is_none()).map(|f| &f.extent))
    }
}

/// A CuTe address swizzle: `swizzle(bits, base, shift)` on byte addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    pub bits: u32,
    pub base: u32,
    pub shift: u32,
}

/// A mode of a CuTe layout: an integer or a tuple.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Int(i64),
    Tuple(Vec<Mode>),
}

/// A CuTe layout `shape:stride`, leftmost mode fastest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    pub shape: Mode,
    pub stride: Mode,
}

/// Storage and distribution of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    pub storage: Storage,
    /// One entry for each logical axis.
    pub axes: Vec<AxisSplit>,
    /// Mesh axes over which the value is not yet reduced, sorted by axis.
    pub partial: Vec<(AxisId, Reduction)>,
    /// Mesh axes on which the value depends, sorted.
    pub varying: Vec<AxisId>,
    pub swizzle: Option<Swizzle>,
    pub layout: Option<Layout>,
}

impl Placement {
    /// Whole in a storage.
    pub fn whole(storage: Storage, rank: usize) -> Placement {
        Placement {
            storage,
            axes: vec![AxisSplit::default(); rank],
            partial: vec![],
            varying: vec![],
            swizzle: None,
            layout: None,
        }
    }

    /// All mesh axes that split some logical axis.
    pub fn split_axes(&self) -> Vec<AxisId> {
        let mut out: Vec<AxisId> = self.axes.iter().flat_map(AxisSplit::mesh_axes).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    pub fn is_split(&self) -> bool {
        self.axes.iter().any(|a| !a.is_whole())
    }

    /// Extents in one position, padding counted.
    pub fn local_shape(&self, shape: &[Expr]) -> Vec<Expr> {
        shape
            .iter()
            .enumerate()
            .map(|(i, e)| self.axes.get(i).map_or_else(|| e.clone(), |s| s.local(e)))
            .collect()
    }

    pub fn add_varying(&mut self, axes: impl IntoIterator<Item = AxisId>) {
        self.varying.extend(axes);
        self.varying.sort_unstable();
        self.varying.dedup();
    }

    pub fn partial_over(&self, axis: AxisId) -> Option<Reduction> {
        self.partial.iter().find(|(a, _)| *a == axis).map(|(_, r)| *r)
    }

    pub fn set_partial(&mut self, axis: AxisId, r: Reduction) {
        self.partial.retain(|(a, _)| *a != axis);
        self.partial.push((axis, r));
        self.partial.sort_unstable();
    }

    /// As it would be written after `in`.
    pub fn show(&self, shape: &[Expr], vars: &VarTable, meshes: &MeshTable) -> String {
        let mut s = self.storage.name().to_string();
        if self.is_split() {
            let axes: Vec<String> =
                self.axes.iter().zip(shape).map(|(a, e)| show_split(a, e, vars, meshes)).collect();
            s.push_str(&format!("[{}]", axes.join(", ")));
        }
        if let Some(w) = self.swizzle {
            s.push_str(&format!(" swizzle({}, {}, {})", w.bits, w.base, w.shift));
        }
        if let Some(l) = &self.layout {
            s.push_str(&format!(" layout {}:{}", show_mode(&l.shape), show_mode(&l.stride)));
        }
        for (a, r) in &self.partial {
            s.push_str(&format!(" partial({}, {})", r.name(), meshes.axis_name(*a)));
        }
        if !self.varying.is_empty() {
            let names: Vec<&str> = self.varying.iter().map(|a| meshes.axis_name(*a)).collect();
            s.push_str(&format!(" varying({})", names.join(", ")));
        }
        s
    }
}

/// One axis as it would be written in a placement.
pub fn show_split(a: &AxisSplit, extent: &Expr, vars: &VarTable, meshes: &MeshTable) -> String {
    if a.is_whole() && !a.padded {
        return vars.show(extent);
    }
    let factors: Vec<String> = a
        .factors
        .iter()
        .map(|f| match f.axis {
            Some(x) => format!("{} @ {}", vars.show(&f.extent), meshes.axis_name(x)),
            None => vars.show(&f.extent),
        })
        .collect();
    match (a.padded, factors.as_slice()) {
        (true, _) => format!("pad({})", factors.join(", ")),
        (false, [one]) => one.clone(),
        (false, _) => format!("({})", factors.join(", ")),
    }
}

fn show_mode(m: &Mode) -> String {
    match m {
        Mode::Int(i) => i.to_string(),
        Mode::Tuple(v) => {
            format!("({})", v.iter().map(show_mode).collect::<Vec<_>>().join(", "))
        }
    }
}

//! Levels and owners, as the analyses need them: ranks (0 is the coarsest) and who owns what.

use crate::graph::{Graph, NodeKind};
use crate::target::Target;
use crate::types::placement::{Mesh, Storage};

/// The levels of the target, or of the meshes where there is none.
pub(super) struct Machine<'t> {
    pub target: Option<&'t Target>,
    /// Names by rank.
    pub levels: Vec<String>,
    /// Rank of the level whose positions are a launch grid.
    pub grid: usize,
}

impl<'t> Machine<'t> {
    pub fn new(graph: &Graph, target: Option<&'t Target>) -> Machine<'t> {
        if let Some(t) = target {
            let levels: Vec<String> = t.levels().iter().map(|l| l.name.clone()).collect();
            let grid = t.grid_level().and_then(|l| t.level_index(&l.name)).unwrap_or(0);
            return Machine { target, levels, grid };
        }
        let mut levels: Vec<String> = graph.topology.iter().map(|(l, _)| l.clone()).collect();
        let mut meshes: Vec<&Mesh> = graph.meshes.meshes().map(|(_, m)| m).collect();
        meshes.sort_by_key(|m| m.rank);
        for m in meshes {
            if !levels.contains(&m.level) {
                levels.push(m.level.clone());
            }
        }
        let mut machine = Machine { target, levels, grid: 0 };
        // without a target the grid is what the outermost meshes stand over
        let outer = graph.nodes().filter_map(|(_, n)| match &n.kind {
            NodeKind::Mesh { meshes, .. } => {
                meshes.iter().filter_map(|m| graph.meshes.mesh(*m)).map(|m| machine.rank(m)).min()
            }
            _ => None,
        });
        machine.grid = outer.min().unwrap_or(0);
        machine
    }

    pub fn level(&self, rank: usize) -> &str {
        self.levels.get(rank).map_or("device", String::as_str)
    }

    /// Rank of a mesh's level, by its name; meshes count ranks in their module's topology.
    pub fn rank(&self, mesh: &Mesh) -> usize {
        self.levels.iter().position(|l| *l == mesh.level).unwrap_or(mesh.rank)
    }

    /// The finest level's rank.
    pub fn finest(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Rank of the level whose positions own a storage; none for what the whole device (and all
    /// devices of a host) share. Without a target: `gmem` is the device's, `smem` and `tmem` a
    /// grid position's, `rmem` the finest position's.
    pub fn owner(&self, s: Storage) -> Option<usize> {
        match self.target {
            Some(t) => t.storage(s.name())?.owner.as_deref().and_then(|o| t.level_index(o)),
            None => match s {
                Storage::Host => None,
                Storage::Gmem => self.grid.checked_sub(1),
                Storage::Smem | Storage::Tmem => Some(self.grid),
                Storage::Rmem => Some(self.finest()),
            },
        }
    }

    /// Whether positions of this rank have parts of the storage of their own.
    pub fn apart(&self, s: Storage, rank: usize) -> bool {
        self.owner(s).is_some_and(|o| rank <= o)
    }

    /// Alignment in bytes of a value in a storage: of its layout, or of the asynchronous copy
    /// that fills it where that asks for more.
    pub fn align(&self, s: Storage, swizzled: bool, via: Option<&str>) -> u128 {
        let Some(t) = self.target else { return 1 };
        let of =
            |key: &str| t.storage(s.name())?.align.get(key)?.known().map(|f| u128::from(f.value));
        let plain = of("plain").unwrap_or(1);
        let layout = if swizzled { of("swizzle").unwrap_or(plain) } else { plain };
        let copy = via.and_then(|w| t.instruction(w)).and_then(|i| i.align).map_or(1, u128::from);
        let staged = matches!(s, Storage::Smem | Storage::Tmem);
        layout.max(plain).max(if staged { copy } else { 1 }).max(1)
    }
}

//! Levels and owners, as the analyses need them: ranks (0 is the coarsest) and who owns what.

use crate::graph::{Graph, NodeKind};
use crate::target::Target;
use crate::types::placement::Storage;

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
        let last = graph.meshes.meshes().map(|(_, m)| m.rank).max().unwrap_or(0);
        let mut levels: Vec<String> = (0..=last).map(|r| format!("level{r}")).collect();
        for (_, m) in graph.meshes.meshes() {
            if let Some(l) = levels.get_mut(m.rank) {
                l.clone_from(&m.level);
            }
        }
        // without a target the grid is what the outermost meshes stand over
        let outer = graph.nodes().filter_map(|(_, n)| match &n.kind {
            NodeKind::Mesh { meshes, .. } => {
                meshes.iter().filter_map(|m| graph.meshes.mesh(*m)).map(|m| m.rank).min()
            }
            _ => None,
        });
        Machine { target, levels, grid: outer.min().unwrap_or(0) }
    }

    pub fn level(&self, rank: usize) -> &str {
        self.levels.get(rank).map_or("device", String::as_str)
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

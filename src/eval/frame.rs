//! Where values stand while a program runs: a frame for the program, and one for each position of
//! a group, which sees the values of the frames around it.

use std::sync::Arc;

use super::axes::Axes;
use super::value::{Owner, Val};
use super::window::Rect;
use crate::base::{HashMap, Span};
use crate::graph::ValueId;
use crate::types::dim::{Env, VarId};
use crate::types::placement::{AxisId, MeshTable};

/// A value, or one for each combination of the coordinates it varies over.
#[derive(Clone)]
pub(super) enum Slot {
    One(Val),
    Many(Arc<Many>),
}

#[derive(Clone)]
pub(super) struct Many {
    pub axes: Axes,
    pub extents: Vec<usize>,
    /// By coordinates, the last axis fastest.
    pub items: Vec<Option<Slot>>,
}

/// A read of a shared buffer, to be held against what other positions wrote.
pub(super) struct Read {
    pub root: ValueId,
    pub rect: Rect,
    pub by: Arc<Owner>,
    pub span: Span,
}

pub(super) struct Frame<'f> {
    pub parent: Option<&'f Frame<'f>>,
    pub slots: HashMap<ValueId, Slot>,
    pub env: Env,
    /// Axes whose coordinates are set.
    pub bound: Axes,
    /// How many groups are open.
    pub depth: u32,
    /// Variables of the loops that run, for messages.
    pub loops: Vec<VarId>,
    pub reads: Vec<Read>,
    /// The position is not in the part whose `on` block runs: values are computed, for others may
    /// see them, but it writes nothing.
    pub muted: bool,
}

impl<'f> Frame<'f> {
    pub fn root(env: Env) -> Frame<'f> {
        Frame {
            parent: None,
            slots: HashMap::default(),
            env,
            bound: vec![],
            depth: 0,
            loops: vec![],
            reads: vec![],
            muted: false,
        }
    }

    /// A value as it stands, from here or from a frame around.
    pub fn slot(&self, v: ValueId) -> Option<&Slot> {
        let mut at = Some(self);
        while let Some(f) = at {
            if let Some(s) = f.slots.get(&v) {
                return Some(s);
            }
            at = f.parent;
        }
        None
    }

    /// The value of this frame's position.
    pub fn get(&self, v: ValueId, meshes: &MeshTable) -> Option<Val> {
        self.slot(v)?.project(&self.env, meshes).cloned()
    }

    /// As [`Frame::get`]; gives the value away where it dies here, so that it can be changed in
    /// place.
    pub fn take(&mut self, v: ValueId, dies: bool, meshes: &MeshTable) -> Option<Val> {
        if dies && matches!(self.slots.get(&v), Some(Slot::One(_))) {
            match self.slots.remove(&v) {
                Some(Slot::One(val)) => return Some(val),
                Some(other) => {
                    self.slots.insert(v, other);
                }
                None => {}
            }
        }
        self.get(v, meshes)
    }

    /// The value with its variation, for what passes values on.
    pub fn pass(&mut self, v: ValueId, dies: bool, meshes: &MeshTable) -> Option<Slot> {
        if dies && let Some(s) = self.slots.remove(&v) {
            return Some(s);
        }
        let slot = self.slot(v)?;
        match slot.project_bound(&self.env, meshes) {
            Some(val) => Some(Slot::One(val.clone())),
            None => Some(slot.clone()),
        }
    }

    /// This position as the owner of what depends on `axes`.
    pub fn owner(&self, axes: &[AxisId], meshes: &MeshTable) -> Owner {
        let coords = axes.iter().map(|a| coord(&self.env, *a, meshes).unwrap_or(0)).collect();
        Owner { axes: axes.to_vec(), coords }
    }
}

/// The coordinate on an axis, where it is set.
pub(super) fn coord(env: &Env, axis: AxisId, meshes: &MeshTable) -> Option<i64> {
    env.get(meshes.axis(axis)?.var)
}

impl Slot {
    /// The item of a position. An axis that is not set does not matter to the value, so its first
    /// item will do.
    pub fn project(&self, env: &Env, meshes: &MeshTable) -> Option<&Val> {
        match self {
            Slot::One(v) => Some(v),
            Slot::Many(m) => {
                let mut at = 0;
                for (a, n) in m.axes.iter().zip(&m.extents) {
                    at = at * n + coord(env, *a, meshes).unwrap_or(0) as usize;
                }
                m.items.get(at)?.as_ref()?.project(env, meshes)
            }
        }
    }

    /// The item of a position, where all its axes are set.
    fn project_bound(&self, env: &Env, meshes: &MeshTable) -> Option<&Val> {
        match self {
            Slot::One(v) => Some(v),
            Slot::Many(m) => {
                let mut at = 0;
                for (a, n) in m.axes.iter().zip(&m.extents) {
                    at = at * n + coord(env, *a, meshes)? as usize;
                }
                m.items.get(at)?.as_ref()?.project_bound(env, meshes)
            }
        }
    }
}

//! Reuse windows: what is read again, how many bytes were touched in between, and so what the last
//! cache keeps.
//!
//! A program is a sequence of steps. The positions of a launch run in waves, `units x resident` of
//! them at once in launch order, the last axis fastest; they go through their loops together, so
//! that trip i of all of them is one step (of persistent positions as of others). A loop is taken
//! apart into its trips where a position reads again in one trip what it read in another; else all
//! its trips are one step. Each op outside loops and meshes is a step.
//!
//! What several positions read in one step is read from `gmem` once: they share it in the cache.
//! What was touched in an earlier step is at the distance of the distinct bytes touched since that
//! step began, itself included. A cache that drops the least recently used keeps it where the
//! distance is at most its capacity. From this follows `gmem_lru`, which *predicts* the bytes at
//! `gmem`; it is no bound, for another order of the positions or another policy may miss less.
//! A written byte reaches `gmem` once for each time that it leaves the cache.
//!
//! What data decides is taken to be missed always, and makes the figures upper bounds.

mod bound;
mod steps;
mod touched;

use schemars::JsonSchema;
use serde::Serialize;

use super::boxes::Set;
use super::cost::OpCost;
use super::cx::Cx;
use super::record::{Certainty, LaunchRecord, big};
use super::roofline::{devices, last_cache};
use super::shape::Shape;
use super::window::{self, Over, Use};
use crate::graph::{NodeKind, ValueId};
use crate::target::Target;
pub(super) use bound::must_miss;
use steps::Steps;

/// Steps that are looked at.
const STEPS: i64 = 2048;

/// What the sets of all steps may cost, in operations on strips.
const FUEL: u64 = 1 << 21;

/// What lies between two uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Positions that run at once.
    Positions,
    /// Trips of a loop, or ops of one launch.
    Trips,
    /// Waves of one launch.
    Waves,
    /// Launches and ops outside meshes.
    Launches,
}

impl Between {
    pub fn as_str(self) -> &'static str {
        match self {
            Between::Positions => "positions",
            Between::Trips => "trips",
            Between::Waves => "waves",
            Between::Launches => "launches",
        }
    }
}

/// Whether the cache still has what is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    Yes,
    No,
    Partly,
}

/// What is read again of one buffer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReuseRow {
    pub buffer: String,
    pub between: Between,
    /// Bytes that were touched before.
    #[serde(serialize_with = "big")]
    pub again: u128,
    /// The least distinct bytes touched since.
    #[serde(serialize_with = "big")]
    pub nearest: u128,
    /// The most distinct bytes touched since.
    #[serde(serialize_with = "big")]
    pub farthest: u128,
    /// Of `again`, bytes that a cache which drops the least recently used has no more.
    #[serde(serialize_with = "big")]
    pub missed: u128,
    pub held: Held,
}

/// Reuse in the last cache.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reuse {
    /// The cache's name in the target.
    pub cache: String,
    /// Bytes.
    #[serde(serialize_with = "big")]
    pub capacity: u128,
    /// Bytes read and written through the cache, repeats counted.
    #[serde(serialize_with = "big")]
    pub through: u128,
    /// Predicted bytes at `gmem`, read and written; none where the steps have too many pieces.
    pub gmem_lru: Option<u64>,
    /// An upper bound where data decides what is touched or a loop has too many trips.
    pub is: Certainty,
    /// By buffer, in the order of the program's values.
    pub rows: Vec<ReuseRow>,
}

/// An op with its uses of `gmem`.
struct Item {
    launch: Option<usize>,
    loops: Vec<usize>,
    uses: Vec<Use>,
}

/// A buffer, or a view of it that has axes of its own.
type Key = (ValueId, Option<ValueId>);

/// None where the target states no cache, or where several devices have one each.
pub(super) fn reuse(
    cx: &Cx,
    target: &Target,
    ops: &[OpCost],
    launches: &[LaunchRecord],
) -> Option<Reuse> {
    let (name, capacity) = last_cache(target)?;
    if devices(cx) > 1 {
        return None;
    }
    let mut items = vec![];
    for o in ops {
        let shape = Shape::of(cx, &o.op, &o.run.active).ok()?;
        let uses = window::uses(cx, o, Some(&shape));
        let loops = cx.walk.frame(o.run.frame).map(|f| f.loops.clone()).unwrap_or_default();
        if !uses.is_empty() {
            items.push(Item { launch: o.run.launch, loops, uses });
        }
    }
    let units = target.grid_unit().and_then(|u| u.count.known()).map(|f| f.value);
    let mut s = Steps::new(cx, launches, units, capacity);
    let done = s.run(&items, 0, &[Over::default()], false);
    let bytes = |write: Option<bool>| {
        let all = items.iter().flat_map(|i| &i.uses);
        all.filter(|u| write.is_none_or(|w| w == u.write)).map(|u| u.bytes).sum::<u128>()
    };
    let mut rows = vec![];
    if done.is_ok() {
        s.shared(&items);
        rows = s.rows();
    }
    Some(Reuse {
        cache: name.to_string(),
        capacity,
        through: bytes(None),
        gmem_lru: done.ok().and_then(|()| u64::try_from(s.moved).ok()),
        is: s.is,
        rows,
    })
}

fn key(u: &Use) -> Key {
    (u.root, u.window.through.then_some(u.window.space))
}

fn bytes(cx: &Cx, key: Key, set: &Set) -> u128 {
    set.size().saturating_mul(u128::from(cx.graph.ty(key.0).dtype.bits())).div_ceil(8)
}

/// Trips of a loop at most.
fn trips(cx: &Cx, l: usize) -> Option<i64> {
    let node = cx.walk.loops.get(l)?.node;
    let NodeKind::Loop { start, stop, step, .. } = &cx.graph.node(node).kind else { return None };
    let most = cx.vars.upper(&stop.sub(start).bind(cx.env))?.max(0);
    let step = cx.vars.lower(&step.bind(cx.env)).filter(|s| *s > 0)?;
    Some(most / step + i64::from(most % step > 0))
}

/// Whether a loop stands in a mesh.
fn inside_mesh(cx: &Cx, l: usize) -> bool {
    let Some(mut at) = cx.walk.loops.get(l).map(|l| cx.graph.node(l.node)) else { return false };
    while let Some(owner) = cx.graph.region(at.region).owner {
        at = cx.graph.node(owner);
        if matches!(at.kind, NodeKind::Mesh { .. }) {
            return true;
        }
    }
    false
}

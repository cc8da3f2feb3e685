//! What no order of the positions and no policy of the cache can avoid.

use std::collections::BTreeMap;

use super::super::boxes::{self, Fuel, Inexact, Set};
use super::super::cost::OpCost;
use super::super::cx::Cx;
use super::super::record::Certainty;
use super::super::shape::Shape;
use super::super::window::{self, Over, Use};
use super::{FUEL, Key, STEPS, bytes, inside_mesh, key, trips};
use crate::types::placement::MeshAxis;

/// Bytes that a launch must read from memory again, whatever the order of its positions and whatever
/// a cache of `held` bytes keeps.
///
/// One position goes through the trips of its loop in order. In one trip it reads, among others,
/// bytes that it read in an earlier one. When the trip begins the caches hold at most `held` of
/// them; the rest comes from memory before the trip ends. Trips of one position do not overlap in
/// time, so these bytes add up, and none of them is a first read.
pub(in crate::analysis) fn must_miss(cx: &Cx, ops: &[&OpCost], held: u128) -> u128 {
    let mut by_loop: BTreeMap<usize, Vec<Use>> = BTreeMap::new();
    for o in ops {
        let Some(frame) = cx.walk.frame(o.run.frame) else { continue };
        let Some(l) = frame.loops.first().copied().filter(|l| inside_mesh(cx, *l)) else {
            continue;
        };
        let Ok(shape) = Shape::of(cx, &o.op, &o.run.active) else { continue };
        let exact = |u: &Use| !u.write && u.window.is == Certainty::Exact;
        let uses = window::uses(cx, o, Some(&shape));
        by_loop.entry(l).or_default().extend(uses.into_iter().filter(exact));
    }
    let grid = |a: &MeshAxis| {
        let mesh = cx.graph.meshes.mesh(a.mesh);
        mesh.is_some_and(|m| cx.machine.rank(m) <= cx.machine.grid)
    };
    let coords = cx.graph.meshes.axes().filter(|(_, a)| grid(a)).map(|(_, a)| (a.var, 0, 1));
    let over = Over { coords: coords.collect(), trips: vec![] };
    let lost = |(l, uses): (usize, Vec<Use>)| missed(cx, l, &uses, &over, held).unwrap_or(0);
    by_loop.into_iter().map(lost).sum()
}

/// What one position must read again in the trips of a loop.
fn missed(cx: &Cx, l: usize, uses: &[Use], over: &Over, held: u128) -> Result<u128, Inexact> {
    let mut fuel = Fuel(FUEL);
    let mut all = 0u128;
    for u in uses {
        // what is one whole in all trips is the most that one trip reads
        let parts = window::parts(cx, &u.window, over, &mut fuel)?;
        let bits = u128::from(cx.graph.ty(u.root).dtype.bits());
        all = all.saturating_add(boxes::size(&parts).saturating_mul(bits) / 8);
    }
    let trips = trips(cx, l).filter(|n| all > held && *n <= STEPS).unwrap_or(0);
    let (mut seen, mut lost): (BTreeMap<Key, Set>, u128) = (BTreeMap::new(), 0);
    for t in 0..trips {
        let mut one = over.clone();
        one.trips.push((l, t));
        let mut here: BTreeMap<Key, Set> = BTreeMap::new();
        for u in uses {
            let set = window::set(cx, &u.window, &one, &mut fuel)?;
            let slot = here.entry(key(u)).or_default();
            *slot = slot.union(&set, &mut fuel)?;
        }
        let mut again = 0;
        for (key, set) in here {
            let before = seen.entry(key).or_default();
            let new = set.subtract(before, &mut fuel)?;
            again += bytes(cx, key, &set) - bytes(cx, key, &new);
            *before = before.union(&new, &mut fuel)?;
        }
        lost += again.saturating_sub(held);
    }
    Ok(lost)
}

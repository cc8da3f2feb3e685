//! Too few bytes in flight for the latency of `gmem`.

use super::look::name;
use super::text::exact;
use super::{Draft, Edit, Program, Rule};
use crate::analysis::capacity::pools;
use crate::analysis::cost::{Key, OpCost};
use crate::analysis::record::Certainty;
use crate::analysis::sum;
use crate::analysis::units::time;
use crate::graph::ValueId;
use crate::ops::Role;
use crate::target::RateSet;
use crate::types::placement::Storage;

pub(super) static RULE: Rule = Rule {
    kind: "shallow-ring",
    title: "a ring is too shallow for the latency",
    means: "A launch loads tiles in a loop, and what its resident positions have under way is less \
            than the `gmem` rate times its latency (Little's law): the loop waits. Where it loads \
            through no ring at all, each load of a trip is under way once.",
    size: "The bound at the depth that is needed, or at the deepest that fits. Of loads without a \
           ring an upper bound, for what is copied to `smem` is read there again.",
    remedy: "`#[buffers(n)]` on the copies, larger tiles, or more resident positions; copies ahead \
             of their use where there are none.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    (0..p.launches.len()).filter_map(|l| draft(p, l)).collect()
}

/// What a launch loads from `gmem` in loops, and can have under way.
#[derive(Default)]
struct Loads {
    /// Op, depth of its ring, and what it loads.
    rings: Vec<(usize, u64, ValueId)>,
    /// Bytes of one slot of each ring: under way, and as stored.
    slots: u128,
    per_slot: u128,
    /// Bytes under way of what is loaded once.
    others: u128,
    /// They are loaded when they are used, and could be copied ahead.
    bare: bool,
}

fn loads(p: &Program, launch: usize) -> Option<Loads> {
    let (mut staged, mut bare) = (Loads::default(), Loads { bare: true, ..Loads::default() });
    let here = |o: &OpCost| o.run.launch == Some(launch) && !p.cx.is_free(&o.op);
    for (i, o) in p.ops.iter().enumerate().filter(|(_, o)| here(o)) {
        let here = flight(p, i);
        let out = *o.op.node.outputs.first()?;
        let in_loop = o.run.trips.runs.most() > 1;
        let copies =
            o.op.op.role() == Role::Reshard && p.cx.graph.ty(out).place.storage == Storage::Smem;
        if here > 0 && copies && in_loop {
            let b = &p.live.of(p.cx, out)?.stored;
            staged.slots += here;
            staged.per_slot += b.allocated(1) / u128::from(b.ring.max(1));
            staged.rings.push((i, o.ring, out));
            continue;
        }
        staged.others += here * u128::from(o.ring);
        if here > 0 && in_loop {
            let read = o.entries.iter().find(|e| e.key == Key::Read(Storage::Gmem));
            bare.rings.push((i, 1, read.and_then(|e| e.value).unwrap_or(out)));
            bare.slots += here;
        } else {
            bare.others += here * u128::from(o.ring);
        }
    }
    bare.per_slot = bare.slots;
    Some(if staged.rings.is_empty() { bare } else { staged })
}

fn draft(p: &Program, launch: usize) -> Option<Draft> {
    let target = p.cx.machine.target?;
    let rate = target.rate(RateSet::Peak, Storage::Gmem.name())?.value;
    let latency = target.storage(Storage::Gmem.name())?.latency.as_ref()?.known()?.value;
    let record = p.launches.get(launch)?;
    let resident = u128::from(record.resident.filter(|r| *r > 0)?);
    let units = p.units()?;
    let positions = sum::units(p.cx, launch, p.cx.machine.grid).min(units * resident);
    // ns x B/s
    let need = ((rate * latency / 1e9).ceil() as u128).div_ceil(positions.max(1));
    let l = loads(p, launch)?;
    let now = l.rings.iter().map(|(_, r, _)| *r).min()?;
    let ahead: u128 = l.rings.iter().map(|(i, r, _)| flight(p, *i) * u128::from(*r)).sum();
    let have = l.others + ahead;
    if have >= need || l.slots == 0 {
        return None;
    }
    let depth = u64::try_from((need - l.others.min(need)).div_ceil(l.slots)).ok()?.max(now + 1);
    let pool = pools(p.cx, p.live, launch).into_iter().find(|x| x.storage == Storage::Smem)?;
    let limit = target.storage(Storage::Smem.name())?.capacity.known()?.value;
    // the positions that share a unit must still fit it
    let room = (pool.bytes / positions.div_ceil(units).max(1))
        .saturating_sub(pool.reserved)
        .min(u128::from(limit));
    let spare = room.saturating_sub(pool.used).checked_div(l.per_slot.max(1)).unwrap_or(0);
    let deepest = now.saturating_add(u64::try_from(spare).unwrap_or(u64::MAX));
    let values: Vec<String> = l.rings.iter().map(|(_, _, v)| name(p, *v)).collect();
    let values = values.join(", ");
    let level = p.cx.machine.level(p.cx.machine.grid);
    let ring = if l.bare { "no ring".to_string() } else { format!("a ring of {now}") };
    let what = format!(
        "{values} have {ring}: a {level} has {} in flight and needs {} for {} of latency",
        exact(have),
        exact(need),
        time(latency * 1000.0)
    );
    let added = |d: u64| u128::from(if l.bare { d } else { d - now });
    let takes = |d: u64| exact(pool.used + l.per_slot * added(d));
    let edit = match (depth <= deepest, deepest > now) {
        (true, _) => {
            format!(
                "`#[buffers({depth})]`: {} of smem a {level}, which has {}",
                takes(depth),
                exact(room)
            )
        }
        (false, true) => format!(
            "`#[buffers({deepest})]` is the deepest that fits ({} of smem a {level}); {depth} would \
             be needed: use smaller tiles or more positions too",
            takes(deepest)
        ),
        (false, false) => format!(
            "a depth of {depth} is needed and none deeper than {now} fits: halve the other tiles, \
             or let fewer positions share a unit"
        ),
    };
    let edit = match l.bare {
        true => {
            format!("copy {values} to smem ahead of their use, by `reshard(.., smem)` with {edit}")
        }
        false => edit,
    };
    let to = depth.min(deepest);
    let mut d = Draft::new(what, edit);
    d.edits = l.rings.iter().map(|(op, ..)| Edit::Ring { op: *op, depth: to.max(now) }).collect();
    if l.bare {
        d.is = Certainty::UpperBound;
    }
    for (op, r, _) in &l.rings {
        let label = if l.bare { "loaded when it is used".into() } else { format!("a ring of {r}") };
        d = d.spot(p.ops.get(*op)?.op.node.span, label);
    }
    Some(d)
}

fn flight(p: &Program, op: usize) -> u128 {
    let entries = p.ops.get(op).map(|o| o.entries.as_slice()).unwrap_or_default();
    entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem)).map(|e| e.flight).sum()
}

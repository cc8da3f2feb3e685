//! Too few bytes in flight for the latency of `gmem`.

use super::look::name;
use super::text::exact;
use super::{Draft, Edit, Program, Rule};
use crate::analysis::capacity::pools;
use crate::analysis::cost::Key;
use crate::analysis::record::Certainty;
use crate::analysis::sum;
use crate::analysis::units::time;
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
    let (mut rings, mut others, mut slots, mut per_slot) = (vec![], 0u128, 0u128, 0u128);
    // what is loaded in the loop without a ring
    let (mut bare, mut bare_flight) = (vec![], 0u128);
    for (i, o) in p.ops.iter().enumerate().filter(|(_, o)| o.run.launch == Some(launch)) {
        let reads = o.entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem));
        let flight: u128 = reads.map(|e| e.flight).sum();
        let out = o.op.node.outputs.first()?;
        let staged = p.cx.graph.ty(*out).place.storage == Storage::Smem;
        let in_loop = o.run.trips.by(|_| true).values().any(|n| *n > 1);
        if flight > 0 && o.op.op.role() == Role::Reshard && staged && in_loop {
            let b = &p.live.of(p.cx, *out)?.stored;
            slots += flight;
            per_slot += b.allocated(1) / u128::from(b.ring.max(1));
            rings.push((i, o.ring, *out));
            continue;
        }
        if flight > 0 && in_loop {
            let read = o.entries.iter().find(|e| e.key == Key::Read(Storage::Gmem));
            bare.push((i, 1, read.and_then(|e| e.value).unwrap_or(*out)));
            bare_flight += flight;
        }
        others += flight * u128::from(o.ring);
    }
    let none = rings.is_empty();
    if none {
        (rings, slots, per_slot) = (bare, bare_flight, bare_flight);
        others -= bare_flight;
    }
    let now = rings.iter().map(|(_, r, _)| *r).min()?;
    let have: u128 =
        others + rings.iter().map(|(i, r, _)| flight(p, *i) * u128::from(*r)).sum::<u128>();
    if have >= need || slots == 0 {
        return None;
    }
    let depth = u64::try_from((need - others.min(need)).div_ceil(slots)).ok()?.max(now + 1);
    let pool = pools(p.cx, p.live, launch).into_iter().find(|x| x.storage == Storage::Smem)?;
    let limit = target.storage(Storage::Smem.name())?.capacity.known()?.value;
    // the positions that share a unit must still fit it
    let room = (pool.bytes / positions.div_ceil(units).max(1))
        .saturating_sub(pool.reserved)
        .min(u128::from(limit));
    let spare = room.saturating_sub(pool.used).checked_div(per_slot.max(1)).unwrap_or(0);
    let deepest = now.saturating_add(u64::try_from(spare).unwrap_or(u64::MAX));
    let fits = depth <= deepest;
    let takes = |d: u64| pool.used + per_slot * u128::from(if none { d } else { d - now });
    let values: Vec<String> = rings.iter().map(|(_, _, v)| name(p, *v)).collect();
    let level = p.cx.machine.level(p.cx.machine.grid);
    let ring = if none { "no ring".to_string() } else { format!("a ring of {now}") };
    let what = format!(
        "{} have {ring}: a {level} has {} in flight and needs {} for {} of latency",
        values.join(", "),
        exact(have),
        exact(need),
        time(latency * 1000.0)
    );
    let copy = match none {
        true => {
            "copy them to smem ahead of their use, `#[via(..), buffers(n)] reshard(.., smem)`: "
        }
        false => "",
    };
    let edit = match (fits, deepest > now) {
        (true, _) => format!(
            "{copy}`#[buffers({depth})]`: {} of smem a {level}, which has {}",
            exact(takes(depth)),
            exact(room)
        ),
        (false, true) => format!(
            "{copy}`#[buffers({deepest})]` is the deepest that fits ({} of smem a {level}); {depth} would \
             be needed: use smaller tiles or more positions too",
            exact(takes(deepest))
        ),
        (false, false) => format!(
            "{copy}a depth of {depth} is needed and none deeper than {now} fits: halve the other tiles, \
             or let fewer positions share a unit"
        ),
    };
    let to = depth.min(deepest);
    let mut d = Draft::new(what, edit);
    d.edits = rings.iter().map(|(op, ..)| Edit::Ring { op: *op, depth: to.max(now) }).collect();
    if none {
        d.is = Certainty::UpperBound;
    }
    for (op, r, _) in &rings {
        let label = if none { "loaded when it is used".into() } else { format!("a ring of {r}") };
        d = d.spot(p.ops.get(*op)?.op.node.span, label);
    }
    Some(d)
}

fn flight(p: &Program, op: usize) -> u128 {
    let entries = p.ops.get(op).map(|o| o.entries.as_slice()).unwrap_or_default();
    entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem)).map(|e| e.flight).sum()
}

//! Neighbouring positions that do not touch neighbouring addresses of `gmem`.

use std::collections::BTreeSet;

use super::address::{fact, group};
use super::look::{accesses, name};
use super::{Bytes, Draft, Edit, Program, Rule};
use crate::analysis::record::Certainty;
use crate::graph::ValueId;
use crate::ops::Role;
use crate::types::placement::Storage;

pub(super) static RULE: Rule = Rule {
    kind: "uncoalesced",
    title: "neighbouring positions touch scattered addresses",
    means: "A copy between `gmem` and `rmem` says which position has which element, and one access \
            of those that are served together touches at least twice the sectors that its bytes \
            need. Windows are taken to begin at a sector.",
    size: "Sectors that all accesses of a group touch, over those that its bytes need, for all \
           bytes of the copy: an upper bound, for a cache may give the rest of a sector. Nothing \
           where later accesses use the rest.",
    remedy: "A split in which the innermost factor of the contiguous axis is a vector of 16 bytes \
             and the next one runs over neighbouring positions.",
    find,
};

pub(super) static NARROW: Rule = Rule {
    kind: "narrow-access",
    title: "positions ask for less than 4 bytes at a time",
    means: "A copy between `gmem` and `rmem` gives each position several elements, and no two of \
            them are neighbours in `gmem` that one access could take together.",
    size: "None: the same bytes move, in more accesses. Few bytes are in flight then.",
    remedy: "An innermost factor of the contiguous axis that is whole: 16 bytes of elements.",
    find: find_narrow,
};

fn find(p: &Program) -> Vec<Draft> {
    accesses(p, Storage::Gmem).iter().filter_map(|a| draft(p, a.op, a.entry, a.read)).collect()
}

/// The value in `gmem` that a copy to or from the registers of positions reads or writes, with the
/// one in registers.
fn copied(p: &Program, op: usize, read: bool) -> Option<(ValueId, ValueId)> {
    let o = p.ops.get(op).filter(|o| o.op.op.role() == Role::Reshard)?;
    let (from, to) = (*o.op.node.inputs.first()?, *o.op.node.outputs.first()?);
    let (stored, held) = if read { (from, to) } else { (to, from) };
    (p.cx.graph.ty(held).place.storage == Storage::Rmem).then_some((stored, held))
}

fn find_narrow(p: &Program) -> Vec<Draft> {
    let mut out: Option<Draft> = None;
    for a in accesses(p, Storage::Gmem) {
        let Some((stored, held)) = copied(p, a.op, a.read) else { continue };
        let ty = p.cx.graph.ty(held);
        let (Some(g), Some(o)) = (group(p, stored, ty, Storage::Gmem), p.ops.get(a.op)) else {
            continue;
        };
        let widest = fact(p, Storage::Gmem, "widest").unwrap_or(g.width);
        if g.width >= 4.min(widest) || g.all.len() <= g.first.len() {
            continue;
        }
        let value = name(p, if a.read { stored } else { held });
        let n = widest * 8 / u128::from(ty.dtype.bits()).max(1);
        let d = out.take().unwrap_or_else(|| {
            Draft::new(
                format!("positions move {value} {} B at a time; {widest} B would go", g.width),
                format!(
                    "make {n} neighbouring elements of the contiguous axis one position's: `.., {n}` \
                     as the innermost factor: {} accesses become 1",
                    widest / g.width.max(1)
                ),
            )
        });
        let how = if a.read { "reads" } else { "writes" };
        out = Some(d.spot(o.op.node.span, format!("{how} {value}, {} B an access", g.width)));
    }
    out.into_iter().collect()
}

fn draft(p: &Program, op: usize, entry: usize, read: bool) -> Option<Draft> {
    let o = p.ops.get(op)?;
    let (stored, held) = copied(p, op, read)?;
    let spread = p.cx.graph.ty(held);
    let g = group(p, stored, spread, Storage::Gmem)?;
    let sector = fact(p, Storage::Gmem, "sector")?;
    let widest = fact(p, Storage::Gmem, "widest")?;
    let count = |at: &[u128]| -> (u128, u128) {
        let starts: BTreeSet<u128> = at.iter().copied().collect();
        let touched: BTreeSet<u128> =
            starts.iter().flat_map(|a| (a / sector)..=((a + g.width - 1) / sector)).collect();
        let bytes = starts.len() as u128 * g.width;
        (touched.len() as u128, bytes.div_ceil(sector))
    };
    let (touched, needed) = count(&g.first);
    let (all_touched, all_needed) = count(&g.all);
    if touched < 2 * needed {
        return None;
    }
    let value = name(p, if read { stored } else { held });
    let lanes = g.first.len();
    let verb = if read { "read" } else { "write" };
    let what = format!(
        "{lanes} positions {verb} {value} {} B each: {touched} sectors of {sector} B where {needed} \
         would do",
        g.width
    );
    let vector = (widest * 8 / u128::from(spread.dtype.bits()).max(1)).max(1);
    let edit = format!(
        "give neighbouring positions neighbouring parts of the contiguous axis: `.., {lanes} @ axis, \
         {vector}`, {vector} elements for each of {lanes} positions"
    );
    let mut d = Draft::new(what, edit);
    d.is = Certainty::UpperBound;
    d.beyond = true;
    if all_touched > all_needed {
        let total = o.entries.get(entry)?.total;
        let more = total.saturating_mul(all_touched) / all_needed.max(1) - total;
        d.bytes = Some(match read {
            true => Bytes { of: "gmem".into(), read: more, write: 0 },
            false => Bytes { of: "gmem".into(), read: 0, write: more },
        });
        d.edits = vec![Edit::Scale { op, entry, num: all_touched, den: all_needed }];
    }
    Some(d.spot(o.op.node.span, format!("{verb} here")))
}

//! Positions that ask one bank of a shared memory for different words.

use std::collections::{BTreeMap, BTreeSet};

use super::address::{Group, fact, group, swizzled};
use super::look::{accesses, name};
use super::{Draft, Edit, Program, Rule};
use crate::ops::Role;
use crate::types::placement::{Storage, Swizzle};

pub(super) static RULE: Rule = Rule {
    kind: "bank-conflict",
    title: "positions ask one bank for different words",
    means: "A copy between `smem` and `rmem` says which position has which element, and those that \
            are served together ask the banks for more words than these give at a time. Other reads \
            of `smem` are not judged: their placement does not say who reads what.",
    size: "Steps that the first access of the first group takes, over the least for its bytes; \
           wide accesses go in as many parts as all banks give. The bound takes the full rate and \
           does not count it.",
    remedy: "A swizzle of the `smem` layout, or a split in which neighbours read neighbouring words.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    let all = accesses(p, Storage::Smem);
    let mut out: Vec<Draft> = vec![];
    for a in all {
        out.extend(draft(p, a.op, a.entry, a.read));
    }
    out
}

fn draft(p: &Program, op: usize, entry: usize, read: bool) -> Option<Draft> {
    let o = p.ops.get(op).filter(|o| o.op.op.role() == Role::Reshard)?;
    let (from, to) = (*o.op.node.inputs.first()?, *o.op.node.outputs.first()?);
    let (stored, held) = if read { (from, to) } else { (to, from) };
    let spread = p.cx.graph.ty(held);
    if spread.place.storage != Storage::Rmem {
        return None;
    }
    let g = group(p, stored, spread, Storage::Smem)?;
    let swizzle = p.cx.graph.ty(stored).place.swizzle;
    let banks = fact(p, Storage::Smem, "banks")?;
    let bank = fact(p, Storage::Smem, "bank")?;
    let (takes, least) = steps(&g, swizzle, banks, bank);
    if takes <= least {
        return None;
    }
    let better = |s: &Swizzle| {
        let (takes, least) = steps(&g, Some(*s), banks, bank);
        takes <= least
    };
    let base = (0..8).find(|b| 1u128 << b >= g.width.max(bank)).unwrap_or(4);
    let candidates = (1..=5u32)
        .flat_map(|bits| (1..=10u32).map(move |shift| Swizzle { bits, base, shift }))
        .filter(|s| s.shift >= s.bits);
    let found = [Swizzle { bits: 3, base: 4, shift: 3 }].into_iter().chain(candidates).find(better);
    let value = name(p, stored);
    let what = format!(
        "{} positions {} {value} in steps of {} B: {takes} steps where {least} would do",
        g.first.len(),
        if read { "read" } else { "write" },
        g.width
    );
    let edit = match found {
        Some(s) => {
            let Swizzle { bits, base, shift } = s;
            format!(
                "`smem swizzle({bits}, {base}, {shift})` for {value}: this access has no conflict then"
            )
        }
        None => "split the value so that neighbouring positions have neighbouring elements".into(),
    };
    let mut d = Draft::new(what, edit);
    d.beyond = true;
    d.edits = vec![Edit::Scale { op, entry, num: takes, den: least }];
    let how = if read { "read" } else { "written" };
    Some(
        d.spot(o.op.node.span, format!("{how} here"))
            .spot(p.cx.graph.value(stored).span, format!("{value} in smem")),
    )
}

/// Steps that the banks need for the first access of a group, and the least for as many words.
pub(super) fn steps(g: &Group, swizzle: Option<Swizzle>, banks: u128, bank: u128) -> (u128, u128) {
    let lanes = usize::try_from((banks * bank / g.width.max(1)).max(1)).unwrap_or(usize::MAX);
    let (mut takes, mut least) = (0, 0);
    for part in g.first.chunks(lanes) {
        let mut words: BTreeSet<u128> = BTreeSet::new();
        for at in part {
            let mut b = *at;
            while b < at + g.width {
                words.insert(swizzled(b, swizzle) / bank);
                b += bank;
            }
        }
        let mut by: BTreeMap<u128, u128> = BTreeMap::new();
        for w in &words {
            *by.entry(w % banks).or_default() += 1;
        }
        takes += by.values().copied().max().unwrap_or(0);
        least += (words.len() as u128).div_ceil(banks);
    }
    (takes, least)
}

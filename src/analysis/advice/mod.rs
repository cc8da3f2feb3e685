//! Ranked findings: what a change of the program would save, and which edit would test it.
//!
//! Comes in: the costs, liveness and bounds that the other families found. Goes out: [`Finding`]s,
//! those that keep the program from running first, then by the time they take off the prediction
//! and off the `placed` cold bound. Each rule is one file with one line in [`RULES`]; it looks for
//! its pattern and says which counts would change. What bound and prediction become then is
//! computed here, by the same code as these.

mod address;
mod bank_conflict;
mod capacity;
mod cluster;
mod late_complete;
mod look;
mod loop_invariant;
mod padding;
mod repeated_load;
mod reshard_back;
mod round_trip;
mod shallow_ring;
mod text;
mod uncoalesced;
mod units;
mod wide_value;
mod wrong_unit;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{Changed, placed_with};
use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::footprint::Print;
use super::live::Liveness;
use super::record::{Bound, Certainty, LaunchRecord, PeakRecord, Ratio, Site, big};
use super::roofline::{self, Groups, Placed};
use super::timeline;
use crate::base::HashMap;
use crate::ops::facts::Resource;

pub use text::long;
pub(super) use text::{next, short, slower};

/// A place with its part in a finding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spot {
    #[serde(flatten)]
    pub site: Site,
    pub label: String,
}

/// Time that a finding is worth, at the target's peak rates.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Saving {
    /// Picoseconds off the `placed` cold bound; 0 where another resource binds. Where `beyond`,
    /// picoseconds by which the bound would be later if it counted the loss.
    pub ps: Ratio,
    /// Those over the `placed` cold bound.
    pub share: Ratio,
    /// The `placed` cold bound with the change, or, where `beyond`, with the loss counted.
    pub bound_ps: Ratio,
    /// The loss is none that the bound counts: it takes each unit at its full rate.
    pub beyond: bool,
    /// The predicted time with and without the change. None for what no simulation tells, as where
    /// `beyond`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// The resource whose time changes most, and by how many picoseconds; it need not bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    pub resource_ps: Ratio,
}

impl Saving {
    /// Picoseconds off the predicted time; off the bound, where the prediction is not known.
    fn predicted_off(&self) -> Ratio {
        self.predicted.as_ref().map_or(self.ps, Predicted::off)
    }
}

impl Predicted {
    /// What it takes off like for like, without launches that only the change is charged.
    fn off(&self) -> Ratio {
        if self.rises() { Ratio::ZERO } else { self.from_ps.minus(self.alike()) }
    }

    fn rises(&self) -> bool {
        self.alike() > self.from_ps
    }

    fn alike(&self) -> Ratio {
        self.to_ps.minus(self.launch_ps)
    }
}

/// What a change does to the predicted time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Predicted {
    /// Picoseconds of the program as it is.
    pub from_ps: Ratio,
    /// Picoseconds with the change: what it touches is simulated anew. Ops that one new launch
    /// would run are estimated: its overhead, the latency of its inputs, and their work.
    pub to_ps: Ratio,
    /// Of these, the overhead of launches by ops that are predicted without one as they are.
    pub launch_ps: Ratio,
}

/// Bytes that a finding is worth.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bytes {
    /// The storage they are read from and written to; a level's name for what its positions send.
    pub of: String,
    #[serde(serialize_with = "big")]
    pub read: u128,
    #[serde(serialize_with = "big")]
    pub write: u128,
}

/// One thing that could be better.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The rule's name, which the book explains.
    pub kind: &'static str,
    pub title: &'static str,
    /// What was found, with the names of values and ops.
    pub what: String,
    pub sites: Vec<Spot>,
    /// Whether the program cannot run without a change.
    pub blocking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// None without a target, or where nothing that changes has a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves: Option<Saving>,
    /// How bytes and time stand to what the change really saves.
    pub is: Certainty,
    /// The change to try.
    pub edit: String,
}

/// A rule with its page in the book.
pub struct Rule {
    pub kind: &'static str,
    pub title: &'static str,
    /// When it is given.
    pub means: &'static str,
    /// How its size is computed.
    pub size: &'static str,
    /// What helps.
    pub remedy: &'static str,
    find: for<'p, 'c> fn(&Program<'p, 'c>) -> Vec<Draft>,
}

/// All rules, in the order of the book.
pub static RULES: &[&Rule] = &[
    &round_trip::RULE,
    &repeated_load::RULE,
    &reshard_back::RULE,
    &wide_value::RULE,
    &padding::RULE,
    &capacity::FULL,
    &capacity::OCCUPANCY,
    &units::IDLE,
    &units::LAST_WAVE,
    &shallow_ring::RULE,
    &wrong_unit::MATRIX,
    &wrong_unit::SCALAR,
    &bank_conflict::RULE,
    &uncoalesced::RULE,
    &uncoalesced::NARROW,
    &late_complete::RULE,
    &loop_invariant::RULE,
];

/// What the rules look at.
struct Program<'p, 'c> {
    cx: &'p Cx<'c>,
    ops: &'p [OpCost<'c>],
    live: &'p Liveness,
    launches: &'p [LaunchRecord],
    capacity: &'p [PeakRecord],
    /// The `placed` cold bound.
    bound: Option<&'p Bound>,
    predicted: Option<&'p timeline::Predicted>,
    groups: &'p Groups<'p, 'c>,
    /// What the bound adds up, where there is one.
    placed: Option<&'p Placed>,
    footprints: &'p [Print],
}

/// One count that would be another.
enum Edit {
    /// An entry of an op becomes `num / den` of itself.
    Scale { op: usize, entry: usize, num: u128, den: u128 },
    /// What an op sends between positions becomes `num / den` of itself.
    Sent { op: usize, num: u128, den: u128 },
    /// A copy's ring has another depth.
    Ring { op: usize, depth: u64 },
    /// Work runs on another resource.
    Unit { op: usize, entry: usize, to: Resource },
    /// A unit holds another number of a launch's positions.
    Resident { launch: usize, n: u64 },
    /// Every unit does as much of a launch.
    Even { launch: usize },
    /// Ops outside meshes run in one launch of so many positions.
    Join { ops: Vec<usize>, positions: u128 },
    /// A launch is part of another.
    Fuse { launch: usize },
}

/// A finding without its time.
struct Draft {
    what: String,
    sites: Vec<Spot>,
    bytes: Option<Bytes>,
    is: Certainty,
    edit: String,
    edits: Vec<Edit>,
    /// The edits put a loss in that the bound does not count.
    beyond: bool,
    blocking: bool,
}

impl Draft {
    fn new(what: String, edit: String) -> Draft {
        Draft {
            what,
            edit,
            sites: vec![],
            bytes: None,
            is: Certainty::Exact,
            edits: vec![],
            beyond: false,
            blocking: false,
        }
    }

    fn spot(mut self, span: crate::base::Span, label: impl Into<String>) -> Draft {
        self.sites.push(Spot { site: Site::new(span), label: label.into() });
        self
    }
}

/// What findings are priced by: the bound with what it adds up, the prediction, and what both rest on.
type Priced<'p, 'c> = (
    (Option<&'p Bound>, Option<&'p Placed>),
    Option<&'p timeline::Predicted>,
    &'p Groups<'p, 'c>,
    &'p [Print],
);

/// Findings times ops that are priced before other threads have started.
const FEW: usize = 1 << 13;

/// Looks with every rule.
pub(super) fn advise<'p, 'c>(
    cx: &'p Cx<'c>,
    ops: &'p [OpCost<'c>],
    live: &'p Liveness,
    launches: &'p [LaunchRecord],
    capacity: &'p [PeakRecord],
    ((bound, placed), predicted, groups, footprints): Priced<'p, 'c>,
) -> Vec<Finding> {
    let p =
        Program { cx, ops, live, launches, capacity, bound, predicted, groups, placed, footprints };
    let drafts = |r: &&'static Rule| {
        let rule = *r;
        merged(alike((r.find)(&p))).into_iter().map(move |d| (rule, d))
    };
    let drafts: Vec<(&Rule, Draft)> = RULES.iter().flat_map(drafts).collect();
    // each is priced by a bound of its own
    let price = |(r, d)| finding(&p, r, d);
    let mut out: Vec<Finding> = match drafts.len() * ops.len() < FEW {
        true => drafts.into_iter().map(price).collect(),
        false => drafts.into_par_iter().map(price).collect(),
    };
    out.retain(|f| matters(&p, f));
    let off = |f: &Finding| f.saves.as_ref().map_or(Ratio::ZERO, Saving::predicted_off);
    let time = |f: &Finding| f.saves.as_ref().map_or(Ratio::ZERO, |s| s.ps);
    let eased = |f: &Finding| f.saves.as_ref().map_or(Ratio::ZERO, |s| s.resource_ps);
    let bytes = |f: &Finding| f.bytes.as_ref().map_or(0, |b| b.read + b.write);
    out.sort_by_key(|f| {
        let gives = (Reverse(off(f)), Reverse(time(f)), Reverse(eased(f)), Reverse(bytes(f)));
        (!f.blocking, gives)
    });
    out
}

/// Findings that say the same of several places are one.
fn merged(all: Vec<Draft>) -> Vec<Draft> {
    let mut out: Vec<Draft> = vec![];
    for d in all {
        let same = |o: &&mut Draft| {
            (&o.what, &o.edit, o.beyond, o.blocking) == (&d.what, &d.edit, d.beyond, d.blocking)
                && o.bytes.as_ref().map(|b| &b.of) == d.bytes.as_ref().map(|b| &b.of)
                && o.sites != d.sites
        };
        match out.iter_mut().find(same) {
            Some(o) => {
                o.sites.extend(d.sites);
                o.edits.extend(d.edits);
                o.is = o.is.and(d.is);
                if let (Some(a), Some(b)) = (&mut o.bytes, &d.bytes) {
                    a.read += b.read;
                    a.write += b.write;
                }
            }
            None => out.push(d),
        }
    }
    out
}

/// One draft for those that say the same of the same places, as in code that is pasted for each of
/// many layers: one edit of the source would take them all away.
fn alike(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut out: Vec<(Draft, usize)> = vec![];
    let mut first: HashMap<(String, String, Option<u32>), Vec<usize>> = HashMap::default();
    for d in drafts {
        let start = d.sites.first().map(|s| s.site.span().start);
        let seen = first.entry((d.what.clone(), d.edit.clone(), start)).or_default();
        let same = |i: &&usize| {
            let other = out.get(**i).map(|(o, _)| o);
            other.is_some_and(|o| {
                o.sites == d.sites && (o.blocking, o.beyond) == (d.blocking, d.beyond)
            })
        };
        match seen.iter().find(same).and_then(|i| out.get_mut(*i)) {
            Some((o, n)) => {
                *n += 1;
                o.is = o.is.and(d.is);
                o.edits.extend(d.edits);
                match (&mut o.bytes, d.bytes) {
                    (Some(a), Some(b)) if a.of == b.of => {
                        (a.read, a.write) = (a.read + b.read, a.write + b.write);
                    }
                    (a @ None, b) => *a = b,
                    _ => {}
                }
            }
            None => {
                seen.push(out.len());
                out.push((d, 1));
            }
        }
    }
    let count = |(mut d, n): (Draft, usize)| {
        if n > 1 {
            d.what += &format!(", in {n} calls");
        }
        d
    };
    out.into_iter().map(count).collect()
}

/// Whether a finding is worth a line: it takes a thousandth of the bound, or a hundredth of all
/// bytes of a storage.
fn matters(p: &Program, f: &Finding) -> bool {
    let Some(bound) = p.bound.and_then(|b| b.ps) else { return true };
    let thousandth = Ratio::new(bound.num, bound.den.saturating_mul(1000));
    let timed = f.saves.as_ref().is_some_and(|s| s.resource_ps >= thousandth || s.ps >= thousandth);
    let all = |of: &str| -> u128 {
        let here = |k: &Key| matches!(k, Key::Read(s) | Key::Write(s) if s.name() == of);
        p.ops.iter().flat_map(|o| &o.entries).filter(|e| here(&e.key)).map(|e| e.total).sum()
    };
    let large = |b: &Bytes| (b.read + b.write).saturating_mul(100) >= all(&b.of);
    f.blocking || f.saves.is_none() || timed || f.bytes.as_ref().is_some_and(large)
}

fn finding(p: &Program, rule: &Rule, d: Draft) -> Finding {
    Finding {
        kind: rule.kind,
        title: rule.title,
        saves: saving(p, &d),
        what: d.what,
        sites: d.sites,
        blocking: d.blocking,
        bytes: d.bytes,
        is: d.is,
        edit: d.edit,
    }
}

/// The bound with a draft's edits, against the present one.
fn saving(p: &Program, d: &Draft) -> Option<Saving> {
    let (before, placed, target) = (p.bound?, p.placed?, p.cx.machine.target?);
    let now = before.ps?;
    if d.edits.is_empty() {
        return None;
    }
    let mut ops: BTreeMap<usize, OpCost> = BTreeMap::new();
    let mut launches = p.launches.to_vec();
    let (mut even, mut of) = (None, BTreeSet::new());
    let (mut joins, mut fused) = (vec![], vec![]);
    for e in &d.edits {
        match e {
            Edit::Resident { launch, n } => {
                launches.iter_mut().skip(*launch).take(1).for_each(|l| l.resident = Some(*n));
                of.insert(*launch);
            }
            Edit::Even { launch } => {
                even = Some(*launch);
                of.insert(*launch);
            }
            Edit::Join { ops, positions } => joins.push((ops, *positions)),
            Edit::Fuse { launch } => fused.push(*launch),
            Edit::Scale { op, .. }
            | Edit::Sent { op, .. }
            | Edit::Ring { op, .. }
            | Edit::Unit { op, .. } => {
                let Some(old) = p.ops.get(*op) else { continue };
                apply(e, ops.entry(*op).or_insert_with(|| old.clone()));
            }
        }
    }
    let mut changed = Changed { groups: BTreeMap::new(), launches: &launches, even };
    let (mut at, mut starts) = (0, vec![]);
    for (i, (launch, group)) in p.groups.all.iter().enumerate() {
        let here = at..at + group.len();
        at = here.end;
        starts.push(here.start);
        if launch.is_some_and(|l| of.contains(&l)) || ops.range(here.clone()).next().is_some() {
            let new = here.zip(group).map(|(k, old)| ops.get(&k).unwrap_or(old));
            changed.groups.insert(i, new.collect());
        }
    }
    let rates = (target, roofline::PEAK);
    let with = (p.groups, placed, p.footprints);
    let after = placed_with(p.cx, rates, with, before, &changed);
    let predicted = p.predicted.filter(|_| !d.beyond).and_then(|now| {
        let group = |o: &usize| starts.partition_point(|s| s <= o).checked_sub(1);
        let join = |(ops, positions): &(&Vec<usize>, u128)| timeline::Join {
            groups: ops.iter().filter_map(group).collect(),
            positions: *positions,
        };
        let joins: Vec<timeline::Join> = joins.iter().map(join).collect();
        let of = (p.groups, p.launches, p.footprints);
        let found = timeline::with(p.cx, target, now, of, (&changed, &joins, &fused));
        let (to_ps, launch_ps) = found?;
        Some(Predicted { from_ps: now.record.ps, to_ps, launch_ps })
    });
    let then = after.values().flatten().max().copied().unwrap_or(Ratio::ZERO);
    let difference = |old: Ratio, new: Ratio| match d.beyond {
        true => new.minus(old),
        false => old.minus(new),
    };
    let was = |name: &str| {
        before.rows.iter().find(|r| r.resource == name).map_or(Some(Ratio::ZERO), |r| r.ps)
    };
    let changes = after.iter().filter_map(|(n, t)| Some((difference(was(n)?, (*t)?), n)));
    let most = changes.max_by(|a, b| a.0.cmp(&b.0)).filter(|(t, _)| t.num > 0);
    let ps = difference(now, then);
    Some(Saving {
        ps,
        share: ps.over(now).unwrap_or(Ratio::ZERO),
        bound_ps: then,
        beyond: d.beyond,
        predicted,
        resource: most.map(|(_, n)| n.to_string()),
        resource_ps: most.map_or(Ratio::ZERO, |(t, _)| t),
    })
}

/// Changes the counts of one op.
fn apply(edit: &Edit, o: &mut OpCost) {
    let scale = |n: u128, num: u128, den: u128| n.saturating_mul(num).div_ceil(den.max(1));
    match edit {
        Edit::Scale { entry, num, den, .. } => {
            let Some(e) = o.entries.get_mut(*entry) else { return };
            for n in [&mut e.logical, &mut e.total, &mut e.grid] {
                *n = scale(*n, *num, *den);
            }
            e.left = (e.left.0.saturating_mul(*num), e.left.1.saturating_mul(*den));
            if *num == 0 {
                e.flight = 0;
            }
        }
        Edit::Sent { num, den, .. } => {
            for c in &mut o.comm {
                c.per_unit = scale(c.per_unit, *num, *den);
                c.total = scale(c.total, *num, *den);
            }
        }
        Edit::Ring { depth, .. } => o.ring = *depth,
        Edit::Unit { entry, to, .. } => {
            o.entries.iter_mut().skip(*entry).take(1).for_each(|e| e.key = Key::Work(*to));
        }
        Edit::Resident { .. } | Edit::Even { .. } | Edit::Join { .. } | Edit::Fuse { .. } => {}
    }
}

/// Bytes that ops read and wrote where an edit takes away `1 - num / den` of them.
fn bytes_of(p: &Program, of: &str, edits: &[Edit]) -> Option<Bytes> {
    let (mut read, mut write) = (0u128, 0u128);
    for e in edits {
        let Edit::Scale { op, entry, num, den } = e else { continue };
        let Some(e) = p.ops.get(*op).and_then(|o| o.entries.get(*entry)) else { continue };
        let gone = e.total - e.total.saturating_mul(*num).div_ceil((*den).max(1)).min(e.total);
        match e.key {
            Key::Read(s) if s.name() == of => read += gone,
            Key::Write(s) if s.name() == of => write += gone,
            _ => {}
        }
    }
    (read + write > 0).then(|| Bytes { of: of.to_string(), read, write })
}

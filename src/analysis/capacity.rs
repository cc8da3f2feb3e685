//! Peak bytes of each owner against its capacity, and what would fit.

use super::cx::{Cx, int_hint};
use super::live::{Buffer, Liveness, Stored};
use super::record::{Certainty, LiveValue, PeakRecord, Site};
use super::units::bytes;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, NodeKind};
use crate::types::placement::{MeshId, Storage};

/// Whose peak is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The owner that the target states; of `rmem`, the grid position on its register file.
    Whole,
    /// One thread, of a part if there are parts.
    Thread(Option<MeshId>),
}

/// One owner with what it may hold.
struct Held<'b> {
    storage: Storage,
    owner: Owner,
    name: String,
    limit: Option<u64>,
    source: String,
    buffers: Vec<&'b Buffer>,
}

impl Held<'_> {
    fn allocated(&self, s: &Stored, k: u128) -> u128 {
        match self.owner {
            Owner::Whole => s.allocated(k),
            Owner::Thread(_) => s.thread(k).unwrap_or(0),
        }
    }

    fn live(&self, s: &Stored) -> u128 {
        match self.owner {
            Owner::Whole => s.live,
            Owner::Thread(_) => {
                s.thread(1).map_or(0, |_| s.position.div_ceil(s.threads.unwrap_or(1).max(1)))
            }
        }
    }
}

/// The peaks of every owner that the program uses, in the order of the storages.
pub(super) fn peaks(cx: &Cx, live: &Liveness) -> Vec<PeakRecord> {
    let held = owners(cx, live);
    let mut found: Vec<(PeakRecord, Vec<&Buffer>)> = held.iter().map(|h| peak(cx, h)).collect();
    for i in 0..found.len() {
        let exceeded = found.get(i).is_some_and(|(r, _)| r.exceeded);
        if exceeded {
            let fits = would_fit(cx, &held, &found, i);
            if let Some((r, _)) = found.get_mut(i) {
                r.would_fit = fits;
            }
        }
    }
    found.into_iter().map(|(r, _)| r).collect()
}

fn owners<'b>(cx: &Cx, live: &'b Liveness) -> Vec<Held<'b>> {
    let mut out = vec![];
    for s in Storage::ALL {
        let buffers: Vec<&Buffer> = live.buffers.iter().filter(|b| b.storage == s).collect();
        if buffers.is_empty() {
            continue;
        }
        let fact = cx.machine.target.and_then(|t| t.storage(s.name()));
        let capacity = |d: Option<&crate::target::Datum<u64>>| match d {
            Some(d) => match d.known() {
                Some(f) => (Some(f.value), f.source.clone()),
                None => (None, d.absent().unwrap_or_default().to_string()),
            },
            None => (None, "the target states no capacity".to_string()),
        };
        let nobody = if s == Storage::Host { "host" } else { "device" };
        let level = |rank: Option<usize>| rank.map_or(nobody, |r| cx.machine.level(r)).to_string();
        // where grid positions own their registers, there is nothing finer to look at
        if s != Storage::Rmem || (fact.is_some() && cx.machine.owner(s) == Some(cx.machine.grid)) {
            let (limit, source) = capacity(fact.map(|f| &f.capacity));
            let name = level(cx.machine.owner(s));
            out.push(Held { storage: s, owner: Owner::Whole, name, limit, source, buffers });
            continue;
        }
        let (limit, source) = capacity(fact.and_then(|f| f.pool.as_ref()));
        let name = level(Some(cx.machine.grid));
        let all = buffers.clone();
        out.push(Held { storage: s, owner: Owner::Whole, name, limit, source, buffers: all });
        out.extend(threads(cx, &buffers, capacity(fact.map(|f| &f.capacity))));
    }
    out
}

/// One owner for the threads of each part that has values of its own, else one for all.
fn threads<'b>(
    cx: &Cx,
    buffers: &[&'b Buffer],
    (limit, source): (Option<u64>, String),
) -> Vec<Held<'b>> {
    let known: Vec<&Buffer> =
        buffers.iter().copied().filter(|b| b.stored.threads.is_some()).collect();
    let mut parts: Vec<Option<MeshId>> =
        known.iter().map(|b| b.stored.part).filter(Option::is_some).collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.is_empty() && !known.is_empty() {
        parts.push(None);
    }
    let level = cx.machine.level(cx.machine.finest());
    let held = |p: Option<MeshId>| {
        let here = known.iter().copied();
        let here = here.filter(|b| b.stored.part.is_none() || b.stored.part == p).collect();
        let mesh = p.and_then(|p| cx.graph.meshes.mesh(p));
        let name = mesh.map_or(level.to_string(), |m| format!("{level} of {}", m.name));
        let (limit, source) = match p.and_then(|p| regs(cx, p)) {
            Some(r) => (Some(r * 4), format!("regs({r})")),
            None => (limit, source.clone()),
        };
        let storage = Storage::Rmem;
        Held { storage, owner: Owner::Thread(p), name, limit, source, buffers: here }
    };
    parts.into_iter().map(held).collect()
}

/// `#[regs(n)]` of a part: on an `on` of it, or on an op in one.
fn regs(cx: &Cx, part: MeshId) -> Option<u64> {
    let on = cx.graph.nodes().find_map(|(_, n)| match &n.kind {
        NodeKind::On { part: p, .. } if *p == part => int_hint(n, "regs"),
        _ => None,
    });
    on.or_else(|| {
        let inside = cx
            .walk
            .steps
            .iter()
            .filter(|s| cx.walk.frame(s.frame).is_some_and(|f| f.part == Some(part)));
        inside.map(|s| cx.graph.node(s.node)).find_map(|n| int_hint(n, "regs"))
    })
}

/// Sums over the buffers live at each step.
fn sweep(len: usize, held: &Held, in_place: bool, size: impl Fn(&Buffer) -> u128) -> Vec<u128> {
    let mut change: Vec<(u128, u128)> = vec![(0, 0); len + 2];
    for b in &held.buffers {
        let Some((first, last)) = span(b, in_place) else { continue };
        let n = size(b);
        if let Some(c) = change.get_mut(first) {
            c.0 += n;
        }
        if let Some(c) = change.get_mut((last + 1).min(len + 1)) {
            c.1 += n;
        }
    }
    let mut now = 0u128;
    let step = |(up, down): &(u128, u128)| {
        now = (now + up).saturating_sub(*down);
        now
    };
    change.iter().take(len + 1).map(step).collect()
}

/// The steps at which a buffer takes room of its own.
fn span(b: &Buffer, in_place: bool) -> Option<(usize, usize)> {
    if in_place && b.fused {
        return None;
    }
    let first = b.birth.step + usize::from(in_place && b.in_place);
    Some((first, b.end.max(b.birth.step))).filter(|(f, l)| f <= l)
}

fn peak<'b>(cx: &Cx, held: &Held<'b>) -> (PeakRecord, Vec<&'b Buffer>) {
    let len = cx.walk.steps.len();
    let top = |in_place: bool, live: bool| {
        let size = |b: &Buffer| {
            if live { held.live(&b.stored) } else { held.allocated(&b.stored, 1) }
        };
        let sums = sweep(len, held, in_place, size);
        let most = sums.iter().copied().max().unwrap_or(0);
        (most, sums.iter().position(|n| *n == most).unwrap_or(0))
    };
    let (allocated_in_place, at) = top(true, false);
    let live_at = |b: &&Buffer| span(b, true).is_some_and(|(f, l)| f <= at && at <= l);
    let mut here: Vec<&Buffer> = held.buffers.iter().copied().filter(live_at).collect();
    here.sort_by_key(|b| (std::cmp::Reverse(held.allocated(&b.stored, 1)), b.birth.step));
    let node = cx.walk.steps.get(at.min(len.saturating_sub(1))).map(|s| cx.graph.node(s.node));
    let values = here.iter().map(|b| {
        let v = cx.graph.value(b.value);
        LiveValue {
            value: cx.graph.value_name(b.value),
            ty: v.ty.show_placed(&cx.graph.vars, &cx.graph.meshes),
            site: Site::new(v.span),
            live: held.live(&b.stored),
            allocated: held.allocated(&b.stored, 1),
            buffers: b.stored.ring,
        }
    });
    let root = cx.graph.scope(crate::graph::ScopeId(0)).span;
    let record = PeakRecord {
        storage: held.storage.name().into(),
        owner: held.name.clone(),
        live: top(false, true).0,
        live_in_place: top(true, true).0,
        allocated: top(false, false).0,
        allocated_in_place,
        is: Certainty::Exact,
        limit: held.limit,
        limit_source: held.source.clone(),
        exceeded: held.limit.is_some_and(|l| allocated_in_place > u128::from(l)),
        op: node.map_or("", |n| n.label()).into(),
        site: Site::new(node.map_or(root, |n| n.span)),
        values: values.collect(),
        would_fit: vec![],
    };
    (record, here)
}

/// Parts of a split that would fit, at most: more of them would be no larger than a few words.
const MOST_PARTS: u128 = 1 << 14;

/// Shallower rings, then the smallest finer split over grid positions that fits every owner.
fn would_fit(
    cx: &Cx,
    held: &[Held],
    found: &[(PeakRecord, Vec<&Buffer>)],
    i: usize,
) -> Vec<String> {
    let (Some(h), Some((record, here))) = (held.get(i), found.get(i)) else { return vec![] };
    let Some(limit) = record.limit.map(u128::from) else { return vec![] };
    let mut out = vec![];
    for b in here.iter().filter(|b| b.stored.ring > 1) {
        let all = h.allocated(&b.stored, 1);
        let one = all / u128::from(b.stored.ring);
        let rest = record.allocated_in_place - all;
        let depth = limit.saturating_sub(rest).checked_div(one).unwrap_or(0);
        if depth >= 1 {
            let name = cx.graph.value_name(b.value);
            out.push(format!("`buffers({depth})` instead of {} for `{name}`", b.stored.ring));
        }
    }
    if matches!(h.storage, Storage::Smem | Storage::Tmem | Storage::Rmem) {
        out.extend(finer(cx, held, found, i));
    }
    out
}

fn finer(cx: &Cx, held: &[Held], found: &[(PeakRecord, Vec<&Buffer>)], i: usize) -> Option<String> {
    let largest = found.get(i)?.1.first()?;
    let most = largest.stored.shape.iter().copied().max()?;
    // what does not divide stays as it is
    let needs = |j: usize, k: u128| -> Option<(&Held, u128)> {
        let (h, (_, at_peak)) = (held.get(j)?, found.get(j)?);
        let one = |b: &&Buffer| h.allocated(&b.stored, if b.stored.divides(k) { k } else { 1 });
        Some((h, at_peak.iter().map(one).sum()))
    };
    // all owners below the device must hold it: the register file and the registers of a thread
    let small = |h: &Held| matches!(h.storage, Storage::Smem | Storage::Tmem | Storage::Rmem);
    let misses = |k: u128| {
        let mut all = (0..held.len()).filter_map(|j| needs(j, k));
        all.find(|(h, n)| small(h) && h.limit.is_some_and(|l| *n > u128::from(l)))
    };
    let fits = |k: u128| misses(k).is_none();
    let k = (2..=most.min(MOST_PARTS)).find(|k| largest.stored.divides(*k) && fits(*k))?;
    let positions = cx
        .walk
        .frame(largest.birth.frame)
        .and_then(|f| f.launch)
        .map(|l| super::sum::units(cx, l, cx.machine.grid));
    let level = cx.machine.level(cx.machine.grid);
    let now = positions.unwrap_or(1);
    let mut text = format!("a split over {} {level}s instead of {now}", now.saturating_mul(k));
    if let Some(t) = largest.stored.threads.filter(|_| cx.machine.finest() != cx.machine.grid) {
        let each = t.saturating_mul(largest.stored.copies);
        text.push_str(&format!(" at {each} {}s", cx.machine.level(cx.machine.finest())));
    }
    if let Some(e) = largest.stored.shape.iter().find(|e| e.is_multiple_of(k)) {
        text.push_str(&format!(", an axis of {e} in {k}"));
    }
    let here = (0..held.len()).filter_map(|j| needs(j, k));
    let here = here.filter(|(h, _)| h.storage == largest.storage);
    let sizes: Vec<String> = here.map(|(h, n)| format!("{} a {}", bytes(n), h.name)).collect();
    text = format!("{text}: {}", sizes.join(", "));
    // a coarser one that is refused for another owner's sake is worth a word
    let near = (2..k).rev().filter(|n| largest.stored.divides(*n)).find_map(|n| {
        let here = needs(i, n).filter(|(h, x)| h.limit.is_some_and(|l| *x <= u128::from(l)));
        here.and_then(|_| Some((n, misses(n)?)))
    });
    if let Some((n, (h, x))) = near {
        let (name, limit) = (&h.name, u128::from(h.limit.unwrap_or(0)));
        let positions = now.saturating_mul(n);
        text.push_str(&format!(
            "; {positions} {level}s would need {x} B a {name}, which has {limit} B"
        ));
    }
    Some(text)
}

/// What the positions of a launch take of a memory that one unit shares among them.
pub(super) struct Pool {
    pub storage: Storage,
    pub bytes: u128,
    /// Of one grid position.
    pub used: u128,
    /// What the system takes for each grid position.
    pub reserved: u128,
}

/// The shared memories of a unit, as far as the target states them.
pub(super) fn pools(cx: &Cx, live: &Liveness, launch: usize) -> Vec<Pool> {
    let inside =
        |b: &&Buffer| cx.walk.frame(b.birth.frame).is_some_and(|f| f.launch == Some(launch));
    let mut out = vec![];
    for storage in [Storage::Smem, Storage::Tmem, Storage::Rmem] {
        let fact = cx.machine.target.and_then(|t| t.storage(storage.name()));
        let value =
            |d: Option<&crate::target::Datum<u64>>| d.and_then(|d| d.known()).map(|f| f.value);
        let Some(pool) = value(fact.and_then(|f| f.pool.as_ref())) else { continue };
        let reserved = value(fact.and_then(|f| f.reserved.as_ref())).unwrap_or(0);
        let buffers: Vec<&Buffer> =
            live.buffers.iter().filter(|b| b.storage == storage).filter(inside).collect();
        let held = Held {
            storage,
            owner: Owner::Whole,
            name: String::new(),
            limit: None,
            source: String::new(),
            buffers,
        };
        let sums = sweep(cx.walk.steps.len(), &held, true, |b| b.stored.allocated(1));
        let used = sums.into_iter().max().unwrap_or(0);
        out.push(Pool { storage, bytes: u128::from(pool), used, reserved: u128::from(reserved) });
    }
    out
}

/// Grid positions of a launch that one unit holds at once, whatever memory they take: what its
/// threads and the stated limit allow. None where the target does not say.
pub(super) fn resident_at_most(cx: &Cx, launch: usize) -> Option<u64> {
    limits(cx, launch)?.into_iter().map(|l| l.0).min()
}

/// What a unit's places and threads allow, each with the level that it counts.
fn limits(cx: &Cx, launch: usize) -> Option<Vec<(u64, String)>> {
    let unit = cx.machine.target?.grid_unit()?;
    let level = cx.machine.level(cx.machine.grid);
    let mut out = vec![(unit.resident.get(level)?.known()?.value, level.to_string())];
    let finest = cx.machine.level(cx.machine.finest());
    let most = unit.resident.get(finest).and_then(|d| d.known()).filter(|_| finest != level);
    if let (Some(most), Some(threads)) = (most, block(cx, launch)) {
        let n = most.value / u64::try_from(threads.max(1)).unwrap_or(u64::MAX);
        out.push((n, finest.to_string()));
    }
    Some(out)
}

/// Grid positions of a launch that one unit holds at once: the least of what its pools, its
/// threads and the stated limit allow, with what allows no more: storages, and levels whose
/// positions are limited. None where the target does not say.
pub(super) fn resident(cx: &Cx, live: &Liveness, launch: usize) -> Option<(u64, Vec<String>)> {
    let mut all = limits(cx, launch)?;
    for p in pools(cx, live, launch) {
        if let Some(fit) = p.bytes.checked_div(p.used.saturating_add(p.reserved)) {
            let fit = u64::try_from(fit).unwrap_or(u64::MAX);
            all.push((fit, p.storage.name().to_string()));
        }
    }
    let n = all.iter().map(|l| l.0).min()?;
    Some((n, all.into_iter().filter(|l| l.0 == n).map(|l| l.1).collect()))
}

/// Finest positions of one grid position: of the launch's meshes, else of the topology.
fn block(cx: &Cx, launch: usize) -> Option<u128> {
    let (grid, finest) = (cx.machine.grid, cx.machine.finest());
    let mut n = 1u128;
    let mut last = None;
    for (level, extent) in &cx.graph.topology {
        let r = cx.machine.levels.iter().position(|l| l == level)?;
        if r > grid {
            n = n.saturating_mul(u128::try_from(extent.as_ref()?.eval(cx.env)?).ok()?);
        }
        last = last.max(Some(r));
    }
    let open = super::sum::units(cx, launch, finest) / super::sum::units(cx, launch, grid).max(1);
    if last == Some(finest) { Some(n.max(open)) } else { Some(open).filter(|o| *o > 1) }
}

/// The refusals as diagnostics.
pub(super) fn diagnostics(graph: &Graph, peaks: &[PeakRecord]) -> Vec<Diagnostic> {
    peaks.iter().filter(|p| p.exceeded).map(|p| diagnostic(graph, p)).collect()
}

fn diagnostic(graph: &Graph, p: &PeakRecord) -> Diagnostic {
    let limit = u128::from(p.limit.unwrap_or(0));
    let message = format!(
        "`{}` of a {} holds {} at its peak in `{}`, and has {}",
        p.storage,
        p.owner,
        exactly(p.allocated_in_place),
        graph.name,
        exactly(limit),
    );
    let mut d = Diagnostic::new(Code::CapacityExceeded, p.site.span(), message)
        .here(format!("the peak is at this `{}`", p.op));
    for v in p.values.iter().take(8) {
        let text = format!("{} of `{}`", bytes(v.allocated), v.value);
        d = d.label(v.site.span(), text);
    }
    if p.values.len() > 8 {
        let rest: u128 = p.values.iter().skip(8).map(|v| v.allocated).sum();
        d = d.note(format!("{} more values hold {}", p.values.len() - 8, bytes(rest)));
    }
    if p.allocated > p.allocated_in_place {
        d = d.note(format!("without reuse in place the peak would be {}", bytes(p.allocated)));
    }
    d = d.note(format!("the limit: {}", p.limit_source));
    match p.would_fit.is_empty() {
        true => d.help("split the largest values finer, or keep them in a larger storage"),
        false => d.help(format!("would fit: {}", p.would_fit.join("; or "))),
    }
}

/// Bytes for people, with the exact number where rounding could hide what exceeds what.
fn exactly(n: u128) -> String {
    let short = bytes(n);
    if n < 1024 { short } else { format!("{short} ({n} B)") }
}

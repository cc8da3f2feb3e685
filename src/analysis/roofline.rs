//! Lower bounds of the time. `time on r = work on r / rate of r`; a bound is the maximum over
//! resources, since they run side by side.
//!
//! `device`: the logical work on the whole device, and at `gmem` the compulsory traffic: the
//! distinct bytes of parameters read and of results written. Placement is ignored.
//!
//! `placed`: the total work, as authored. Of a launch of P positions on U units, the busiest unit
//! runs at least `max(total / min(P, U), one position's)`, and `ceil(P / U)` positions where all
//! are alike; its rate is 1/U of the device's. At `gmem`, a launch (and each op outside meshes)
//! moves its distinct bytes once; of what it reads that was touched before, all but the capacity of
//! the last cache is missed, for no policy holds more when it starts. What a launch
//! reads again beyond its distinct bytes is the last cache's traffic, but for what one position must
//! read from memory again in the trips of its loop (see [`must_miss`]); what waves and trips are
//! predicted to miss is no bound and stands in `reuse`. What a loop outside meshes
//! touches again misses at least in the share of its working set that exceeds the cache. The
//! distinct bytes of results reach `gmem`; of anything else, where a launch is the first to read it,
//! all but the capacity.
//!
//! Where the target states no cache of `gmem` at all, every read and write goes there.
//!
//! A module on several devices is bounded by the work of one of them.
//!
//! Bytes in flight (Little's law): `gmem` rate <= bytes in flight / latency. In flight at one
//! position are its rings, and every other read of the launch once, as if none waited for another.
//!
//! `cold`: the inputs are in `gmem`. `warm`: what fits the last cache is there already.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::footprint::{Print, footprints};
use super::record::{Bound, BoundRow, Certainty, LaunchRecord, PerUnit, Ratio, Roofline};
use super::reuse::must_miss;
use super::since::Since;
use super::sum;
use super::units::{bytes, time};
use crate::base::{HashMap, HashSet};
use crate::graph::ValueId;
use crate::ops::facts::Resource;
use crate::target::{RateSet, Target};
use crate::types::dtype::DType;
use crate::types::placement::{MeshId, Storage};

/// The rates of bounds.
pub(super) const PEAK: &[RateSet] = &[RateSet::Peak];

/// The rates of predictions: measured ones, and the datasheet's where none is.
pub(super) const MEASURED: &[RateSet] = &[RateSet::Sustained, RateSet::Peak];

/// Time of `amount` at `rate` a second, in picoseconds.
fn ps(amount: u128, rate: u128) -> Option<Ratio> {
    let num = amount.checked_mul(1_000_000_000_000)?;
    (rate > 0).then(|| Ratio::new(num, rate))
}

/// A rate with the factor that turns work into its unit.
pub(super) struct Rate {
    /// Of the whole device.
    pub per_s: u128,
    /// Work units for one unit of the rate: a multiply-add counts 2 as `tensor` and 1 as `fma`.
    pub divide: u128,
    /// The name under which the target states it.
    pub name: String,
    pub set: RateSet,
    pub text: String,
    pub note: Option<String>,
}

/// The rate of a name in the first of the sets that has it.
pub(super) fn stated(target: &Target, sets: &[RateSet], name: &str) -> Result<Rate, String> {
    let mut reason = format!("no rate of `{name}` is asked for");
    for set in sets {
        match target.rate_or_reason(*set, name) {
            Ok(f) => {
                return Ok(Rate {
                    per_s: f.value.round().max(0.0) as u128,
                    divide: 1,
                    name: name.to_string(),
                    set: *set,
                    text: format!("{:e} {}", f.value, f.unit),
                    note: None,
                });
            }
            Err(e) => reason = e,
        }
    }
    Err(reason)
}

/// The rate of a resource. Where there is no matrix unit for a dtype, the multiply-adds run on the
/// scalar units; narrow floats there are computed in `f32`.
pub(super) fn rate(target: &Target, sets: &[RateSet], r: Resource) -> Result<Rate, String> {
    let of = |name: &str, divide: u128, note: Option<String>| {
        stated(target, sets, name).map(|r| Rate { divide, note, ..r })
    };
    let name = r.name();
    let direct = of(&name, 1, None);
    let (dtype, divide) = match (direct, r) {
        (Ok(r), _) => return Ok(r),
        (Err(_), Resource::Tensor(d)) => (d, 2),
        (Err(_), Resource::Fma(d)) => (d, 1),
        (Err(e), _) => return Err(e),
    };
    let scalar = Resource::arith(dtype).name();
    let fall = |to: String| Some(format!("no `{name}` on this target: priced on `{to}`"));
    let wide = Resource::Fma(DType::F32).name();
    of(&scalar, divide, fall(scalar.clone())).or_else(|e| match dtype.bits() <= 32 {
        true if dtype.is_float() => of(&wide, divide, fall(wide.clone())),
        _ => Err(e),
    })
}

/// Work and time on one resource, added up over launches.
#[derive(Clone, Default)]
pub(super) struct Row {
    amount: u128,
    is: Certainty,
    pub ps: Option<Ratio>,
    rate: String,
    note: Option<String>,
}

pub(super) type Rows = BTreeMap<String, Row>;

impl Row {
    /// Adds what comes after it on the same resource.
    fn join(&mut self, other: &Row) {
        self.amount = self.amount.saturating_add(other.amount);
        self.is = self.is.and(other.is);
        self.ps = self.ps.zip(other.ps).map(|(a, b)| a.plus(b));
        self.rate.clone_from(&other.rate);
        self.note = self.note.take().or_else(|| other.note.clone());
    }
}

fn add(
    rows: &mut Rows,
    name: &str,
    amount: u128,
    is: Certainty,
    priced: Result<(Ratio, String, Option<String>), String>,
) {
    let (ps, rate, note) = match priced {
        Ok((t, rate, note)) => (Some(t), rate, note),
        Err(reason) => (None, reason, None),
    };
    let row = Row { amount, is, ps, rate, note };
    match rows.get_mut(name) {
        Some(r) => r.join(&row),
        None => {
            rows.insert(name.to_string(), row);
        }
    }
}

/// A target with the sets that its rates are looked up in, one after the other.
pub(super) type Rates<'t> = (&'t Target, &'t [RateSet]);

pub(super) fn roofline(
    cx: &Cx,
    rates: Rates,
    ops: &[OpCost],
    placed: &Placed,
    footprints: &[Print],
) -> Roofline {
    let mut bounds = vec![];
    for warm in [false, true] {
        bounds.push(device(cx, rates, ops, footprints, warm));
        bounds.push(placed.bound(rates, footprints, warm));
    }
    let names: Vec<&str> = rates.1.iter().map(|s| s.as_str()).collect();
    Roofline { rates: names.join(", else "), bounds }
}

fn bound(name: &str, warm: bool, rows: Rows) -> Bound {
    let mut rows: Vec<BoundRow> = rows
        .into_iter()
        .filter(|(_, r)| r.amount > 0)
        .map(|(resource, r)| BoundRow {
            resource,
            amount: r.amount,
            is: r.is,
            ps: r.ps,
            rate: r.rate,
            note: r.note,
        })
        .collect();
    rows.sort_by(|a, b| b.ps.cmp(&a.ps).then_with(|| a.resource.cmp(&b.resource)));
    let top = rows.first().filter(|r| r.ps.is_some());
    let binds = top.map_or("nothing rated".to_string(), |r| r.resource.clone());
    let kind = match binds.as_str() {
        "gmem in flight" => "latency",
        "gmem" | "smem" | "link" => "bandwidth",
        _ if top.is_some_and(|r| r.rate.contains("B/s")) => "bandwidth",
        "nothing rated" => "unrated",
        _ => "compute",
    };
    let form = if warm { "warm" } else { "cold" };
    Bound {
        name: name.into(),
        form: form.into(),
        ps: top.and_then(|r| r.ps),
        kind: kind.into(),
        binds,
        rows,
    }
}

/// How a note begins that says a rate is what was measured, which another way may exceed.
pub(super) const NO_PEAK: &str = "no peak rate";

fn named_rate(
    (target, sets): Rates,
    name: &str,
    amount: u128,
) -> Result<(Ratio, String, Option<String>), String> {
    // a bandwidth that no vendor states is bounded by what was measured
    let measured = |why| match stated(target, &[RateSet::Sustained], name) {
        Ok(r) => {
            let note = format!("{NO_PEAK} of `{name}` is stated: priced at the sustained one");
            Ok(Rate { note: Some(note), ..r })
        }
        Err(_) => Err(why),
    };
    let r = stated(target, sets, name).or_else(measured)?;
    let t = ps(amount, r.per_s).ok_or("the amount overflows")?;
    Ok((t, r.text, r.note))
}

/// Whether anything lies between the units and `gmem`.
fn cached(target: &Target) -> bool {
    target.caches().iter().any(|c| c.of == Storage::Gmem.name())
}

/// The cache between all units and `gmem`, with its bytes.
pub(super) fn last_cache(target: &Target) -> Option<(&str, u128)> {
    let last = target.caches().iter().rfind(|c| c.of == Storage::Gmem.name())?;
    Some((last.name.as_str(), u128::from(last.capacity.known()?.value)))
}

fn device(cx: &Cx, rates: Rates, ops: &[OpCost], footprints: &[Print], warm: bool) -> Bound {
    let mut rows = Rows::new();
    let all: Vec<&OpCost> = ops.iter().collect();
    for (r, amount, is) in work(&all) {
        let priced = rate(rates.0, rates.1, r).and_then(|x| {
            let share = amount.div_ceil(x.divide).div_ceil(devices(cx));
            let t = ps(share, x.per_s).ok_or("the work overflows")?;
            Ok((t, x.text, x.note))
        });
        add(&mut rows, &r.name(), amount, is, priced);
    }
    let (mut moved, mut is) = (0u128, Certainty::Exact);
    for f in footprints.iter().filter(|f| f.record.persistent) {
        // results that the program reads back need not come from memory
        let input = cx.graph.params.iter().any(|p| p.value == f.root);
        let read = if input { f.record.read } else { 0 };
        moved += (read + f.record.write).div_ceil(f.devices);
        is = is.and(f.record.read_is).and(f.record.write_is);
    }
    gmem(rates, &mut rows, moved, 0, is, warm);
    bound("device", warm, rows)
}

/// Rows of `gmem` and of the last cache for bytes that come from memory and that are read again.
fn gmem(rates: Rates, rows: &mut Rows, moved: u128, again: u128, is: Certainty, warm: bool) {
    let cache = last_cache(rates.0);
    let kept = if warm { cache.map_or(0, |(_, n)| n.min(moved)) } else { 0 };
    add(rows, "gmem", moved - kept, is, named_rate(rates, "gmem", moved - kept));
    if let Some((name, _)) = cache {
        let through = moved.saturating_add(again);
        add(rows, name, through, is, named_rate(rates, name, through));
    }
}

/// Logical work by resource, as no placement keeps it from the matrix unit.
fn work(ops: &[&OpCost]) -> Vec<(Resource, u128, Certainty)> {
    let mut out: BTreeMap<Resource, (u128, Certainty)> = BTreeMap::new();
    for e in ops.iter().flat_map(|o| &o.entries) {
        if let Key::Work(r) = e.key {
            let (r, n) = match e.by_hand {
                Some(d) => (Resource::Tensor(d), e.logical.saturating_mul(2)),
                None => (r, e.logical),
            };
            let s = out.entry(r).or_default();
            s.0 = s.0.saturating_add(n);
            s.1 = s.1.and(e.is);
        }
    }
    out.into_iter().map(|(r, (n, is))| (r, n, is)).collect()
}

/// Ops that run together: those of a launch; ops outside meshes run one after the other on the
/// whole device.
pub(super) type Group<'o, 'c> = (Option<usize>, Vec<&'o OpCost<'c>>);

/// What a group touches of `gmem`.
pub(super) struct Touched {
    /// The distinct bytes of each buffer.
    pub prints: Vec<Print>,
    /// What one position must read again, see [`must_miss`].
    missed: u128,
}

impl Touched {
    pub fn of(cx: &Cx, (launch, ops): &Group) -> Touched {
        let caches = cx.machine.target.map(|t| t.caches()).unwrap_or_default();
        let gmem = || caches.iter().filter(|c| c.of == Storage::Gmem.name());
        let held = gmem().filter_map(|c| c.capacity.known()).map(|f| u128::from(f.value)).sum();
        let missed = match launch.is_some() && gmem().next().is_some() {
            true => must_miss(cx, ops, held).div_ceil(devices(cx)),
            false => 0,
        };
        Touched { prints: footprints(cx, ops.iter().copied()), missed }
    }
}

/// All groups, with what each touches.
#[derive(Clone)]
pub(super) struct Groups<'o, 'c> {
    pub all: Vec<Group<'o, 'c>>,
    pub touched: Vec<Arc<Touched>>,
}

impl<'o, 'c> Groups<'o, 'c> {
    pub fn of(cx: &Cx, ops: &'o [OpCost<'c>]) -> Groups<'o, 'c> {
        let mut all: Vec<Group> = vec![];
        for o in ops {
            match all.last_mut() {
                Some((l, g)) if *l == o.run.launch && l.is_some() => g.push(o),
                _ => all.push((o.run.launch, vec![o])),
            }
        }
        let touched = all.iter().map(|g| Arc::new(Touched::of(cx, g)));
        Groups { touched: touched.collect(), all }
    }
}

/// What the bounds of the program as authored add up.
pub(super) struct Placed {
    /// The rows of each group on its own.
    pub each: Vec<Rows>,
    pub traffic: Vec<Traffic>,
}

impl Placed {
    pub fn of(
        cx: &Cx,
        rates: Rates,
        groups: &Groups,
        launches: &[LaunchRecord],
        footprints: &[Print],
    ) -> Placed {
        let each = groups.all.iter().zip(&groups.touched);
        let each = each.map(|(g, t)| of_group(cx, rates, (g, t), launches, None));
        Placed { each: each.collect(), traffic: traffic(cx, rates.0, groups, footprints) }
    }

    pub fn bound(&self, rates: Rates, footprints: &[Print], warm: bool) -> Bound {
        let mut rows = Rows::new();
        for (name, row) in self.each.iter().flatten() {
            rows.entry(name.clone()).and_modify(|r| r.join(row)).or_insert_with(|| row.clone());
        }
        moved(rates, &self.traffic, footprints, warm, &mut rows);
        if warm {
            rows.remove("gmem in flight");
        }
        bound("placed", warm, rows)
    }
}

/// The rows of `gmem` and the last cache of the whole program.
pub(super) fn moved(
    rates: Rates,
    traffic: &[Traffic],
    footprints: &[Print],
    warm: bool,
    rows: &mut Rows,
) {
    // a result is written once, whatever happens
    let results = footprints.iter().filter(|f| f.record.persistent);
    let results = results.filter(|_| cached(rates.0));
    let mut moved: u128 = results.map(|f| f.record.write.div_ceil(f.devices)).sum();
    let (mut through, mut is) = (0u128, Certainty::Exact);
    for t in traffic {
        moved += t.least;
        through += t.moved + t.again;
        is = is.and(t.is);
    }
    gmem(rates, rows, moved, through.saturating_sub(moved), is, warm);
}

/// The bound of one group alone, from its rows.
pub(super) fn group_bound(rates: Rates, rows: &Rows, t: &Traffic, warm: bool) -> Bound {
    let mut rows = rows.clone();
    gmem(rates, &mut rows, t.moved, t.again, t.is, false);
    if warm {
        rows.remove("gmem in flight");
    }
    bound("placed", warm, rows)
}

/// What one group does on its units, in flight and over the link.
pub(super) fn of_group(
    cx: &Cx,
    rates: Rates,
    ((launch, ops), touched): (&Group, &Touched),
    launches: &[LaunchRecord],
    even: Option<usize>,
) -> Rows {
    let mut rows = Rows::new();
    let resident = launch.and_then(|l| launches.get(l)).and_then(|l| l.resident);
    on_units(cx, rates, ops, launch.filter(|_| *launch != even), &mut rows);
    in_flight(cx, rates.0, (ops, &touched.prints), *launch, resident, &mut rows);
    link(cx, rates, ops, &mut rows);
    rows
}

/// Work and shared-memory traffic of one launch on its units.
fn on_units(cx: &Cx, rates: Rates, ops: &[&OpCost], launch: Option<usize>, rows: &mut Rows) {
    let units = rates.0.grid_unit().and_then(|u| u.count.known()).map(|f| u128::from(f.value));
    let grid = cx.machine.grid;
    let busiest = |total: u128, per_unit: &[PerUnit]| -> u128 {
        // in work of a device on which every unit did as much as the busiest
        let (Some(u), Some(l)) = (units, launch) else { return total.div_ceil(devices(cx)) };
        let all = u.saturating_mul(devices(cx)).max(1);
        let p = sum::units(cx, l, grid);
        // nothing follows from a most that is only bounded from above
        let known = |x: &&PerUnit| x.max_is != Certainty::UpperBound;
        let max = per_unit.iter().find(known).map_or(0, |x| x.max);
        let alike = max.checked_mul(p) == Some(total);
        let of_unit = if alike { max * p.div_ceil(all) } else { max };
        of_unit.max(total.div_ceil(p.min(all))).saturating_mul(u)
    };
    for (r, w) in sum::work(cx, ops, grid) {
        let priced = rate(rates.0, rates.1, r).and_then(|x| {
            let n = busiest(w.total, &w.per_unit).div_ceil(x.divide);
            Ok((ps(n, x.per_s).ok_or("the work overflows")?, x.text, x.note))
        });
        add(rows, &r.name(), w.total, w.is, priced);
    }
    let both = [Key::Read(Storage::Smem), Key::Write(Storage::Smem)];
    let smem = sum::together(cx, ops, &both, grid);
    if smem.total > 0 {
        let n = busiest(smem.total, &smem.per_unit);
        add(rows, "smem", smem.total, smem.is, named_rate(rates, "smem", n));
    }
}

/// The row of Little's law for one launch.
fn in_flight(
    cx: &Cx,
    target: &Target,
    (ops, prints): (&[&OpCost], &[Print]),
    launch: Option<usize>,
    resident: Option<u64>,
    rows: &mut Rows,
) {
    let (Some(l), Some(latency)) =
        (launch, target.storage(Storage::Gmem.name()).and_then(|s| s.latency.as_ref()))
    else {
        return;
    };
    let units = target.grid_unit().and_then(|u| u.count.known()).map(|f| u128::from(f.value));
    let (Some(latency), Some(units), Some(resident)) = (latency.known(), units, resident) else {
        return;
    };
    // reads that do not wait for each other may all be under way: a ring its depth, any other once
    let mut each = 0u128;
    for o in ops {
        let reads = o.entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem));
        each += reads.map(|e| e.flight.saturating_mul(u128::from(o.ring))).sum::<u128>();
    }
    let moved: u128 = prints.iter().map(|f| f.record.read.div_ceil(f.devices)).sum();
    let p = sum::units(cx, l, cx.machine.grid).div_ceil(devices(cx));
    let positions = p.min(units.saturating_mul(u128::from(resident.max(1))));
    let flight = positions.saturating_mul(each);
    let wait = (latency.value * 1000.0).round().max(0.0) as u128;
    if flight == 0 || moved == 0 {
        return;
    }
    let t = Ratio::new(moved.saturating_mul(wait), flight);
    let text = format!("{positions} x {} / {}", bytes(each), time(wait as f64));
    let note = "bytes in flight over the latency of gmem".to_string();
    let is = prints.iter().fold(Certainty::Exact, |is, f| is.and(f.record.read_is));
    add(rows, "gmem in flight", moved, is, Ok((t, text, Some(note))));
}

/// Devices that run the program: the positions of the meshes over levels that own memory.
pub(super) fn devices(cx: &Cx) -> u128 {
    let outer = |m: &MeshId| {
        cx.mesh_rank(*m).zip(cx.machine.owner(Storage::Gmem)).is_some_and(|(r, o)| r <= o)
    };
    let base = cx.walk.frames.first().map(|f| f.meshes.as_slice()).unwrap_or_default();
    let meshes = base.iter().filter(|m| outer(m)).filter_map(|m| cx.graph.meshes.mesh(*m));
    meshes.map(|m| cx.extent_of(&m.axes)).product::<u128>().max(1)
}

/// Distinct bytes of one trip of each loop outside meshes, by the innermost loop.
fn working_sets(cx: &Cx, groups: &Groups) -> BTreeMap<usize, u128> {
    let mut by: BTreeMap<usize, BTreeMap<ValueId, u128>> = BTreeMap::new();
    for ((launch, ops), touched) in groups.all.iter().zip(&groups.touched) {
        // outside meshes each op is a group
        let ([o], None) = (ops.as_slice(), launch) else { continue };
        let Some(l) = innermost(cx, o) else { continue };
        let runs = o.run.trips.sum().max(1);
        for f in &touched.prints {
            let trip = f.read_total.max(f.write_total) / runs;
            let at = by.entry(l).or_default().entry(f.root).or_default();
            *at = (*at).max(trip);
        }
    }
    by.into_iter().map(|(l, b)| (l, b.values().sum())).collect()
}

fn innermost(cx: &Cx, o: &OpCost) -> Option<usize> {
    cx.walk.frame(o.run.frame)?.loops.last().copied()
}

/// What was written to a buffer and need not have reached `gmem`.
#[derive(Clone, Copy)]
enum Written {
    /// A result reaches it once, whatever happens.
    Result,
    /// The bytes of the last write that nothing has read since.
    Kept(u128),
}

impl Default for Written {
    fn default() -> Written {
        Written::Kept(0)
    }
}

impl Written {
    /// Bytes of the last write that a touch is the first to read again.
    fn touch(&mut self, read: u128, write: u128) -> u128 {
        let Written::Kept(bytes) = self else { return 0 };
        let first = read.min(*bytes);
        *bytes = if write > 0 { write } else { *bytes - first };
        first
    }
}

/// Bytes of one group at one device.
#[derive(Clone)]
pub(super) struct Traffic {
    /// From and to `gmem`: what is written counts in full.
    pub moved: u128,
    /// The part of it that no cache can keep, without what results are written.
    pub least: u128,
    /// Of `moved`, those that are written.
    pub written: u128,
    /// That the last cache gives again, beside `moved`.
    pub again: u128,
    pub is: Certainty,
}

/// A buffer, or a part of it that is as a buffer of its own.
type Held = (ValueId, Option<(i64, i64)>);

/// Buffers of which any two groups touch the same part of the first axis or two without overlap,
/// as weights that layers have each for themselves in one array.
fn in_parts(groups: &Groups) -> BTreeSet<ValueId> {
    let mut parts: BTreeMap<ValueId, Option<BTreeSet<(i64, i64)>>> = BTreeMap::new();
    for f in groups.touched.iter().flat_map(|t| &t.prints) {
        let at = parts.entry(f.root).or_insert_with(|| Some(BTreeSet::new()));
        match (at.as_mut(), f.lead) {
            (Some(all), Some(l)) => drop(all.insert(l)),
            _ => *at = None,
        }
    }
    let apart =
        |all: &BTreeSet<(i64, i64)>| all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.1 <= b.0);
    let found = parts.into_iter().filter(|(_, p)| p.as_ref().is_some_and(apart));
    found.map(|(root, _)| root).collect()
}

/// Bytes from the `gmem` of one device, and those that its last cache gives again, for each group.
pub(super) fn traffic(
    cx: &Cx,
    target: &Target,
    groups: &Groups,
    footprints: &[Print],
) -> Vec<Traffic> {
    let capacity = last_cache(target).map_or(0, |(_, n)| n);
    let sets = working_sets(cx, groups);
    // when each buffer was touched last, with the bytes touched then
    let mut recent: HashMap<Held, (usize, u128)> = HashMap::default();
    let parts = in_parts(groups);
    let held_as = |f: &Print| -> Held { (f.root, f.lead.filter(|_| parts.contains(&f.root))) };
    let mut touched = Since::default();
    // no fewer bytes than those of each buffer that were touched so far
    let mut covered: HashMap<Held, u128> = HashMap::default();
    let inputs: HashSet<ValueId> = cx.graph.params.iter().map(|p| p.value).collect();
    let results = footprints.iter().filter(|f| f.record.persistent);
    let mut kept: HashMap<ValueId, Written> = results.map(|f| (f.root, Written::Result)).collect();
    let mut out: Vec<Traffic> = vec![];
    let mut reads = 0;
    for ((launch, ops), touched_here) in groups.all.iter().zip(&groups.touched) {
        let (mut moved, mut least) = (touched_here.missed, touched_here.missed);
        let (mut written, mut through) = (0u128, 0u128);
        let mut is = Certainty::Exact;
        let set = ops.first().filter(|_| launch.is_none()).and_then(|o| innermost(cx, o));
        let set = set.and_then(|l| sets.get(&l)).copied().unwrap_or(0);
        // of what a loop touches again, a cache of this capacity keeps no more than itself
        let lost = |again: u128| match set.checked_sub(capacity) {
            Some(over) if set > 0 => again.saturating_mul(over) / set,
            _ => 0,
        };
        // bytes that were touched before, and of those the ones that are read first since they were
        // written: when the group starts, the cache holds no more of either than its capacity
        let (mut before, mut new) = (0u128, 0u128);
        // what the group itself touches does not come before what it touches beside
        let mut here: Vec<(Held, u128)> = vec![];
        for f in &touched_here.prints {
            let (read, write) = (f.record.read, f.record.write);
            if !cached(target) {
                // nothing lies between the units and memory
                let all = (f.read_total + f.write_total).div_ceil(f.devices);
                least += all;
                moved += all;
                through += all;
                written += f.write_total.div_ceil(f.devices);
                is = is.and(f.record.read_is).and(f.record.write_is);
                continue;
            }
            let part_of = held_as(f);
            let since = recent.get(&part_of).map(|(at, _)| touched.since(*at));
            let gone = since.map(|s| s.saturating_sub(capacity));
            // what is first used here was there before, or is made here; a buffer of which a part
            // was touched has another part that was not
            let part = covered.get(&part_of).copied().unwrap_or(0);
            let fresh = if inputs.contains(&f.root) { read.saturating_sub(part) } else { 0 };
            let again = f.read_total.saturating_sub(read) + f.write_total.saturating_sub(write);
            // as much as it writes may be what it reads
            let old = read.saturating_sub(write).min(part);
            before += old.div_ceil(f.devices);
            new += kept.entry(f.root).or_default().touch(old, write).div_ceil(f.devices);
            least += (fresh + lost(again)).div_ceil(f.devices);
            let fetched = gone.unwrap_or(read).max(fresh).min(read);
            moved += (fetched + write + lost(again)).div_ceil(f.devices);
            written += write.div_ceil(f.devices);
            through += (f.read_total + f.write_total).div_ceil(f.devices);
            is = is.and(f.record.read_is).and(f.record.write_is);
            here.push((part_of, read.max(write)));
        }
        least += before.saturating_sub(capacity);
        reads += least;
        least += new.saturating_sub(capacity);
        // each buffer once, at its last touch
        for (root, bytes) in here {
            *covered.entry(root).or_default() += bytes;
            if let Some((at, n)) = recent.get(&root).copied() {
                touched.take(at, n);
            }
            let at = touched.next();
            touched.add(at, bytes);
            recent.insert(root, (at, bytes));
        }
        out.push(Traffic { moved, least, written, again: through.saturating_sub(moved), is });
    }
    // what all groups together read of the inputs is read, whatever of it each is the first to read
    let read = |f: &&Print| inputs.contains(&f.root) && cached(target);
    let distinct = footprints.iter().filter(read).map(|f| f.record.read.div_ceil(f.devices));
    if let Some(last) = out.last_mut() {
        last.least += distinct.sum::<u128>().saturating_sub(reads);
    }
    out
}

/// What devices send to each other over the link, both directions together.
fn link(cx: &Cx, rates: Rates, ops: &[&OpCost], rows: &mut Rows) {
    let outer = |rank: usize| cx.machine.owner(Storage::Gmem).is_some_and(|g| rank <= g);
    let comms = ops.iter().flat_map(|o| &o.comm).filter(|c| outer(c.rank));
    let (mut n, mut is) = (0u128, Certainty::Exact);
    for c in comms {
        n += c.per_unit;
        is = is.and(c.is);
    }
    if n > 0 {
        add(rows, "link", 2 * n, is, named_rate(rates, "link", 2 * n));
    }
}

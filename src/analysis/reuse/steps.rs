//! The steps of a program, and what a cache that drops the least recently used finds in them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::boxes::{self, Fuel, Inexact, Set};
use super::super::cx::Cx;
use super::super::record::{Certainty, LaunchRecord};
use super::super::window::{self, Over, Use};
use super::super::{footprint, sum};
use super::touched::{Piece, Touched};
use super::{Between, FUEL, Held, Item, Key, ReuseRow, STEPS, bytes, inside_mesh, key, trips};
use crate::graph::ValueId;
use crate::types::dim::VarId;

/// A box of coordinates: first values and counts.
type Coords = Vec<(VarId, i64, i64)>;

/// What was not touched before; and parts that were, with their distance and the step.
type Found = (Set, Vec<(Set, u128, usize)>);

#[derive(Clone, Copy, PartialEq)]
struct Tag {
    /// The launch or op.
    group: usize,
    wave: usize,
}

#[derive(Default)]
struct Tally {
    again: u128,
    nearest: Option<u128>,
    farthest: u128,
    missed: u128,
}

/// The walk over the steps.
pub(super) struct Steps<'a> {
    cx: &'a Cx<'a>,
    launches: &'a [LaunchRecord],
    units: Option<u64>,
    capacity: u128,
    fuel: Fuel,
    left: i64,
    step: usize,
    tags: Vec<Tag>,
    tag: Tag,
    touched: Touched,
    written: BTreeMap<Key, Set>,
    found: BTreeMap<(ValueId, Between), Tally>,
    /// Bytes read by buffer, what positions share in one step counted once.
    once: BTreeMap<ValueId, u128>,
    /// Uses that data decides, once they are counted.
    unknown: BTreeSet<*const Use>,
    pub moved: u128,
    pub is: Certainty,
}

impl<'a> Steps<'a> {
    pub fn new(
        cx: &'a Cx<'a>,
        launches: &'a [LaunchRecord],
        units: Option<u64>,
        capacity: u128,
    ) -> Steps<'a> {
        Steps {
            cx,
            launches,
            units,
            capacity,
            fuel: Fuel(FUEL),
            left: STEPS,
            step: 0,
            tags: vec![],
            tag: Tag { group: 0, wave: 0 },
            touched: Touched::default(),
            written: BTreeMap::new(),
            found: BTreeMap::new(),
            once: BTreeMap::new(),
            unknown: BTreeSet::new(),
            moved: 0,
            is: Certainty::Exact,
        }
    }

    /// Runs ops that stand in the same `depth` outer loops, for some positions and trips.
    pub fn run(
        &mut self,
        items: &[Item],
        depth: usize,
        over: &[Over],
        placed: bool,
    ) -> Result<(), Inexact> {
        let looped = |s: &Self, i: &Item| {
            i.loops.get(depth).copied().filter(|l| placed || !inside_mesh(s.cx, *l))
        };
        let key = |s: &Self, i: &Item| match looped(s, i) {
            Some(l) => (Some(l), None),
            None => (None, i.launch.filter(|_| !placed)),
        };
        let mut rest = items;
        while let Some(first) = rest.first() {
            let same = key(self, first);
            let n = match same {
                (None, None) => 1,
                _ => rest.iter().take_while(|i| key(self, i) == same).count(),
            };
            let (group, after) = rest.split_at(n.max(1));
            rest = after;
            match same {
                (Some(l), _) => self.repeat(group, depth, l, over, placed)?,
                (None, Some(launch)) => self.launch(group, depth, launch, over)?,
                (None, None) => {
                    if !placed {
                        self.next_group();
                    }
                    self.step(group, over)?;
                }
            }
        }
        Ok(())
    }

    fn next_group(&mut self) {
        self.tag = Tag { group: self.tag.group + 1, wave: 0 };
    }

    /// The waves of a launch, one after the other.
    fn launch(
        &mut self,
        items: &[Item],
        depth: usize,
        launch: usize,
        over: &[Over],
    ) -> Result<(), Inexact> {
        self.next_group();
        let resident = self.launches.get(launch).and_then(|l| l.resident);
        let Some(waves) = self.waves(launch, resident) else {
            // all positions at once, for want of what says how many there are
            self.is = Certainty::UpperBound;
            return self.run(items, depth, over, true);
        };
        for wave in waves {
            let with = |o: &Over| -> Vec<Over> {
                let one = |c: &Coords| Over { coords: c.clone(), ..o.clone() };
                wave.iter().map(one).collect()
            };
            let here: Vec<Over> = over.iter().flat_map(with).collect();
            self.run(items, depth, &here, true)?;
            self.tag.wave += 1;
        }
        Ok(())
    }

    /// For each wave the boxes of coordinates that are in it.
    fn waves(&mut self, launch: usize, resident: Option<u64>) -> Option<Vec<Vec<Coords>>> {
        let cx = self.cx;
        let grid = cx.machine.grid;
        let meshes = cx.walk.launches.get(launch)?.meshes.iter();
        let meshes = meshes.filter_map(|m| cx.graph.meshes.mesh(*m));
        let mut of_grid = meshes.filter(|m| cx.machine.rank(m) == grid && m.parent.is_none());
        let (mesh, None) = (of_grid.next()?, of_grid.next()) else { return None };
        let axes: Vec<(VarId, i64)> = mesh
            .axes
            .iter()
            .filter_map(|a| {
                Some((cx.graph.meshes.axis(*a)?.var, i64::try_from(cx.extent(*a)).ok()?))
            })
            .collect();
        let all = i64::try_from(sum::units(cx, launch, grid)).ok()?;
        let at_once = self.units?.checked_mul(resident?).and_then(|n| i64::try_from(n).ok())?;
        if at_once == 0 || all / at_once > self.left {
            return None;
        }
        let starts = (0..all).step_by(usize::try_from(at_once).ok()?);
        Some(starts.map(|lo| spread(&axes, lo, all.min(lo + at_once))).collect())
    }

    /// A loop: trip by trip where that tells more.
    fn repeat(
        &mut self,
        items: &[Item],
        depth: usize,
        l: usize,
        over: &[Over],
        placed: bool,
    ) -> Result<(), Inexact> {
        let trips = trips(self.cx, l);
        let apart = match trips {
            Some(n) => n > 1 && (!placed || self.again(items, l, n, over)),
            None => true,
        };
        let fits = trips.filter(|n| n.saturating_mul(items.len() as i64) <= self.left);
        match (apart, fits) {
            (true, Some(n)) => {
                for t in 0..n {
                    let one = |o: &Over| {
                        let mut o = o.clone();
                        o.trips.push((l, t));
                        o
                    };
                    let here: Vec<Over> = over.iter().map(one).collect();
                    self.run(items, depth + 1, &here, placed)?;
                }
                Ok(())
            }
            (true, None) => {
                // one step for all trips: what it reads again is taken to be there
                self.is = Certainty::UpperBound;
                self.step(items, over)
            }
            (false, _) => self.step(items, over),
        }
    }

    /// Whether one position touches in a trip what it touched in another.
    fn again(&mut self, items: &[Item], l: usize, trips: i64, over: &[Over]) -> bool {
        let Some(first) = over.first() else { return false };
        let mut all = first.clone();
        all.coords.iter_mut().for_each(|(_, _, n)| *n = 1);
        let mut one = all.clone();
        one.trips.push((l, 0));
        let mut size = |u: &Use, over: &Over| {
            let parts = window::parts(self.cx, &u.window, over, &mut self.fuel).ok()?;
            Some(boxes::size(&parts))
        };
        items.iter().flat_map(|i| &i.uses).any(|u| {
            let (all, one) = (size(u, &all), size(u, &one));
            all.zip(one).is_some_and(|(a, o)| a < o.saturating_mul(trips.unsigned_abs().into()))
        })
    }

    /// One step: what it reads is looked for among what was touched before.
    fn step(&mut self, items: &[Item], over: &[Over]) -> Result<(), Inexact> {
        self.left -= 1;
        self.step += 1;
        self.tags.push(self.tag);
        let mut touched: BTreeMap<Key, [Set; 2]> = BTreeMap::new();
        for u in items.iter().flat_map(|i| &i.uses) {
            self.is = self.is.and(u.window.is);
            let mut sets = vec![];
            for o in over {
                match window::set(self.cx, &u.window, o, &mut self.fuel) {
                    Ok(s) => sets.push(s),
                    Err(Inexact) if self.fuel.0 == 0 => return Err(Inexact),
                    Err(Inexact) => self.guess(u),
                }
            }
            let slots = touched.entry(key(u)).or_default();
            let [read, write] = slots;
            let slot = if u.write { write } else { read };
            for s in sets {
                *slot = slot.union(&s, &mut self.fuel)?;
            }
        }
        for (key, [read, write]) in &touched {
            self.reads(*key, read)?;
            self.writes(*key, write)?;
        }
        for (key, [read, write]) in touched {
            let all = read.union(&write, &mut self.fuel)?;
            let (cx, fuel) = (self.cx, &mut self.fuel);
            self.touched.shrink(key, |set| {
                let left = set.subtract(&all, fuel)?;
                let size = bytes(cx, key, &left);
                Ok((left, size))
            })?;
            let size = bytes(cx, key, &all);
            self.touched.push(key, Piece { step: self.step, set: all, bytes: size });
        }
        Ok(())
    }

    /// A use that data decides: all its bytes are missed, once.
    fn guess(&mut self, u: &Use) {
        self.is = Certainty::UpperBound;
        if self.unknown.insert(std::ptr::from_ref(u)) {
            self.moved += u.bytes;
            if !u.write {
                *self.once.entry(u.root).or_default() += u.bytes;
            }
            // no key of a real buffer names itself as its view
            let key = (u.root, Some(u.root));
            let (set, bytes) = (Set::default(), u.bytes);
            self.touched.push(key, Piece { step: self.step, set, bytes });
        }
    }

    /// Takes what was touched before away from a set, the latest first, with the distance of each
    /// part and where it was touched.
    fn before(&mut self, key: Key, set: &Set) -> Result<Found, Inexact> {
        let (mut rest, mut found) = (set.clone(), vec![]);
        for p in self.touched.of(key).iter().rev() {
            if rest.is_empty() {
                break;
            }
            let left = rest.subtract(&p.set, &mut self.fuel)?;
            if left.size() < rest.size() {
                let part = rest.subtract(&left, &mut self.fuel)?;
                found.push((part, self.touched.since(p.step), p.step));
                rest = left;
            }
        }
        Ok((rest, found))
    }

    fn reads(&mut self, key: Key, set: &Set) -> Result<(), Inexact> {
        let (new, found) = self.before(key, set)?;
        *self.once.entry(key.0).or_default() += bytes(self.cx, key, set);
        self.moved += bytes(self.cx, key, &new);
        for (part, distance, step) in found {
            let n = bytes(self.cx, key, &part);
            let tag = step.checked_sub(1).and_then(|i| self.tags.get(i)).copied();
            let between = match tag {
                Some(t) if t.group != self.tag.group => Between::Launches,
                Some(t) if t.wave != self.tag.wave => Between::Waves,
                _ => Between::Trips,
            };
            let missed = if distance > self.capacity { n } else { 0 };
            self.moved += missed;
            let t = self.found.entry((key.0, between)).or_default();
            t.again += n;
            t.missed += missed;
            t.nearest = Some(t.nearest.map_or(distance, |d| d.min(distance)));
            t.farthest = t.farthest.max(distance);
        }
        Ok(())
    }

    /// What is written again before it leaves the cache reaches memory once.
    fn writes(&mut self, key: Key, set: &Set) -> Result<(), Inexact> {
        let mut n = bytes(self.cx, key, set);
        let written = self.written.remove(&key).unwrap_or_default();
        if !written.is_empty() && !set.is_empty() {
            let (_, found) = self.before(key, set)?;
            for (part, _, _) in found.iter().filter(|(_, d, _)| *d <= self.capacity) {
                let other = part.subtract(&written, &mut self.fuel)?;
                n -= bytes(self.cx, key, part) - bytes(self.cx, key, &other);
            }
        }
        self.moved += n;
        self.written.insert(key, written.union(set, &mut self.fuel)?);
        Ok(())
    }

    /// What positions that run at once read together.
    pub fn shared(&mut self, items: &[Item]) {
        let mut all: BTreeMap<ValueId, u128> = BTreeMap::new();
        for u in items.iter().flat_map(|i| &i.uses).filter(|u| !u.write) {
            *all.entry(u.root).or_default() += u.bytes;
        }
        for (root, n) in all {
            let again = n.saturating_sub(self.once.get(&root).copied().unwrap_or(0));
            if again > 0 {
                let t = Tally { again, nearest: Some(0), farthest: 0, missed: 0 };
                self.found.insert((root, Between::Positions), t);
            }
        }
    }

    pub fn rows(&self) -> Vec<ReuseRow> {
        let row = |((root, between), t): (&(ValueId, Between), &Tally)| ReuseRow {
            buffer: footprint::name(self.cx, *root),
            between: *between,
            again: t.again,
            nearest: t.nearest.unwrap_or(0),
            farthest: t.farthest,
            missed: t.missed,
            held: match t.missed {
                0 => Held::Yes,
                n if n == t.again => Held::No,
                _ => Held::Partly,
            },
        };
        self.found.iter().map(row).collect()
    }
}

/// The positions `lo..hi` of axes of which the last is the fastest, as boxes of coordinates.
fn spread(axes: &[(VarId, i64)], lo: i64, hi: i64) -> Vec<Coords> {
    let Some(((var, _), inner)) = axes.split_first() else { return vec![vec![]] };
    let each: i64 = inner.iter().map(|(_, n)| n).product::<i64>().max(1);
    let under = |at: i64, n: i64, lo: i64, hi: i64| -> Vec<Coords> {
        let with = |rest: Coords| [(*var, at, n)].into_iter().chain(rest).collect();
        spread(inner, lo, hi).into_iter().map(with).collect()
    };
    let (first, last) = (lo / each, (hi - 1) / each);
    if first == last {
        return under(first, 1, lo - first * each, hi - first * each);
    }
    let (mut from, mut to, mut out) = (first, last + 1, vec![]);
    if lo % each != 0 {
        out.extend(under(first, 1, lo % each, each));
        from += 1;
    }
    if hi % each != 0 {
        to -= 1;
    }
    if from < to {
        out.extend(under(from, to - from, 0, each));
    }
    if hi % each != 0 {
        out.extend(under(last, 1, 0, hi % each));
    }
    out
}

//! What the lanes of one position do, as intervals.
//!
//! Comes in: runs of tasks, of every loop those near its ends. Goes out: lanes with intervals, and
//! a gap where trips of a loop are left out. The intervals' times are of the first position on the
//! unit with most to do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::record::{Ratio, Site};
use super::rates::Fs;

/// Of a loop, this many trips at either end are shown.
pub(super) const SHOWN: u64 = 2;

/// The trip of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trip {
    /// The loop.
    pub body: usize,
    pub at: u64,
    pub of: u64,
}

impl Trip {
    /// Whether it is near an end of its loop.
    pub fn shown(&self) -> bool {
        self.at < SHOWN || self.at.saturating_add(SHOWN) >= self.of
    }
}

/// A run of an op on a lane.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub lane: usize,
    pub op: String,
    pub site: Site,
    /// The loops around it, outermost first.
    pub trips: Vec<Trip>,
    pub start: Fs,
    pub end: Fs,
}

/// A run of an op.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    pub op: String,
    pub site: Site,
    /// The trips of the loops around it, outermost first, from 0.
    pub trip: Vec<u64>,
    /// When it starts to wait for or to use its resources: whole picoseconds since the launch's
    /// positions began, rounded down.
    pub start_ps: u64,
    /// When its result is there.
    pub end_ps: u64,
}

/// Trips of a loop that are left out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gap {
    /// How many.
    pub trips: u64,
    pub start_ps: u64,
    pub end_ps: u64,
    /// Picoseconds from one trip to the next in the mean; none where the last trips are not shown.
    pub period_ps: Option<Ratio>,
}

/// What runs one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lane {
    /// The role, with the position in it; the copies it issues ahead are a lane of their own.
    pub name: String,
    pub intervals: Vec<Interval>,
    pub gaps: Vec<Gap>,
}

fn whole(t: Fs) -> u64 {
    t / 1000
}

/// The lanes of a position that ends at `end`; those with nothing to do are left out.
pub(super) fn lanes(names: &[String], seen: &[Seen], end: Fs) -> Vec<Lane> {
    let lane = |(i, name): (usize, &String)| {
        let mut here: Vec<&Seen> = seen.iter().filter(|s| s.lane == i).collect();
        here.sort_by_key(|s| (s.start, s.end));
        let interval = |s: &&Seen| Interval {
            op: s.op.clone(),
            site: s.site.clone(),
            trip: s.trips.iter().map(|t| t.at).collect(),
            start_ps: whole(s.start),
            end_ps: whole(s.end),
        };
        let intervals: Vec<Interval> =
            here.iter().filter(|s| s.trips.iter().all(Trip::shown)).map(interval).collect();
        Lane { name: name.clone(), intervals, gaps: gaps(&here, end) }
    };
    names.iter().enumerate().map(lane).filter(|l| !l.intervals.is_empty()).collect()
}

/// The starts and ends of what one lane does in one loop.
#[derive(Default)]
struct Around {
    /// Trips of the loop.
    of: u64,
    /// By trip: its first start and its last end.
    trips: BTreeMap<u64, (Fs, Fs)>,
}

fn gaps(here: &[&Seen], end: Fs) -> Vec<Gap> {
    // a loop runs once for each trip of the loops around it
    let mut loops: BTreeMap<(Vec<Trip>, usize), Around> = BTreeMap::new();
    for s in here {
        for (depth, t) in s.trips.iter().enumerate() {
            let outer: Vec<Trip> = s.trips.iter().take(depth).copied().collect();
            let l = loops.entry((outer, t.body)).or_default();
            l.of = l.of.max(t.of);
            let trip = l.trips.entry(t.at).or_insert((s.start, s.end));
            trip.0 = trip.0.min(s.start);
            trip.1 = trip.1.max(s.end);
        }
    }
    let mut out: Vec<Gap> = loops.values().filter_map(|l| l.gap(end)).collect();
    out.sort_by_key(|g| (g.start_ps, g.end_ps));
    out
}

impl Around {
    fn gap(&self, end: Fs) -> Option<Gap> {
        let trips = self.of.checked_sub(2 * SHOWN).filter(|n| *n > 0)?;
        let (_, before) = self.trips.range(..SHOWN).next_back()?;
        let from = self.trips.range(..SHOWN).map(|(_, (_, e))| *e).max()?;
        let Some((at, (after, _))) = self.trips.range(self.of - SHOWN..).next() else {
            let trips = self.of - SHOWN;
            return Some(Gap { trips, start_ps: whole(from), end_ps: whole(end), period_ps: None });
        };
        let first = self.trips.range(..SHOWN).next_back().map_or(0, |(k, _)| *k);
        let steps = u128::from(at.saturating_sub(first).max(1));
        let period = Ratio::new(u128::from(after.saturating_sub(before.0)), 1000 * steps);
        Some(Gap {
            trips,
            start_ps: whole(from.min(*after)),
            end_ps: whole(*after),
            period_ps: Some(period),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(trips: &[(u64, u64)], start: Fs, end: Fs) -> Seen {
        let trip = |(i, (at, of)): (usize, &(u64, u64))| Trip { body: i + 1, at: *at, of: *of };
        let site = Site { file: 0, start: 0, end: 0, at: None };
        let trips = trips.iter().enumerate().map(trip).collect();
        Seen { lane: 0, op: "x".into(), site, trips, start, end }
    }

    /// Ten trips of 3 ns, of which 2 ns are one op: six are left out, from the end of the second
    /// to the start of the ninth.
    #[test]
    fn trips_in_the_middle_of_a_loop_are_a_gap() {
        let all: Vec<Seen> = (0..10u64)
            .map(|i| seen(&[(i, 10)], i * 3_000_000, i * 3_000_000 + 2_000_000))
            .collect();
        let out = lanes(&["cta".into()], &all, 30_000_000);
        let at: Vec<u64> = out[0].intervals.iter().map(|i| i.trip[0]).collect();
        assert_eq!(at, [0, 1, 8, 9]);
        let gap =
            Gap { trips: 6, start_ps: 5000, end_ps: 24000, period_ps: Some(Ratio::new(3000, 1)) };
        assert_eq!(out[0].gaps, [gap]);
    }

    #[test]
    fn a_short_loop_has_no_gap_and_an_inner_one_has_one_for_each_outer_trip() {
        let all: Vec<Seen> = (0..2u64)
            .flat_map(|o| (0..7u64).map(move |i| (o, i)))
            .map(|(o, i)| seen(&[(o, 2), (i, 7)], (o * 7 + i) * 1000, (o * 7 + i) * 1000 + 500))
            .collect();
        let out = lanes(&["a".into(), "idle".into()], &all, 14_000);
        assert_eq!(out.len(), 1);
        let gaps: Vec<(u64, u64)> = out[0].gaps.iter().map(|g| (g.trips, g.start_ps)).collect();
        assert_eq!(gaps, [(3, 1), (3, 8)]);
        assert_eq!(out[0].intervals.len(), 8);
    }
}

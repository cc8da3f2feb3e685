//! The `placed` cold bound where a few groups of a program are others: what they add to each
//! resource is taken away and put in anew, and only what memory moves is looked at as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::footprint::{Print, footprints};
use super::record::{Bound, LaunchRecord, Ratio};
use super::roofline::{Groups, Placed, Rates, Rows, Touched, moved, of_group, traffic};
use crate::types::placement::Storage;

/// Groups that would be others, the old ones by their index. What is alike stays as it is.
pub(super) struct Changed<'o, 'c> {
    pub groups: BTreeMap<usize, Vec<&'o OpCost<'c>>>,
    pub launches: &'o [LaunchRecord],
    /// A launch taken as if every unit did as much.
    pub even: Option<usize>,
}

/// Times by resource of the `placed` cold bound, where some groups are others; `before` is that
/// bound without them. None is unrated.
pub(super) fn placed_with(
    cx: &Cx,
    rates: Rates,
    (groups, placed, all): (&Groups, &Placed, &[Print]),
    before: &Bound,
    changed: &Changed,
) -> BTreeMap<String, Option<Ratio>> {
    let mut times: BTreeMap<String, Option<Ratio>> =
        before.rows.iter().map(|r| (r.resource.clone(), r.ps)).collect();
    let mut others: Option<Groups> = None;
    let mut results = false;
    for (i, ops) in &changed.groups {
        let (Some(group), Some(touched), Some(old)) =
            (groups.all.get(*i), groups.touched.get(*i), placed.each.get(*i))
        else {
            continue;
        };
        let mut touched = touched.clone();
        let new = (group.0, ops.clone());
        if !touch_alike(&group.1, ops) {
            results |= touched.prints.iter().any(|f| f.record.persistent && f.record.write > 0);
            touched = Arc::new(Touched::of(cx, &new));
            let others = others.get_or_insert_with(|| groups.clone());
            others.all.iter_mut().skip(*i).take(1).for_each(|g| *g = new.clone());
            others.touched.iter_mut().skip(*i).take(1).for_each(|t| *t = touched.clone());
        }
        let new = of_group(cx, rates, (&new, &touched), changed.launches, changed.even);
        replace(&mut times, old, &new);
    }
    let Some(others) = others else { return times };
    // what results are written is known of all ops together
    let again =
        results.then(|| footprints(cx, others.all.iter().flat_map(|(_, g)| g.iter().copied())));
    let all = again.as_deref().unwrap_or(all);
    let mut rows = Rows::new();
    moved(rates, &traffic(cx, rates.0, &others, all), all, false, &mut rows);
    times.extend(rows.into_iter().map(|(name, r)| (name, r.ps)));
    times
}

/// Takes away the times of some rows and adds those of others.
fn replace(times: &mut BTreeMap<String, Option<Ratio>>, old: &Rows, new: &Rows) {
    let time = |rows: &Rows, name: &str| rows.get(name).map_or(Some(Ratio::ZERO), |r| r.ps);
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let at = times.entry(name.clone()).or_insert(Some(Ratio::ZERO));
        let without = (*at).zip(time(old, name)).map(|(t, gone)| t.minus(gone));
        *at = without.zip(time(new, name)).map(|(t, more)| t.plus(more));
    }
}

/// Whether a change leaves what ops touch of `gmem` as it is.
fn touch_alike(old: &[&OpCost], new: &[&OpCost]) -> bool {
    let gmem = |o: &&OpCost| -> Vec<(Key, u128)> {
        let touch = |k: Key| matches!(k, Key::Read(Storage::Gmem) | Key::Write(Storage::Gmem));
        o.entries.iter().filter(|e| touch(e.key)).map(|e| (e.key, e.grid)).collect()
    };
    old.iter().map(gmem).eq(new.iter().map(gmem))
}

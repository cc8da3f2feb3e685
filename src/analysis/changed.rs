//! The `placed` cold bound where a few groups of a program are others: what they add to each
//! resource is taken away and put in anew, and only what memory moves is looked at as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::cost::OpCost;
use super::cx::Cx;
use super::footprint::{Print, footprints};
use super::record::{Bound, LaunchRecord, Ratio};
use super::roofline::{Groups, Rates, Rows, footprints_of, moved, of_group};

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
    (groups, launches, all): (&Groups, &[LaunchRecord], &[Print]),
    before: &Bound,
    changed: &Changed,
) -> BTreeMap<String, Option<Ratio>> {
    let mut times: BTreeMap<String, Option<Ratio>> =
        before.rows.iter().map(|r| (r.resource.clone(), r.ps)).collect();
    let (mut old, mut new) = (Rows::new(), Rows::new());
    let mut others = groups.clone();
    let mut results = false;
    for (i, ops) in &changed.groups {
        let (Some(group), Some(prints)) = (others.all.get_mut(*i), others.prints.get_mut(*i))
        else {
            continue;
        };
        of_group(cx, rates, group, launches, None, &mut old);
        *group = (group.0, ops.clone());
        of_group(cx, rates, group, changed.launches, changed.even, &mut new);
        results |= prints.iter().any(|f| f.record.persistent && f.record.write > 0);
        *prints = footprints_of(cx, ops);
    }
    let time = |rows: &Rows, name: &str| rows.get(name).map_or(Some(Ratio::ZERO), |r| r.ps);
    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    for name in names {
        let at = times.entry(name.clone()).or_insert(Some(Ratio::ZERO));
        let without = (*at).zip(time(&old, &name)).map(|(t, gone)| t.minus(gone));
        *at = without.zip(time(&new, &name)).map(|(t, more)| t.plus(more));
    }
    // what results are written is known of all ops together
    let again =
        results.then(|| footprints(cx, others.all.iter().flat_map(|(_, g)| g.iter().copied())));
    let mut rows = Rows::new();
    moved(cx, rates, &others, again.as_deref().unwrap_or(all), false, &mut rows);
    times.extend(rows.into_iter().map(|(name, r)| (name, r.ps)));
    times
}

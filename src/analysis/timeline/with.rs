//! The predicted time where a few groups of a program are others: those are simulated anew, and
//! the rest takes the time that it took.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::changed::Changed;
use super::super::cost::{Key, OpCost};
use super::super::cx::Cx;
use super::super::footprint::Print;
use super::super::record::{LaunchRecord, Ratio};
use super::super::roofline::{self, Groups, Touched, Traffic};
use super::super::sum;
use super::rates::Pipe;
use super::{Predicted, Predictor, picoseconds};
use crate::target::Target;
use crate::types::placement::Storage;

/// Ops outside meshes, by their groups, that one launch of so many positions runs.
pub(in crate::analysis) struct Join {
    pub groups: Vec<usize>,
    pub positions: u128,
}

/// The cold predicted time with a change, and what of it are launches of ops that have none as they
/// are. `fused` launches are part of others; what `joins` run in one launch is estimated, for there
/// is no program of it.
pub(in crate::analysis) fn with(
    cx: &Cx,
    target: &Target,
    now: &Predicted,
    (groups, launches, footprints): (&Groups, &[LaunchRecord], &[Print]),
    (changed, joins, fused): (&Changed, &[Join], &[usize]),
) -> Option<(Ratio, Ratio)> {
    let mut others = groups.clone();
    for (i, ops) in &changed.groups {
        let group = others.all.get_mut(*i)?;
        group.1.clone_from(ops);
        *others.touched.get_mut(*i)? = Arc::new(Touched::of(cx, group));
    }
    let traffic = super::missed(roofline::traffic(cx, target, &others, footprints), now.lru);
    let mut total: u128 = now.of_groups.iter().sum();
    let joined_ops: BTreeSet<usize> = joins.iter().flat_map(|j| &j.groups).copied().collect();
    for i in &joined_ops {
        total -= now.of_groups.get(*i)?;
    }
    for i in changed.groups.keys().filter(|i| !joined_ops.contains(i)) {
        total -= now.of_groups.get(*i)?;
        let group = others.all.get(*i)?;
        let own = even(cx, target, group, launches, changed.even);
        let mut p = Predictor::new(cx, target, &own, changed.launches)?;
        let which: Vec<usize> = (0..own.len()).collect();
        let of = (group, others.touched.get(*i)?.as_ref());
        let rates = (target, roofline::MEASURED);
        let rows = roofline::of_group(cx, rates, of, changed.launches, changed.even);
        p.group(group, &which, (traffic.get(*i)?, &rows), false);
        total += p.total;
    }
    let mut started = 0;
    for j in joins {
        let all = j.groups.iter().filter_map(|i| {
            let (o, t) = (others.all.get(*i)?.1.first()?, traffic.get(*i)?);
            Some((*o, t))
        });
        let (work, launch) = joined(cx, target, &all.collect::<Vec<_>>(), j.positions)?;
        total += work + launch;
        started += launch;
    }
    for l in now.record.launches.iter().filter(|l| fused.contains(&l.launch)) {
        let overhead = l.overhead_ps.num.saturating_mul(1000) / l.overhead_ps.den.max(1);
        total = total.saturating_sub(overhead.saturating_mul(u128::from(l.runs)));
    }
    Some((picoseconds(total), picoseconds(started)))
}

/// The ops of a group; of a launch that is taken as even, with each position's share of what its
/// units do so that none does more than another.
fn even<'c>(
    cx: &Cx<'c>,
    target: &Target,
    (launch, ops): &roofline::Group<'_, 'c>,
    launches: &[LaunchRecord],
    even: Option<usize>,
) -> Vec<OpCost<'c>> {
    let mut own: Vec<OpCost> = ops.iter().map(|o| (*o).clone()).collect();
    let units = target.grid_unit().and_then(|u| u.count.known()).map(|f| u128::from(f.value));
    let of = launch.filter(|l| even == Some(*l) && launches.get(*l).is_some());
    let (Some(l), Some(units)) = (of, units) else { return own };
    let n = sum::units(cx, l, cx.machine.grid).div_ceil(roofline::devices(cx));
    let all = n.div_ceil(units.max(1)).saturating_mul(units).max(1);
    for e in own.iter_mut().flat_map(|o| &mut o.entries) {
        // all units together move what they moved
        if !matches!(e.key, Key::Read(Storage::Gmem) | Key::Write(Storage::Gmem)) {
            e.left = (e.left.0.saturating_mul(n), e.left.1.saturating_mul(all));
        }
    }
    own
}

/// Femtoseconds of ops that would run in one launch, with what each still moves: the latency of each
/// op that still reads `gmem` and of the results, and the ops one after the other; where positions
/// share a unit, the work of what is busiest. Beside it, the launch's overhead.
fn joined(
    cx: &Cx,
    target: &Target,
    all: &[(&OpCost, &Traffic)],
    positions: u128,
) -> Option<(u128, u128)> {
    let rates = super::Rates::new(target)?;
    let (devices, units) = (roofline::devices(cx), u128::from(rates.units));
    let mut pipes = [0u128; Pipe::ALL.len()];
    let mut chain = 0u128;
    for (o, _) in all {
        let mut own = [0u128; Pipe::ALL.len()];
        for e in &o.entries {
            let Key::Work(r) = e.key else { continue };
            if let Some((p, t)) = rates.work(r, e.total.div_ceil(devices))
                && let Some(at) = own.get_mut(p.index())
            {
                *at += u128::from(t).saturating_mul(units) / positions.clamp(1, units);
            }
        }
        chain += own.iter().max().unwrap_or(&0);
        pipes.iter_mut().zip(own).for_each(|(a, b)| *a += b);
    }
    let moved: u128 = all.iter().map(|(_, t)| t.moved).sum();
    let through: u128 = all.iter().map(|(_, t)| t.moved + t.again).sum();
    let bytes = |p, n| u128::from(rates.bytes(p, n).unwrap_or(0));
    let bytes = bytes(Pipe::Gmem, moved).max(bytes(Pipe::Cache, through));
    let busiest = pipes.into_iter().max().unwrap_or(0);
    let work = if positions <= units { chain + bytes } else { busiest.max(bytes) };
    let runs = all.iter().map(|(o, _)| o.run.trips.sum()).max().unwrap_or(1);
    let reads =
        |o: &OpCost| o.entries.iter().any(|e| e.key == Key::Read(Storage::Gmem) && e.total > 0);
    let loads = all.iter().filter(|(o, _)| reads(o)).count() as u128;
    let loads = if positions <= units { loads.max(1) } else { 1 };
    let wait = u128::from(rates.gmem_latency) * loads + u128::from(rates.cache_latency);
    let launch = u128::from(rates.cost("launch"));
    Some((work + wait.saturating_mul(runs), launch.saturating_mul(runs)))
}

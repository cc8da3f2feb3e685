//! Memories that are full, or almost; and units that could almost hold one position more.

use super::text::exact;
use super::{Draft, Edit, Program, Rule};
use crate::analysis::capacity::{pools, resident_at_most};
use crate::analysis::record::PeakRecord;
use crate::analysis::sum;
use crate::analysis::units::{bytes_like, percent};

pub(super) static FULL: Rule = Rule {
    kind: "capacity",
    title: "a memory is full or almost full",
    means: "The peak of an owner exceeds its capacity, and the program cannot run; or it takes more \
            than 95 % of it, and little can be added.",
    size: "The peak as stored, against the capacity that the target states.",
    remedy: "A finer split, a smaller tile or a shallower ring; the finding has the nearest that \
             fits.",
    find: full,
};

pub(super) static OCCUPANCY: Rule = Rule {
    kind: "occupancy",
    title: "a little less memory would let a unit hold one position more",
    means: "A launch has more positions than the units hold at once, and one position more would \
            fit if each took at most 15 % less of a shared memory.",
    size: "The bytes above `pool / (resident + 1) - reserved`, and the bound with one position more \
           on each unit.",
    remedy: "Shrink what is largest at the peak: a tile, a ring, an accumulator.",
    find: occupancy,
};

fn full(p: &Program) -> Vec<Draft> {
    let near = |r: &&PeakRecord| {
        let limit = r.limit.map(u128::from);
        limit.is_some_and(|l| r.allocated_in_place.saturating_mul(20) > l.saturating_mul(19))
    };
    p.capacity.iter().filter(near).map(peak).collect()
}

fn peak(r: &PeakRecord) -> Draft {
    let limit = u128::from(r.limit.unwrap_or(0));
    let (used, has) = (r.allocated_in_place, exact(limit));
    let share = percent(used as f64 / limit.max(1) as f64);
    let (place, owner) = (&r.storage, &r.owner);
    let largest = r.values.first();
    let edit = match (r.would_fit.is_empty(), largest, r.exceeded) {
        (false, _, _) => r.would_fit.join("; or "),
        (true, Some(v), true) => {
            format!("needs {} less: `{}` is the largest", exact(used - limit), v.value)
        }
        (true, Some(v), false) if v.buffers > 1 => format!(
            "{} are free; `buffers({})` for `{}` would free {} more",
            exact(limit.saturating_sub(used)),
            v.buffers - 1,
            v.value,
            exact(v.allocated / u128::from(v.buffers)),
        ),
        (true, Some(v), false) => format!(
            "{} are free; `{}` is the largest with {}",
            exact(limit.saturating_sub(used)),
            v.value,
            exact(v.allocated)
        ),
        (true, None, _) => "split the largest values finer".into(),
    };
    let what = format!("{place} of a {owner} takes {} of {has} ({share})", bytes_like(used, limit));
    let mut d = Draft::new(what, edit);
    d.blocking = r.exceeded;
    d = d.spot(r.site.span(), format!("the peak, at `{}`", r.op));
    for v in r.values.iter().take(3) {
        d = d.spot(v.site.span(), format!("`{}` takes {}", v.value, exact(v.allocated)));
    }
    d
}

fn occupancy(p: &Program) -> Vec<Draft> {
    let Some(units) = p.units() else { return vec![] };
    let mut out = vec![];
    for (i, l) in p.launches.iter().enumerate() {
        let (Some(now), Some(most)) = (l.resident, resident_at_most(p.cx, i)) else { continue };
        let waiting = sum::units(p.cx, i, p.cx.machine.grid) > units * u128::from(now);
        if now == 0 || now >= most || !waiting {
            continue;
        }
        let (next, mut over, mut near) = (u128::from(now) + 1, vec![], true);
        for pool in pools(p.cx, p.live, i) {
            let fits = (pool.bytes / next).saturating_sub(pool.reserved);
            if pool.used > fits {
                near &= (pool.used - fits).saturating_mul(100) <= pool.used.saturating_mul(15);
                over.push((pool.storage.name(), pool.used, fits));
            }
        }
        if over.is_empty() || !near {
            continue;
        }
        let level = p.cx.machine.level(p.cx.machine.grid);
        let uses: Vec<String> =
            over.iter().map(|(s, used, _)| format!("{} of {s}", exact(*used))).collect();
        let fits: Vec<String> =
            over.iter().map(|(s, _, fits)| format!("at most {} of {s}", exact(*fits))).collect();
        let mut d = Draft::new(
            format!("a {level} of `{}` takes {}; a unit holds {now}", l.name, uses.join(" and ")),
            format!("{} would let a unit hold {next}", fits.join(" and ")),
        );
        d.edits = vec![Edit::Resident { launch: i, n: now + 1 }];
        out.push(d.spot(l.site.span(), "the launch"));
    }
    out
}

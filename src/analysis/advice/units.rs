//! Launches that leave units idle: too few positions, or a last wave that is mostly empty.

use super::{Draft, Edit, Program, Rule};
use crate::analysis::live::Buffer;
use crate::analysis::sum;
use crate::analysis::units::percent;

pub(super) static IDLE: Rule = Rule {
    kind: "idle-units",
    title: "a launch has fewer positions than the device has units",
    means: "Every position runs on one unit, so the others do nothing.",
    size: "The bound with the same work spread evenly over all units. Bytes in flight stay as they \
           are.",
    remedy: "A finer split, or a split of a reduced axis with a `complete` behind it.",
    find: idle,
};

pub(super) static LAST_WAVE: Rule = Rule {
    kind: "last-wave",
    title: "the last wave leaves units idle",
    means: "The positions of a launch are no multiple of the units, and over its time less than \
            90 % of the units have one.",
    size: "The bound with the same work spread evenly over all units.",
    remedy: "A number of positions that fills the units, or a persistent loop over smaller tiles.",
    find: last_wave,
};

fn idle(p: &Program) -> Vec<Draft> {
    let Some(units) = p.units() else { return vec![] };
    let mut out = vec![];
    for (i, l) in p.launches.iter().enumerate() {
        let n = sum::units(p.cx, i, p.cx.machine.grid);
        if n >= units {
            continue;
        }
        let level = p.cx.machine.level(p.cx.machine.grid);
        let times = (units / n.max(1)).max(2);
        let times = finer(p, i, times).unwrap_or(times);
        let edit = match n * times {
            m if m <= units => {
                format!("{m} {level}s of 1/{times} each (up to {units} run at once)")
            }
            _ => format!("{units} {level}s"),
        };
        let mut d = Draft::new(
            format!("`{}` runs {n} {level}s on {units} units: {} are idle", l.name, units - n),
            format!("split the work over more positions: {edit}"),
        );
        d.edits = vec![Edit::Even { launch: i }];
        out.push(d.spot(l.site.span(), format!("{n} {level}s")));
    }
    out
}

/// The most times, up to `most`, that the largest value of a launch can be split finer.
fn finer(p: &Program, launch: usize, most: u128) -> Option<u128> {
    let inside =
        |b: &&Buffer| p.cx.walk.frame(b.birth.frame).is_some_and(|f| f.launch == Some(launch));
    let all = p.live.buffers.iter().filter(inside);
    let largest = all.max_by_key(|b| b.stored.position)?;
    (2..=most).rev().find(|k| largest.stored.divides(*k))
}

fn last_wave(p: &Program) -> Vec<Draft> {
    let Some(units) = p.units() else { return vec![] };
    let mut out = vec![];
    for (i, l) in p.launches.iter().enumerate() {
        let n = sum::units(p.cx, i, p.cx.machine.grid);
        let waves = n.div_ceil(units);
        let full = waves * units;
        if n <= units || n * 10 >= full * 9 {
            continue;
        }
        let level = p.cx.machine.level(p.cx.machine.grid);
        let share = percent(n as f64 / full as f64);
        let mut d = Draft::new(
            format!(
                "{n} {level}s of `{}` on {units} units: some run {waves}, {} of them run {}; the \
                 units are {share} busy",
                l.name,
                full - n,
                waves - 1,
            ),
            format!("{} {level}s fill {}, {full} fill {waves} each", full - units, waves - 1),
        );
        d.edits = vec![Edit::Even { launch: i }];
        out.push(d.spot(l.site.span(), format!("{n} {level}s")));
    }
    out
}

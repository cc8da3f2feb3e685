//! The prediction as text.

use super::super::units::{percent, time};
use super::export::gap_text;
use super::record::{BusyRecord, LaunchPrediction, Prediction};
use super::scale::Scale;
use super::trace::Lane;

/// The lines of a report: the predicted time, and what it rests on.
pub(in crate::analysis) fn lines(p: &Prediction, rows: usize) -> Vec<String> {
    let is = match p.is {
        super::Certainty::Exact => String::new(),
        other => format!(" {}", other.as_str()),
    };
    let warm = match p.warm_ps < p.ps {
        true => format!(", {} with all of it in cache", time(p.warm_ps.as_f64())),
        false => String::new(),
    };
    let mut out = vec![format!("predicted {}{is}{warm} ({})", time(p.ps.as_f64()), rates(p))];
    for l in p.launches.iter().take(rows) {
        let waves = if l.waves == 1 { "wave" } else { "waves" };
        let runs = if l.runs > 1 { format!(" x {}", l.runs) } else { String::new() };
        out.push(format!(
            "  {}: {}{runs}, {} {waves} with {} on a unit; time goes to {}; most busy: {}",
            l.name,
            time(l.ps.as_f64()),
            l.waves,
            l.resident,
            list(&l.critical),
            list(&l.busy)
        ));
    }
    let rest = p.launches.len().saturating_sub(rows);
    if let Some(last) = out.iter_mut().next_back().filter(|_| rest > 0) {
        last.push_str(&format!("  ({rest} more with --full)"));
    }
    out
}

/// What the target does not state.
pub(in crate::analysis) fn unrated(p: &Prediction, rows: usize) -> Vec<String> {
    let mut out: Vec<String> =
        p.unrated.iter().take(rows).map(|u| format!("  unrated {u}")).collect();
    let rest = p.unrated.len() - out.len();
    if let Some(last) = out.last_mut().filter(|_| rest > 0) {
        last.push_str(&format!("  ({rest} more with --full)"));
    }
    out
}

/// `matrix 96%, gmem 3%`
fn list(all: &[BusyRecord]) -> String {
    let one = |b: &BusyRecord| format!("{} {}", b.resource, percent(b.per_mille as f64 / 1000.0));
    let some: Vec<String> = all.iter().filter(|b| b.per_mille >= 5).take(3).map(one).collect();
    if some.is_empty() { "nothing rated".into() } else { some.join(", ") }
}

/// `rates: sustained gmem, peak smem`
fn rates(p: &Prediction) -> String {
    let mut sets: Vec<(&str, Vec<&str>)> = vec![];
    for r in &p.rates {
        match sets.iter_mut().find(|(s, _)| *s == r.set) {
            Some((_, names)) => names.push(&r.resource),
            None => sets.push((&r.set, vec![&r.resource])),
        }
    }
    if sets.is_empty() {
        return "nothing this program uses has a rate".into();
    }
    sets.sort_by_key(|(s, _)| std::cmp::Reverse(*s));
    let sets: Vec<String> = sets.iter().map(|(s, n)| format!("{s} {}", n.join(", "))).collect();
    format!("rates: {}", sets.join("; "))
}

const COLUMNS: usize = 64;
const LANES: usize = 8;

/// The lanes of the longest launch, a column for each stretch of time.
pub(in crate::analysis) fn timeline(p: &Prediction) -> Vec<String> {
    let longest = p.launches.iter().max_by_key(|l| (l.ps, std::cmp::Reverse(l.launch)));
    longest.map_or(vec![], drawn)
}

fn drawn(l: &LaunchPrediction) -> Vec<String> {
    let lanes: Vec<&Lane> = l.lanes.iter().take(LANES).collect();
    let intervals = || lanes.iter().flat_map(|x| &x.intervals);
    let gaps = || lanes.iter().flat_map(|x| &x.gaps);
    let end = intervals().map(|i| i.end_ps).chain(gaps().map(|g| g.end_ps)).max().unwrap_or(0);
    if end == 0 {
        return vec![];
    }
    let mut ops: Vec<&str> = vec![];
    for i in intervals() {
        if !ops.contains(&i.op.as_str()) {
            ops.push(&i.op);
        }
    }
    let letter = |op: &str| {
        let i = ops.iter().position(|o| *o == op).unwrap_or(0);
        // more ops than letters share the last
        char::from(b'a' + u8::try_from(i.min(25)).unwrap_or(25))
    };
    let own: Vec<Lane> = lanes.iter().map(|l| (*l).clone()).collect();
    let scale = Scale::new(&own, end as f64, COLUMNS as f64, 6.0);
    let width = lanes.iter().map(|l| l.name.chars().count()).max().unwrap_or(0);
    let mut out = vec![format!("one position of {}, to {}", l.name, time(end as f64))];
    for lane in &lanes {
        let mut row = vec![' '; COLUMNS];
        let mut put = |from: u64, to: u64, c: char| {
            let (x0, x1) = (scale.x(from as f64) as usize, scale.x(to as f64).ceil() as usize);
            for cell in row.iter_mut().take(x1).skip(x0) {
                *cell = c;
            }
        };
        lane.gaps.iter().for_each(|g| put(g.start_ps, g.end_ps, '~'));
        lane.intervals.iter().for_each(|i| put(i.start_ps, i.end_ps, letter(&i.op)));
        let row: String = row.into_iter().collect();
        out.push(format!("  {:width$} |{row}|", lane.name));
    }
    let mut legend: Vec<String> =
        ops.iter().take(26).map(|o| format!("{} {o}", letter(o))).collect();
    if let Some(g) = gaps().max_by_key(|g| g.end_ps - g.start_ps.min(g.end_ps)) {
        legend.push(format!("~ {}", gap_text(g)));
    }
    let mut line = String::new();
    for (i, l) in legend.iter().enumerate() {
        if line.len() + l.len() > 90 {
            out.push(format!("  {line}"));
            line.clear();
        }
        line.push_str(l);
        line.push_str(if i + 1 < legend.len() { ", " } else { "" });
    }
    out.push(format!("  {line}"));
    out.truncate(LANES + 6);
    out
}

//! The report as text: the answer first, then what it rests on.

use std::fmt::Write;

use super::record::{Amount, Analysis, Bound, BoundRow, Certainty, OpRecord, PeakRecord, Site};
use super::reuse::{Held, ReuseRow};
use super::roofline::NO_PEAK;
use super::scopes::ScopeRecord;
use super::timeline;
use super::units::{bytes, bytes_like, count, percent, time};
use crate::base::SourceMap;

/// What a report has of what was found.
#[derive(Clone, Copy, Debug)]
pub struct Show {
    /// Every op and value.
    pub full: bool,
    /// The table of bounds; the one that binds is said in any case. Where it is left out there is
    /// room for a timeline.
    pub bounds: bool,
    pub advice: Findings,
}

/// How much of the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Findings {
    None,
    /// What to do next, and the first ones.
    Short,
    /// What to do next, and all of them with their places behind the report.
    Long,
}

impl Show {
    /// All families, short.
    pub fn all() -> Show {
        Show { full: false, bounds: true, advice: Findings::Short }
    }
}

/// The report. Short, it has less than 40 lines before the list of findings; `full` lists every op
/// and value.
pub fn text(a: &Analysis, sources: &SourceMap, show: Show) -> String {
    let long = match show.advice {
        Findings::Long => super::advice::long(a, sources),
        _ => String::new(),
    };
    let write = |part: Part, rows: usize| section(a, sources, show, part, rows);
    if show.full {
        return ORDER.map(|p| write(p, usize::MAX)).concat() + &long;
    }
    // each part has a row, and another one in turn while all fit
    let mut parts = ORDER.map(|p| (p, 1, write(p, 1)));
    let lines = |s: &str| s.lines().count();
    let mut used: usize = parts.iter().map(|(_, _, s)| lines(s)).sum();
    let whole = |parts: &[(Part, usize, String)]| -> String {
        parts.iter().map(|(_, _, s)| s.as_str()).collect()
    };
    if used >= LINES {
        let (best, kept) = (whole(&parts), LINES - 2);
        let best: String = best.lines().take(kept).map(|l| format!("{l}\n")).collect();
        return best + &format!("{} more lines with --full\n", used - kept) + &long;
    }
    // a part that has no more, or no room, has its rows
    let mut grows = |part: &Part| {
        let Some((_, rows, text)) = parts.iter_mut().find(|(p, ..)| p == part) else {
            return false;
        };
        let more = write(*part, *rows + 1);
        let then = used - lines(text) + lines(&more);
        let grows = more != *text && then < LINES;
        if grows {
            (*rows, *text, used) = (*rows + 1, more, then);
        }
        grows
    };
    // what work there is, first
    while grows(&Part::Work) {}
    // then the parts of the program, down to those that differ
    for _ in 1..MOST {
        grows(&Part::Scopes);
    }
    let mut growing = TURNS.to_vec();
    for _ in 1..MOST {
        growing.retain(&mut grows);
    }
    whole(&parts) + &long
}

const LINES: usize = 40;

/// Rows of what the last cache keeps in a full report.
const REUSED: usize = 40;

/// Rows that a part of the short report has at most.
const MOST: usize = 6;

/// The parts of a report that share its lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Answer,
    Predicted,
    Capacity,
    Work,
    Memory,
    Bounds,
    Launches,
    Scopes,
    Ops,
    Advice,
    Notes,
}

/// The parts as they stand in a report.
const ORDER: [Part; 11] = [
    Part::Answer,
    Part::Predicted,
    Part::Capacity,
    Part::Work,
    Part::Memory,
    Part::Bounds,
    Part::Launches,
    Part::Scopes,
    Part::Ops,
    Part::Advice,
    Part::Notes,
];

/// The parts in the order in which they are given another row.
const TURNS: [Part; 11] = [
    Part::Work,
    Part::Scopes,
    Part::Advice,
    Part::Launches,
    Part::Bounds,
    Part::Notes,
    Part::Ops,
    Part::Answer,
    Part::Memory,
    Part::Predicted,
    Part::Capacity,
];

/// One part with at most so many rows of each kind.
fn section(a: &Analysis, sources: &SourceMap, show: Show, part: Part, rows: usize) -> String {
    let mut w = Report { out: String::new(), sources, rows, full: show.full };
    match part {
        Part::Answer => {
            w.answer(a);
            if show.advice != Findings::None {
                w.next(a);
            }
        }
        Part::Predicted => w.predicted(a, show),
        Part::Capacity => w.capacity(a),
        Part::Work => w.compute(a),
        Part::Memory => w.memory(a),
        Part::Bounds if show.bounds => w.bounds(a),
        Part::Bounds => {}
        Part::Launches => w.launches(a),
        Part::Scopes => w.scopes(a),
        Part::Ops => w.ops(a),
        Part::Advice if show.advice == Findings::Short => {
            super::advice::short(a, w.limit(3)).iter().for_each(|l| w.line(l));
        }
        Part::Advice => {}
        Part::Notes => {
            let few = w.limit(4).min(a.notes.len());
            for (i, n) in a.notes.iter().take(few).enumerate() {
                let rest = if i + 1 == few { more(a.notes.len() - few) } else { String::new() };
                w.line(&format!("note: {n}{rest}"));
            }
        }
    }
    w.out
}

/// One part as it is written.
struct Report<'a> {
    out: String,
    sources: &'a SourceMap,
    rows: usize,
    full: bool,
}

/// Said where rows are left out.
fn more(n: usize) -> String {
    if n == 0 { String::new() } else { format!("  ({n} more with --full)") }
}

fn mark(c: Certainty) -> &'static str {
    match c {
        Certainty::Exact => "",
        Certainty::UpperBound => " upper_bound",
        Certainty::LowerBound => " lower_bound",
    }
}

impl Report<'_> {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.out, "{}", s.trim_end());
    }

    fn limit(&self, short: usize) -> usize {
        if self.full { usize::MAX } else { short.min(self.rows) }
    }

    fn at(&self, s: &Site) -> String {
        let place = self.sources.locate(s.span());
        // the column says little in a list of ops
        place.rsplit_once(':').map_or(place.clone(), |(line, _)| line.to_string())
    }

    fn answer(&mut self, a: &Analysis) {
        let dims: Vec<String> = a.dims.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let mut head = a.program.clone();
        if !dims.is_empty() {
            head.push_str(&format!(" at {}", dims.join(", ")));
        }
        if let Some(t) = &a.target {
            head.push_str(&format!(" on {t}"));
        }
        self.line(&head);
        let over: Vec<&PeakRecord> = a.capacity.iter().filter(|p| p.exceeded).collect();
        let few = self.limit(3).min(over.len());
        for (i, p) in over.iter().take(few).enumerate() {
            let limit = u128::from(p.limit.unwrap_or(0));
            let (mut needs, mut has) = (bytes_like(p.allocated_in_place, limit), bytes(limit));
            if needs == has {
                (needs, has) = (format!("{} B", p.allocated_in_place), format!("{limit} B"));
            }
            let rest = if i + 1 == few { more(over.len() - few) } else { String::new() };
            self.line(&format!(
                "does not fit: {} of a {} needs {} at its peak and has {}{rest}",
                p.storage, p.owner, needs, has
            ));
            let line = |fit: &String| format!("  would fit: {fit}");
            let new = |l: &String| !self.out.lines().any(|o| o.starts_with(l.as_str()));
            let fits: Vec<String> = p.would_fit.iter().map(line).filter(new).collect();
            let few = self.limit(2).min(fits.len());
            for (i, fit) in fits.iter().take(few).enumerate() {
                let rest = if i + 1 == few { more(fits.len() - few) } else { String::new() };
                self.line(&format!("{fit}{rest}"));
            }
        }
        if let Some(b) = a.roofline.as_ref().and_then(|r| r.bound("placed", "cold")) {
            let exceeded = a.capacity.iter().any(|p| p.exceeded);
            let line = bound_line(b);
            self.line(&if exceeded { format!("if it fitted: {line}") } else { line });
        }
        if let Some(r) = &a.roofline
            && let (Some(d), Some(p)) = (r.bound("device", "cold"), r.bound("placed", "cold"))
            && let (Some(dt), Some(pt)) = (d.ps, p.ps)
            // where data decides, both are bounds of bounds, and do not compare
            && (dt <= pt || p.rows.first().is_none_or(|r| r.is == Certainty::Exact))
        {
            let share = if pt.num == 0 { 1.0 } else { dt.as_f64() / pt.as_f64() };
            self.line(&format!(
                "the device could do it in {} ({}); the placement's bound is {} of that speed",
                time(dt.as_f64()),
                d.binds,
                percent(share)
            ));
        }
    }

    /// What to do next, and what it gives.
    fn next(&mut self, a: &Analysis) {
        let bounds = |n: &str| a.roofline.as_ref()?.bound(n, "cold");
        let lines = super::advice::next(a).unwrap_or_else(|| {
            if let Some(f) = super::advice::slower(a) {
                let kind = f.kind;
                let none = "next: nothing found lowers the predicted time";
                return vec![format!(
                    "{none} (`{kind}` lowers the bound, and is predicted slower)"
                )];
            }
            let none = match (bounds("device"), bounds("placed")) {
                (Some(d), Some(p)) if d.ps == p.ps && d.ps.is_some() => {
                    format!(
                        "next: nothing lowers this bound: it is the device's own, on {}",
                        d.binds
                    )
                }
                (_, Some(p)) => format!("next: nothing found lowers this bound, on {}", p.binds),
                _ => "next: nothing found".to_string(),
            };
            vec![none]
        });
        lines.iter().for_each(|l| self.line(l));
    }

    fn predicted(&mut self, a: &Analysis, show: Show) {
        let Some(p) = &a.prediction else { return };
        timeline::lines(p, self.limit(2)).iter().for_each(|l| self.line(l));
        // beside other families there is no room
        if self.full || !show.bounds {
            timeline::timeline(p).iter().for_each(|l| self.line(l));
            timeline::unrated(p, self.limit(4)).iter().for_each(|l| self.line(l));
        }
    }

    fn capacity(&mut self, a: &Analysis) {
        if a.capacity.is_empty() {
            return;
        }
        self.line("");
        let few = self.limit(MOST);
        let rest = more(a.capacity.len().saturating_sub(few));
        self.line(&format!("capacity            peak   in place  allocated      limit{rest}"));
        // what is nearest to its limit first
        let used = |p: &&PeakRecord| {
            let limit = p.limit.map_or(f64::INFINITY, |l| l.max(1) as f64);
            p.allocated_in_place as f64 / limit
        };
        let mut all: Vec<&PeakRecord> = a.capacity.iter().collect();
        if !self.full {
            all.sort_by(|x, y| used(y).total_cmp(&used(x)));
        }
        for p in all.into_iter().take(few) {
            let limit = p.limit.map_or("unrated".to_string(), |l| bytes(u128::from(l)));
            let verdict = if p.exceeded { "  exceeded" } else { "" };
            self.line(&format!(
                "  {:<12}{:>10} {:>10} {:>10} {:>10}  at {} {}{verdict}",
                format!("{} {}", p.storage, p.owner),
                bytes(p.live),
                bytes(p.live_in_place),
                bytes(p.allocated_in_place),
                limit,
                p.op,
                self.at(&p.site),
            ));
        }
        let shown: Vec<&PeakRecord> =
            a.capacity.iter().filter(|p| p.exceeded || self.full).collect();
        for p in shown.into_iter().take(self.limit(1)) {
            let few = self.limit(5).min(p.values.len());
            for (i, v) in p.values.iter().take(few).enumerate() {
                let site = self.at(&v.site);
                let rest = if i + 1 == few { more(p.values.len() - few) } else { String::new() };
                self.line(&format!(
                    "    {:>10}  {}  {}  {site}{rest}",
                    bytes(v.allocated),
                    v.value,
                    v.ty
                ));
            }
        }
    }

    fn compute(&mut self, a: &Analysis) {
        if a.costs.work.is_empty() {
            return;
        }
        self.line("");
        let few = self.limit(usize::MAX);
        let rest = more(a.costs.work.len().saturating_sub(few));
        self.line(&format!("compute          logical      total{rest}"));
        for r in a.costs.work.iter().take(few) {
            let row = format!(
                "  {:<12}{:>10} {:>10}{}",
                r.resource,
                count(r.amount.logical, ""),
                count(r.amount.total, ""),
                self.spread(&r.amount, &|n| count(n, ""))
            );
            self.line(&row);
        }
    }

    /// Where the work of units differs or is more than the logical: the busiest and the mean.
    fn spread(&self, a: &Amount, show: &dyn Fn(u128) -> String) -> String {
        let mut s = mark(a.is).to_string();
        for u in a.per_unit.iter().take(self.limit(1)) {
            let mean = u.mean.as_f64();
            let skew = if mean > 0.0 { u.max as f64 / mean } else { 1.0 };
            s.push_str(&format!("  {} {}s, busiest {}", u.units, u.level, show(u.max)));
            if skew > 1.005 {
                s.push_str(&format!(" ({} of the mean)", percent(skew)));
            }
        }
        s
    }

    fn memory(&mut self, a: &Analysis) {
        if a.costs.traffic.is_empty() {
            return;
        }
        self.line("");
        self.line("memory              read      write   logical read      write");
        for t in &a.costs.traffic {
            self.line(&format!(
                "  {:<12}{:>10} {:>10}     {:>10} {:>10}{}",
                t.storage,
                bytes(t.read.total),
                bytes(t.write.total),
                bytes(t.read.logical),
                bytes(t.write.logical),
                mark(t.read.is.and(t.write.is)),
            ));
        }
        for c in &a.costs.communication {
            self.line(&format!(
                "  between {}s: each sends {}, {} in all{}",
                c.level,
                bytes(c.per_unit),
                bytes(c.total),
                mark(c.is)
            ));
        }
        let mut prints: Vec<_> =
            a.footprints.iter().filter(|f| f.persistent || self.full).collect();
        prints.sort_by_key(|f| std::cmp::Reverse(f.read + f.write));
        let distinct: u128 = prints.iter().map(|f| f.read + f.write).sum();
        let named: Vec<String> = prints
            .iter()
            .take(self.limit(4))
            .map(|f| {
                format!(
                    "{} {}{}",
                    f.buffer,
                    bytes(f.read + f.write),
                    mark(f.read_is.and(f.write_is))
                )
            })
            .collect();
        if !named.is_empty() {
            let rest = more(prints.len() - named.len());
            self.line(&format!("  distinct {}: {}{rest}", bytes(distinct), named.join(", ")));
        }
        self.reuse(a);
    }

    /// What the last cache keeps, the largest first.
    fn reuse(&mut self, a: &Analysis) {
        let Some(r) = a.reuse.as_ref().filter(|r| !r.rows.is_empty()) else { return };
        let mut rows: Vec<_> = r.rows.iter().collect();
        rows.sort_by_key(|x| std::cmp::Reverse(x.again));
        let row = |x: &&ReuseRow| {
            let held = match x.held {
                Held::Yes => "still there".to_string(),
                Held::No => format!("gone after {}", bytes(x.nearest)),
                Held::Partly => format!("{} of it gone", bytes(x.missed)),
            };
            let buffer = x.buffer.split('#').next().unwrap_or_default();
            format!("{buffer} {} between {}, {held}", bytes(x.again), x.between.as_str())
        };
        // values that each of many layers has are one row
        let mut said: Vec<(String, usize)> = vec![];
        let most = self.limit(3).min(REUSED);
        for text in rows.iter().map(row) {
            match said.iter_mut().find(|(t, _)| *t == text) {
                Some((_, n)) => *n += 1,
                None => said.push((text, 1)),
            }
        }
        let hidden = said.len().saturating_sub(most);
        let shown: Vec<String> = said
            .into_iter()
            .take(most)
            .map(|(t, n)| if n == 1 { t } else { format!("{t} (x {n})") })
            .collect();
        let gmem = match r.gmem_lru {
            Some(n) => format!("{} of gmem predicted", bytes(u128::from(n))),
            None => "bytes of gmem not predicted".to_string(),
        };
        let (name, size, mark) = (&r.cache, bytes(r.capacity), mark(r.is));
        let head = format!("  {name} of {size}: {gmem}{mark}; read again: ");
        if !self.full {
            let rest = more(hidden);
            self.line(&(head + &shown.join("; ") + &rest));
            return;
        }
        for (i, row) in shown.iter().enumerate() {
            let start = if i == 0 { head.clone() } else { " ".repeat(4) };
            self.line(&(start + row));
        }
        if hidden > 0 {
            self.line(&format!("    {hidden} more with --json"));
        }
    }

    fn bounds(&mut self, a: &Analysis) {
        let Some(r) = &a.roofline else { return };
        self.line("");
        let full = self.full;
        let shown: Vec<&Bound> = r.bounds.iter().filter(|b| full || b.form == "cold").collect();
        let rest = more(r.bounds.len() - shown.len());
        self.line(&format!("bounds at {} rates{rest}", r.rates));
        for b in shown {
            let rated: Vec<&BoundRow> = b.rows.iter().filter(|r| r.ps.is_some()).collect();
            let few = self.limit(4);
            let rest = more(rated.len().saturating_sub(few));
            let rows: Vec<String> = rated
                .iter()
                .take(few)
                .map(|r| {
                    let t = time(r.ps.map_or(0.0, |p| p.as_f64()));
                    format!("{} {t}{}", r.resource, mark(r.is))
                })
                .collect();
            self.line(&format!("  {:<7}{:<5} {}{rest}", b.name, b.form, rows.join(", ")));
        }
        let mut said: Vec<String> = vec![];
        for row in r.bounds.iter().flat_map(|b| &b.rows) {
            let text = match (&row.ps, &row.note) {
                (None, _) => format!("  unrated {}: {}", row.resource, row.rate),
                (_, Some(n)) if row.resource != "gmem in flight" => format!("  {n}"),
                _ => continue,
            };
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let few = self.limit(3).min(said.len());
        for (i, s) in said.iter().take(few).enumerate() {
            let rest = if i + 1 == few { more(said.len() - few) } else { String::new() };
            self.line(&format!("{s}{rest}"));
        }
    }

    fn launches(&mut self, a: &Analysis) {
        let few = self.limit(2).min(a.launches.len());
        for (i, l) in a.launches.iter().take(few).enumerate() {
            let mut s = format!("launch {} at {}:", l.name, self.at(&l.site));
            let levels: Vec<String> =
                l.positions.iter().map(|(level, n)| format!(" {n} {level}")).collect();
            s.push_str(&levels.join(","));
            if let (Some(r), Some(w)) = (l.resident, l.waves) {
                let waves = if w == 1 { "wave" } else { "waves" };
                let by = match l.resident_by.as_slice() {
                    [] => String::new(),
                    by => format!(" (limited by {})", by.join(" and ")),
                };
                s.push_str(&format!("; {r} fit a unit{by}, {w} {waves}"));
            }
            if let Some(b) = &l.barrier {
                s.push_str(&format!("; grid barrier at {}", self.at(b)));
            }
            if i + 1 == few {
                s.push_str(&more(a.launches.len() - few));
            }
            self.line(&s);
        }
    }

    /// Parts of the program by call, where there are several.
    fn scopes(&mut self, a: &Analysis) {
        let mut shown: Vec<&ScopeRecord> =
            a.scopes.iter().filter(|s| self.full || !s.library).collect();
        if shown.len() < 2 {
            return;
        }
        let (all, few) = (shown.len(), self.limit(6));
        let gmem =
            |s: &ScopeRecord| s.costs.traffic("gmem").map_or(0, |t| t.read.total + t.write.total);
        // the largest, in program order
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|i| std::cmp::Reverse(shown.get(*i).map_or(0, |s| gmem(s))));
        order.truncate(few);
        let mut at = 0..;
        shown.retain(|_| at.next().is_some_and(|i| order.contains(&i)));
        self.line("");
        let rest = more(a.scopes.len() - shown.len());
        self.line(&format!("calls                     flop each  gmem each  gmem of all{rest}"));
        for s in &shown {
            let flops: u128 = s.costs.flops.iter().map(|f| f.total).sum();
            let gmem = gmem(s);
            let whole = |n: u128| s.each(n).num / s.each(n).den.max(1);
            let times = if s.calls == 1 { String::new() } else { format!(" x {}", s.calls) };
            self.line(&format!(
                "  {:<24}{:>10} {:>10}   {:>10}",
                format!("{}{}{times}", "  ".repeat(s.depth()), s.name()),
                count(whole(flops), ""),
                bytes(whole(gmem)),
                bytes(gmem),
            ));
        }
    }

    fn ops(&mut self, a: &Analysis) {
        let weight = |o: &OpRecord| -> u128 {
            let gmem = o.costs.traffic("gmem").map_or(0, |t| t.read.total + t.write.total);
            let work: u128 = o.costs.work.iter().map(|w| w.amount.total).sum();
            gmem.saturating_mul(16).saturating_add(work)
        };
        let mut ops: Vec<&OpRecord> = a.ops.iter().filter(|o| self.full || weight(o) > 0).collect();
        if !self.full {
            ops.sort_by_cached_key(|o| std::cmp::Reverse(weight(o)));
            ops.truncate(self.rows);
        }
        if ops.is_empty() {
            return;
        }
        self.line("");
        let rest = more(a.ops.len() - ops.len());
        self.line(&format!("{}{rest}", if self.full { "ops" } else { "largest ops" }));
        for o in ops {
            let work: Vec<String> = o
                .costs
                .work
                .iter()
                .map(|w| format!("{} {}", count(w.amount.total, ""), w.resource))
                .collect();
            let gmem = o.costs.traffic("gmem").map_or(0, |t| t.read.total + t.write.total);
            let mut parts = work;
            if gmem > 0 {
                parts.push(format!("{} gmem", bytes(gmem)));
            }
            if self.full {
                for t in o.costs.traffic.iter().filter(|t| t.storage != "gmem") {
                    parts.push(format!("{} {}", bytes(t.read.total + t.write.total), t.storage));
                }
            }
            if parts.is_empty() {
                parts.push("free".into());
            }
            let runs = if o.runs > 1 { format!(" x{}", o.runs) } else { String::new() };
            let at = self.at(&o.site);
            self.line(&format!("  {at}  {}{runs}  {}", o.op, parts.join(", ")));
        }
    }
}

/// `at least 12 us, bound by gmem (bandwidth); next tensor.bf16 at 80% of it`
fn bound_line(b: &Bound) -> String {
    let Some(t) = b.ps else { return "no bound: nothing this program uses has a rate".into() };
    let mut s = format!("at least {}, bound by {} ({})", time(t.as_f64()), b.binds, b.kind);
    let measured = |r: &&BoundRow| r.note.as_deref().is_some_and(|n| n.starts_with(NO_PEAK));
    if let Some(r) = b.rows.first().filter(measured) {
        let t = time(t.as_f64());
        s = format!("about {t} at the measured rate, bound by {} ({})", r.resource, b.kind);
    }
    if let Some(r) = b.rows.first().filter(|r| r.is == Certainty::UpperBound) {
        // a bound from what is only known to be at most so much
        s = format!(
            "about {} if all of it is used, bound by {} ({})",
            time(t.as_f64()),
            r.resource,
            b.kind
        );
    }
    if let Some(first) = b.rows.first().filter(|r| r.resource == "gmem in flight") {
        s.push_str(&format!(": {}", first.rate));
    }
    if let Some((r, next)) = b.rows.get(1).and_then(|r| r.ps.map(|p| (r, p))) {
        let share = if t.num == 0 { 0.0 } else { next.as_f64() / t.as_f64() };
        s.push_str(&format!("; next {} at {} of it", r.resource, percent(share)));
    }
    s
}

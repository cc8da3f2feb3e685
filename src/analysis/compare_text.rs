//! Differences and crossings as text: the answer first, in less than 40 lines unless all is asked.

use std::fmt::Write;

use super::arms::Arms;
use super::crossings::{Crossings, Lower};
use super::diff::{Change, Diff, In, OpChange};
use super::metric::Unit;
use super::record::{Certainty, Ratio, Site};
use super::sweep::{aligned, short_names};

/// Rows of each part of a short report.
const ROWS: usize = 8;

/// `-3784704 B (-40%)`, `+12.5 ns (+3%)`
fn change(c: &Change) -> String {
    let (sign, n) = match c.this >= c.against {
        true => ('+', c.this.minus(c.against)),
        false => ('-', c.against.minus(c.this)),
    };
    let text = exact(c.unit, n);
    let mark = if c.is == Certainty::Exact { "" } else { " upper_bound" };
    let share = match c.against.num {
        0 => String::new(),
        _ => format!(" ({sign}{})", super::units::percent(n.as_f64() / c.against.as_f64())),
    };
    format!("{sign}{text}{share}{mark}")
}

/// Every digit of a count; a time with three.
fn exact(unit: Unit, n: Ratio) -> String {
    match unit {
        Unit::Picoseconds => unit.show(n),
        Unit::Bytes => format!("{} B", n.num),
        Unit::Ops => n.num.to_string(),
    }
}

fn place(s: &Site) -> String {
    let at = s.at.clone().unwrap_or_default();
    at.rsplit_once(':').map_or(at.clone(), |(line, _)| line.to_string())
}

fn at(program: &str, dims: &[(String, i64)]) -> String {
    let dims: Vec<String> = dims.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    if dims.is_empty() { program.into() } else { format!("{program} at {}", dims.join(", ")) }
}

/// The report of a difference; its sites must have been located.
pub fn diff_text(d: &Diff, full: bool) -> String {
    let rows = if full { usize::MAX } else { ROWS };
    let mut out = String::new();
    let (this, old) = (at(&d.program, &d.dims), at(&d.against, &d.against_dims));
    let _ = writeln!(out, "{this}, against {old}");
    for t in d.round_trips.iter().take(rows) {
        let word = if t.only_in == In::Against { "gone" } else { "new" };
        let _ = writeln!(
            out,
            "{word}: a round trip through gmem of `{}`, {} B written and {} B read back, at {}",
            t.buffer,
            t.write.num,
            t.read.num,
            place(&t.site)
        );
    }
    if d.totals.is_empty() {
        out.push_str("no figure differs\n");
    } else {
        let mut table = vec![["", "against", "this", "change"].map(String::from).to_vec()];
        for c in d.totals.iter().take(rows.saturating_add(6)) {
            let cells = [c.figure.clone(), c.unit.show(c.against), c.unit.show(c.this), change(c)];
            table.push(cells.to_vec());
        }
        out.push_str(&aligned(&table));
        rest(&mut out, d.totals.len(), rows.saturating_add(6), "figures");
    }
    for (which, head) in [
        (In::Against, format!("ops only in {}", d.against)),
        (In::This, format!("ops only in {}", d.program)),
        (In::Both, "ops that cost otherwise".to_string()),
    ] {
        let mut ops: Vec<&OpChange> = d.ops.iter().filter(|o| o.r#in == which).collect();
        if !full {
            // what costs nothing is no news
            ops.retain(|o| !o.changes.is_empty());
            ops.sort_by_key(|o| std::cmp::Reverse(weight(o)));
        }
        if ops.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{head}");
        let few = if full { rows } else { 4 };
        for o in ops.iter().take(few) {
            let changes: Vec<String> = o
                .changes
                .iter()
                .take(if full { usize::MAX } else { 3 })
                .map(|c| format!("{} {}", c.figure, change(c)))
                .collect();
            let _ = writeln!(out, "  {}  {}  {}", place(&o.site), o.op, changes.join(", "));
        }
        rest(&mut out, ops.len(), few, "ops");
    }
    let word = if d.alike == 1 { "op costs" } else { "ops cost" };
    let _ = writeln!(out, "{} {word} the same in both", d.alike);
    out
}

fn rest(out: &mut String, all: usize, shown: usize, what: &str) {
    if let Some(n) = all.checked_sub(shown).filter(|n| *n > 0) {
        let _ = writeln!(out, "  {n} more {what} with --full");
    }
}

/// Bytes at `gmem` first, then the largest change of anything.
fn weight(o: &OpChange) -> (u128, u128) {
    let of = |gmem: bool| {
        let here = o.changes.iter().filter(|c| c.figure.starts_with("gmem.") == gmem);
        here.map(|c| c.this.num.abs_diff(c.against.num)).max().unwrap_or(0)
    };
    (of(true), of(false))
}

/// The report of the arms of a `match`.
pub fn arms_text(a: &Arms, full: bool) -> String {
    let mut out = String::new();
    for s in &a.switches {
        let (c, at) = (&s.curves, s.at);
        let (before, after) = (&c.program, &c.against);
        // the last crossing from the arm before to the one behind is where to switch
        let over: Vec<String> = c
            .crossings
            .iter()
            .filter(|x| x.lower_after == Lower::Against)
            .map(|x| x.first.to_string())
            .collect();
        let of = |l: Lower| c.runs.iter().any(|r| r.lower == l);
        let says = match (over.as_slice(), c.unit) {
            (_, None) => "neither arm has that figure at these sizes".into(),
            ([one], _) if one.parse() == Ok(at) => "and so do the costs".into(),
            ([one], _) => format!("the costs cross at {one}"),
            ([], _) if !of(Lower::This) => format!("{before} is nowhere lower than {after}"),
            ([], _) if !of(Lower::Against) => format!("{after} is nowhere lower than {before}"),
            ([], _) => format!("{after} never becomes lower than {before}"),
            (all, _) => {
                let (n, last) = (all.len(), all.last().map_or("", String::as_str));
                format!("the costs cross {n} times to {after}, the last at {last}")
            }
        };
        let place = place(&s.site);
        let _ = writeln!(out, "{}: {place}: the match switches at {at}, {says}", a.program);
        out.push_str(&crossings_text(c, full));
    }
    out
}

/// The report of crossings.
pub fn crossings_text(c: &Crossings, full: bool) -> String {
    let names = short_names(&[c.program.clone(), c.against.clone()]);
    let (this, old) = match names.as_slice() {
        [t, o] if t != o => (t.as_str(), o.as_str()),
        _ => ("this", "against"),
    };
    let mut out = String::new();
    let (n, sizes) = (c.crossings.len(), c.sizes);
    let times = if n == 1 { "once".into() } else { format!("{n} times") };
    let how = if n == 0 { "do not cross".into() } else { format!("cross {times}") };
    let _ = writeln!(
        out,
        "{} of {} and {} {how}, at each of {sizes} sizes of `{}` computed",
        c.metric, c.program, c.against, c.dim
    );
    let name = |l: Lower| match l {
        Lower::This => format!("{this} is lower"),
        Lower::Against => format!("{old} is lower"),
        Lower::Equal => "equal".into(),
        Lower::OnlyThis => format!("only {this}"),
        Lower::OnlyAgainst => format!("only {old}"),
        Lower::Neither => "neither".into(),
    };
    let mut rows = vec![];
    for r in c.runs.iter().take(if full { usize::MAX } else { 24 }) {
        let sizes = match r.from == r.to {
            true => r.from.to_string(),
            false => format!("{}..={}", r.from, r.to),
        };
        let mark = if r.is == Certainty::Exact { "" } else { " (upper_bound)" };
        let why = r.why.as_ref().map_or(String::new(), |w| format!(": {w}"));
        rows.push(vec![format!("  {sizes}"), format!("{}{mark}{why}", name(r.lower))]);
    }
    out.push_str(&aligned(&rows));
    rest(&mut out, c.runs.len(), rows.len(), "runs");
    if let Some(unit) = c.unit {
        for x in c.crossings.iter().take(if full { usize::MAX } else { 8 }) {
            let _ = writeln!(
                out,
                "{} = {}: {this} {}, {old} {}; {}: {this} {}, {old} {}",
                c.dim,
                x.last,
                exact(unit, x.this_last),
                exact(unit, x.against_last),
                x.first,
                exact(unit, x.this_first),
                exact(unit, x.against_first),
            );
        }
        rest(&mut out, c.crossings.len(), if full { usize::MAX } else { 8 }, "crossings");
    }
    out
}

//! The difference between two programs: in totals, op by op, and the round trips through `gmem`
//! that only one of them makes.
//!
//! Ops correspond where their kinds are equal and their source text or the name of their result
//! is; among all pairings that keep both programs' orders, the one with the most in common is
//! taken, and what is left is paired by equal text. The rest is only in one of the two.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::{Metric, Unit};
use super::record::{Analysis, Certainty, FootprintRecord, OpRecord, Ratio, Site, sizes};
use crate::base::{HashMap, SourceMap};

/// The version of the record below.
pub const SCHEMA: &str = "tilefoundry.diff/1";

/// What `program` costs where `against` costs something else.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Diff {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    pub program: String,
    pub against: String,
    /// Dims of `program` with their values.
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "BTreeMap<String, i64>")]
    pub dims: Vec<(String, i64)>,
    /// Dims of `against` with their values.
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "BTreeMap<String, i64>")]
    pub against_dims: Vec<(String, i64)>,
    /// Figures of the whole programs that differ.
    pub totals: Vec<Change>,
    /// Buffers in `gmem` that only one of the two writes and reads back.
    pub round_trips: Vec<RoundTrip>,
    /// Ops that differ, and those of only one program, in program order.
    pub ops: Vec<OpChange>,
    /// Ops of both programs that cost the same.
    pub alike: usize,
}

/// One figure of both. One that a program has not is 0 there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// A path as in `--metric`.
    pub figure: String,
    pub unit: Unit,
    pub is: Certainty,
    pub against: Ratio,
    pub this: Ratio,
}

/// Which program has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum In {
    This,
    Against,
    Both,
}

/// A value that is written to `gmem` and read back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoundTrip {
    pub only_in: In,
    pub buffer: String,
    /// Where the value is made.
    pub site: Site,
    /// Distinct bytes written.
    pub write: Ratio,
    pub write_is: Certainty,
    /// Distinct bytes read.
    pub read: Ratio,
    pub read_is: Certainty,
}

/// One op of either or both programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpChange {
    pub r#in: In,
    pub op: String,
    /// Name of its first result.
    pub result: String,
    /// The calls around it.
    pub scope: String,
    /// In `program`, or in `against` where only that has it.
    pub site: Site,
    pub changes: Vec<Change>,
}

impl Change {
    fn of(figure: String, against: Option<Metric>, this: Option<Metric>) -> Option<Change> {
        let unit = this.or(against)?.unit;
        let value = |m: Option<Metric>| m.map_or(Ratio::ZERO, |m| m.value);
        let is = |m: Option<Metric>| m.map_or(Certainty::Exact, |m| m.is);
        let is = is(this).and(is(against));
        Some(Change { figure, unit, is, against: value(against), this: value(this) })
    }

    fn differs(&self) -> bool {
        self.against != self.this
    }
}

/// The difference of two analyses, with the sources that each one's sites are in.
pub fn diff(this: (&Analysis, &SourceMap), against: (&Analysis, &SourceMap)) -> Diff {
    let (a, b) = (against.0, this.0);
    let pairs = pairs(&texts(a, against.1), &texts(b, this.1));
    let mut alike = 0;
    let mut ops = vec![];
    for (x, y) in pairs {
        let (old, new) = (x.and_then(|i| a.ops.get(i)), y.and_then(|i| b.ops.get(i)));
        match op_change(old, new) {
            Some(c) if old.is_some() && new.is_some() && c.changes.is_empty() => alike += 1,
            Some(c) => ops.push(c),
            None => {}
        }
    }
    Diff {
        schema: SCHEMA,
        program: b.program.clone(),
        against: a.program.clone(),
        dims: b.dims.clone(),
        against_dims: a.dims.clone(),
        totals: totals(a, b),
        round_trips: round_trips(a, b),
        ops,
        alike,
    }
}

/// Whole-program figures that differ; footprints only of what both programs name.
fn totals(a: &Analysis, b: &Analysis) -> Vec<Change> {
    let inner = |n: &Analysis, path: &str| {
        let buffer = path.strip_prefix("footprint.").and_then(|p| p.rsplit_once('.'));
        buffer
            .is_some_and(|(name, _)| n.footprints.iter().any(|f| f.buffer == name && !f.persistent))
    };
    let mut paths = b.metrics();
    paths.extend(a.metrics().into_iter().filter(|p| !b.metrics().contains(p)));
    // times, then bytes at memory, then the rest as counted
    paths.sort_by_key(|p| match p.split('.').next() {
        Some("predicted") => 0,
        Some("bound") => 1,
        Some("gmem") => 2,
        _ => 3,
    });
    paths
        .into_iter()
        .filter(|p| !inner(a, p) && !inner(b, p))
        .filter_map(|p| Change::of(p.clone(), a.metric(&p), b.metric(&p)))
        .filter(Change::differs)
        .collect()
}

/// Buffers within a program that are written and read back, without their like in the other.
fn round_trips(a: &Analysis, b: &Analysis) -> Vec<RoundTrip> {
    let inner = |n: &Analysis| -> Vec<FootprintRecord> {
        let all = n.footprints.iter().filter(|f| !f.persistent && f.read > 0 && f.write > 0);
        all.cloned().collect()
    };
    let (mut old, mut new) = (inner(a), inner(b));
    // the same buffer in both is no difference
    old.retain(|o| match new.iter().position(|n| (n.read, n.write) == (o.read, o.write)) {
        Some(i) => {
            new.remove(i);
            false
        }
        None => true,
    });
    let trip = |only_in| {
        move |f: &FootprintRecord| RoundTrip {
            only_in,
            buffer: f.buffer.clone(),
            site: f.site.clone(),
            write: Ratio::new(f.write, 1),
            write_is: f.write_is,
            read: Ratio::new(f.read, 1),
            read_is: f.read_is,
        }
    };
    let mut out: Vec<RoundTrip> = old.iter().map(trip(In::Against)).collect();
    out.extend(new.iter().map(trip(In::This)));
    out.sort_by_key(|t| std::cmp::Reverse(t.write.plus(t.read)));
    out
}

fn op_change(old: Option<&OpRecord>, new: Option<&OpRecord>) -> Option<OpChange> {
    let shown = new.or(old)?;
    let mut paths = shown.costs.metrics();
    if let (Some(o), Some(_)) = (old, new) {
        paths.extend(o.costs.metrics().into_iter().filter(|p| !shown.costs.metrics().contains(p)));
    }
    let figure = |o: Option<&OpRecord>, p: &str| o.and_then(|o| o.costs.metric(p));
    let changes = paths
        .into_iter()
        .filter_map(|p| Change::of(p.clone(), figure(old, &p), figure(new, &p)))
        .filter(Change::differs)
        .collect();
    Some(OpChange {
        r#in: match (old, new) {
            (Some(_), Some(_)) => In::Both,
            (None, _) => In::This,
            (_, None) => In::Against,
        },
        op: shown.op.clone(),
        result: shown.result.clone(),
        scope: shown.scope.clone(),
        site: shown.site.clone(),
        changes,
    })
}

/// What an op is compared by.
struct Text {
    op: String,
    source: String,
    result: String,
    scope: String,
}

fn texts(a: &Analysis, sources: &SourceMap) -> Vec<Text> {
    let of = |o: &OpRecord| {
        let span = o.site.span();
        let text = sources.text(span);
        Text {
            op: o.op.clone(),
            source: text.split_whitespace().collect::<Vec<_>>().join(" "),
            // a name that the compiler made says nothing
            result: if o.result.contains('#') { String::new() } else { o.result.clone() },
            scope: o.scope.rsplit('/').next().unwrap_or_default().to_string(),
        }
    };
    a.ops.iter().map(of).collect()
}

/// How much two ops have in common; 0 where they do not correspond.
fn common(x: &Text, y: &Text) -> u32 {
    if x.op != y.op {
        return 0;
    }
    let source = x.source == y.source;
    let result = x.result == y.result && !x.result.is_empty();
    match (source, result) {
        (false, false) => 0,
        _ => 4 * u32::from(source) + 2 * u32::from(result) + u32::from(x.scope == y.scope),
    }
}

/// Beyond this many pairs of ops only equal texts are paired.
const PAIRS: usize = 4_000_000;

/// Ops of both in one order: pairs, and those of one alone.
fn pairs(old: &[Text], new: &[Text]) -> Vec<(Option<usize>, Option<usize>)> {
    let (n, m) = (old.len(), new.len());
    let mut to: Vec<Option<usize>> = vec![None; n];
    if n.saturating_mul(m) <= PAIRS {
        in_order(old, new, &mut to);
    }
    // what moved to another place
    let mut free: HashMap<(&str, &str), Vec<usize>> = HashMap::default();
    for (j, y) in new.iter().enumerate().rev() {
        if !to.contains(&Some(j)) {
            free.entry((&y.op, &y.source)).or_default().push(j);
        }
    }
    for (x, t) in old.iter().zip(&mut to).filter(|(_, t)| t.is_none()) {
        *t = free.get_mut(&(x.op.as_str(), x.source.as_str())).and_then(Vec::pop);
    }
    let mut out = vec![];
    let mut next = 0;
    for (i, t) in to.iter().enumerate() {
        if let Some(j) = t.filter(|j| *j >= next) {
            out.extend((next..j).filter(|k| !to.contains(&Some(*k))).map(|k| (None, Some(k))));
            next = j + 1;
        }
        out.push((Some(i), *t));
    }
    out.extend((next..m).filter(|k| !to.contains(&Some(*k))).map(|k| (None, Some(k))));
    out
}

/// The pairing in order with the most in common.
fn in_order(old: &[Text], new: &[Text], to: &mut [Option<usize>]) {
    let (n, m) = (old.len(), new.len());
    let at = |i: usize, j: usize| i * (m + 1) + j;
    let mut best = vec![0u32; (n + 1) * (m + 1)];
    let get = |best: &[u32], i, j| best.get(at(i, j)).copied().unwrap_or(0);
    for (i, x) in old.iter().enumerate().rev() {
        for (j, y) in new.iter().enumerate().rev() {
            let w = common(x, y);
            let paired = if w > 0 { w + get(&best, i + 1, j + 1) } else { 0 };
            let most = paired.max(get(&best, i + 1, j)).max(get(&best, i, j + 1));
            if let Some(b) = best.get_mut(at(i, j)) {
                *b = most;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (old.get(i), new.get(j)) {
        let w = common(x, y);
        let here = get(&best, i, j);
        if w > 0 && here == w + get(&best, i + 1, j + 1) {
            if let Some(t) = to.get_mut(i) {
                *t = Some(j);
            }
            (i, j) = (i + 1, j + 1);
        } else if here == get(&best, i + 1, j) {
            i += 1;
        } else {
            j += 1;
        }
    }
}

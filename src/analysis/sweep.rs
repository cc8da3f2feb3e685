//! Analyses of several functions at several sizes, as one record and as one table.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::Metric;
use super::record::{Analysis, sizes};
use super::units;
use crate::base::{HashMap, HashSet};

/// The version of the record below.
pub const SCHEMA: &str = "tilefoundry.sweep/1";

/// Functions at sizes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// By size, then by function, in the order that was asked for.
    pub points: Vec<Point>,
}

/// One function at one size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Point {
    Found(Box<Analysis>),
    Refused(Refusal),
}

/// Why there is no answer at a size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Refusal {
    pub program: String,
    /// Dims with their values.
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "BTreeMap<String, i64>")]
    pub dims: Vec<(String, i64)>,
    pub refused: String,
}

impl Point {
    pub fn program(&self) -> &str {
        match self {
            Point::Found(a) => &a.program,
            Point::Refused(r) => &r.program,
        }
    }

    pub fn dims(&self) -> &[(String, i64)] {
        match self {
            Point::Found(a) => &a.dims,
            Point::Refused(r) => &r.dims,
        }
    }

    pub fn found(&self) -> Option<&Analysis> {
        match self {
            Point::Found(a) => Some(a),
            Point::Refused(_) => None,
        }
    }

    fn size(&self) -> String {
        let sizes: Vec<String> = self.dims().iter().map(|(n, v)| format!("{n} = {v}")).collect();
        sizes.join(", ")
    }
}

/// The last words of program names that tell them apart: functions of one module, or all of it.
pub fn short_names(programs: &[String]) -> Vec<String> {
    let module = |p: &String| p.rsplit_once('.').map(|(m, _)| m.to_string());
    let first = programs.first().and_then(module);
    match first {
        Some(m) if programs.iter().all(|p| module(p).as_ref() == Some(&m)) => {
            let rest = programs.iter().map(|p| p.get(m.len() + 1..).unwrap_or(p).to_string());
            rest.collect()
        }
        _ => programs.to_vec(),
    }
}

/// The functions of points, each once, in order.
pub fn programs(points: &[Point]) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    for p in points {
        if !out.iter().any(|o| o == p.program()) {
            out.push(p.program().to_string());
        }
    }
    out
}

/// Rows of a table before sizes are left out of it.
const ROWS: usize = 36;

/// Sizes, each once, in order.
fn sizes_of(points: &[Point]) -> Vec<&[(String, i64)]> {
    let mut seen = HashSet::default();
    points.iter().map(Point::dims).filter(|d| seen.insert(*d)).collect()
}

/// The sizes of a table of at most [`ROWS`] rows, `each` of them for a size: all of them, or some
/// from the first to the last, with what to say of the others.
fn shown<'a>(sizes: &[&'a [(String, i64)]], each: usize) -> (Vec<&'a [(String, i64)]>, String) {
    let (n, most) = (sizes.len(), (ROWS / each.max(1)).max(2));
    if n <= most {
        return (sizes.to_vec(), String::new());
    }
    let some = (0..most).filter_map(|i| sizes.get(i * (n - 1) / (most - 1)).copied()).collect();
    (some, format!("{most} of {n} sizes; `--json` has all of them\n"))
}

/// One row for each point: work, bytes, the bound and what binds, and the predicted time where there
/// is one.
pub fn table(points: &[Point]) -> String {
    let all = programs(points);
    let names = short_names(&all);
    let (some, note) = shown(&sizes_of(points), all.len());
    let mut head = vec!["size", "work", "gmem read", "written", "placed bound", "binds"];
    let predicted = points.iter().any(|p| p.found().is_some_and(|a| a.prediction.is_some()));
    if predicted {
        head.push("predicted");
    }
    head.push("");
    if all.len() > 1 {
        head.insert(1, "function");
    }
    let mut rows = vec![head.iter().map(|s| (*s).to_string()).collect::<Vec<_>>()];
    for p in points.iter().filter(|p| some.contains(&p.dims())) {
        let mut row = vec![p.size()];
        if all.len() > 1 {
            let i = all.iter().position(|a| a == p.program());
            row.push(i.and_then(|i| names.get(i).cloned()).unwrap_or_default());
        }
        cells(p, predicted, &mut row);
        rows.push(row);
    }
    aligned(&rows) + &note
}

fn cells(p: &Point, predicted: bool, row: &mut Vec<String>) {
    let a = match p {
        Point::Found(a) => a,
        Point::Refused(r) => return row.push(format!("refused: {}", r.refused)),
    };
    let flops: u128 = a.costs.flops.iter().map(|f| f.total).sum();
    row.push(units::count(flops, "flop"));
    let gmem = a.costs.traffic("gmem");
    row.push(gmem.map_or("-".into(), |t| units::bytes(t.read.total)));
    row.push(gmem.map_or("-".into(), |t| units::bytes(t.write.total)));
    row.push(a.metric("bound").map_or("unrated".into(), |m| m.show()));
    let bound = a.roofline.as_ref().and_then(|r| r.bound("placed", "cold"));
    row.push(bound.map_or(String::new(), |b| b.binds.clone()));
    if predicted {
        row.push(a.metric("predicted").map_or("unrated".into(), |m| m.show()));
    }
    let over: Vec<String> = a
        .capacity
        .iter()
        .filter(|p| p.exceeded)
        .map(|p| format!("{} of a {} exceeded", p.storage, p.owner))
        .collect();
    row.push(over.join(", "));
}

/// One row for each size, one column for each function and figure.
pub fn table_of(points: &[Point], metrics: &[String]) -> String {
    let all = programs(points);
    let names = short_names(&all);
    let mut head = vec!["size".to_string()];
    for (_, n) in all.iter().zip(&names) {
        for m in metrics {
            head.push(match (all.len(), metrics.len()) {
                (1, _) => m.clone(),
                (_, 1) => n.clone(),
                _ => format!("{n} {m}"),
            });
        }
    }
    let (some, note) = shown(&sizes_of(points), 1);
    let by: HashMap<_, _> = points.iter().map(|p| ((p.dims(), p.program()), p)).collect();
    let mut rows = vec![head];
    for s in some {
        let mut row = vec![];
        for program in &all {
            let at = by.get(&(s, program.as_str())).copied();
            if let Some(p) = at.filter(|_| row.is_empty()) {
                row.push(p.size());
            }
            row.extend(metrics.iter().map(|m| figure_cell(at, m)));
        }
        rows.push(row);
    }
    let text = aligned(&rows) + &note;
    match (all.len(), metrics) {
        (2.., [one]) => format!("{one}\n{text}"),
        _ => text,
    }
}

fn figure_cell(at: Option<&Point>, metric: &str) -> String {
    match at {
        Some(Point::Found(a)) => {
            let figure = a.metric(metric).as_ref().map_or("unrated".into(), Metric::show);
            if a.fits() { figure } else { format!("{figure} (does not fit)") }
        }
        Some(Point::Refused(_)) => "refused".into(),
        None => "-".into(),
    }
}

/// Columns beside each other; a short row, such as a refusal, may run over the rest.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| {
        let cells = rows.iter().filter(|r| r.len() == columns).filter_map(|r| r.get(i));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |r: &Vec<String>| {
        let cells: Vec<String> =
            r.iter().zip(&widths).map(|(c, w)| format!("{c:w$}", w = *w)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

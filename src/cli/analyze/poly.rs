//! `--poly DIM`: figures of one function as polynomials of a dim.

use std::collections::BTreeMap;

use super::points::{Asked, Cell};
use super::{Args, json};
use crate::analysis::metric::{self, Metric, Unit};
use crate::analysis::poly::{self, Figure, Polynomials};
use crate::analysis::record::Certainty;
use crate::analysis::{Analysis, Options};
use crate::cli::common::{Common, Reply, Selected};

/// The most sizes that are computed.
const MOST: i64 = 1 << 16;

/// The figures at one size, or why there are none.
struct At {
    size: i64,
    dims: Vec<(String, i64)>,
    figures: Result<Vec<(String, Metric)>, String>,
}

pub(super) fn run(common: &Common, args: &Args, dim: &str) -> Reply {
    let [selection] = args.selections.as_slice() else {
        return Reply::usage("`--poly` takes one function");
    };
    let selected = match common.selected(selection) {
        Ok(s) => s,
        Err(r) => return r,
    };
    let mut dims = args.dims.clone();
    if !dims.iter().any(|(n, _)| n == dim) {
        match declared(&selected, dim) {
            Ok(sizes) => dims.push((dim.to_string(), sizes)),
            Err(e) => return Reply::usage(e).after(&selected.err),
        }
    }
    let asked = match Asked::of(common, &args.selections, &dims, &args.values) {
        Ok(a) => a,
        Err(r) => return r,
    };
    let wrong = |text: String| Reply::usage(text).after(&asked.err());
    let sizes = dims.iter().find(|(n, _)| n == dim).map_or(&[][..], |(_, s)| s);
    let consecutive = sizes.windows(2).all(|w| matches!(w, [a, b] if a.checked_add(1) == Some(*b)));
    if sizes.len() < 2 || !consecutive {
        return wrong(format!("`--poly {dim}` needs every size of a range: `--dim {dim}=LO..=HI`"));
    }
    if dims.iter().chain(&args.values).any(|(n, s)| n != dim && s.len() != 1) {
        return wrong(
            "`--poly` takes one size of each other dim and one `--value` of a parameter".into(),
        );
    }
    let bound = args.metrics.iter().find(|m| m.starts_with("bound"));
    if let Some(b) = bound {
        return wrong(format!("`{b}` is a maximum of quotients: `--poly` takes counts"));
    }
    let options = Options { no_footprints: false, ..Options::counts() };
    let keep = |a: &Analysis| figures(a, &args.metrics);
    let points = asked.each(&options, |c: Cell| At {
        size: c.at.sizes.iter().find(|(n, _)| n == dim).map_or(0, |(_, v)| *v),
        dims: c.at.sizes.iter().filter(|(n, _)| n != dim).cloned().collect(),
        figures: c.found.as_ref().map(keep).map_err(|d| d.message.clone()),
    });
    if points.iter().all(|p| p.figures.is_err()) {
        let why = points.first().and_then(|p| p.figures.as_ref().err());
        return Reply::refused(why.map_or("", String::as_str)).after(&asked.err());
    }
    let record = polynomials(selected.name(), dim, &points);
    let ends = asked.ends(1, &options, |c| c.found.ok());
    let unknown = args.metrics.iter().filter_map(|m| metric::unknown(m, ends.iter().flatten()));
    let unknown: Vec<String> = unknown.collect();
    if !unknown.is_empty() {
        return wrong(unknown.join("\n"));
    }
    let out = if args.json { json(&record) } else { poly::text(&record, args.full) };
    Reply { out, err: asked.err(), status: 0 }
}

/// All sizes of a dim as it is declared.
fn declared(s: &Selected, dim: &str) -> Result<Vec<i64>, String> {
    let vars = &s.graph.vars;
    let Some(info) = s.graph.dims.iter().filter_map(|d| vars.get(*d)).find(|i| i.name == dim)
    else {
        let known: Vec<&str> = s.graph.dims.iter().map(|d| vars.name(*d)).collect();
        let near = crate::diag::did_you_mean(dim, known.iter().copied());
        let hint = match near {
            Some(n) => format!(": did you mean `{n}`?"),
            None if known.is_empty() => "; it has none".into(),
            None => format!("; it has `{}`", known.join("`, `")),
        };
        return Err(format!("`{}` has no dim `{dim}`{hint}", s.name()));
    };
    let range = vars.lower(&info.lo).zip(vars.upper(&info.hi));
    match range.and_then(|(lo, hi)| Some((lo, hi, hi.checked_sub(lo)?))) {
        Some((lo, hi, n)) if n < MOST => Ok((lo..=hi).collect()),
        _ => Err(format!(
            "`{dim}` has more than {MOST} sizes: choose a range with `--dim {dim}=LO..=HI`"
        )),
    }
}

/// Every count, or those asked for.
fn figures(a: &Analysis, asked: &[String]) -> Vec<(String, Metric)> {
    let mut paths = if asked.is_empty() { a.metrics() } else { asked.to_vec() };
    // the work by resource says the same
    paths.retain(|p| !asked.is_empty() || !p.starts_with("flops."));
    paths.into_iter().filter_map(|p| a.metric(&p).map(|m| (p, m))).collect()
}

/// One figure at every size.
struct Column {
    unit: Unit,
    is: Certainty,
    values: Vec<Option<i128>>,
}

/// Work and bytes that an arm does not have are zero there; a buffer is not there.
fn missing(path: &str) -> Option<i128> {
    (order(path) < 2).then_some(0)
}

fn polynomials(program: String, dim: &str, points: &[At]) -> Polynomials {
    let mut by: BTreeMap<(u8, &str), Column> = BTreeMap::new();
    for (i, p) in points.iter().enumerate() {
        for (name, m) in p.figures.as_ref().into_iter().flatten() {
            let fresh = || Column { unit: m.unit, is: Certainty::Exact, values: vec![] };
            let c = by.entry((order(name), name)).or_insert_with(fresh);
            c.values.resize(i, missing(name));
            c.is = c.is.and(m.is);
            c.values.push(m.int().and_then(|n| i128::try_from(n).ok()));
        }
    }
    let from = points.first().map_or(0, |p| p.size);
    let mut figures = vec![];
    for ((_, name), mut c) in by {
        c.values.resize(points.len(), missing(name));
        for (v, p) in c.values.iter_mut().zip(points) {
            *v = v.filter(|_| p.figures.is_ok());
        }
        let pieces = poly::pieces(dim, from, &c.values);
        figures.push(Figure { figure: name.to_string(), unit: c.unit, is: c.is, pieces });
    }
    Polynomials {
        schema: poly::SCHEMA,
        program,
        dim: dim.to_string(),
        from,
        to: points.last().map_or(0, |p| p.size),
        dims: points.first().map_or(vec![], |p| p.dims.clone()),
        refused: points.iter().filter(|p| p.figures.is_err()).count(),
        refusal: points.iter().find_map(|p| p.figures.as_ref().err().cloned()),
        figures,
    }
}

/// Bytes at memory first, then work and other storages, peaks, and footprints.
fn order(path: &str) -> u8 {
    match path.split('.').next() {
        Some("gmem") => 0,
        Some("peak") => 2,
        Some("footprint" | "communication") => 3,
        _ => 1,
    }
}

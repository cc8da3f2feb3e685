//! `--against`: what is different between two functions, and where their curves cross.

use super::points::{Asked, Cell};
use super::{Args, json};
use crate::analysis::arms::{self, Arms, Switch};
use crate::analysis::compare_text::{arms_text, crossings_text, diff_text};
use crate::analysis::crossings::{self, Crossings, Side};
use crate::analysis::record::Site;
use crate::analysis::{Options, data_vars, diff, metric};
use crate::cli::common::{Common, Reply, Selected};
use crate::session::tidy;

/// Two functions at one size each.
pub(super) fn difference(common: &Common, asked: &Asked, args: &Args) -> Reply {
    let cells = asked.analyze(&Options { no_advice: true, ..Options::default() });
    let mut err = asked.err();
    for (c, s) in cells.iter().zip(&asked.functions) {
        err += &common.tell(&tidy(c.diagnostics().collect()), s.session.sources());
    }
    let ([this, old], [a, b]) = (cells.as_slice(), asked.functions.as_slice()) else {
        return Reply::usage("`--against` compares two functions");
    };
    let (Ok(this), Ok(old)) = (&this.found, &old.found) else {
        return Reply { out: String::new(), err, status: 1 };
    };
    let d = diff::diff((this, a.session.sources()), (old, b.session.sources()));
    let out = if args.json { json(&d) } else { diff_text(&d, args.full) };
    Reply { out, err, status: u8::from(cells.iter().all(Cell::refused)) }
}

/// Both curves at every size of the swept dim: of two functions, or of the arms of one.
pub(super) fn crossings(asked: &Asked, args: &Args) -> Reply {
    let all = || args.dims.iter().chain(&args.values);
    let swept: Vec<&(String, Vec<i64>)> = all().filter(|(_, sizes)| sizes.len() > 1).collect();
    let wrong = |text: String| Reply::usage(text).after(&asked.err());
    let ([dim], 1..=2) = (swept.as_slice(), asked.functions.len()) else {
        return wrong(match (swept.len(), asked.functions.len()) {
            (_, 3..) => "`--crossings` takes one function and `--against` another".into(),
            (0, _) => {
                "`--crossings` needs the sizes of a dim to sweep: `--dim NAME=LO..=HI`".into()
            }
            _ => "`--crossings` sweeps one dim; give each other dim one size".into(),
        });
    };
    for s in &asked.functions {
        if !s.graph.dims.iter().any(|d| s.graph.vars.name(*d) == dim.0)
            && data_vars(&s.graph, &dim.0).is_empty()
        {
            return wrong(format!("`{}` has no dim `{}` to sweep", s.name(), dim.0));
        }
    }
    let path = match args.metrics.as_slice() {
        [] => "bound",
        [one] => one,
        _ => return wrong("`--crossings` compares one figure: give one `--metric`".into()),
    };
    if let Some(text) = unknown(asked, &options(path), path) {
        return wrong(text);
    }
    match asked.functions.as_slice() {
        [one] => arms(asked, one, &dim.0, path, args),
        _ => {
            let record = curves(asked, &dim.0, path);
            let status = u8::from(record.unit.is_none());
            let out = if args.json { json(&record) } else { crossings_text(&record, args.full) };
            Reply { out, err: asked.err(), status }
        }
    }
}

fn options(path: &str) -> Options {
    Options {
        no_roofline: !path.starts_with("bound"),
        no_prediction: path != "predicted",
        no_footprints: !path.starts_with("footprint"),
        ..Options::counts()
    }
}

/// A figure of two functions at every size asked for.
fn curves(asked: &Asked, dim: &str, path: &str) -> Crossings {
    let sides = asked.each(&options(path), |c| {
        let size = c.at.sizes.iter().find(|(n, _)| *n == dim).map_or(0, |(_, v)| *v);
        let found = c.found.as_ref().map_err(|d| d.message.clone());
        (c.function, size, crossings::side(found, path))
    });
    let mut points: Vec<(i64, Side, Side)> = vec![];
    let (new, against): (Vec<_>, Vec<_>) = sides.into_iter().partition(|(f, ..)| *f == 0);
    for ((_, at, x), (_, _, y)) in new.into_iter().zip(against) {
        points.push((at, x, y));
    }
    points.sort_by_key(|p| p.0);
    points.dedup_by_key(|p| p.0);
    let unit = points.iter().find_map(|(_, x, y)| x.as_ref().or(y.as_ref()).ok()).map(|m| m.unit);
    let (runs, crossings) = crossings::find(&points);
    Crossings {
        schema: crossings::SCHEMA,
        program: asked.names.first().cloned().unwrap_or_default(),
        against: asked.names.get(1).cloned().unwrap_or_default(),
        dim: dim.into(),
        metric: path.into(),
        unit,
        sizes: points.len(),
        runs,
        crossings,
    }
}

/// The arms of each `match` on the swept dim, each taken at every size.
fn arms(asked: &Asked, one: &Selected, dim: &str, path: &str, args: &Args) -> Reply {
    let var = one.graph.dims.iter().find(|d| one.graph.vars.name(**d) == dim);
    let meetings = var.map_or(vec![], |v| arms::meetings(&one.graph, *v));
    if meetings.is_empty() {
        let name = one.name();
        return Reply::usage(format!(
            "`{name}` has no `match` on `{dim}` whose arms could be compared: name another function \
             with `--against`"
        ))
        .after(&asked.err());
    }
    let mut switches = vec![];
    for m in meetings {
        let of = |graph| Selected {
            session: one.session.clone(),
            func: one.func,
            graph,
            err: String::new(),
        };
        let each = asked.points.iter().flat_map(|(_, p)| [(0, p.clone()), (1, p.clone())]);
        let points = each.collect();
        let functions = m.graphs.map(of).into();
        let both = Asked { functions, names: m.names.into(), points };
        let mut site = Site::new(m.span);
        site.at = Some(one.session.sources().locate(m.span));
        switches.push(Switch { site, at: m.at, curves: curves(&both, dim, path) });
    }
    let status = u8::from(switches.iter().all(|s| s.curves.unit.is_none()));
    let record = Arms {
        schema: arms::SCHEMA,
        program: one.name(),
        dim: dim.into(),
        metric: path.into(),
        switches,
    };
    let out = if args.json { json(&record) } else { arms_text(&record, args.full) };
    Reply { out, err: asked.err(), status }
}

/// What is wrong with a path that neither function has a figure of at its first or last sizes.
fn unknown(asked: &Asked, options: &Options, path: &str) -> Option<String> {
    let ends = asked.ends(2, options, |c| c.found.ok());
    metric::unknown(path, ends.iter().flatten())
}

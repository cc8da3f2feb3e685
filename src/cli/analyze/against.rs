//! `--against`: what is different between two functions, and where their curves cross.

use super::points::{Asked, Cell};
use super::{Args, json};
use crate::analysis::compare_text::{crossings_text, diff_text};
use crate::analysis::crossings::{self, Crossings, Side};
use crate::analysis::{Options, data_vars, diff, metric};
use crate::cli::common::{Common, Reply};
use crate::session::tidy;

/// Two functions at one size each.
pub(super) fn difference(common: &Common, asked: &Asked, args: &Args) -> Reply {
    let cells =
        asked.analyze(&Options { no_prediction: true, no_advice: true, ..Options::default() });
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

/// Both curves at every size of the swept dim.
pub(super) fn crossings(asked: &Asked, args: &Args) -> Reply {
    let swept: Vec<&(String, Vec<i64>)> =
        args.dims.iter().chain(&args.values).filter(|(_, sizes)| sizes.len() > 1).collect();
    let wrong = |text: String| Reply::usage(text).after(&asked.err());
    let ([dim], [this, old]) = (swept.as_slice(), asked.functions.as_slice()) else {
        return wrong(match (swept.len(), asked.functions.len()) {
            (_, 3..) => "`--crossings` takes one function and `--against` another".into(),
            (0, _) => {
                "`--crossings` needs the sizes of a dim to sweep: `--dim NAME=LO..=HI`".into()
            }
            _ => "`--crossings` sweeps one dim; give each other dim one size".into(),
        });
    };
    for s in [this, old] {
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
    let options = Options {
        no_roofline: !path.starts_with("bound"),
        no_prediction: path != "predicted",
        no_footprints: !path.starts_with("footprint"),
        ..Options::counts()
    };
    if let Some(text) = unknown(asked, &options, path) {
        return wrong(text);
    }
    let sides = asked.each(&options, |c| {
        let size = c.at.sizes.iter().find(|(n, _)| *n == dim.0).map_or(0, |(_, v)| *v);
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
    let status = u8::from(unit.is_none());
    let (runs, crossings) = crossings::find(&points);
    let record = Crossings {
        schema: crossings::SCHEMA,
        program: asked.names.first().cloned().unwrap_or_default(),
        against: asked.names.get(1).cloned().unwrap_or_default(),
        dim: dim.0.clone(),
        metric: path.into(),
        unit,
        sizes: points.len(),
        runs,
        crossings,
    };
    let out = if args.json { json(&record) } else { crossings_text(&record, args.full) };
    Reply { out, err: asked.err(), status }
}

/// What is wrong with a path that neither function has a figure of at its first or last sizes.
fn unknown(asked: &Asked, options: &Options, path: &str) -> Option<String> {
    let ends = asked.ends(2, options, |c| c.found.ok());
    metric::unknown(path, ends.iter().flatten())
}

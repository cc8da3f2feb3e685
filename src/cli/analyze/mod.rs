//! `analyze`: costs, capacities and bounds of functions, at one or several sizes.

mod against;
mod points;
mod poly;

use std::path::{Path, PathBuf};

use super::common::{Common, Reply};
use super::sizes::dim_sizes;
use crate::analysis::record::Costs;
use crate::analysis::sweep::{self, Point, Sweep};
use crate::analysis::{self, Analysis, Findings, Options, Show, plot, timeline};
use crate::diag::Diagnostic;
use crate::session::tidy;
use points::{Asked, Cell};

#[derive(clap::Args)]
pub struct Args {
    /// FILE[:Module[.func]]; the entry of the only module where no more is said. Several stand in
    /// one table; one that starts with `:` is of the file before
    #[arg(required_unless_present = "schema")]
    selections: Vec<String>,
    #[command(flatten)]
    families: Families,
    /// The size of a dim; several sweep it: `128,512`, `1..=8192 step 64`, `128..=8192 step x2`
    #[arg(long = "dim", value_name = "NAME=SIZES", value_parser = dim_sizes)]
    dims: Vec<(String, Vec<i64>)>,
    /// The value of the elements of a parameter that a program uses as numbers, in place of the
    /// end of its range; several sweep it, as sizes of a dim do
    #[arg(long = "value", value_name = "NAME=VALUES", value_parser = dim_sizes)]
    values: Vec<(String, Vec<i64>)>,
    /// What is different from this function, op by op; over several sizes, a table of both
    #[arg(long, value_name = "SELECTION")]
    against: Option<String>,
    /// Every size of the swept dim at which the curves of the two functions cross; without
    /// `--against`, those of the arms of each `match` on the dim
    #[arg(long)]
    crossings: bool,
    /// Counts as polynomials of this dim, verified at every size of its range or of `--dim`
    #[arg(long, value_name = "DIM", conflicts_with = "against")]
    poly: Option<String>,
    /// A figure for a table, in place of its usual ones, or for crossings: `bound`,
    /// `gmem.read.total`
    #[arg(long = "metric", value_name = "PATH")]
    metrics: Vec<String>,
    /// The JSON Schema of what `--json` prints
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Draw a chart: of the bound or `--metric` over a sweep, otherwise the roofline with the ops
    #[arg(long, value_name = "FILE.svg", conflicts_with_all = ["crossings", "poly"])]
    plot: Option<PathBuf>,
    /// Write the predicted timeline to FILE.svg, or as a trace that Perfetto opens to FILE.json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["crossings", "poly"])]
    timeline: Option<PathBuf>,
    /// Every op and every value
    #[arg(long)]
    full: bool,
    /// The whole record as JSON
    #[arg(long)]
    json: bool,
}

/// What a report is to have; all of it where nothing is named.
#[derive(clap::Args)]
struct Families {
    /// Work by resource and dtype
    #[arg(long)]
    compute: bool,
    /// Bytes by storage, footprints, and peaks against capacities
    #[arg(long)]
    memory: bool,
    /// Lower bounds of the time, and what binds
    #[arg(long)]
    roofline: bool,
    /// A predicted time: a simulated timeline over the target's resources
    #[arg(long)]
    performance: bool,
    /// What would make it faster or smaller, with the size of each
    #[arg(long)]
    advice: bool,
}

impl Families {
    fn all(&self) -> bool {
        !(self.compute || self.memory || self.roofline || self.performance || self.advice)
    }

    fn show(&self, full: bool) -> Show {
        let advice = match self.advice {
            true => Findings::Long,
            false if self.all() => Findings::Short,
            false => Findings::None,
        };
        Show { full, bounds: self.roofline || self.all(), advice }
    }

    /// The families asked for.
    fn part(&self, a: &Analysis) -> Analysis {
        let mut a = a.clone();
        if self.all() {
            return a;
        }
        let keep = |c: &mut Costs| {
            if !self.compute {
                c.work.clear();
                c.flops.clear();
            }
            if !self.memory {
                c.traffic.clear();
                c.communication.clear();
            }
        };
        keep(&mut a.costs);
        a.ops.iter_mut().for_each(|o| keep(&mut o.costs));
        a.scopes.iter_mut().for_each(|s| keep(&mut s.costs));
        // what advice is worth is time off a bound
        if !self.roofline && !self.advice {
            a.roofline = None;
        }
        if !self.performance {
            a.prediction = None;
        }
        if !self.advice {
            a.advice.clear();
        }
        if !self.memory {
            a.footprints.clear();
            // what does not fit is what bounds it
            a.capacity.retain(|p| p.exceeded && self.advice);
        }
        if !self.compute && !self.memory {
            a.ops.clear();
            a.scopes.clear();
        }
        a
    }
}

pub fn run(common: &Common, args: &Args) -> Reply {
    if args.schema {
        return Reply::answer(analysis::schema::schema());
    }
    if let Some(dim) = &args.poly {
        return poly::run(common, args, dim);
    }
    let mut selections = args.selections.clone();
    selections.extend(args.against.clone());
    let asked = match Asked::of(common, &selections, &args.dims, &args.values) {
        Ok(a) => a,
        Err(r) => return r,
    };
    if args.crossings {
        return against::crossings(&asked, args);
    }
    if args.against.is_some()
        && args.plot.is_none()
        && asked.points.len() == 2
        && asked.functions.len() == 2
    {
        return against::difference(common, &asked, args);
    }
    // the table of a sweep has the bound in any case
    let f = &args.families;
    let several = asked.points.len() > 1;
    let options = Options {
        no_roofline: !(several || f.roofline || f.advice || f.all()),
        no_advice: !(f.advice || f.all() && (!several || args.json || args.full)),
        // advice is priced by it
        no_prediction: !(f.performance || f.advice || f.all()) && args.timeline.is_none(),
        // a table has no use for them, and they are most of a record
        no_ops: several && !args.full && !args.json,
        ..Options::default()
    };
    let cells = asked.analyze(&options);
    let status = u8::from(cells.iter().all(Cell::refused));
    let mut err = asked.err();
    for (i, s) in asked.functions.iter().enumerate() {
        let of = cells.iter().filter(|c| c.function == i);
        let mut diags: Vec<Diagnostic> = vec![];
        for c in of {
            // one size tells what a refusal is about; the table has the others
            let told =
                |d: &Diagnostic| diags.iter().any(|o| (o.code, o.span()) == (d.code, d.span()));
            let new: Vec<Diagnostic> = c.diagnostics().filter(|d| !told(d)).collect();
            diags.extend(new);
        }
        err += &common.tell(&tidy(diags), s.session.sources());
    }
    if let Some(wrong) = wrong_metrics(&cells, &args.metrics) {
        return Reply::usage(wrong).after(&err);
    }
    if let Some(file) = &args.plot
        && let Err(r) = write_plot(file, &asked, &cells, args)
    {
        return r.after(&err);
    }
    if let Some(file) = &args.timeline
        && let Err(r) = write_timeline(file, &cells)
    {
        return r.after(&err);
    }
    let out = match (args.json, cells.as_slice()) {
        (true, [one]) => json(&one.point(|a| args.families.part(a))),
        (true, many) => {
            let points = many.iter().map(|c| c.point(|a| args.families.part(a))).collect();
            json(&Sweep { schema: sweep::SCHEMA, points })
        }
        (false, many) if (many.len() == 1 || args.full) && args.metrics.is_empty() => {
            let text = |c: &Cell| match (&c.found, asked.functions.get(c.function)) {
                (Ok(a), Some(s)) => {
                    let part = args.families.part(a);
                    analysis::text(&part, s.session.sources(), args.families.show(args.full))
                }
                _ => String::new(),
            };
            many.iter().map(text).collect()
        }
        (false, many) => {
            let points: Vec<Point> = many.iter().map(|c| c.point(Analysis::clone)).collect();
            match args.metrics.as_slice() {
                [] => sweep::table(&points),
                metrics => sweep::table_of(&points, metrics),
            }
        }
    };
    Reply { out, err, status }
}

/// Writes the chart.
fn write_plot(file: &Path, asked: &Asked, cells: &[Cell], args: &Args) -> Result<(), Reply> {
    let drawn = match cells {
        [one] => {
            let s = asked.functions.get(one.function);
            let Ok(a) = &one.found else { return Ok(()) };
            match s.and_then(|s| s.target()) {
                Some(t) => plot::roofline(a, &t),
                None => Err("a roofline needs a target: the module names none".into()),
            }
        }
        many => {
            let points: Vec<Point> = many.iter().map(|c| c.point(Analysis::clone)).collect();
            plot::sweep(&points, args.metrics.first().map_or("bound", String::as_str))
        }
    };
    let drawn = drawn.map_err(Reply::refused)?;
    std::fs::write(file, drawn)
        .map_err(|e| Reply::lacks(format!("cannot write `{}`: {e}", file.display())))
}

/// Writes the timeline of the one size asked for.
fn write_timeline(file: &Path, cells: &[Cell]) -> Result<(), Reply> {
    let form = file.extension().and_then(|e| e.to_str());
    let form = form.filter(|f| matches!(*f, "svg" | "json"));
    let name = file.display();
    let Some(form) = form else {
        return Err(Reply::usage(format!("--timeline {name}: expected a name in .svg or .json")));
    };
    let [one] = cells else {
        let message = "--timeline is of one function and size: give each dim one value";
        return Err(Reply::usage(message));
    };
    // a program that is refused says so itself
    let Ok(a) = &one.found else { return Ok(()) };
    let Some(p) = &a.prediction else {
        let why = "no timeline: the target does not say how many units run the program";
        return Err(Reply::refused(why));
    };
    let text = match form {
        "svg" => timeline::svg(p, &a.program),
        _ => format!("{:#}\n", timeline::chrome(p, &a.program)),
    };
    std::fs::write(file, text).map_err(|e| Reply::lacks(format!("cannot write `{name}`: {e}")))
}

fn json<T: serde::Serialize>(record: &T) -> String {
    serde_json::to_string_pretty(record).map_or_else(|e| format!("{e}\n"), |s| s + "\n")
}

/// Figures that no cell has.
fn wrong_metrics(cells: &[Cell], metrics: &[String]) -> Option<String> {
    let found: Vec<&Analysis> = cells.iter().filter_map(|c| c.found.as_ref().ok()).collect();
    let unknown = |m: &String| analysis::metric::unknown(m, found.iter().copied());
    let wrong: Vec<String> = metrics.iter().filter_map(unknown).collect();
    (!wrong.is_empty()).then(|| wrong.join("\n"))
}

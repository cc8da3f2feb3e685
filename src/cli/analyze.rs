//! `analyze`: costs, capacities and bounds of one function, at one or several sizes.

use serde_json::{Value, json};

use super::common::{Common, Reply, Selected, dim_sizes};
use crate::analysis::record::Costs;
use crate::analysis::{self, Analysis, Options, units};
use crate::diag::Diagnostic;
use crate::session::{Point, sweep, tidy};

#[derive(clap::Args)]
pub struct Args {
    /// FILE[:Module[.func]]; the entry of the only module where no more is said
    selection: String,
    /// Work by resource and dtype
    #[arg(long)]
    compute: bool,
    /// Bytes by storage, footprints, and peaks against capacities
    #[arg(long)]
    memory: bool,
    /// Lower bounds of the time, and what binds
    #[arg(long)]
    roofline: bool,
    /// The size of a dim; several sweep it
    #[arg(long = "dim", value_name = "NAME=N[,N..]", value_parser = dim_sizes)]
    dims: Vec<(String, Vec<i64>)>,
    /// Every op and every value
    #[arg(long)]
    full: bool,
    /// The whole record as JSON
    #[arg(long)]
    json: bool,
}

/// One size: a record, or why there is none.
struct Cell {
    point: Point,
    found: Result<Analysis, Diagnostic>,
    refusals: Vec<Diagnostic>,
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let s = match common.selected(&args.selection) {
        Ok(s) => s,
        Err(r) => return r,
    };
    let all = match sweep(&s.graph, &args.dims) {
        Ok((all, outside)) if all.len() > 1 || outside.is_empty() => all,
        Ok((_, outside)) => return Reply::usage(outside.join("\n")).after(&s.err),
        Err(e) => return Reply::usage(e).after(&s.err),
    };
    // the table of a sweep has the bound in any case
    let bounds = all.len() > 1 || args.roofline || !(args.compute || args.memory);
    let cells: Vec<Cell> = all.into_iter().map(|p| cell(&s, bounds, p)).collect();
    let refused = |c: &Cell| c.found.is_err() || !c.refusals.is_empty();
    let status = u8::from(cells.iter().all(refused));
    let mut diags = vec![];
    for c in &cells {
        diags.extend(c.refusals.iter().cloned());
        diags.extend(c.found.as_ref().err().cloned());
    }
    let err = s.err.clone() + &common.tell(&tidy(diags), s.session.sources());
    let out = match (args.json, cells.as_slice()) {
        (true, [one]) => format!("{:#}\n", one.json(args)),
        (true, many) => {
            let list: Vec<Value> = many.iter().map(|c| c.json(args)).collect();
            format!("{:#}\n", json!({ "schema": "tilefoundry.sweep/1", "points": list }))
        }
        (false, [one]) => one.text(&s, args),
        (false, many) if args.full => many.iter().map(|c| c.text(&s, args)).collect(),
        (false, many) => table(many),
    };
    Reply { out, err, status }
}

fn cell(s: &Selected, bounds: bool, point: Point) -> Cell {
    let target = s.target();
    let options = Options { no_roofline: !bounds, ..Options::default() };
    let found = analysis::analyze(&s.graph, &point.env, target.as_deref(), &options);
    let mut refusals = vec![];
    let found = found.map(|mut a| {
        refusals = analysis::refusals(&s.graph, &a);
        a.locate(s.session.sources());
        a
    });
    Cell { point, found, refusals }
}

impl Cell {
    fn text(&self, s: &Selected, args: &Args) -> String {
        match &self.found {
            Ok(a) => analysis::text(&self.part(a, args), s.session.sources(), args.full),
            Err(_) => String::new(),
        }
    }

    /// The families asked for; all where none is.
    fn part(&self, a: &Analysis, args: &Args) -> Analysis {
        let mut a = a.clone();
        if !(args.compute || args.memory || args.roofline) {
            return a;
        }
        let keep = |c: &mut Costs| {
            if !args.compute {
                c.work.clear();
                c.flops.clear();
            }
            if !args.memory {
                c.traffic.clear();
                c.communication.clear();
            }
        };
        keep(&mut a.costs);
        a.ops.iter_mut().for_each(|o| keep(&mut o.costs));
        if !args.roofline {
            a.roofline = None;
        }
        if !args.memory {
            a.footprints.clear();
            a.capacity.clear();
        }
        if !args.compute && !args.memory {
            a.ops.clear();
        }
        a
    }

    fn json(&self, args: &Args) -> Value {
        match &self.found {
            Ok(a) => serde_json::to_value(self.part(a, args)).unwrap_or(Value::Null),
            Err(d) => {
                let dims: serde_json::Map<String, Value> =
                    self.point.sizes.iter().map(|(n, v)| (n.clone(), (*v).into())).collect();
                json!({ "dims": dims, "refused": d.message })
            }
        }
    }

    /// Sizes, work, bytes, and the placed bound.
    fn row(&self) -> Vec<String> {
        let sizes: Vec<String> =
            self.point.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let mut row = vec![sizes.join(", ")];
        match &self.found {
            Err(d) => row.push(format!("refused: {}", d.message)),
            Ok(a) => {
                let flops: u128 = a.costs.flops.iter().map(|f| f.total).sum();
                let gmem = a.costs.traffic("gmem");
                let bytes = |n: u128| units::bytes(n);
                row.push(units::count(flops, "flop"));
                row.push(gmem.map_or("-".into(), |t| bytes(t.read.total)));
                row.push(gmem.map_or("-".into(), |t| bytes(t.write.total)));
                let bound = a.roofline.as_ref().and_then(|r| r.bound("placed", "cold"));
                row.push(
                    bound.and_then(|b| b.ps).map_or("unrated".into(), |t| units::time(t.as_f64())),
                );
                row.push(bound.map_or(String::new(), |b| b.binds.clone()));
                let over: Vec<String> = a
                    .capacity
                    .iter()
                    .filter(|p| p.exceeded)
                    .map(|p| format!("{} of a {} exceeded", p.storage, p.owner))
                    .collect();
                row.push(over.join(", "));
            }
        }
        row
    }
}

fn table(cells: &[Cell]) -> String {
    let head = ["size", "work", "gmem read", "written", "placed bound", "binds", ""];
    let mut rows = vec![head.iter().map(|s| (*s).to_string()).collect::<Vec<_>>()];
    rows.extend(cells.iter().map(Cell::row));
    let width = |i: usize| {
        let cells = rows.iter().filter(|r| r.len() > 2).filter_map(|r| r.get(i));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |r: &Vec<String>| {
        let cells: Vec<String> =
            r.iter().zip(&widths).map(|(c, w)| format!("{c:w$}", w = *w)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

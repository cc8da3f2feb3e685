//! What is analysed: functions, each at sizes of its dims.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::analysis::sweep::{self, Refusal};
use crate::analysis::{self, Analysis, Options, data_vars};
use crate::cli::common::{Common, Reply, Selected};
use crate::cli::progress::Bar;
use crate::diag::{Diagnostic, did_you_mean};
use crate::eval::Progress;
use crate::graph::Graph;
use crate::session::{Point, sweep as sizes};

/// Functions and the sizes asked for.
pub(super) struct Asked {
    pub functions: Vec<Selected>,
    /// Their names, with the file where two would be alike.
    pub names: Vec<String>,
    /// By size, then by function.
    pub points: Vec<(usize, Point)>,
}

/// One function at one size: a record, or why there is none.
pub(super) struct Cell {
    pub function: usize,
    program: String,
    pub at: Point,
    pub found: Result<Analysis, Diagnostic>,
    refusals: Vec<Diagnostic>,
}

impl Asked {
    /// Reads and compiles the functions, and holds the sizes against their dims, and the values
    /// against the ranges of their parameters.
    pub fn of(
        common: &Common,
        selections: &[String],
        stated: &[(String, Vec<i64>)],
        values: &[(String, Vec<i64>)],
    ) -> Result<Asked, Reply> {
        let functions = common.selected_all(selections)?;
        let err: String = functions.iter().map(|s| s.err.as_str()).collect();
        let wrong = |text: String| Reply::usage(text).after(&err);
        // a size is for those of the functions that have its dim
        let has =
            |s: &Selected, name: &str| s.graph.dims.iter().any(|d| s.graph.vars.name(*d) == name);
        let (mut per, mut beyond) = (vec![], vec![]);
        for s in &functions {
            let someone = |n: &str| functions.iter().any(|o| has(o, n));
            let here: Vec<(String, Vec<i64>)> =
                stated.iter().filter(|(n, _)| has(s, n) || !someone(n)).cloned().collect();
            let (all, outside) = sizes(&s.graph, &here).map_err(wrong)?;
            if all.len() == 1 {
                beyond.extend(outside);
            }
            per.push(with_values(&s.graph, all, values).map_err(wrong)?);
        }
        let read = |n: &str| functions.iter().any(|s| !data_vars(&s.graph, n).is_empty());
        if let Some((n, _)) = values.iter().find(|(n, _)| !read(n)) {
            return Err(wrong(unread(&functions, n)));
        }
        if functions.len() == 1 && !beyond.is_empty() {
            return Err(wrong(beyond.join("\n")));
        }
        let most = per.iter().map(Vec::len).max().unwrap_or(0);
        let mut points = vec![];
        for i in 0..most {
            for (f, all) in per.iter_mut().enumerate() {
                if let Some(p) = all.get_mut(i) {
                    points.push((f, std::mem::take(p)));
                }
            }
        }
        let names = names(&functions);
        Ok(Asked { functions, names, points })
    }

    /// What reading the programs said.
    pub fn err(&self) -> String {
        self.functions.iter().map(|s| s.err.as_str()).collect()
    }

    /// An analysis of each point, in order.
    pub fn analyze(&self, options: &Options) -> Vec<Cell> {
        let mut cells = self.each(options, |c| c);
        for c in &mut cells {
            if let (Ok(a), Some(s)) = (&mut c.found, self.functions.get(c.function)) {
                a.locate(s.session.sources());
            }
        }
        cells
    }

    /// What is kept of an analysis of each point, in order.
    pub fn each<T: Send>(&self, options: &Options, keep: impl Fn(Cell) -> T + Sync) -> Vec<T> {
        self.each_of(&self.points, options, keep)
    }

    /// The same of the first and the last points only.
    pub fn ends<T: Send>(&self, n: usize, o: &Options, keep: impl Fn(Cell) -> T + Sync) -> Vec<T> {
        let len = self.points.len();
        let (first, last) =
            (self.points.iter().take(n), self.points.iter().skip(n.max(len - n.min(len))));
        self.each_of(&first.chain(last).cloned().collect::<Vec<_>>(), o, keep)
    }

    fn each_of<T: Send>(
        &self,
        points: &[(usize, Point)],
        options: &Options,
        keep: impl Fn(Cell) -> T + Sync,
    ) -> Vec<T> {
        let targets: Vec<_> = self.functions.iter().map(Selected::target).collect();
        let graphs: Vec<_> = self
            .functions
            .iter()
            .zip(&targets)
            .zip(&self.names)
            .map(|((s, t), n)| (&s.graph, t.as_deref(), n))
            .collect();
        let (bar, done) = (Bar::new(), AtomicU64::new(0));
        let total = points.len() as u64;
        let one = |(f, p): &(usize, Point)| {
            let (graph, target, name) = graphs.get(*f)?;
            let mut found = analysis::analyze(graph, &p.env, *target, options);
            if let Ok(a) = &mut found {
                a.program.clone_from(name);
                let values = p.sizes.iter().filter(|(n, _)| !a.dims.iter().any(|d| d.0 == *n));
                let values: Vec<_> = values.cloned().collect();
                a.dims.extend(values);
            }
            let refusals = found.as_ref().map_or(vec![], |a| analysis::refusals(graph, a));
            bar.step(done.fetch_add(1, Ordering::Relaxed) + 1, total, name);
            let (function, program, at) = (*f, (*name).clone(), p.clone());
            Some(keep(Cell { function, program, at, found, refusals }))
        };
        match points {
            // threads take longer to start than many an analysis
            [point] => one(point).into_iter().collect(),
            _ => points.par_iter().filter_map(one).collect(),
        }
    }
}

/// Every point with every combination of the values stated for parameters.
fn with_values(
    g: &Graph,
    mut points: Vec<Point>,
    values: &[(String, Vec<i64>)],
) -> Result<Vec<Point>, String> {
    for (i, (name, all)) in values.iter().enumerate() {
        let vars = data_vars(g, name);
        if values.iter().take(i).any(|(n, _)| n == name) {
            return Err(format!("`{name}` is stated twice: `--value {name}=N,N` gives two values"));
        }
        let Some(info) = vars.first().and_then(|v| g.vars.get(*v)) else { continue };
        let (lo, hi) = (g.vars.lower(&info.lo), g.vars.upper(&info.hi));
        let outside = |v: &&i64| lo.is_some_and(|lo| **v < lo) || hi.is_some_and(|hi| **v > hi);
        if let Some(v) = all.iter().find(outside) {
            let (lo, hi) = (g.vars.show(&info.lo), g.vars.show(&info.hi));
            return Err(format!("`{name}` has values in {lo}..={hi}, found {v}"));
        }
        let one = |p: &Point, v: i64| {
            let mut p = p.clone();
            vars.iter().for_each(|x| p.env.set(*x, v));
            p.sizes.push((name.clone(), v));
            p
        };
        points = points.iter().flat_map(|p| all.iter().map(|v| one(p, *v))).collect();
    }
    Ok(points)
}

/// What is said of a value for something that no function uses as a number.
fn unread(functions: &[Selected], name: &str) -> String {
    let numbers = |s: &Selected| {
        let names = s.graph.params.iter().map(|p| p.name.clone());
        names.filter(|n| !data_vars(&s.graph, n).is_empty()).collect::<Vec<_>>()
    };
    let known: Vec<String> = functions.iter().flat_map(numbers).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let who: Vec<String> = functions.iter().map(Selected::name).collect();
    let what = format!("{} uses no element of `{name}` as a number", who.join(", "));
    match (did_you_mean(name, known.iter().copied()), known.as_slice()) {
        (Some(m), _) => format!("{what}: did you mean `{m}`?"),
        (None, []) => what,
        (None, all) => format!("{what}, but of `{}`", all.join("`, `")),
    }
}

fn names(functions: &[Selected]) -> Vec<String> {
    let plain: Vec<String> = functions.iter().map(Selected::name).collect();
    let name = |(s, n): (&Selected, &String)| {
        let file = s.session.sources().files().next().map_or("", |(_, f)| f.name.as_str());
        let alike = plain.iter().filter(|p| *p == n).count() > 1;
        if alike { format!("{file}:{n}") } else { n.clone() }
    };
    functions.iter().zip(&plain).map(name).collect()
}

impl Cell {
    pub fn refused(&self) -> bool {
        self.found.is_err() || !self.refusals.is_empty()
    }

    pub fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.refusals.iter().cloned().chain(self.found.as_ref().err().cloned())
    }

    pub fn point(&self, part: impl Fn(&Analysis) -> Analysis) -> sweep::Point {
        match &self.found {
            Ok(a) => sweep::Point::Found(Box::new(part(a))),
            Err(d) => sweep::Point::Refused(Refusal {
                program: self.program.clone(),
                dims: self.at.sizes.clone(),
                refused: d.message.clone(),
            }),
        }
    }
}

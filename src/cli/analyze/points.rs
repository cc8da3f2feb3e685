//! What is analysed: functions, each at sizes of its dims.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::analysis::sweep::{self, Refusal};
use crate::analysis::{self, Analysis, Options};
use crate::cli::common::{Common, Reply, Selected};
use crate::cli::progress::Bar;
use crate::diag::Diagnostic;
use crate::eval::Progress;
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
    /// Reads and compiles the functions, and holds the sizes against their dims.
    pub fn of(
        common: &Common,
        selections: &[String],
        stated: &[(String, Vec<i64>)],
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
            per.push(all);
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
            }
            let refusals = found.as_ref().map_or(vec![], |a| analysis::refusals(graph, a));
            bar.step(done.fetch_add(1, Ordering::Relaxed) + 1, total, name);
            let (function, program, at) = (*f, (*name).clone(), p.clone());
            Some(keep(Cell { function, program, at, found, refusals }))
        };
        points.par_iter().filter_map(one).collect()
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

//! `check`: a function runs on stated inputs, and each of its outputs is judged against files or
//! another function.

mod asked;
pub mod given;
pub mod room;

use serde_json::{Value, json};

use super::common::{Common, Reply, Selected};
use super::progress::Bar;
use super::sizes::dim_sizes;
use super::twins::{self, DeviceRun, NoRun, Twin};
use crate::check::inputs::{self, Bound};
use crate::check::judge::{Case, judge};
use crate::check::report::{Report, Source};
use crate::check::suggest::{Suggestion, lineage, suggest};
use crate::diag::Diagnostic;
use crate::eval::{self, Options, evaluate};
use crate::graph::{NodeKind, ParamKind};
use crate::session::{Point, points};
use crate::twin::job::Task;
use crate::types::value::Tensor;
use asked::Asked;
use given::{Lack, Stated};

#[derive(clap::Args)]
pub struct Args {
    /// FILE[:Module[.func]] or FILE:Twin[.func]; the entry of the only module where no more is said
    selection: String,
    #[command(flatten)]
    stated: Stated,
    /// The reference: files with one tensor for each output in order, or one with tensors named
    /// like the outputs
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "against")]
    expected: Vec<String>,
    /// The reference: another function, FILE[:Module[.func]], or :Module of the same file, run on the same
    /// inputs
    #[arg(long, value_name = "SELECTION")]
    against: Option<String>,
    #[command(flatten)]
    asked: Asked,
    /// Add each side's distance to the evaluation in f64
    #[arg(long, value_name = "f64", value_parser = ["f64"])]
    truth: Option<String>,
    /// Run the candidate in f64, where nothing rounds in between
    #[arg(long, value_name = "f64", value_parser = ["f64"])]
    precision: Option<String>,
    /// The size of a dim; several run one after the other
    #[arg(long = "dim", value_name = "NAME=N[,N..]", value_parser = dim_sizes)]
    dims: Vec<(String, Vec<i64>)>,
    /// Print measures and derived tolerances, and judge nothing
    #[arg(long)]
    suggest: bool,
    /// Run a twin this many times more, and call it a race where bits differ
    #[arg(long, default_value_t = 0, value_name = "N")]
    repeat: u32,
    /// Seconds for which a twin's process may be silent
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// `equal` takes NaN on both sides for equal
    #[arg(long)]
    nan_equal: bool,
    /// Accumulate in index order, the same on every machine
    #[arg(long)]
    exact_order: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One size that ran.
struct Run {
    point: Point,
    /// The arms that the sizes choose.
    arms: Vec<String>,
    result: Judged,
    /// What the device of a twin said.
    device: Option<DeviceRun>,
}

enum Judged {
    Report(Report),
    Suggestions(Vec<Source>, Vec<Suggestion>),
}

/// Why there is no answer.
enum Stop {
    Diagnostics(Vec<Diagnostic>),
    Reply(Reply),
}

impl std::convert::From<Lack> for Stop {
    fn from(l: Lack) -> Stop {
        match l {
            Lack::File(text) => Stop::Reply(Reply::lacks(text)),
            Lack::Content(text) => Stop::Reply(Reply::refused(text)),
            Lack::Usage(text) => Stop::Reply(Reply::usage(text)),
            Lack::Diagnostics(d) => Stop::Diagnostics(d),
        }
    }
}

impl std::convert::From<Diagnostic> for Stop {
    fn from(d: Diagnostic) -> Stop {
        Stop::Diagnostics(vec![d])
    }
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let (s, twin) = match common.chosen(&args.selection) {
        Ok(s) => s,
        Err(r) => return r,
    };
    if args.suggest && twin.is_none() && args.against.is_none() && args.expected.is_empty() {
        return Reply::usage("`--suggest` compares with a reference: `--expected` or `--against`");
    }
    let other =
        match args.against.as_ref().map(|t| common.selected_beside(&args.selection, t)).transpose()
        {
            Ok(o) => o,
            Err(r) => return r,
        };
    let mut told = s.err.clone() + other.as_ref().map_or("", |o| o.err.as_str());
    let all = match points(&s.graph, &args.dims) {
        Ok(p) => p,
        Err(e) => return Reply::usage(e).after(&told),
    };
    let mut runs = vec![];
    let mut stopped = false;
    for p in all {
        let said = match one(args, (&s, twin.as_ref()), other.as_ref(), p) {
            Ok(r) => {
                runs.push(r);
                continue;
            }
            Err(Stop::Reply(r)) if runs.is_empty() || r.status != 1 => return r.after(&told),
            Err(Stop::Reply(r)) => r.err,
            Err(Stop::Diagnostics(d)) => common.tell(&d, s.session.sources()),
        };
        told += &said;
        if runs.is_empty() {
            return Reply { out: String::new(), err: told, status: 1 };
        }
        // the sizes before keep their reports
        stopped = true;
        break;
    }
    let pass = !stopped
        && runs.iter().all(|r| match &r.result {
            Judged::Report(r) => r.pass,
            Judged::Suggestions(..) => true,
        });
    let reference = match &other {
        Some(o) => Some(o.name()),
        None if !args.expected.is_empty() => Some(args.expected.join(", ")),
        None => twin.as_ref().map(|_| s.name()),
    };
    let name = twin.as_ref().map_or_else(|| s.name(), |t| t.name.clone());
    let out = if args.json {
        let list: Vec<Value> = runs.iter().map(Run::json).collect();
        let mut doc = json!({
            "schema": "tilefoundry.check/1",
            "program": name,
            "reference": reference,
            "runs": list,
        });
        if !args.suggest {
            doc["pass"] = pass.into();
        }
        format!("{doc:#}\n")
    } else {
        let mut out = String::new();
        for r in &runs {
            out += &r.text(&name, reference.as_deref());
        }
        if (stopped || runs.len() > 1) && !args.suggest {
            out += if pass { "every size: PASS\n" } else { "not every size: FAIL\n" };
        }
        out
    };
    Reply { out, err: told, status: u8::from(!pass) }
}

fn one(
    args: &Args,
    (s, twin): (&Selected, Option<&Twin>),
    other: Option<&Selected>,
    point: Point,
) -> Result<Run, Stop> {
    let wide = args.precision.is_some() || args.truth.is_some();
    if let Some(text) = room::lacking(s, &point, wide) {
        let fix = "state smaller ones with `--dim` or `--const`";
        return Err(Stop::Reply(Reply::lacks(format!("{text}: {fix}"))));
    }
    let bound = args.stated.bind(&s.graph, &point.env)?;
    let mut device = None;
    let mut arms = arms(s, &point);
    let named: Vec<(String, Tensor)> = match twin {
        Some(t) => {
            let mut plan = t.plan(&args.stated, s, &bound, &point)?;
            let answer = twins::run(&mut plan, Task::Check { repeat: args.repeat }, args.timeout)
                .map_err(|e| match e {
                NoRun::NoDevice(text) => Stop::Reply(Reply::lacks(text)),
                NoRun::Failed(text) => Stop::Reply(Reply::refused(text)),
            })?;
            device = Some(DeviceRun::new(&plan, &answer));
            arms.extend(
                plan.arms.iter().filter(|a| !arms.contains(a)).cloned().collect::<Vec<_>>(),
            );
            twins::results(&plan, &answer)
        }
        None => {
            let outputs = execute(args, s, &point, &bound.tensors, args.precision.is_some())?;
            s.graph.outputs.iter().map(|o| o.name.clone()).zip(outputs).collect()
        }
    };
    let mut truth = None;
    let mut references = None;
    if let Some(o) = other {
        let (theirs, at) = same_inputs(args, s, o, &point, &bound)?;
        references = Some(execute(args, o, &at, &theirs, false)?);
        if args.truth.is_some() {
            truth = Some(execute(args, o, &at, &theirs, true)?);
        }
    } else {
        if !args.expected.is_empty() {
            let names: Vec<&str> = named.iter().map(|(n, _)| n.as_str()).collect();
            references = Some(given::expected(&args.expected, &names)?);
        } else if twin.is_some() {
            references = Some(execute(args, s, &point, &bound.tensors, false)?);
        }
        if args.truth.is_some() {
            truth = Some(execute(args, s, &point, &bound.tensors, true)?);
        }
    }
    if args.suggest {
        let all = references.unwrap_or_default();
        let list = named
            .iter()
            .zip(&all)
            .zip(&s.graph.outputs)
            .map(|(((n, c), r), o)| suggest(n, c, r, &lineage(&s.graph, o.value, &point.env)));
        let result = Judged::Suggestions(bound.sources, list.collect());
        return Ok(Run { point, arms, result, device });
    }
    let case = Case {
        outputs: &named,
        references: references.as_deref(),
        truth: truth.as_deref(),
        nan_equal: args.nan_equal,
    };
    let asked = args.asked.judgements().map_err(|d| Stop::Diagnostics(vec![*d]))?;
    let mut report = judge(&case, &asked).map_err(Stop::Diagnostics)?;
    report.sources = bound.sources;
    report.pass &= device.as_ref().is_none_or(|d| d.faults.is_empty());
    Ok(Run { point, arms, result: Judged::Report(report), device })
}

/// The inputs of the candidate for the reference: weights by name, the others in order.
fn same_inputs(
    args: &Args,
    s: &Selected,
    o: &Selected,
    point: &Point,
    bound: &Bound,
) -> Result<(Vec<Tensor>, Point), Stop> {
    let sizes: Vec<(String, Vec<i64>)> = point
        .sizes
        .iter()
        .filter(|(n, _)| o.graph.dims.iter().any(|d| o.graph.vars.name(*d) == n))
        .map(|(n, v)| (n.clone(), vec![*v]))
        .collect();
    let at = points(&o.graph, &sizes).map_err(|e| Stop::Reply(Reply::usage(e)))?;
    let at = at.into_iter().next().unwrap_or_default();
    let theirs = inputs::wanted(&o.graph, &at.env).map_err(|d| Stop::from(*d))?;
    let is_weight = |k: &ParamKind| matches!(k, ParamKind::Weight { .. });
    let mine: Vec<(&crate::graph::Param, &Tensor)> =
        s.graph.params.iter().zip(&bound.tensors).collect();
    let mut in_order = mine.iter().filter(|(p, _)| !is_weight(&p.kind));
    let mut out = vec![];
    for w in &theirs {
        let found = if is_weight(&w.kind) {
            mine.iter().find(|(p, _)| is_weight(&p.kind) && p.name == w.name)
        } else {
            in_order.next()
        };
        match found {
            Some((_, t)) if t.dtype() == w.dtype && t.shape() == w.shape => out.push((*t).clone()),
            Some((p, t)) => {
                return Err(Stop::Reply(Reply::refused(format!(
                    "`{}` of the reference is {}, `{}` of the candidate {}{:?}",
                    w.name,
                    w.show(),
                    p.name,
                    t.dtype(),
                    t.shape()
                ))));
            }
            // a weight that only the reference has
            None if is_weight(&w.kind) && args.stated.weights.is_some() => {
                out.extend(args.stated.weights_of(std::slice::from_ref(w))?.tensors);
            }
            None => {
                return Err(Stop::Reply(Reply::refused(format!(
                    "the candidate has no parameter for `{}` of the reference",
                    w.name
                ))));
            }
        }
    }
    Ok((out, at))
}

fn execute(
    args: &Args,
    s: &Selected,
    point: &Point,
    tensors: &[Tensor],
    wide: bool,
) -> Result<Vec<Tensor>, Stop> {
    let bar = Bar::new();
    let options = Options {
        wide,
        exact_order: args.exact_order,
        progress: Some(&bar as &dyn eval::Progress),
        ..Options::default()
    };
    Ok(evaluate(&s.graph, &point.env, tensors, &options).map_err(|d| Stop::from(*d))?.outputs)
}

/// `ctx in 1..=1815`, for each match on sizes that are stated.
fn arms(s: &Selected, point: &Point) -> Vec<String> {
    let g = &s.graph;
    let mut out = vec![];
    for (_, n) in g.nodes() {
        let NodeKind::Match { value, arms } = &n.kind else { continue };
        let Some(v) = value.eval(&point.env) else { continue };
        for a in arms {
            if let (Some(lo), Some(hi)) = (a.lo.eval(&point.env), a.hi.eval(&point.env))
                && (lo..=hi).contains(&v)
            {
                let text = format!("{} in {lo}..={hi}", g.vars.show(value));
                if !out.contains(&text) {
                    out.push(text);
                }
            }
        }
    }
    out
}

impl Run {
    fn head(&self, name: &str, reference: Option<&str>) -> String {
        let sizes: Vec<String> =
            self.point.sizes.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let mut out = name.to_string();
        if !sizes.is_empty() {
            out += &format!(" at {}", sizes.join(", "));
        }
        if let Some(r) = reference {
            out += &format!(" against {r}");
        }
        if !self.arms.is_empty() {
            out += &format!("; arm {}", self.arms.join(", "));
        }
        out + "\n"
    }

    fn text(&self, name: &str, reference: Option<&str>) -> String {
        let mut out = self.head(name, reference);
        out += &self.device.as_ref().map_or(String::new(), DeviceRun::text);
        match &self.result {
            Judged::Report(r) => out += &r.text(),
            Judged::Suggestions(sources, all) => {
                for s in sources {
                    out += &format!("input {}: {} from {}\n", s.name, s.declared, s.from);
                }
                for s in all {
                    let measures: Vec<String> =
                        s.measures.iter().map(|(n, v)| format!("{n} {v:.4e}")).collect();
                    out += &format!("{}: {}\n", s.output, measures.join(", "));
                    if s.measures.contains(&("equal", 0.0)) {
                        out += &format!("  --out '{}' --fn equal holds here\n", s.output);
                    }
                    if s.rtol > 0.0 {
                        out += &format!(
                            "  --out '{}' --fn allclose --atol {:.2e} --rtol {:.2e}\n  --out '{}' --fn rel_l2 --max {:.2e}\n",
                            s.output, s.atol, s.rtol, s.output, s.rel_l2
                        );
                    }
                    out += &format!("  {}\n", s.derivation);
                }
            }
        }
        out
    }

    fn json(&self) -> Value {
        let dims: serde_json::Map<String, Value> =
            self.point.sizes.iter().map(|(n, v)| (n.clone(), (*v).into())).collect();
        let mut out = match &self.result {
            Judged::Report(r) => serde_json::to_value(r).unwrap_or(Value::Null),
            Judged::Suggestions(sources, all) => json!({ "sources": sources, "suggestions": all }),
        };
        if let Some(o) = out.as_object_mut() {
            o.insert("dims".into(), Value::Object(dims));
            o.insert("arms".into(), self.arms.clone().into());
            if let Some(d) = &self.device {
                o.insert("device".into(), serde_json::to_value(d).unwrap_or(Value::Null));
            }
        }
        out
    }
}

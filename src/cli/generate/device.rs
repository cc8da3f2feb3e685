//! A step run by a twin, its caches on the device.

use std::time::{Duration, Instant};

use super::contract::Contract;
use super::{Args, Engine, OnDevice, Stop, Token, at_count};
use crate::check::inputs::{Bound, Wanted, wanted};
use crate::cli::check::given::{Lack, Stated};
use crate::cli::check::room;
use crate::cli::common::Selected;
use crate::cli::progress::Bar;
use crate::cli::twins::{self, Given, Twin};
use crate::eval::Progress;
use crate::graph::ParamKind;
use crate::hir::steps::Steps;
use crate::twin::host::Broken;
use crate::twin::job::{Ask, FaultKind, Job, Numbers, RUNNING};
use crate::twin::live::Live;
use crate::twin::plan::{Images, Place, Plan};
use crate::types::value::Tensor;

/// The steps of a twin as the count of tokens grows: followed once for as many counts as have the
/// same ones, which only their numbers tell apart.
struct Course {
    images: Images,
    steps: Option<Steps>,
    /// The counts that `steps` is for, and where the counts end.
    first: i64,
    last: i64,
    end: i64,
}

impl Course {
    fn new(end: i64) -> Course {
        Course { images: Images::new(), steps: None, first: 0, last: 0, end }
    }

    /// What the twin does at a count.
    ///
    /// # Errors
    /// What is wrong with it at this count.
    fn at(&mut self, source: &Source, count: i64) -> Result<&Steps, Stop> {
        let known = self.steps.take().filter(|_| (self.first..=self.last).contains(&count));
        let steps = match known {
            Some(s) => s,
            None => {
                // as many as before and as many again, at first all
                let many = if self.last == 0 { self.end } else { 2 * (self.last - self.first + 1) };
                let mut last = count.saturating_add(many - 1).min(self.end).max(count);
                loop {
                    let point = at_count(source.contract, count);
                    let over = source.contract.count.as_ref().map(|c| (c.var, last));
                    match source.twin.steps_over(&point, over) {
                        Ok(s) => {
                            (self.first, self.last) = (count, last);
                            break s;
                        }
                        Err(e) if last == count => return Err(e.into()),
                        Err(_) => last = count + (last - count) / 2,
                    }
                }
            }
        };
        Ok(self.steps.insert(steps))
    }

    /// The job at a count, without data.
    fn plan(&mut self, source: &Source, count: i64) -> Result<Plan, Stop> {
        self.at(source, count)?;
        let (Some(s), images) = (&self.steps, &mut self.images) else {
            return Err(Stop::Refused(format!("step {count} has no plan")));
        };
        Ok(source.twin.job(s, &[], images, &at_count(source.contract, count))?)
    }
}

/// What gives the tensors of a twin's parameters.
struct Source<'a> {
    args: &'a Args,
    module: &'a Selected,
    twin: &'a Twin,
    contract: &'a Contract,
}

impl Source<'_> {
    /// A tensor for each parameter that the twin has at a step, by its name.
    fn params(&self, steps: &Steps, count: i64) -> Result<Vec<(String, Tensor)>, Stop> {
        let point = at_count(self.contract, count);
        let all = wanted(&self.module.graph, &point.env)?;
        let is_weight = |k: &ParamKind| matches!(k, ParamKind::Weight { .. });
        let weights: Vec<_> = all.iter().filter(|w| is_weight(&w.kind)).cloned().collect();
        if self.args.weights.as_deref().is_some_and(|w| w.starts_with("random")) {
            let bytes = |w: &Wanted| {
                let n = w.shape.iter().fold(1u128, |n, x| n.saturating_mul(*x as u128));
                n.saturating_mul(u128::from(w.dtype.bits())) / 8
            };
            let need = weights.iter().map(bytes).fold(0, u128::saturating_add);
            if let Some(text) = room::lacking_bytes("random weights", need) {
                let fix = "take a checkpoint, or a smaller model with `--const` or `--config`";
                return Err(Stop::Lack(Lack::File(format!("{text}: {fix}"))));
            }
        }
        let (weights_of, scale) = (self.args.weights.clone(), self.args.scale);
        let stated = Stated { inputs: vec![], weights: weights_of, scale };
        let mut given = stated.weights_of(&weights)?.tensors.into_iter();
        let tensors = all.iter().map(|w| match is_weight(&w.kind) {
            true => given.next().unwrap_or_else(|| Tensor::zeros(w.dtype, vec![])),
            false => Tensor::zeros(w.dtype, w.shape.clone()),
        });
        let bound = Bound { tensors: tensors.collect(), sources: vec![] };
        if let Some(x) = steps.prepared.iter().find(|x| !x.graph.dims.is_empty()) {
            let name = steps.graph.value_name(x.value);
            let text = format!(
                "`{name}` is prepared once, and depends on a dim that grows: \
                 prepare it for as many tokens as there can be, and use a window"
            );
            return Err(Stop::Refused(text));
        }
        let graph = &self.module.graph;
        let given = Given { stated: &stated, graph, bound: &bound, env: &point.env };
        let tensors = self.twin.params(steps, &given)?;
        Ok(steps.graph.params.iter().map(|q| q.name.clone()).zip(tensors).collect())
    }

    fn broken(&self, now: &Plan, b: Broken) -> Stop {
        let (doing, why) = match b {
            Broken::NoDevice(why) | Broken::NoProcess(why) => {
                return Stop::NoDevice(format!("{why}\n{}", twins::checked(now)));
            }
            Broken::Failed { doing, why } => (doing, why),
        };
        let text = format!("FAIL {doing}: {why}");
        let Some(step) = doing.strip_prefix(RUNNING) else { return Stop::Refused(text) };
        let count = self.contract.count.as_ref();
        let dim = count.map_or(String::new(), |c| format!(" with `--dim {}={step}`", c.name));
        Stop::Refused(format!(
            "{text}\n`check` of `{}`{dim} waits after each launch and names the one that failed",
            self.twin.name
        ))
    }
}

fn by_name(params: &[(String, Tensor)]) -> impl Fn(&str) -> Option<Tensor> {
    |name| params.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone())
}

/// A twin's step on a device.
pub struct Device<'a> {
    source: Source<'a>,
    token: Token,
    live: Live,
    course: Course,
    /// The step that is asked for next.
    now: Plan,
    /// Why there is no step behind the last one.
    none: Option<Stop>,
    /// Steps so far, and how many there will be at most.
    count: i64,
    steps: i64,
    /// Nanoseconds on the device of each step.
    times: Vec<f64>,
    load: Duration,
}

impl<'a> Device<'a> {
    /// Takes the weights to the device.
    ///
    /// # Errors
    /// Weights or images that are missing, what the twin refuses, no device.
    pub fn load(
        args: &'a Args,
        s: &'a Selected,
        twin: &'a Twin,
        contract: &'a Contract,
        steps: i64,
    ) -> Result<Device<'a>, Stop> {
        let start = Instant::now();
        let first = at_count(contract, 1);
        let token = Token::of(&wanted(&s.graph, &first.env)?, contract)?;
        let source = Source { args, module: s, twin, contract };
        let mut course = Course::new(steps);
        let params = source.params(course.at(&source, 1)?, 1)?;
        let now = course.plan(&source, 1)?;
        let silent = Duration::from_secs(args.timeout);
        let bar = Bar::new();
        let hear = |what: &str| bar.step(0, params.len() as u64, what);
        let live = Live::start(&now.job, &by_name(&params), silent, &hear);
        let live = live.map_err(|b| source.broken(&now, b))?;
        let (times, load) = (vec![], start.elapsed());
        let (none, count) = (None, 0);
        Ok(Device { source, token, live, course, now, none, count, steps, times, load })
    }

    /// What the device is, the times of the steps on it, and how far the two best logits were apart
    /// in each that chose a token.
    ///
    /// # Errors
    /// A write outside of a buffer; a device that is gone.
    pub fn finish(self) -> Result<(OnDevice, Vec<Option<f64>>), Stop> {
        let device = twins::device(self.live.device());
        let ended = self.live.finish().map_err(|b| self.source.broken(&self.now, b))?;
        match ended.faults.iter().find(|(_, f)| f.kind == FaultKind::Outside) {
            Some((name, f)) => Err(Stop::Refused(format!(
                "FAIL `{name}`: {} B were written outside, the first at byte {}: `check` names the launch",
                f.count, f.first
            ))),
            None => {
                let on = OnDevice { device, load: self.load, steps: self.times };
                Ok((on, ended.margins))
            }
        }
    }

    fn place(&self, output: usize) -> Result<&Place, Stop> {
        let none = || Stop::Refused(format!("the twin gives no result {output}"));
        self.now.outputs.get(output).ok_or_else(none)
    }

    fn ask(&self, id: i64, chosen: bool) -> Result<Ask, Stop> {
        let token = self.now.job.buffers.iter().position(|b| b.name == self.token.name());
        let give = token.map(|n| (n, self.token.tensor(id).to_bytes())).into_iter().collect();
        let numbers = |p: &Place| Numbers {
            buffer: p.buffer,
            offset: usize::try_from(p.offset).unwrap_or(usize::MAX),
            bytes: usize::try_from(p.bytes()).unwrap_or(usize::MAX),
            dtype: p.dtype.name().to_string(),
        };
        let margin = self.source.contract.logits.filter(|_| chosen);
        let margin = margin.map(|i| self.place(i).map(numbers)).transpose()?;
        // without a count all steps are alike
        let more = self.source.contract.count.is_some() && self.count < self.steps;
        Ok(Ask { give, take: vec![self.place(self.source.contract.next)?.buffer], margin, more })
    }

    /// Gives the step behind the one that runs. Why there is none is told where it would run: the
    /// loop may end before.
    fn give(&mut self) -> Result<Option<Plan>, Stop> {
        let count = self.count + 1;
        let plan = self.course.plan(&self.source, count);
        let plan = plan.and_then(|p| Ok((self.late(&p.job, count)?, p)));
        let (params, next) = match plan {
            Ok((params, p)) => (params, Some(p)),
            Err(why) => {
                self.none = Some(why);
                (vec![], None)
            }
        };
        let job = &next.as_ref().unwrap_or(&self.now).job;
        self.live.give(job, &by_name(&params)).map_err(Stop::Refused)?;
        Ok(next)
    }

    /// The tensors of a step that has parameters which those before it did not have.
    fn late(&mut self, job: &Job, count: i64) -> Result<Vec<(String, Tensor)>, Stop> {
        match self.live.lacks(job) {
            true => self.source.params(self.course.at(&self.source, count)?, count),
            false => Ok(vec![]),
        }
    }
}

impl Engine for Device<'_> {
    fn step(&mut self, id: i64, chosen: bool) -> Result<i64, Stop> {
        if let Some(why) = self.none.take() {
            return Err(why);
        }
        self.count += 1;
        if let Some(why) = self.token.refuses(id) {
            let text = format!("step {} got the id {id}: {why}", self.count);
            return Err(Stop::Refused(text));
        }
        let ask = self.ask(id, chosen)?;
        let more = ask.more;
        self.live.ask(ask).map_err(Stop::Refused)?;
        // while the device works
        let next = if more { self.give()? } else { None };
        let answer = self.live.answer(&|_| {});
        let (ns, results) = answer.map_err(|b| self.source.broken(&self.now, b))?;
        self.times.push(ns);
        let place = self.place(self.source.contract.next)?;
        let found = results.first().and_then(|bytes| place.tensor(bytes)).map(|t| t.get_i64(0));
        if let Some(n) = next {
            self.now = n;
        }
        found.ok_or_else(|| Stop::Refused("the twin gave no token".into()))
    }
}

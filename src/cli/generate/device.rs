//! A step run by a twin, its caches on the device.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Scope, available_parallelism};
use std::time::{Duration, Instant};

use super::contract::Contract;
use super::{Args, Engine, Stop, Token, at_count};
use crate::check::inputs::{Bound, wanted};
use crate::cli::check::given::Stated;
use crate::cli::common::{Common, Selected};
use crate::cli::progress::Bar;
use crate::cli::twins::{self, Given, Twin};
use crate::eval::Progress;
use crate::graph::ParamKind;
use crate::twin::host::Broken;
use crate::twin::job::{Ask, FaultKind, Numbers};
use crate::twin::live::Live;
use crate::twin::plan::{Images, Place, Plan};
use crate::types::value::Tensor;

/// Threads that plan the steps to come: following a twin's function takes longer than a fast device
/// takes to run it. Each reads the program for itself and makes every n-th plan.
#[derive(Default)]
pub struct Ahead(Vec<Receiver<Result<Plan, Stop>>>);

/// Plans that a thread has ready at most.
const READY: usize = 4;

impl Ahead {
    /// Plans the steps from the second to the last.
    pub fn start<'s>(
        scope: &'s Scope<'s, '_>,
        common: &'s Common,
        selection: &'s str,
        steps: i64,
    ) -> Ahead {
        let threads = available_parallelism().map_or(1, |n| (n.get() / 2).clamp(1, 4)) as i64;
        let one = |first: i64| {
            let (to, plans) = sync_channel(READY);
            scope.spawn(move || {
                let mut planner = Planner::open(common, selection);
                for count in (first..=steps).step_by(threads as usize) {
                    let plan = match &mut planner {
                        Ok(p) => p.plan(count),
                        Err(_) => Err(Stop::Refused("the program changed while it ran".into())),
                    };
                    // nobody waits for a plan behind one that failed, or behind the end
                    if to.send(plan).is_err() {
                        return;
                    }
                }
            });
            plans
        };
        Ahead((2..2 + threads).map(one).collect())
    }

    /// The plan of a step.
    fn plan(&self, count: i64) -> Result<Plan, Stop> {
        let n = usize::try_from(count - 2).unwrap_or(0) % self.0.len().max(1);
        let plan = self.0.get(n).and_then(|r| r.recv().ok());
        plan.unwrap_or_else(|| Err(Stop::Refused(format!("step {count} has no plan"))))
    }
}

struct Planner {
    twin: Twin,
    contract: Contract,
    images: Images,
}

impl Planner {
    fn open(common: &Common, selection: &str) -> Result<Planner, String> {
        let (s, twin) = common.chosen(selection).map_err(|r| r.err)?;
        let twin = twin.ok_or("it is no twin")?;
        let contract = Contract::read(&s.graph)?;
        Ok(Planner { twin, contract, images: Images::new() })
    }

    fn plan(&mut self, count: i64) -> Result<Plan, Stop> {
        let point = at_count(&self.contract, count);
        let s = self.twin.steps(&point)?;
        Ok(self.twin.job(&s, &[], &mut self.images, &point)?)
    }
}

/// A twin's step on a device.
pub struct Device<'a> {
    twin: &'a Twin,
    contract: &'a Contract,
    token: Token,
    live: Live,
    ahead: Ahead,
    /// The step that is asked for next.
    now: Plan,
    /// Steps so far, and how many there will be at most.
    count: i64,
    steps: i64,
    /// Nanoseconds on the device of each step.
    pub times: Vec<f64>,
    pub load: Duration,
}

impl<'a> Device<'a> {
    /// Takes the weights to the device.
    ///
    /// # Errors
    /// Weights or images that are missing, what the twin refuses, no device.
    pub fn load(
        args: &Args,
        s: &Selected,
        twin: &'a Twin,
        contract: &'a Contract,
        (ahead, steps): (Ahead, i64),
    ) -> Result<Device<'a>, Stop> {
        let start = Instant::now();
        let first = at_count(contract, 1);
        let all = wanted(&s.graph, &first.env)?;
        let token = Token::of(&all, contract)?;
        let is_weight = |k: &ParamKind| matches!(k, ParamKind::Weight { .. });
        let weights: Vec<_> = all.iter().filter(|w| is_weight(&w.kind)).cloned().collect();
        let stated = Stated { inputs: vec![], weights: args.weights.clone(), scale: args.scale };
        let mut given = stated.weights_of(&weights)?.tensors.into_iter();
        let tensors = all.iter().map(|w| match is_weight(&w.kind) {
            true => given.next().unwrap_or_else(|| Tensor::zeros(w.dtype, vec![])),
            false => Tensor::zeros(w.dtype, w.shape.clone()),
        });
        let bound = Bound { tensors: tensors.collect(), sources: vec![] };
        let at_first = twin.steps(&first)?;
        if let Some(x) = at_first.prepared.iter().find(|x| !x.graph.dims.is_empty()) {
            let name = at_first.graph.value_name(x.value);
            let text = format!("`{name}` is prepared once, and depends on a dim that grows");
            return Err(Stop::Refused(text));
        }
        let given = Given { stated: &stated, graph: &s.graph, bound: &bound, env: &first.env };
        let params = twin.params(&at_first, &given)?;
        let mut images = Images::new();
        let now = twin.job(&at_first, &[], &mut images, &first)?;
        let names: Vec<&str> = at_first.graph.params.iter().map(|q| q.name.as_str()).collect();
        let data = |name: &str| params.get(names.iter().position(|n| *n == name)?).cloned();
        let silent = Duration::from_secs(args.timeout);
        let bar = Bar::new();
        let hear = |what: &str| bar.step(0, names.len() as u64, what);
        let live = Live::start(&now.job, &data, silent, &hear);
        let live = live.map_err(|b| broken(twin, &now, contract, b))?;
        let (times, load) = (vec![], start.elapsed());
        Ok(Device { twin, contract, token, live, ahead, now, count: 0, steps, times, load })
    }

    /// What the device is, the times of the steps on it, and how far the two best logits were apart.
    ///
    /// # Errors
    /// A write outside of a buffer; a device that is gone.
    pub fn finish(self) -> Result<(String, Vec<f64>, Option<f64>), Stop> {
        let device = twins::device(self.live.device());
        let ended =
            self.live.finish().map_err(|b| broken(self.twin, &self.now, self.contract, b))?;
        match ended.faults.iter().find(|(_, f)| f.kind == FaultKind::Outside) {
            Some((name, f)) => Err(Stop::Refused(format!(
                "FAIL `{name}`: {} B were written outside, the first at byte {}: `check` names the launch",
                f.count, f.first
            ))),
            None => Ok((device, self.times, ended.margin)),
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
        let margin = self.contract.logits.filter(|_| chosen);
        let margin = margin.map(|i| self.place(i).map(numbers)).transpose()?;
        // without a count all steps are alike
        let more = self.contract.count.is_some() && self.count < self.steps;
        Ok(Ask { give, take: vec![self.place(self.contract.next)?.buffer], margin, more })
    }
}

impl Engine for Device<'_> {
    fn step(&mut self, id: i64, chosen: bool) -> Result<i64, Stop> {
        self.count += 1;
        if let Some(why) = self.token.refuses(id) {
            let text = format!("step {} got the id {id}: {why}", self.count);
            return Err(Stop::Refused(text));
        }
        let ask = self.ask(id, chosen)?;
        let more = ask.more;
        self.live.ask(ask).map_err(Stop::Refused)?;
        // while the device works
        let next = more.then(|| self.ahead.plan(self.count + 1)).transpose()?;
        if let Some(n) = &next {
            self.live.give(&n.job, &|_| None).map_err(Stop::Refused)?;
        }
        let answer = self.live.answer(&|_| {});
        let (ns, results) = answer.map_err(|b| broken(self.twin, &self.now, self.contract, b))?;
        self.times.push(ns);
        let place = self.place(self.contract.next)?;
        let found = results.first().and_then(|bytes| place.tensor(bytes)).map(|t| t.get_i64(0));
        if let Some(n) = next {
            self.now = n;
        }
        found.ok_or_else(|| Stop::Refused("the twin gave no token".into()))
    }
}

fn broken(twin: &Twin, now: &Plan, contract: &Contract, b: Broken) -> Stop {
    match b {
        Broken::NoDevice(why) | Broken::NoProcess(why) => {
            Stop::NoDevice(format!("{why}\n{}", twins::checked(now)))
        }
        Broken::Failed { doing, why } => {
            let dim = contract
                .count
                .as_ref()
                .map_or(String::new(), |c| format!(" with `--dim {}=..`", c.name));
            Stop::Refused(format!(
                "FAIL {doing}: {why}\n`check` of `{}`{dim} waits after each launch and names the one that \
                 failed",
                twin.name
            ))
        }
    }
}

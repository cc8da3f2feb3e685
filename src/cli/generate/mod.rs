//! `generate`: a greedy loop over one step of a causal LM, run by the evaluator or by a twin.

mod contract;
mod device;
mod text;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::check::given::{self, Lack, Stated};
use super::check::room;
use super::common::{Common, Reply, Selected};
use super::progress::Bar;
use super::twins::Twin;
use crate::analysis::units;
use crate::check::inputs::{Wanted, wanted};
use crate::diag::Diagnostic;
use crate::eval::{Options, Progress, direct, evaluate_owned, prepared};
use crate::graph::{Graph, Param, ParamKind};
use crate::session::Point;
use crate::twin::median;
use crate::types::dim::Env;
use crate::types::value::Tensor;
use contract::{CONTRACT, Contract};
use device::Device;
use text::Words;

#[derive(clap::Args)]
pub struct Args {
    /// FILE[:Module[.func]], or FILE:Twin[.func] for a device: one step, from a token to the next; the
    /// entry of the only module where no more is said
    selection: String,
    /// Ids of the tokens to begin with
    #[arg(
        long,
        value_name = "ID[,ID..]",
        value_delimiter = ',',
        conflicts_with = "text",
        required_unless_present = "text"
    )]
    prompt: Vec<u32>,
    /// Text to begin with
    #[arg(long, requires = "tokenizer")]
    text: Option<String>,
    /// A tokenizer.json: turns text into ids, and ids into text
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<String>,
    /// How many tokens to generate
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    /// End with the first of these ids
    #[arg(long, value_name = "ID[,ID..]", value_delimiter = ',')]
    stop: Vec<u32>,
    /// `random[:seed]`, a file, or `ckpt:DIR` with a checkpoint
    #[arg(long, value_name = "random[:SEED]|FILE|ckpt:DIR")]
    weights: Option<String>,
    /// Standard deviation of random floats
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = given::deviation)]
    scale: f64,
    /// Seconds for which the process that runs a twin may be silent
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Why there is no answer.
enum Stop {
    Lack(Lack),
    Refused(String),
    NoDevice(String),
}

/// What runs a step.
trait Engine {
    /// Reads one token; gives the next. Where it is one that was chosen, the two best logits are told
    /// apart.
    fn step(&mut self, id: i64, chosen: bool) -> Result<i64, Stop>;
}

impl From<Lack> for Stop {
    fn from(l: Lack) -> Stop {
        Stop::Lack(l)
    }
}

impl From<Box<Diagnostic>> for Stop {
    fn from(d: Box<Diagnostic>) -> Stop {
        Stop::Lack(Lack::Diagnostics(vec![*d]))
    }
}

fn usage(text: String) -> Stop {
    Stop::Lack(Lack::Usage(text))
}

/// What a run gave.
struct Run {
    prompt: Vec<i64>,
    ids: Vec<i64>,
    text: Option<String>,
    /// It ended with an id of `--stop`.
    stopped: bool,
    /// Of each step; the first ones take the tokens of the prompt.
    steps: Vec<Duration>,
    /// For each token that was chosen, how far the two best logits were apart.
    gaps: Vec<Option<f64>>,
    device: Option<OnDevice>,
}

/// What a device did.
struct OnDevice {
    /// Its name.
    device: String,
    /// Until it had the weights.
    load: Duration,
    /// Nanoseconds of each step from its first launch to its last.
    steps: Vec<f64>,
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let (s, twin) = match common.chosen(&args.selection) {
        Ok(s) => s,
        Err(r) => return r,
    };
    // this thread takes part in the work of each op, where it would hand it over and sleep; a pool
    // that is there already stays as it is
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    let name = twin.as_ref().map_or_else(|| s.name(), |t| t.name.clone());
    match generate(args, &s, twin.as_ref()) {
        Ok(r) => {
            let out = if args.json { r.json(&name, args) } else { r.report(&name) };
            Reply { out, err: s.err.clone(), status: 0 }
        }
        Err(Stop::Lack(l)) => l.reply(common, s.session.sources()).after(&s.err),
        Err(Stop::NoDevice(text)) => Reply::lacks(text).after(&s.err),
        Err(Stop::Refused(text)) => Reply::refused(text).after(&s.err),
    }
}

/// The sizes of the step after which the cache holds `count` tokens.
fn at_count(contract: &Contract, count: i64) -> Point {
    let mut point = Point::default();
    if let Some(c) = &contract.count {
        point.env.set(c.var, count);
        point.sizes.push((c.name.clone(), count));
    }
    point
}

fn generate(args: &Args, s: &Selected, twin: Option<&Twin>) -> Result<Run, Stop> {
    let contract = Contract::read(&s.graph).map_err(|why| {
        Stop::Refused(format!("`{}` is no step of a causal LM: {why}\n{CONTRACT}", s.name()))
    })?;
    let words = args.tokenizer.as_deref().map(Words::open).transpose()?;
    let prompt: Vec<i64> = match (&args.text, &words) {
        (Some(text), Some(w)) => w.ids(text)?.into_iter().map(i64::from).collect(),
        _ => args.prompt.iter().copied().map(i64::from).collect(),
    };
    // the last token is not read again
    let steps = prompt.len() as i64 + i64::from(args.tokens) - 1;
    if let Some(c) = contract.count.as_ref().filter(|c| steps > c.most) {
        return Err(usage(format!(
            "{} tokens of prompt and {} to generate are {steps} steps, and `{}` ends at {}",
            prompt.len(),
            args.tokens,
            c.name,
            c.most
        )));
    }
    let token = Token::of(&wanted(&s.graph, &at_count(&contract, 1).env)?, &contract)?;
    for id in &prompt {
        if let Some(why) = token.refuses(*id) {
            return Err(usage(format!("the prompt has the id {id}: {why}")));
        }
    }
    let mut r = match twin {
        Some(t) => {
            let mut d = Device::load(args, s, t, &contract, steps)?;
            let mut r = greedy(args, &mut d, prompt, steps)?;
            let (on, gaps) = d.finish()?;
            (r.device, r.gaps) = (Some(on), gaps);
            r
        }
        None => {
            let point = at_count(&contract, steps);
            if let Some(text) = room::lacking(s, &point, false) {
                let fix = "take shorter caches or a smaller model with `--const` or `--config`";
                return Err(Stop::Lack(Lack::File(format!("{text}: {fix}"))));
            }
            let mut model = Model::load(args, &s.graph, contract, &point.env)?;
            let mut r = greedy(args, &mut model, prompt, steps)?;
            r.gaps = model.gaps;
            r
        }
    };
    r.text = words.map(|w| w.text(&r.ids)).transpose()?;
    Ok(r)
}

/// The parameter that takes the token.
struct Token(Wanted);

impl Token {
    fn of(all: &[Wanted], contract: &Contract) -> Result<Token, Stop> {
        let token = all.get(contract.token).cloned();
        token.map(Token).ok_or_else(|| Stop::Refused("no parameter is a token".into()))
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn tensor(&self, id: i64) -> Tensor {
        Tensor::from_i64s(self.0.dtype, self.0.shape.clone(), vec![id])
    }

    /// Why an id is no token.
    fn refuses(&self, id: i64) -> Option<String> {
        let name = self.name();
        match self.0.range {
            Some((lo, hi)) if !(lo..=hi).contains(&id) => {
                Some(format!("`{name}` takes {lo}..={hi}"))
            }
            _ => (self.tensor(id).get_i64(0) != id)
                .then(|| format!("`{name}` is {}, which does not hold it", self.0.dtype)),
        }
    }
}

/// A step with its weights, and the caches as the steps so far left them.
struct Model {
    graph: Graph,
    contract: Contract,
    token: Token,
    /// One for each weight, in order, and for each value that is prepared from them.
    weights: Vec<Tensor>,
    /// One for each cache, in order.
    states: Vec<Tensor>,
    /// Tokens in the caches.
    count: i64,
    /// Of each step that chose a token.
    gaps: Vec<Option<f64>>,
}

impl Model {
    fn load(args: &Args, graph: &Graph, contract: Contract, env: &Env) -> Result<Model, Stop> {
        let mut all = wanted(graph, env)?;
        let states = all
            .iter()
            .filter(|w| w.kind == ParamKind::Inout)
            .map(|w| Tensor::zeros(w.dtype, w.shape.clone()))
            .collect();
        let token = Token::of(&all, &contract)?;
        all.retain(|w| matches!(w.kind, ParamKind::Weight { .. }));
        let stated = Stated { inputs: vec![], weights: args.weights.clone(), scale: args.scale };
        let weights = stated.weights_of(&all)?.tensors;
        let graph = direct(graph);
        let (count, gaps) = (0, vec![]);
        let mut model = Model { graph, contract, token, weights, states, count, gaps };
        let inputs = model.inputs(model.token.tensor(0), model.states.clone());
        let (graph, made) = prepared(&model.graph, env, &inputs)?;
        model.graph = graph;
        model.weights.extend(made);
        Ok(model)
    }

    /// A tensor for each parameter.
    fn inputs(&self, token: Tensor, states: Vec<Tensor>) -> Vec<Tensor> {
        let mut states = states.into_iter();
        let mut weights = self.weights.iter().cloned();
        let of = |p: &Param| match p.kind {
            ParamKind::Arg => Some(token.clone()),
            ParamKind::Inout => states.next(),
            ParamKind::Weight { .. } => weights.next(),
        };
        self.graph.params.iter().filter_map(of).collect()
    }
}

impl Engine for Model {
    fn step(&mut self, id: i64, chosen: bool) -> Result<i64, Stop> {
        self.count += 1;
        if let Some(why) = self.token.refuses(id) {
            let text = format!("step {} got the id {id}: {why}", self.count);
            return Err(Stop::Refused(text));
        }
        let mut env = Env::default();
        if let Some(c) = &self.contract.count {
            env.set(c.var, self.count);
        }
        // the caches are given away, so that the step changes them in place
        let states = std::mem::take(&mut self.states);
        let inputs = self.inputs(self.token.tensor(id), states);
        let mut out = evaluate_owned(&self.graph, &env, inputs, &Options::default())?.outputs;
        self.states = out.split_off(self.contract.results.min(out.len()));
        let next = out.get(self.contract.next).map_or(0, |t| t.get_i64(0));
        if chosen {
            let logits = self.contract.logits.and_then(|i| out.get(i));
            self.gaps.push(logits.and_then(Tensor::margin));
        }
        Ok(next)
    }
}

fn greedy(args: &Args, model: &mut dyn Engine, prompt: Vec<i64>, steps: i64) -> Result<Run, Stop> {
    let bar = Bar::new();
    let mut r = Run {
        prompt,
        ids: vec![],
        text: None,
        stopped: false,
        steps: vec![],
        gaps: vec![],
        device: None,
    };
    loop {
        let read = r.prompt.get(r.steps.len()).copied();
        let Some(id) = read.or_else(|| r.ids.last().copied()) else { return Ok(r) };
        let chosen = r.steps.len() + 1 >= r.prompt.len();
        let start = Instant::now();
        let next = model.step(id, chosen)?;
        r.steps.push(start.elapsed());
        bar.step(r.steps.len() as u64, steps as u64, "tokens");
        if !chosen {
            continue;
        }
        r.ids.push(next);
        r.stopped = args.stop.iter().any(|s| i64::from(*s) == next);
        if r.stopped || r.ids.len() >= args.tokens as usize {
            return Ok(r);
        }
    }
}

/// Tokens each second.
fn rate(tokens: usize, time: Duration) -> Option<f64> {
    let rate = tokens as f64 / time.as_secs_f64();
    (tokens > 0 && rate.is_finite()).then_some(rate)
}

impl Run {
    /// Steps that read a token that was generated.
    fn written(&self) -> usize {
        self.ids.len().saturating_sub(1)
    }

    /// The time of all steps that take a token of the prompt.
    fn reading(&self) -> Duration {
        self.steps.iter().take(self.prompt.len()).sum()
    }

    /// The time of the others.
    fn writing(&self) -> Duration {
        self.steps.iter().skip(self.prompt.len()).sum()
    }

    fn first(&self) -> Duration {
        self.steps.first().copied().unwrap_or_default()
    }

    /// The least distance between the two best logits of a step that chose a token.
    fn gap(&self) -> Option<f64> {
        self.gaps.iter().flatten().copied().reduce(f64::min)
    }

    fn report(&self, name: &str) -> String {
        let ids: Vec<String> = self.ids.iter().map(i64::to_string).collect();
        let on = self.device.as_ref().map_or(String::new(), |d| format!(" on {}", d.device));
        let mut out = format!("{name}: {} tokens{on}\n", ids.len());
        out += &format!("ids: {}\n", ids.join(","));
        if let Some(t) = &self.text {
            out += &format!("text: {t}\n");
        }
        if let (true, Some(id)) = (self.stopped, ids.last()) {
            out += &format!("stopped at {id}\n");
        }
        let times = |tokens: usize, time: Duration| {
            let rate = rate(tokens, time).map_or(String::new(), |r| format!(", {r:.3} tokens/s"));
            let s = if tokens == 1 { "" } else { "s" };
            format!("{tokens} step{s} in {:.3} s{rate}", time.as_secs_f64())
        };
        out += &format!("prompt: {}", times(self.prompt.len(), self.reading()));
        out += &format!("; the first took {:.3} s\n", self.first().as_secs_f64());
        if self.written() > 0 {
            out += &format!("then: {}\n", times(self.written(), self.writing()));
        }
        if let Some(d) = &self.device {
            out += &format!(
                "device: {} a step (median) from its first launch to its last, {:.1} steps/s; it had \
                 the weights after {:.3} s\n",
                units::time(median(d.steps.clone()) * 1000.0),
                1e9 / median(d.steps.clone()),
                d.load.as_secs_f64()
            );
        }
        if let Some(g) = self.gap() {
            out += &format!("the two best logits are {g:.3e} apart or more\n");
        }
        out
    }

    fn json(&self, name: &str, args: &Args) -> String {
        let doc: Value = json!({
            "schema": "tilefoundry.generate/1",
            "program": name,
            "weights": args.weights,
            "prompt": self.prompt,
            "ids": self.ids,
            "text": self.text,
            "stopped": self.stopped,
            "first_step_s": self.first().as_secs_f64(),
            "prompt_s": self.reading().as_secs_f64(),
            "prompt_tokens_per_s": rate(self.prompt.len(), self.reading()),
            "generate_s": self.writing().as_secs_f64(),
            "generate_tokens_per_s": rate(self.written(), self.writing()),
            "step_s": self.steps.iter().map(Duration::as_secs_f64).collect::<Vec<f64>>(),
            "least_gap": self.gap(),
            "gaps": self.gaps,
            "device": self.device.as_ref().map(|d| json!({
                "name": d.device,
                "load_s": d.load.as_secs_f64(),
                "step_ns": median(d.steps.clone()),
                "steps_ns": d.steps,
            })),
        });
        format!("{doc:#}\n")
    }
}

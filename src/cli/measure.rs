//! `measure`: the time of a twin's kernels on the device, against the bounds of its program.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::check::given::{Lack, Stated};
use super::common::{Common, Reply, Selected};
use super::sizes::dim_sizes;
use super::twins::{self, NoRun, Twin};
use crate::analysis::record::{Analysis, Ratio};
use crate::analysis::{self, Options, units};
use crate::base::sha256;
use crate::session::{Point, points};
use crate::twin::job::{self, DeviceInfo, Measure, Resources, Task, Times};
use crate::twin::median;

#[derive(clap::Args)]
pub struct Args {
    /// FILE:Twin[.func]
    selection: String,
    #[command(flatten)]
    stated: Stated,
    /// Another twin, FILE:Twin[.func], whose runs are interleaved with these
    #[arg(long, value_name = "SELECTION")]
    against: Option<String>,
    /// The size of a dim; several run one after the other
    #[arg(long = "dim", value_name = "NAME=N[,N..]", value_parser = dim_sizes)]
    dims: Vec<(String, Vec<i64>)>,
    /// Each run takes buffers that the last cache does not hold
    #[arg(long)]
    cold: bool,
    /// Replay a captured graph instead of starting each launch
    #[arg(long)]
    graph: bool,
    /// Runs before the first mark
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    warmup: u32,
    /// Groups of which the median is taken
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    groups: u32,
    /// Runs of a group, fewer where they would take longer than 0.1 s
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Seconds for which the process that runs the twin may be silent
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One size that was measured.
#[derive(Serialize)]
struct Run {
    dims: serde_json::Map<String, Value>,
    /// Values that the command gave to consts.
    consts: serde_json::Map<String, Value>,
    /// Each run took buffers that the last cache did not hold.
    cold: bool,
    /// SHA-256 of each image, by its path.
    images: serde_json::Map<String, Value>,
    /// How it was taken.
    how: String,
    device: DeviceInfo,
    kernels: Vec<Resources>,
    /// Nanoseconds of one run: the median of the groups, the least and the most.
    time_ns: f64,
    least_ns: f64,
    most_ns: f64,
    times: Times,
    /// Measured over the other's, group by group: the median, the least and the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<[f64; 3]>,
    /// Bounds and the prediction of the program, in nanoseconds.
    device_ns: Option<f64>,
    placed_ns: Option<f64>,
    predicted_ns: Option<f64>,
    /// What the program needs of each resource, with the rate that was achieved.
    achieved: Vec<Achieved>,
}

#[derive(Serialize)]
struct Achieved {
    resource: String,
    amount: u128,
    /// Each second.
    rate: f64,
    /// What the bound takes it at.
    of: String,
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let (s, twin) = match common.chosen(&args.selection) {
        Ok(s) => s,
        Err(r) => return r,
    };
    let Some(twin) = twin else { return not_a_twin(&args.selection, &s) };
    // a selection that starts with its colon is of the same file
    let file = args.selection.rsplit_once(':').map_or("", |(f, _)| f);
    let whole = |t: &String| if t.starts_with(':') { format!("{file}{t}") } else { t.clone() };
    let other = match args.against.as_ref().map(|t| common.chosen(&whole(t))).transpose() {
        Ok(Some((o, None))) => {
            return not_a_twin(args.against.as_deref().unwrap_or_default(), &o);
        }
        Ok(o) => o.and_then(|(m, t)| Some((m, t?))),
        Err(r) => return r,
    };
    let told = s.err.clone();
    let all = match points(&s.graph, &args.dims) {
        Ok(p) => p,
        Err(e) => return Reply::usage(e).after(&told),
    };
    let mut runs = vec![];
    for p in &all {
        match one(args, &s, &twin, other.as_ref(), p) {
            Ok(r) => runs.push(Run { consts: consts(common), ..r }),
            Err(Stop::Reply(r)) => return r.after(&told),
            Err(Stop::Lack(l)) => return l.reply(common, s.session.sources()).after(&told),
        }
    }
    let theirs = other.as_ref().map(|(_, t)| t.name.as_str());
    let out = if args.json {
        let doc = json!({
            "schema": "tilefoundry.measure/1",
            "selection": args.selection,
            "program": twin.name,
            "module": s.name(),
            "against": theirs,
            "runs": runs,
        });
        format!("{doc:#}\n")
    } else {
        runs.iter().map(|r| r.text(&twin.name, theirs)).collect::<Vec<_>>().join("\n")
    };
    Reply { out, err: told, status: 0 }
}

/// The consts that the command sets; numbers as such.
fn consts(common: &Common) -> serde_json::Map<String, Value> {
    let one = |(n, v): &(String, String)| {
        let value = v.parse::<i64>().map_or_else(|_| v.clone().into(), Value::from);
        (n.clone(), value)
    };
    common.consts.iter().map(one).collect()
}

fn not_a_twin(text: &str, s: &Selected) -> Reply {
    let twins = s.session.program.twins();
    let names: Vec<String> = twins.iter().map(|(n, _)| format!("`{n}`")).collect();
    let has = match names.as_slice() {
        [] => "its file has none".to_string(),
        n => format!("its file has {}", n.join(", ")),
    };
    Reply::usage(format!(
        "`{text}` has no kernels: a twin is measured, and {has}; `analyze` prices a module"
    ))
}

enum Stop {
    Lack(Lack),
    Reply(Reply),
}

impl From<Lack> for Stop {
    fn from(l: Lack) -> Stop {
        Stop::Lack(l)
    }
}

fn one(
    args: &Args,
    s: &Selected,
    twin: &Twin,
    other: Option<&(Selected, Twin)>,
    p: &Point,
) -> Result<Run, Stop> {
    // times need some input: random ones where none are stated
    let stated = args.stated.or_random();
    let bound = stated.bind(&s.graph, &p.env)?;
    let mut plan = twin.plan(&stated, s, &bound, p)?;
    if let Some((o, t)) = other {
        let sizes: Vec<(String, Vec<i64>)> = p
            .sizes
            .iter()
            .filter(|(n, _)| o.graph.dims.iter().any(|d| o.graph.vars.name(*d) == n))
            .map(|(n, v)| (n.clone(), vec![*v]))
            .collect();
        let at = points(&o.graph, &sizes).map_err(|e| Stop::Reply(Reply::usage(e)))?;
        let at = at.into_iter().next().unwrap_or_default();
        let theirs = stated.bind(&o.graph, &at.env)?;
        Arc::make_mut(&mut plan.job).against = Some(t.plan(&stated, o, &theirs, &at)?.job);
    }
    let how = Measure {
        warmup: args.warmup,
        groups: args.groups,
        runs: args.runs,
        cold: args.cold,
        graph: args.graph,
    };
    let answer = twins::run(&mut plan, Task::Measure(how), args.timeout).map_err(|e| {
        Stop::Reply(match e {
            NoRun::NoDevice(text) => Reply::lacks(text),
            NoRun::Failed(text) => Reply::refused(text),
        })
    })?;
    let times = answer.times.clone().unwrap_or_default();
    let target = s.target();
    let options = Options { no_advice: true, no_search: true, ..Options::default() };
    let analysis = analysis::analyze(&s.graph, &p.env, target.as_deref(), &options).ok();
    let hash = |i: &job::Image| (i.name.clone(), sha256(&i.data).into());
    let images = plan.job.images.iter().map(hash).collect();
    let said = (&answer.device, answer.resources.as_slice());
    Ok(Run { images, ..Run::new(args, p, said, times, analysis.as_ref()) })
}

impl Run {
    fn new(
        args: &Args,
        p: &Point,
        (device, kernels): (&DeviceInfo, &[Resources]),
        times: Times,
        analysis: Option<&Analysis>,
    ) -> Run {
        let time_ns = median(times.groups.clone());
        let (least_ns, most_ns) = spread(&times.groups);
        let form = if args.cold { "cold" } else { "warm" };
        let ns = |r: &Ratio| r.as_f64() / 1000.0;
        let roofline = analysis.and_then(|a| a.roofline.as_ref());
        let bound = |name: &str| {
            let of = |f: &str| roofline.and_then(|r| r.bound(name, f));
            of(form).or_else(|| of("cold"))
        };
        let placed = analysis.is_some_and(|a| !a.launches.is_empty());
        let predicted = analysis.and_then(|a| a.prediction.as_ref()).filter(|_| placed);
        let rows = bound("placed").filter(|_| placed).or_else(|| bound("device"));
        let achieved = rows.map_or(vec![], |b| {
            let rows = b.rows.iter().filter(|r| r.ps.is_some()).take(4);
            rows.map(|r| Achieved {
                resource: r.resource.clone(),
                amount: r.amount,
                rate: r.amount as f64 / time_ns * 1e9,
                of: r.rate.clone(),
            })
            .collect()
        });
        let ratio = times.against.as_ref().map(|other| {
            let each: Vec<f64> = times.groups.iter().zip(other).map(|(a, b)| a / b).collect();
            let (least, most) = spread(&each);
            [median(each), least, most]
        });
        Run {
            dims: p.sizes.iter().map(|(n, v)| (n.clone(), (*v).into())).collect(),
            consts: serde_json::Map::new(),
            cold: args.cold,
            images: serde_json::Map::new(),
            how: how(args, &times, device.l2_bytes),
            device: device.clone(),
            kernels: kernels.to_vec(),
            time_ns,
            least_ns,
            most_ns,
            ratio,
            device_ns: bound("device").and_then(|b| b.ps.as_ref()).map(ns),
            placed_ns: bound("placed").filter(|_| placed).and_then(|b| b.ps.as_ref()).map(ns),
            predicted_ns: predicted.map(|p| ns(if args.cold { &p.ps } else { &p.warm_ps })),
            achieved,
            times,
        }
    }

    fn text(&self, name: &str, against: Option<&str>) -> String {
        let sizes: Vec<String> = self.dims.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let at = if sizes.is_empty() { String::new() } else { format!(" at {}", sizes.join(", ")) };
        let mut out = format!("{name}{at} on {}\n", twins::device(&self.device));
        for k in &self.kernels {
            out += &twins::resources(k);
        }
        let show = |ns: f64| units::time(ns * 1000.0);
        out += &format!(
            "time       {}, {} .. {}: {}\n",
            show(self.time_ns),
            show(self.least_ns),
            show(self.most_ns),
            self.how
        );
        if let (Some([r, lo, hi]), Some(other)) = (self.ratio, against) {
            let theirs = median(self.times.against.clone().unwrap_or_default());
            out += &format!(
                "against    {} of {other}, interleaved: {r:.3} of its time, {lo:.3} .. {hi:.3}\n",
                show(theirs)
            );
        }
        if let Some(copy) = &self.times.copy {
            let copy = median(copy.clone());
            let bytes = self.times.copy_bytes;
            out += &format!(
                "copy       {} for a copy of the same {bytes} B, half read and half written: {}/s; \
                 this runs at {} of its rate\n",
                show(copy),
                units::count((bytes as f64 / copy * 1e9) as u128, "B"),
                units::percent(copy / self.time_ns)
            );
        }
        for (what, bound) in [
            ("device", self.device_ns),
            ("placed", self.placed_ns),
            ("predicted", self.predicted_ns),
        ] {
            let Some(b) = bound else { continue };
            out += &format!(
                "{what:10} {}: the measured time is {:.2} times it\n",
                show(b),
                self.time_ns / b
            );
        }
        for a in &self.achieved {
            // `4.8e12 B/s`
            let unit = a.of.split_whitespace().nth(1).and_then(|u| u.strip_suffix("/s"));
            let unit = unit.unwrap_or_default();
            out += &format!(
                "{:10} {} at {}/s, of {}\n",
                a.resource,
                units::count(a.amount, unit),
                units::count(a.rate as u128, unit),
                a.of
            );
        }
        out += &format!(
            "host       {} to start a run, {} for the bare calls of the driver\n",
            show(self.times.host),
            show(self.times.bare)
        );
        out
    }
}

fn spread(v: &[f64]) -> (f64, f64) {
    let least = v.iter().copied().fold(f64::INFINITY, f64::min);
    (least, v.iter().copied().fold(0.0, f64::max))
}

fn how(args: &Args, t: &Times, cache: u64) -> String {
    let sets = match (args.cold, t.sets) {
        (true, n) => {
            let bytes = units::bytes(u128::from(t.set_bytes));
            let kept =
                if t.set_bytes < 2 * cache { ", part of which the last cache keeps" } else { "" };
            format!("cold, {n} sets of buffers, {bytes}{kept}, in turn")
        }
        (false, _) => "hot, each run on the same buffers".into(),
    };
    let launches = if args.graph { "a graph replayed" } else { "launches in a stream" };
    format!("median of {} groups of {} runs; {sets}; {launches}", t.groups.len(), t.runs_per_group)
}

//! Twins as commands see them: chosen by name, bound to tensors, run on a device.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::check::given::{Lack, Stated, index};
use super::common::{Disk, Selected};
use super::progress::Bar;
use crate::check::inputs::{self, Bound};
use crate::diag::Diagnostic;
use crate::eval::{self, Progress, evaluate};
use crate::graph::{Graph, Param, ParamKind};
use crate::hir::ItemRef;
use crate::hir::load::Sources;
use crate::hir::steps::{self, Step, Steps};
use crate::hir::twins::kernel_decls;
use crate::session::{Point, Session};
use crate::twin::host::{self, Answer, Broken};
use crate::twin::image;
use crate::twin::job::{self, DeviceInfo, Fault, FaultKind, Resources, Task};
use crate::twin::plan::{Images, Plan, plan};
use crate::types::dim::{Env, VarId};
use crate::types::value::Tensor;

/// A twin's function, with the boundary that it implements.
pub struct Twin {
    pub session: Rc<Session>,
    pub twin: ItemRef,
    pub func: ItemRef,
    /// `Twin.func`
    pub name: String,
}

/// A device's word on a run.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceRun {
    pub device: DeviceInfo,
    pub launches: usize,
    pub kernels: Vec<Resources>,
    pub faults: Vec<Shown>,
}

/// A fault by the names of the program.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    pub buffer: String,
    pub kind: FaultKind,
    /// Of the first element at fault, where it is inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<Vec<usize>>,
    /// Bytes from the start of the buffer to the first byte at fault.
    pub byte: i64,
    pub elements: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub text: String,
}

/// Why a device gave no results.
pub enum NoRun {
    /// There is none here.
    NoDevice(String),
    /// A kernel failed.
    Failed(String),
}

impl Twin {
    /// Adds the images of the kernels that are started.
    fn images(&self, s: &Steps, out: &mut Images) -> Result<(), Lack> {
        let p = &self.session.program;
        for step in &s.steps {
            let Step::Launch(l) = step else { continue };
            if out.contains_key(&l.kernel) {
                continue;
            }
            let twin = ItemRef {
                file: l.kernel.file,
                module: None,
                item: l.kernel.module.unwrap_or(l.kernel.item),
            };
            let Some(k) = kernel_decls(p, twin).into_iter().find(|k| k.item == l.kernel) else {
                continue;
            };
            let shown = image::check::path(p, &Disk, &k);
            let data = Disk.read(&shown).map_err(|why| {
                Lack::File(format!("cannot read `{shown}`, the image of `{}`: {why}", k.name.text))
            })?;
            out.insert(l.kernel, (shown, Arc::new(data)));
        }
        Ok(())
    }

    /// What its function does at stated sizes.
    ///
    /// # Errors
    /// What is wrong with it at these sizes.
    pub fn steps(&self, point: &Point) -> Result<Steps, Lack> {
        steps::steps(&self.session.program, self.func, &point.env).map_err(Lack::Diagnostics)
    }

    /// The same from the size of a dim in `point` to a last one, where it is the same.
    ///
    /// # Errors
    /// As [`Twin::steps`]; also where the steps differ.
    pub fn steps_over(&self, point: &Point, over: Option<(VarId, i64)>) -> Result<Steps, Lack> {
        let first = |(dim, last)| point.env.get(dim).filter(|n| *n < last).map(|n| (dim, n, last));
        let Some(over) = over.and_then(first) else { return self.steps(point) };
        let found = steps::steps_over(&self.session.program, self.func, &point.env, over);
        found.map_err(Lack::Diagnostics)
    }

    /// The job at stated sizes, on the tensors of the module's parameters.
    ///
    /// # Errors
    /// What is wrong with the twin at these sizes, images and weights that are missing.
    pub fn plan(
        &self,
        stated: &Stated,
        module: &Selected,
        bound: &Bound,
        point: &Point,
    ) -> Result<Plan, Lack> {
        let s = self.steps(point)?;
        let params =
            self.params(&s, &Given { stated, graph: &module.graph, bound, env: &point.env })?;
        self.job(&s, &params, &mut Images::new(), point)
    }

    /// A tensor for each parameter of the steps; what is prepared is computed.
    ///
    /// # Errors
    /// Weights that are missing.
    pub fn params(&self, s: &Steps, given: &Given) -> Result<Vec<Tensor>, Lack> {
        let one = |d: Box<Diagnostic>| Lack::Diagnostics(vec![*d]);
        let mut out = vec![];
        for q in &s.graph.params {
            let Some(x) = s.prepared.iter().find(|x| x.value == q.value) else {
                out.push(given.tensor(&s.graph, q)?);
                continue;
            };
            let weights = x.graph.params.iter().map(|w| given.tensor(&x.graph, w));
            let weights = weights.collect::<Result<Vec<_>, _>>()?;
            let options = eval::Options::default();
            let found = evaluate(&x.graph, given.env, &weights, &options).map_err(one)?.outputs;
            let empty = || Tensor::zeros(x.graph.ty(q.value).dtype, vec![]);
            out.push(found.into_iter().next().unwrap_or_else(empty));
        }
        Ok(out)
    }

    /// The job of steps; without `params` its buffers have no data. `images` keeps what was read.
    ///
    /// # Errors
    /// What is wrong with the twin at these sizes, images that are missing.
    pub fn job(
        &self,
        s: &Steps,
        params: &[Tensor],
        images: &mut Images,
        point: &Point,
    ) -> Result<Plan, Lack> {
        self.images(s, images)?;
        plan(&self.session.program, s, &point.env, params, images).map_err(Lack::Diagnostics)
    }
}

/// Where the tensors of a twin's parameters come from.
pub struct Given<'a> {
    pub stated: &'a Stated,
    /// The module's, with a tensor for each of its parameters.
    pub graph: &'a Graph,
    pub bound: &'a Bound,
    pub env: &'a Env,
}

impl Given<'_> {
    /// A parameter is that of the module with the same name; a weight may be the twin's alone.
    fn tensor(&self, g: &Graph, q: &Param) -> Result<Tensor, Lack> {
        let weight = |k: &ParamKind| matches!(k, ParamKind::Weight { .. });
        let own = self.graph.params.iter().zip(&self.bound.tensors);
        let same =
            own.into_iter().find(|(m, _)| m.name == q.name && weight(&m.kind) == weight(&q.kind));
        if let Some((_, t)) = same {
            return Ok(t.clone());
        }
        let wanted = inputs::wanted(g, self.env).map_err(|d| Lack::Diagnostics(vec![*d]))?;
        let mut w = wanted.into_iter().filter(|w| w.name == q.name);
        let one = w.next().map(|w| self.stated.weights_of(std::slice::from_ref(&w)));
        let found = one.transpose()?.and_then(|b| b.tensors.into_iter().next());
        found.ok_or_else(|| Lack::Usage(format!("nothing gives `{}`", q.name)))
    }
}

/// Runs a plan on the device of this machine.
///
/// # Errors
/// No device, or kernels that fail: the text names the launch and its arguments.
pub fn run(plan: &mut Plan, task: Task, silent: u64) -> Result<Answer, NoRun> {
    let bar = Bar::new();
    Arc::make_mut(&mut plan.job).task = task;
    let plan = &*plan;
    let total = plan.job.steps.len() as u64;
    let hear = |what: &str| bar.step(0, total, what);
    host::run(&plan.job, Duration::from_secs(silent), &hear).map_err(|b| match b {
        Broken::NoDevice(why) | Broken::NoProcess(why) => {
            NoRun::NoDevice(format!("{why}\n{}", checked(plan)))
        }
        Broken::Failed { doing, why } => NoRun::Failed(failure(plan, &doing, &why)),
    })
}

/// What was looked at without a device.
pub fn checked(plan: &Plan) -> String {
    let job = &plan.job;
    let launches = job.steps.iter().filter(|s| matches!(s, job::Step::Launch(_))).count();
    let bytes: usize = job.buffers.iter().map(|b| b.bytes).sum();
    format!(
        "what needs no device holds: {} of {} and {} on {} ({bytes} B); run this on a machine with \
         the device",
        count(launches, "launch", "launches"),
        count(job.kernels.len(), "kernel", "kernels"),
        count(job.images.len(), "image", "images"),
        count(job.buffers.len(), "buffer", "buffers"),
    )
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A launch that failed, with its arguments.
fn failure(plan: &Plan, doing: &str, why: &str) -> String {
    let mut out = format!("FAIL {doing}: {why}\n");
    let launch = plan.job.steps.iter().find_map(|s| match s {
        job::Step::Launch(l) if l.shown == doing => Some(l),
        _ => None,
    });
    let Some(l) = launch else { return out };
    let cluster = l.cluster.map_or(String::new(), |c| format!(", cluster {c:?}"));
    let cooperative = if l.cooperative { ", cooperative" } else { "" };
    out += &format!(
        "  grid {:?}, block {:?}, {} B of dynamic shared memory{cluster}{cooperative}\n",
        l.grid, l.block, l.shared
    );
    let name = |b: &usize| plan.job.buffers.get(*b).map_or("?", |b| b.name.as_str());
    for (i, a) in l.args.iter().enumerate() {
        out += &match a {
            job::Arg::Address { buffer, offset } => {
                format!("  argument {i}: `{}` at byte {offset}\n", name(buffer))
            }
            job::Arg::Map { buffer, map, .. } => format!(
                "  argument {i}: a tensor map of `{}`, {}{:?}, box {:?}, swizzle {}\n",
                name(buffer),
                map.dtype,
                map.extents,
                map.tile,
                map.swizzle
            ),
            job::Arg::Bytes(b) => format!("  argument {i}: {}\n", scalar(b)),
        };
    }
    out
}

/// Four bytes may be an integer or a float; both are shown where both make sense.
fn scalar(b: &[u8]) -> String {
    match *b {
        [a, b, c, d] => {
            let n = u32::from_le_bytes([a, b, c, d]);
            let x = f32::from_bits(n);
            if x.is_normal() && x.abs() > 1e-6 && x.abs() < 1e9 {
                format!("{x:?} or {n}")
            } else {
                n.to_string()
            }
        }
        _ => {
            let mut w = [0u8; 8];
            for (to, from) in w.iter_mut().zip(b) {
                *to = *from;
            }
            i64::from_le_bytes(w).to_string()
        }
    }
}

impl DeviceRun {
    pub fn new(plan: &Plan, answer: &Answer) -> DeviceRun {
        let steps = plan.job.steps.iter();
        DeviceRun {
            device: answer.device.clone(),
            launches: steps.filter(|s| matches!(s, job::Step::Launch(_))).count(),
            kernels: answer.resources.clone(),
            faults: answer.faults.iter().map(|f| shown(plan, f)).collect(),
        }
    }

    pub fn text(&self) -> String {
        let mut out = format!("device {}\n", device(&self.device));
        for k in &self.kernels {
            out += &resources(k);
        }
        for f in &self.faults {
            out += &format!("FAIL {}\n", f.text);
        }
        out
    }
}

/// `NVIDIA H200, sm_90, 132 SMs, driver for CUDA 13.0`
pub fn device(d: &DeviceInfo) -> String {
    let (a, b) = d.capability;
    let (major, minor) = (d.driver / 1000, d.driver % 1000 / 10);
    format!("{}, sm_{a}{b}, {} SMs, driver for CUDA {major}.{minor}", d.name, d.multiprocessors)
}

/// One line of what a kernel takes.
pub fn resources(k: &Resources) -> String {
    let clusters = k.clusters.map_or(String::new(), |c| format!(", {c} clusters on the device"));
    let spills = if k.local > 0 {
        format!(", {} B of local memory a thread (spills or arrays)", k.local)
    } else {
        String::new()
    };
    format!(
        "kernel {}: {} registers{spills}, {} + {} B shared, {} threads, {} resident on an SM{clusters}\n",
        k.kernel, k.registers, k.static_shared, k.dynamic_shared, k.threads, k.resident
    )
}

fn shown(plan: &Plan, f: &Fault) -> Shown {
    let job = plan.job.buffers.get(f.buffer);
    let ty = plan.types.get(f.buffer);
    // a result is named as the module names it
    let byte = u64::try_from(f.first).ok();
    let output = plan.outputs.iter().find(|o| {
        let inside = byte.is_some_and(|b| (o.offset..o.offset + o.bytes()).contains(&b));
        o.buffer == f.buffer && inside
    });
    let buffer = match (output, job) {
        (Some(o), _) if f.kind != FaultKind::Outside => o.name.clone(),
        (_, Some(b)) => b.name.clone(),
        _ => "?".into(),
    };
    let (width, bytes) = job.map_or((1, 0), |b| (b.width.max(1), b.bytes));
    let inside = usize::try_from(f.first).ok().filter(|i| *i < bytes);
    let index = match (inside, output) {
        (Some(i), Some(o)) if f.kind != FaultKind::Outside => {
            let start = usize::try_from(o.offset).unwrap_or(0);
            Some(index(i.saturating_sub(start) / width, &o.shape))
        }
        (i, _) => i.zip(ty).map(|(i, t)| index(i / width, &t.shape)),
    };
    let elements = f.count.div_ceil(width as u64);
    let many = |what: &str| match elements {
        1 => format!("1 element {what}"),
        n => format!("{n} elements {what}"),
    };
    let first = index.as_ref().map_or(String::new(), |i| format!(", first {i:?}"));
    let what = match f.kind {
        FaultKind::Unwritten => {
            format!("{} never written{first}", many(if elements == 1 { "was" } else { "were" }))
        }
        FaultKind::Changed => format!(
            "it is only read, and {} changed{first}",
            many(if elements == 1 { "was" } else { "were" })
        ),
        FaultKind::Race => {
            let s = if elements == 1 { "" } else { "s" };
            format!("a race: runs on the same inputs differ in {elements} element{s}{first}")
        }
        FaultKind::Stale => format!(
            "{} on what memory held before the run{first}: something is read that nothing wrote",
            many(if elements == 1 { "depends" } else { "depend" })
        ),
        FaultKind::Outside if f.first < 0 => {
            format!("{} B were written outside, the first {} B before its start", f.count, -f.first)
        }
        FaultKind::Outside => {
            let past = f.first - bytes as i64;
            let element = f.first as u64 / width as u64;
            let n = bytes as u64 / width as u64;
            format!(
                "{} B were written outside, the first {past} B past its end: element {element} of {n}",
                f.count
            )
        }
    };
    let after = f.after.as_ref().map_or(String::new(), |a| format!(" ({a})"));
    let text = format!("`{buffer}`: {what}{after}");
    let after = f.after.clone();
    Shown { buffer, kind: f.kind, index, byte: f.first, elements, after, text }
}

/// The results by the names of the module.
pub fn results(plan: &Plan, answer: &Answer) -> Vec<(String, Tensor)> {
    let bytes = |n: usize| answer.results.iter().find(|(b, _)| *b == n).map(|(_, d)| d.as_slice());
    let one = |o: &crate::twin::plan::Place| Some((o.name.clone(), o.tensor(bytes(o.buffer)?)?));
    plan.outputs.iter().filter_map(one).collect()
}

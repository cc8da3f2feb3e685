//! The process that drives a device: one job in, words out.
//!
//! It ends with its job, or with the device: what a kernel breaks, breaks here.

use std::io::{BufRead, Write};
use std::time::Instant;

use super::device::{self, Device, DeviceError, MapOf, Ready};
use super::faults::{FENCE, FENCE_BYTES, POISON, differing, outside, unwritten};
use super::job::{
    Arg, DeviceInfo, Fault, FaultKind, Job, Measure, Resources, Role, Step, Task, Times, Word,
};
use crate::types::dtype::DType;

/// Reads a job, does it, and says what came of it.
///
/// # Errors
/// A parent that went away.
pub fn work(input: &mut impl BufRead, out: &mut impl Write) -> std::io::Result<()> {
    let job = match Job::read(input) {
        Ok(j) => j,
        Err(e) => {
            let why = e.to_string();
            return Word::Failed { doing: "reading the job".into(), why }.write(out);
        }
    };
    let device = match Device::open() {
        Ok(d) => d,
        Err(e) => return Word::NoDriver(e.to_string()).write(out),
    };
    let mut w = Worker { device, out, doing: "asking about the device".into() };
    match w.run(&job) {
        Ok(()) => Word::Done.write(w.out),
        Err(Stop::Gone(e)) => Err(e),
        Err(Stop::Device(e)) => {
            Word::Failed { doing: w.doing.clone(), why: e.to_string() }.write(w.out)
        }
    }
}

enum Stop {
    Device(DeviceError),
    Gone(std::io::Error),
}

impl From<DeviceError> for Stop {
    fn from(e: DeviceError) -> Stop {
        Stop::Device(e)
    }
}

impl From<std::io::Error> for Stop {
    fn from(e: std::io::Error) -> Stop {
        Stop::Gone(e)
    }
}

/// Memory of one buffer with a fence on each side.
struct Fenced {
    memory: device::Buffer,
    bytes: usize,
}

/// Where data start in fenced memory; addresses stay aligned to 512 bytes and more.
const START: usize = FENCE_BYTES;

/// Buffers with everything that is started on them.
struct Bound {
    buffers: Vec<Fenced>,
    /// One for each step; fills have none.
    ready: Vec<Option<Ready>>,
}

struct Worker<'o, W: Write> {
    device: Device,
    out: &'o mut W,
    doing: String,
}

impl<W: Write> Worker<'_, W> {
    fn doing(&mut self, what: impl Into<String>) -> Result<(), Stop> {
        self.doing = what.into();
        Ok(Word::Doing(self.doing.clone()).write(self.out)?)
    }

    fn run(&mut self, job: &Job) -> Result<(), Stop> {
        self.device_info()?;
        let kernels = self.load(job)?;
        let other = match job.against.as_deref() {
            Some(o) => Some((o, self.load(o)?)),
            None => None,
        };
        self.doing("taking memory")?;
        let bound = self.bind(job, &kernels)?;
        self.resources(job, &kernels, &bound)?;
        match &job.task {
            Task::Load => Ok(()),
            Task::Check { repeat } => self.check(job, &bound, *repeat),
            Task::Measure(m) => {
                drop(bound);
                let other = other.as_ref().map(|(o, k)| (*o, k.as_slice()));
                self.measure((job, &kernels), other, m)
            }
        }
    }

    fn device_info(&mut self) -> Result<(), Stop> {
        let d = &self.device;
        let (clock_khz, memory_clock_khz) = d.clocks_khz()?;
        let info = DeviceInfo {
            name: d.name()?,
            capability: d.capability()?,
            multiprocessors: d.multiprocessors()?,
            driver: d.driver_version()?,
            clock_khz,
            memory_clock_khz,
            l2_bytes: u64::from(d.l2_bytes()?),
        };
        Ok(Word::Device(info).write(self.out)?)
    }

    fn load(&mut self, job: &Job) -> Result<Vec<device::Kernel>, Stop> {
        let mut modules = vec![];
        for i in &job.images {
            self.doing(format!("loading `{}`", i.name))?;
            modules.push(self.device.load(&i.name, &i.data)?);
        }
        let mut out = vec![];
        for k in &job.kernels {
            self.doing(format!("finding `{}`", k.entry))?;
            let module = modules.get(k.image).ok_or_else(|| broken("a kernel names no image"))?;
            out.push(self.device.kernel(module, &k.entry)?);
        }
        Ok(out)
    }

    /// Takes memory for all buffers, with the data of those that are given.
    fn bind(&mut self, job: &Job, kernels: &[device::Kernel]) -> Result<Bound, Stop> {
        let mut buffers = vec![];
        for b in &job.buffers {
            let memory = self.device.zeros(b.bytes + 2 * START)?;
            self.device.fill(&memory, 0, START, &[FENCE])?;
            self.device.fill(&memory, START + b.bytes, START, &[FENCE])?;
            self.device.write(&memory, START, &b.data)?;
            buffers.push(Fenced { memory, bytes: b.bytes });
        }
        let mut ready = vec![];
        for s in &job.steps {
            let Step::Launch(l) = s else {
                ready.push(None);
                continue;
            };
            self.doing = l.shown.clone();
            let k = kernels.get(l.kernel).ok_or_else(|| broken("a launch names no kernel"))?;
            let mut maps = vec![];
            for a in &l.args {
                if let Arg::Map { buffer, offset, map } = a {
                    let dtype = DType::parse(&map.dtype).ok_or_else(|| broken("no dtype"))?;
                    let address = address(&buffers, *buffer, *offset)?;
                    maps.push(self.device.tensor_map(&MapOf {
                        address,
                        dtype,
                        extents: &map.extents,
                        tile: &map.tile,
                        swizzle: map.swizzle,
                    })?);
                }
            }
            let mut map = maps.iter();
            let mut args = vec![];
            for a in &l.args {
                args.push(match a {
                    Arg::Address { buffer, offset } => {
                        device::Arg::Address(address(&buffers, *buffer, *offset)?)
                    }
                    Arg::Bytes(b) => device::Arg::Scalar(b),
                    Arg::Map { .. } => {
                        device::Arg::Map(map.next().ok_or_else(|| broken("no map"))?)
                    }
                });
            }
            let at = device::Launch {
                grid: l.grid,
                block: l.block,
                cluster: l.cluster,
                shared: l.shared,
                cooperative: l.cooperative,
            };
            ready.push(Some(self.device.ready(k, at, &args)?));
        }
        Ok(Bound { buffers, ready })
    }

    fn resources(&mut self, job: &Job, kernels: &[device::Kernel], b: &Bound) -> Result<(), Stop> {
        let mut all: Vec<Resources> = vec![];
        for (s, r) in job.steps.iter().zip(&b.ready) {
            let (Step::Launch(l), Some(r)) = (s, r) else { continue };
            let Some((k, decl)) = kernels.get(l.kernel).zip(job.kernels.get(l.kernel)) else {
                continue;
            };
            self.doing = format!("asking about `{}`", decl.name);
            let a = self.device.attributes(k)?;
            let (resident, clusters) = self.device.resident(r)?;
            let found = Resources {
                kernel: decl.name.clone(),
                registers: a.registers,
                local: a.local,
                static_shared: a.static_shared,
                dynamic_shared: l.shared,
                threads: l.block.iter().product(),
                resident,
                clusters,
                binary: a.binary,
            };
            if !all.contains(&found) {
                all.push(found);
            }
        }
        Ok(Word::Resources(all).write(self.out)?)
    }

    fn step(&self, job: &Job, b: &Bound, i: usize) -> Result<(), Stop> {
        match (job.steps.get(i), b.ready.get(i)) {
            (Some(Step::Fill { buffer, pattern }), _) => {
                let to = b.buffers.get(*buffer).ok_or_else(|| broken("a fill of no buffer"))?;
                self.device.fill(&to.memory, START, to.bytes, pattern)?;
            }
            (_, Some(Some(r))) => self.device.start(r)?,
            _ => {}
        }
        Ok(())
    }

    /// All steps, none waited for.
    fn start(&self, job: &Job, b: &Bound) -> Result<(), Stop> {
        (0..job.steps.len()).try_for_each(|i| self.step(job, b, i))
    }

    // ---- check

    /// One run: its results, and its faults.
    fn once(
        &mut self,
        job: &Job,
        b: &Bound,
        poison: u8,
    ) -> Result<(Vec<Vec<u8>>, Vec<Fault>), Stop> {
        for (spec, f) in job.buffers.iter().zip(&b.buffers) {
            self.device.fill(&f.memory, 0, START, &[FENCE])?;
            self.device.fill(&f.memory, START + f.bytes, START, &[FENCE])?;
            match spec.role {
                Role::Out => self.device.fill(&f.memory, START, f.bytes, &[poison])?,
                Role::Inout => self.device.write(&f.memory, START, &spec.data)?,
                // held against its data after each run, which puts it right
                Role::In => {}
            }
        }
        let mut faults: Vec<Fault> = vec![];
        for (i, s) in job.steps.iter().enumerate() {
            let shown = match s {
                Step::Launch(l) => l.shown.clone(),
                Step::Fill { .. } => "a fill".into(),
            };
            self.doing(shown.clone())?;
            self.step(job, b, i)?;
            self.device.wait()?;
            for (n, f) in b.buffers.iter().enumerate() {
                let before = self.device.read(&f.memory, 0, START)?;
                let after = self.device.read(&f.memory, START + f.bytes, START)?;
                for mut x in outside(n, &before, &after, f.bytes) {
                    if !faults.iter().any(|y| y.buffer == n && y.first == x.first) {
                        x.after = Some(shown.clone());
                        faults.push(x);
                    }
                }
            }
        }
        self.doing("reading what the kernels wrote")?;
        let mut results = vec![];
        for (n, (spec, f)) in job.buffers.iter().zip(&b.buffers).enumerate() {
            if spec.role == Role::In {
                let now = self.device.read(&f.memory, START, f.bytes)?;
                if let Some((at, count)) = differing(&now, &spec.data) {
                    let kind = FaultKind::Changed;
                    faults.push(Fault { buffer: n, kind, first: at as i64, count, after: None });
                    self.device.write(&f.memory, START, &spec.data)?;
                }
            }
            results.push(if spec.result {
                self.device.read(&f.memory, START, f.bytes)?
            } else {
                vec![]
            });
        }
        Ok((results, faults))
    }

    fn check(&mut self, job: &Job, b: &Bound, repeat: u32) -> Result<(), Stop> {
        let (first, mut faults) = self.once(job, b, POISON[0])?;
        let (second, _) = self.once(job, b, POISON[1])?;
        let mut moved = first != second;
        for (n, (x, y)) in first.iter().zip(&second).enumerate() {
            let Some(spec) = job.buffers.get(n).filter(|s| s.result && s.role == Role::Out) else {
                continue;
            };
            if let Some((at, count)) = unwritten(x, y, spec.width) {
                let kind = FaultKind::Unwritten;
                faults.push(Fault { buffer: n, kind, first: at as i64, count, after: None });
            }
        }
        let mut races = vec![];
        // where two poisons differ, a third run tells a race from what was never written
        let more = repeat.max(u32::from(moved));
        for _ in 0..more {
            let (again, _) = self.once(job, b, POISON[0])?;
            for (n, (x, y)) in first.iter().zip(&again).enumerate() {
                if let Some((at, count)) = differing(x, y)
                    && !races.iter().any(|f: &Fault| f.buffer == n)
                {
                    let kind = FaultKind::Race;
                    races.push(Fault { buffer: n, kind, first: at as i64, count, after: None });
                }
            }
        }
        moved &= races.is_empty();
        faults.extend(races);
        if moved {
            for (n, (x, y)) in first.iter().zip(&second).enumerate() {
                let stale = x.iter().zip(y).enumerate().filter(|(i, (a, b))| {
                    a != b && !left(x, y, *i, job.buffers.get(n).map_or(1, |s| s.width))
                });
                let at: Vec<usize> = stale.map(|(i, _)| i).collect();
                if let Some(i) = at.first() {
                    let kind = FaultKind::Stale;
                    let (first, count) = (*i as i64, at.len() as u64);
                    faults.push(Fault { buffer: n, kind, first, count, after: None });
                }
            }
        }
        Word::Faults(faults).write(self.out)?;
        for (n, bytes) in first.iter().enumerate() {
            if job.buffers.get(n).is_some_and(|b| b.result) {
                Word::Result { buffer: n, bytes: bytes.len() }.write(self.out)?;
                self.out.write_all(bytes)?;
            }
        }
        Ok(self.out.flush()?)
    }

    // ---- measure

    /// Sets of buffers, of which each run of a cold measurement takes the next.
    fn sets(
        &mut self,
        job: &Job,
        kernels: &[device::Kernel],
        cold: bool,
    ) -> Result<Vec<Bound>, Stop> {
        let bytes: usize = job.buffers.iter().map(|b| b.bytes + 2 * START).sum();
        let l2 = self.device.l2_bytes()? as usize;
        let n = if cold { (3 * l2).div_ceil(bytes.max(1)).max(2) } else { 1 };
        let room = self.device.free_bytes()? / 2;
        let n = n.min((room / bytes.max(1)).max(1)).min(512);
        (0..n).map(|_| self.bind(job, kernels)).collect()
    }

    fn measure(
        &mut self,
        (job, kernels): (&Job, &[device::Kernel]),
        other: Option<(&Job, &[device::Kernel])>,
        m: &Measure,
    ) -> Result<(), Stop> {
        self.doing("taking memory")?;
        let mine = Side { job, sets: self.sets(job, kernels, m.cold)? };
        let theirs = match other {
            Some((o, k)) => Some(Side { job: o, sets: self.sets(o, k, m.cold)? }),
            None => None,
        };
        self.doing("warming up")?;
        let mut t = Times { sets: mine.sets.len() as u32, ..Times::default() };
        let runs = self.warm(&mine, m)?;
        t.runs_per_group = runs;
        let their_runs = match &theirs {
            Some(s) => self.warm(s, m)?,
            None => 0,
        };
        let copies = self.copies(job, m.cold)?;
        t.copy_bytes = 2 * copies.bytes as u64;
        let replay = |s: &Side, n: u32| -> Result<Option<device::Replay>, Stop> {
            m.graph.then(|| self.graph(s, n)).transpose()
        };
        let graphs = (replay(&mine, runs)?, theirs.as_ref().map(|s| replay(s, their_runs)));
        let (own, their_graph) = (graphs.0, graphs.1.transpose()?.flatten());
        let mut against = vec![];
        let mut copy = vec![];
        for g in 0..m.groups {
            self.doing(format!("group {} of {}", g + 1, m.groups))?;
            t.groups.push(self.group(&mine, own.as_ref(), runs)?);
            if let Some(s) = &theirs {
                against.push(self.group(s, their_graph.as_ref(), their_runs)?);
            }
            copy.push(self.copy_group(&copies)?);
        }
        t.against = theirs.is_some().then_some(against);
        t.copy = (copies.bytes > 0).then_some(copy);
        (t.host, t.bare) = self.host(&mine)?;
        Ok(Word::Times(t).write(self.out)?)
    }

    /// Warms up, and tells how many runs a group has: as many as were asked for, unless they take
    /// longer than a tenth of a second.
    fn warm(&mut self, s: &Side, m: &Measure) -> Result<u32, Stop> {
        let n = m.warmup.max(1);
        let ns = self.timed(|w| w.runs(s, n))?;
        let ns = ns.min(self.timed(|w| w.runs(s, n))?);
        let most = 1e8 / (ns / f64::from(n)).max(1.0);
        Ok(m.runs.min(most as u32).max(1))
    }

    fn runs(&self, s: &Side, n: u32) -> Result<(), Stop> {
        (0..n).try_for_each(|i| {
            let set = s.sets.get(i as usize % s.sets.len().max(1));
            set.map_or(Ok(()), |b| self.start(s.job, b))
        })
    }

    /// Nanoseconds of one run.
    fn group(&self, s: &Side, graph: Option<&device::Replay>, runs: u32) -> Result<f64, Stop> {
        let ns = match graph {
            Some(g) => self.timed(|w| Ok(w.device.replay(g)?))?,
            None => self.timed(|w| w.runs(s, runs))?,
        };
        Ok(ns / f64::from(runs))
    }

    /// Nanoseconds on the device.
    fn timed(&self, work: impl FnOnce(&Self) -> Result<(), Stop>) -> Result<f64, Stop> {
        let mut stop = None;
        let ns = self.device.time(|| match work(self) {
            Err(Stop::Device(e)) => Err(e),
            Err(other) => {
                stop = Some(other);
                Ok(())
            }
            Ok(()) => Ok(()),
        })?;
        stop.map_or(Ok(ns), Err)
    }

    fn graph(&self, s: &Side, runs: u32) -> Result<device::Replay, Stop> {
        let g = self.device.capture(|| match self.runs(s, runs) {
            Err(Stop::Device(e)) => Err(e),
            _ => Ok(()),
        })?;
        // the first replay uploads it
        self.device.replay(&g)?;
        self.device.wait()?;
        Ok(g)
    }

    /// Pairs of buffers for a copy of half the bytes that the job's buffers have.
    fn copies(&mut self, job: &Job, cold: bool) -> Result<Copies, Stop> {
        let total: usize = job.buffers.iter().map(|b| b.bytes).sum();
        let bytes = total / 2;
        let l2 = self.device.l2_bytes()? as usize;
        let room = self.device.free_bytes()? / 2;
        let n = if cold { (3 * l2).div_ceil(total.max(1)).max(2) } else { 1 };
        let n = n.min(room / total.max(1)).min(512);
        let mut pairs = vec![];
        for _ in 0..n {
            pairs.push((self.device.zeros(bytes)?, self.device.zeros(bytes)?));
        }
        let bytes = if pairs.is_empty() { 0 } else { bytes };
        let mut c = Copies { bytes, pairs, runs: 1 };
        if bytes > 0 {
            let ns = self.copy_group(&c)?.min(self.copy_group(&c)?);
            c.runs = ((2e7 / ns.max(1.0)) as usize).clamp(1, 100).max(c.pairs.len());
        }
        Ok(c)
    }

    fn copy_group(&self, c: &Copies) -> Result<f64, Stop> {
        if c.bytes == 0 {
            return Ok(0.0);
        }
        let ns = self.timed(|w| {
            for (a, b) in c.pairs.iter().cycle().take(c.runs) {
                w.device.copy(a, b, c.bytes)?;
            }
            Ok(())
        })?;
        Ok(ns / c.runs as f64)
    }

    /// Nanoseconds that the host takes for a run, and for its bare calls of the driver alone. So
    /// few are started at a time that none waits for room in the stream.
    fn host(&mut self, s: &Side) -> Result<(f64, f64), Stop> {
        const AT_ONCE: u32 = 20;
        let Some(b) = s.sets.first() else { return Ok((0.0, 0.0)) };
        let (mut run, mut bare) = (vec![], vec![]);
        for _ in 0..50 {
            let t = Instant::now();
            (0..AT_ONCE).try_for_each(|_| self.start(s.job, b))?;
            run.push(t.elapsed().as_nanos() as f64 / f64::from(AT_ONCE));
            self.device.wait()?;
            let launches: Vec<&Ready> = b.ready.iter().flatten().collect();
            let t = Instant::now();
            for _ in 0..AT_ONCE {
                launches.iter().try_for_each(|r| self.device.start(r))?;
            }
            bare.push(t.elapsed().as_nanos() as f64 / f64::from(AT_ONCE));
            self.device.wait()?;
        }
        Ok((super::median(run), super::median(bare)))
    }
}

struct Side<'j> {
    job: &'j Job,
    sets: Vec<Bound>,
}

struct Copies {
    bytes: usize,
    pairs: Vec<(device::Buffer, device::Buffer)>,
    runs: usize,
}

fn broken(why: &str) -> Stop {
    let (what, why) = ("reading the job".into(), why.into());
    Stop::Device(DeviceError::Failed { what, why })
}

fn address(buffers: &[Fenced], buffer: usize, offset: u64) -> Result<u64, Stop> {
    let b = buffers.get(buffer).ok_or_else(|| broken("an argument names no buffer"))?;
    Ok(b.memory.address() + START as u64 + offset)
}

/// Whether the element that byte `i` is of was written in neither run.
fn left(first: &[u8], second: &[u8], i: usize, width: usize) -> bool {
    let at = i / width.max(1) * width.max(1);
    let end = (at + width.max(1)).min(first.len());
    let (a, b) = (first.get(at..end), second.get(at..end));
    a.zip(b).is_some_and(|(a, b)| unwritten(a, b, width).is_some())
}

//! The process that drives a device: one job in, words out.
//!
//! It ends with its job, or with the device: what a kernel breaks, breaks here.

use std::io::{BufRead, Write};
use std::time::Instant;

use super::device::{self, Device, DeviceError, MapOf, Ready};
use super::faults::{FENCE, FENCE_BYTES, POISON, differing, outside, unwritten};
use super::job::{
    self, Arg, DeviceInfo, Fault, FaultKind, Job, Measure, Resources, Role, Step, Task, Times, Word,
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

/// Bytes that no device has.
const MOST_BYTES: usize = 1 << 46;

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
            if b.bytes > MOST_BYTES {
                return Err(broken("a buffer is larger than any memory"));
            }
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
            self.doing = l.shown.clone();
            let a = self.device.attributes(k)?;
            let (resident, clusters) = self.device.resident(r)?;
            let found = Resources {
                kernel: decl.name.clone(),
                registers: a.registers,
                local: a.local,
                static_shared: a.static_shared,
                dynamic_shared: l.shared,
                threads: l.block.iter().fold(1, |n, x| n.saturating_mul(*x)),
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

    /// One run: its results, and its faults. With `kept`, what each launch only reads is looked at
    /// before and after it.
    fn once(
        &mut self,
        job: &Job,
        b: &Bound,
        poison: u8,
        kept: bool,
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
            let Step::Launch(l) = s else {
                self.step(job, b, i)?;
                continue;
            };
            self.doing(l.shown.clone())?;
            let before = if kept { self.read_only(job, b, l)? } else { vec![] };
            self.step(job, b, i)?;
            self.device.wait()?;
            for (n, was) in before {
                if let Some(f) = b.buffers.get(n) {
                    let now = self.device.read(&f.memory, START, f.bytes)?;
                    changed(&mut faults, n, &now, &was, Some(&l.shown));
                }
            }
            for n in l.writes.iter().chain(&l.reads) {
                self.fences(b, *n, Some(&l.shown), &mut faults)?;
            }
        }
        self.doing("reading what the kernels wrote")?;
        let mut results = vec![];
        for (n, (spec, f)) in job.buffers.iter().zip(&b.buffers).enumerate() {
            self.fences(b, n, None, &mut faults)?;
            if spec.role == Role::In {
                let now = self.device.read(&f.memory, START, f.bytes)?;
                if changed(&mut faults, n, &now, &spec.data, None) {
                    self.device.write(&f.memory, START, &spec.data)?;
                }
            }
            results.push(if spec.results.is_empty() {
                vec![]
            } else {
                self.device.read(&f.memory, START, f.bytes)?
            });
        }
        Ok((results, faults))
    }

    /// What lies in the buffers that a launch may only read, and that are no inputs: those are
    /// held against their data at the end.
    fn read_only(
        &self,
        job: &Job,
        b: &Bound,
        l: &job::Launch,
    ) -> Result<Vec<(usize, Vec<u8>)>, Stop> {
        let mut out = vec![];
        for n in &l.reads {
            let inner = job.buffers.get(*n).is_some_and(|s| s.role != Role::In);
            if let Some(f) = b.buffers.get(*n).filter(|f| inner && f.bytes <= READ_ONLY) {
                out.push((*n, self.device.read(&f.memory, START, f.bytes)?));
            }
        }
        Ok(out)
    }

    /// Whether the fences of a buffer hold.
    fn fences(
        &self,
        b: &Bound,
        n: usize,
        after: Option<&String>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), Stop> {
        let Some(f) = b.buffers.get(n) else { return Ok(()) };
        let before = self.device.read(&f.memory, 0, START)?;
        let behind = self.device.read(&f.memory, START + f.bytes, START)?;
        for mut x in outside(n, &before, &behind, f.bytes) {
            if !faults.iter().any(|y| (y.buffer, y.kind, y.first) == (n, x.kind, x.first)) {
                x.after = after.cloned();
                faults.push(x);
            }
        }
        Ok(())
    }

    fn check(&mut self, job: &Job, b: &Bound, repeat: u32) -> Result<(), Stop> {
        let (first, mut faults) = self.once(job, b, POISON[0], true)?;
        let (second, more) = self.once(job, b, POISON[1], false)?;
        add(&mut faults, more);
        let differ = |x: &[Vec<u8>], y: &[Vec<u8>], kind: FaultKind| -> Vec<Fault> {
            let mut out = vec![];
            for (n, (spec, (x, y))) in job.buffers.iter().zip(x.iter().zip(y)).enumerate() {
                let mut parts = spec.results.iter();
                out.extend(parts.find_map(|part| in_part(*part, (x, y), kind, spec.width)).map(
                    |(at, count)| Fault { buffer: n, kind, first: at as i64, count, after: None },
                ));
            }
            out
        };
        let poisoned = differ(&first, &second, FaultKind::Unwritten);
        // an updated buffer has data from the start
        let out = |f: &Fault| job.buffers.get(f.buffer).is_some_and(|b| b.role == Role::Out);
        faults.extend(poisoned.into_iter().filter(out));
        let moved = differ(&first, &second, FaultKind::Stale);
        let mut races: Vec<Fault> = vec![];
        // where two poisons differ, the same poisons again tell a race from what was never written
        let again = repeat.max(u32::from(!moved.is_empty()));
        for i in 0..again {
            let (third, more) = self.once(job, b, POISON[0], false)?;
            add(&mut faults, more);
            add(&mut races, differ(&first, &third, FaultKind::Race));
            if i == 0 && !moved.is_empty() {
                let (fourth, more) = self.once(job, b, POISON[1], false)?;
                add(&mut faults, more);
                add(&mut races, differ(&second, &fourth, FaultKind::Race));
            }
        }
        if races.is_empty() {
            faults.extend(moved);
        }
        faults.extend(races);
        Word::Faults(faults).write(self.out)?;
        for (n, bytes) in first.iter().enumerate() {
            if job.buffers.get(n).is_some_and(|b| !b.results.is_empty()) {
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
        // the fences are never touched
        let bytes: usize = job.buffers.iter().map(|b| b.bytes).sum();
        let taken = bytes + job.buffers.len() * 2 * START;
        let l2 = self.device.l2_bytes()? as usize;
        let n = if cold { (3 * l2).div_ceil(bytes.max(1)).max(2) } else { 1 };
        let room = self.device.free_bytes()? / 2;
        let n = n.min((room / taken.max(1)).max(1)).min(MOST_SETS);
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
        let own: usize = job.buffers.iter().map(|b| b.bytes).sum();
        let set_bytes = (own * mine.sets.len()) as u64;
        let mut t = Times { sets: mine.sets.len() as u32, set_bytes, ..Times::default() };
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
            for s in std::iter::once(&mine).chain(&theirs) {
                self.restore(s)?;
            }
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
        // a group goes through all sets, so that none is met again before the others
        let sets = u32::try_from(s.sets.len()).unwrap_or(u32::MAX);
        Ok(m.runs.min(most as u32).max(1).max(if m.cold { sets } else { 1 }))
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

    /// Buffers that runs update have their data again.
    fn restore(&self, s: &Side) -> Result<(), Stop> {
        for b in &s.sets {
            for (spec, f) in s.job.buffers.iter().zip(&b.buffers) {
                if spec.role == Role::Inout {
                    self.device.write(&f.memory, START, &spec.data)?;
                }
            }
        }
        Ok(())
    }

    /// Nanoseconds that the host takes for a run, and for the calls of the driver in it alone. So
    /// few are started at a time that none waits for room in the stream.
    fn host(&mut self, s: &Side) -> Result<(f64, f64), Stop> {
        const AT_ONCE: u32 = 20;
        const SECONDS: f64 = 0.2;
        self.doing("timing the host")?;
        let Some(b) = s.sets.first() else { return Ok((0.0, 0.0)) };
        let (mut run, mut bare) = (vec![], vec![]);
        let start = Instant::now();
        while run.is_empty() || (run.len() < 50 && start.elapsed().as_secs_f64() < SECONDS) {
            let n = if run.is_empty() { 1 } else { AT_ONCE };
            self.restore(s)?;
            let t = Instant::now();
            (0..n).try_for_each(|_| self.start(s.job, b))?;
            run.push(t.elapsed().as_nanos() as f64 / f64::from(n));
            self.device.wait()?;
            self.restore(s)?;
            let mut calls = 0.0;
            for _ in 0..n {
                for (i, r) in b.ready.iter().enumerate() {
                    let Some(r) = r else {
                        self.step(s.job, b, i)?;
                        continue;
                    };
                    let t = Instant::now();
                    self.device.start(r)?;
                    calls += t.elapsed().as_nanos() as f64;
                }
            }
            bare.push(calls / f64::from(n));
            self.device.wait()?;
        }
        Ok((super::median(run), super::median(bare)))
    }
}

/// Sets of buffers that a cold measurement takes at most.
const MOST_SETS: usize = 8192;

/// Bytes of a buffer that is looked at around each launch that only reads it.
const READ_ONLY: usize = 64 << 20;

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

/// The first byte of a result at fault in two runs of a buffer, and how many are.
fn in_part(
    (at, len): (usize, usize),
    (x, y): (&[u8], &[u8]),
    kind: FaultKind,
    width: usize,
) -> Option<(usize, u64)> {
    let range = at..at.checked_add(len)?;
    let (x, y) = x.get(range.clone()).zip(y.get(range))?;
    let (first, count) = match kind {
        FaultKind::Unwritten => unwritten(x, y, width)?,
        FaultKind::Stale => stale(x, y, width)?,
        _ => differing(x, y)?,
    };
    Some((at + first, count))
}

/// Bytes that differ in elements which a run wrote.
fn stale(first: &[u8], second: &[u8], width: usize) -> Option<(usize, u64)> {
    let width = width.max(1);
    let mut at = None;
    let mut count = 0;
    for (i, (a, b)) in first.chunks(width).zip(second.chunks(width)).enumerate() {
        if a != b && unwritten(a, b, width).is_none() {
            at.get_or_insert(i * width);
            count += a.len() as u64;
        }
    }
    at.map(|at| (at, count))
}

/// Adds faults that are not there yet; those of one buffer and kind are one.
fn add(faults: &mut Vec<Fault>, more: Vec<Fault>) {
    for f in more {
        if !faults.iter().any(|x| (x.buffer, x.kind) == (f.buffer, f.kind)) {
            faults.push(f);
        }
    }
}

/// A fault where a buffer that is only read is not what it was.
fn changed(
    faults: &mut Vec<Fault>,
    buffer: usize,
    now: &[u8],
    was: &[u8],
    after: Option<&String>,
) -> bool {
    let Some((at, count)) = differing(now, was) else { return false };
    let kind = FaultKind::Changed;
    faults.push(Fault { buffer, kind, first: at as i64, count, after: after.cloned() });
    true
}

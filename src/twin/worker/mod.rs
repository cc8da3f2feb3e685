//! The process that drives a device: one job in, words out.
//!
//! It ends with its job, or with the device: what a kernel breaks, breaks here.

mod live;
mod measure;

use std::io::{BufRead, Write};

use super::device::{self, Device, DeviceError, MapOf, Ready};
use super::faults::{FENCE, FENCE_BYTES, POISON, differing, outside, unwritten};
use super::job::{self, Arg, DeviceInfo, Fault, FaultKind, Job, Resources, Role, Step, Task, Word};
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
    let done = match &job.task {
        Task::Live => w.live(input),
        _ => w.run(&job),
    };
    match done {
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
#[derive(Default)]
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
            Task::Live => Ok(()),
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
        let modules = job.images.iter().map(|i| self.module(i)).collect::<Result<Vec<_>, _>>()?;
        job.kernels.iter().map(|k| self.kernel(&modules, k)).collect()
    }

    fn module(&mut self, i: &job::Image) -> Result<device::Module, Stop> {
        self.doing(format!("loading `{}`", i.name))?;
        Ok(self.device.load(&i.name, &i.data)?)
    }

    fn kernel(
        &mut self,
        modules: &[device::Module],
        k: &job::Kernel,
    ) -> Result<device::Kernel, Stop> {
        self.doing(format!("finding `{}`", k.entry))?;
        let module = modules.get(k.image).ok_or_else(|| broken("a kernel names no image"))?;
        Ok(self.device.kernel(module, &k.entry)?)
    }

    /// Takes memory for all buffers, with the data of those that are given.
    fn bind(&mut self, job: &Job, kernels: &[device::Kernel]) -> Result<Bound, Stop> {
        let mut b = Bound::default();
        for x in &job.buffers {
            let f = self.fenced(x)?;
            self.device.write(&f.memory, START, &x.data)?;
            b.buffers.push(f);
        }
        for s in &job.steps {
            let ready = self.ready(s, kernels, &b.buffers)?;
            b.ready.push(ready);
        }
        Ok(b)
    }

    /// Memory of a buffer between fences.
    fn fenced(&self, b: &job::Buffer) -> Result<Fenced, Stop> {
        if b.bytes > MOST_BYTES {
            return Err(broken("a buffer is larger than any memory"));
        }
        let memory = self.device.zeros(b.bytes + 2 * START)?;
        self.device.fill(&memory, 0, START, &[FENCE])?;
        self.device.fill(&memory, START + b.bytes, START, &[FENCE])?;
        Ok(Fenced { memory, bytes: b.bytes })
    }

    /// A step with its addresses; a fill needs none.
    fn ready(
        &mut self,
        step: &Step,
        kernels: &[device::Kernel],
        buffers: &[Fenced],
    ) -> Result<Option<Ready>, Stop> {
        let Step::Launch(l) = step else { return Ok(None) };
        self.doing.clone_from(&l.shown);
        let k = kernels.get(l.kernel).ok_or_else(|| broken("a launch names no kernel"))?;
        let mut maps = vec![];
        for a in &l.args {
            if let Arg::Map { buffer, offset, map } = a {
                let dtype = DType::parse(&map.dtype).ok_or_else(|| broken("no dtype"))?;
                let address = address(buffers, *buffer, *offset)?;
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
                    device::Arg::Address(address(buffers, *buffer, *offset)?)
                }
                Arg::Bytes(b) => device::Arg::Scalar(b),
                Arg::Map { .. } => device::Arg::Map(map.next().ok_or_else(|| broken("no map"))?),
            });
        }
        let at = device::Launch {
            grid: l.grid,
            block: l.block,
            cluster: l.cluster,
            shared: l.shared,
            cooperative: l.cooperative,
        };
        Ok(Some(self.device.ready(k, at, &args)?))
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
}

/// Bytes of a buffer that is looked at around each launch that only reads it.
const READ_ONLY: usize = 64 << 20;

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

//! A twin that runs step by step: its weights, caches and temporaries stay on the device.
//!
//! Each step has a job of its own, as its sizes are others. The process gets only what that job has
//! and those before it did not have, and gets it while the device still runs the step before.

use std::sync::Arc;
use std::time::Duration;

use super::host::{Answer, Broken, End, Message, Process};
use super::job::{
    Arg, Ask, Buffer, DeviceInfo, Fault, Job, Kernel, More, RUNNING, Role, Step, Task,
};
use crate::types::value::Tensor;

/// Gives the tensor of a parameter.
pub type Data<'a> = &'a dyn Fn(&str) -> Option<Tensor>;

/// The numbers by which a process knows a job's buffers, in the order of the job.
type Places = Vec<usize>;

/// What a process holds.
#[derive(Default)]
struct Held {
    images: Vec<String>,
    kernels: Vec<Kernel>,
    buffers: Vec<(String, usize)>,
    /// Buffers of parameters.
    params: Vec<usize>,
    /// Buffers that are written before they are read, in the order of the jobs.
    scratch: Vec<usize>,
    steps: Vec<Step>,
}

impl Held {
    /// What a job has that is not held.
    ///
    /// # Errors
    /// A parameter that has no tensor, or had another size before.
    fn more(&mut self, job: &Job, data: Data) -> Result<(More, Places), String> {
        let mut more = More { len: job.steps.len(), ..More::default() };
        let buffers = self.buffers(job, data, &mut more)?;
        let mut images = vec![];
        for i in &job.images {
            images.push(held(&mut self.images, i.name.clone(), || more.images.push(i.clone())));
        }
        let mut kernels = vec![];
        for k in &job.kernels {
            let image = at(&images, k.image)?;
            let k = Kernel { image, ..k.clone() };
            kernels.push(held(&mut self.kernels, k.clone(), || more.kernels.push(k)));
        }
        for (n, step) in job.steps.iter().enumerate() {
            let step = renumbered(step, &kernels, &buffers)?;
            match self.steps.get_mut(n) {
                Some(s) if *s == step => continue,
                Some(s) => s.clone_from(&step),
                None => self.steps.push(step.clone()),
            }
            more.steps.push((n, step));
        }
        self.steps.truncate(more.len);
        Ok((more, buffers))
    }

    fn buffers(&mut self, job: &Job, data: Data, more: &mut More) -> Result<Places, String> {
        let mut out = vec![];
        let mut scratch = 0;
        for b in &job.buffers {
            let found = match b.role {
                Role::Out => {
                    scratch += 1;
                    self.scratch.get(scratch - 1).copied()
                }
                _ => self.param(&b.name),
            };
            let had = found.map(|n| self.of(n).1);
            out.push(match (found, had) {
                (Some(n), Some(had)) if had == b.bytes => n,
                (Some(n), Some(had)) if b.role == Role::Out && had > b.bytes => n,
                (Some(_), Some(_)) if b.role == Role::Out => {
                    // what grows with each step grows by more than a step
                    let grown = Buffer { bytes: b.bytes.next_power_of_two(), ..b.clone() };
                    let n = self.take(grown, more);
                    if let Some(s) = self.scratch.get_mut(scratch - 1) {
                        *s = n;
                    }
                    n
                }
                (Some(_), Some(had)) => {
                    let (name, now) = (&b.name, b.bytes);
                    return Err(format!(
                        "`{name}` had {had} B in a step and has {now} B in the next: declare it for the \
                         largest, and use a window"
                    ));
                }
                _ => {
                    let n = self.take(b.clone(), more);
                    if b.role == Role::Out {
                        self.scratch.push(n);
                    } else {
                        self.params.push(n);
                        let t =
                            data(&b.name).ok_or_else(|| format!("nothing gives `{}`", b.name))?;
                        more.data.push(t);
                    }
                    n
                }
            });
        }
        Ok(out)
    }

    /// Whether a job has parameters that are not held.
    fn lacks(&self, job: &Job) -> bool {
        let given = |b: &&Buffer| b.role != Role::Out;
        job.buffers.iter().filter(given).any(|b| self.param(&b.name).is_none())
    }

    fn param(&self, name: &str) -> Option<usize> {
        self.params.iter().copied().find(|n| self.of(*n).0 == name)
    }

    fn of(&self, n: usize) -> (&str, usize) {
        self.buffers.get(n).map_or(("?", 0), |(name, bytes)| (name, *bytes))
    }

    fn take(&mut self, b: Buffer, more: &mut More) -> usize {
        self.buffers.push((b.name.clone(), b.bytes));
        more.buffers.push(b);
        self.buffers.len() - 1
    }
}

/// The place of something in what is held; `new` is told where it was not.
fn held<T: PartialEq>(all: &mut Vec<T>, x: T, new: impl FnOnce()) -> usize {
    all.iter().position(|y| *y == x).unwrap_or_else(|| {
        new();
        all.push(x);
        all.len() - 1
    })
}

fn at(numbers: &[usize], n: usize) -> Result<usize, String> {
    numbers.get(n).copied().ok_or_else(|| "a step names what its job does not have".to_string())
}

/// A step by the numbers of the process.
fn renumbered(step: &Step, kernels: &[usize], buffers: &[usize]) -> Result<Step, String> {
    let mut step = step.clone();
    match &mut step {
        Step::Fill { buffer, .. } => *buffer = at(buffers, *buffer)?,
        Step::Launch(l) => {
            l.kernel = at(kernels, l.kernel)?;
            for a in &mut l.args {
                if let Arg::Address { buffer, .. } | Arg::Map { buffer, .. } = a {
                    *buffer = at(buffers, *buffer)?;
                }
            }
            for b in l.writes.iter_mut().chain(&mut l.reads) {
                *b = at(buffers, *b)?;
            }
        }
    }
    Ok(step)
}

/// A loop on a device. A step is asked for, the next one is given while it runs, and then its
/// answer is waited for.
pub struct Live {
    process: Process,
    held: Held,
    /// Of the step that runs next, and of the one behind it.
    now: Places,
    next: Places,
    said: Answer,
    /// Steps so far.
    asked: u64,
}

/// What a loop's end tells.
pub struct Ended {
    /// Writes outside of buffers, each with the buffer's name.
    pub faults: Vec<(String, Fault)>,
    /// One for each ask that wanted it.
    pub margins: Vec<Option<f64>>,
}

impl Live {
    /// Starts with the buffers of a job, whose steps run at the first ask.
    ///
    /// # Errors
    /// No process, no device, and what [`Live::give`] refuses.
    pub fn start(
        job: &Job,
        data: Data,
        silent: Duration,
        hear: &dyn Fn(&str),
    ) -> Result<Live, Broken> {
        let process = Process::start(silent)?;
        process.send(Message::Job(Arc::new(Job { task: Task::Live, ..Job::default() })));
        let (held, said) = (Held::default(), Answer::default());
        let mut live = Live { process, held, now: vec![], next: vec![], said, asked: 0 };
        live.process.send(Message::Ask(Box::new(Ask { more: true, ..Ask::default() })));
        let refused = |why| Broken::Failed { doing: "preparing the first step".into(), why };
        live.give(job, data).map_err(refused)?;
        live.answer(hear)?;
        Ok(live)
    }

    /// Starts the step that was given before. The ask has its buffers by the numbers of the step's
    /// job; with [`Ask::more`] the next step must be given then.
    ///
    /// # Errors
    /// A buffer that the job does not have.
    pub fn ask(&mut self, mut ask: Ask) -> Result<(), String> {
        let given = ask.give.iter_mut().map(|(n, _)| n);
        let margin = ask.margin.as_mut().map(|m| &mut m.buffer);
        for n in given.chain(&mut ask.take).chain(margin) {
            *n = at(&self.now, *n)?;
        }
        self.asked += 1;
        self.process.doing(format!("{RUNNING}{}", self.asked));
        self.process.send(Message::Ask(Box::new(ask)));
        Ok(())
    }

    /// Whether a job has parameters that no step had so far.
    pub fn lacks(&self, job: &Job) -> bool {
        self.held.lacks(job)
    }

    /// Gives the next step.
    ///
    /// # Errors
    /// A parameter that has no tensor, or had another size before.
    pub fn give(&mut self, job: &Job, data: Data) -> Result<(), String> {
        let (more, numbers) = self.held.more(job, data)?;
        self.next = numbers;
        self.process.send(Message::More(Box::new(more)));
        Ok(())
    }

    /// Waits for the step: nanoseconds on the device, and the bytes of what was to be taken.
    ///
    /// # Errors
    /// No device, or a kernel that fails.
    pub fn answer(&mut self, hear: &dyn Fn(&str)) -> Result<(f64, Vec<Vec<u8>>), Broken> {
        self.said.results.clear();
        let ns = loop {
            match self.process.hear(&mut self.said, hear)? {
                Some(End::Step(ns)) => break ns,
                Some(End::Done) => break 0.0,
                None => {}
            }
        };
        self.now.clone_from(&self.next);
        Ok((ns, self.said.results.drain(..).map(|(_, bytes)| bytes).collect()))
    }

    pub fn device(&self) -> &DeviceInfo {
        &self.said.device
    }

    /// Ends the loop.
    ///
    /// # Errors
    /// A device that is gone.
    pub fn finish(mut self) -> Result<Ended, Broken> {
        self.process.close();
        while self.process.hear(&mut self.said, &|_| {})?.is_none() {}
        let named = |f: &Fault| (self.held.of(f.buffer).0.to_string(), f.clone());
        let faults = self.said.faults.iter().map(named).collect();
        Ok(Ended { faults, margins: self.said.margins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::job::{Image, Launch};
    use crate::types::dtype::DType;
    use proptest::prelude::*;

    /// What the process makes of what it is sent.
    #[derive(Default)]
    struct Mirror {
        images: Vec<String>,
        kernels: Vec<Kernel>,
        buffers: Vec<Buffer>,
        steps: Vec<Step>,
    }

    impl Mirror {
        fn take(&mut self, m: More) {
            self.images.extend(m.images.into_iter().map(|i| i.name));
            self.kernels.extend(m.kernels);
            self.buffers.extend(m.buffers);
            for (n, s) in m.steps {
                match self.steps.get_mut(n) {
                    Some(old) => *old = s,
                    None => {
                        assert_eq!(n, self.steps.len());
                        self.steps.push(s);
                    }
                }
            }
            self.steps.truncate(m.len);
        }
    }

    /// A kernel of an image, its buffers by name or as scratch of some bytes, and a scalar.
    type Shown = (String, String, Vec<(Option<String>, usize)>, Vec<u8>);

    fn shown(
        steps: &[Step],
        kernels: &[Kernel],
        images: &[String],
        buffer: &dyn Fn(usize) -> (Option<String>, usize),
    ) -> Vec<Shown> {
        let mut out = vec![];
        for s in steps {
            let Step::Launch(l) = s else { continue };
            let (mut bufs, mut scalar) = (vec![], vec![]);
            for a in &l.args {
                match a {
                    Arg::Address { buffer: b, .. } => bufs.push(buffer(*b)),
                    Arg::Bytes(b) => scalar.clone_from(b),
                    Arg::Map { .. } => {}
                }
            }
            let k = &kernels[l.kernel];
            out.push((images[k.image].clone(), k.entry.clone(), bufs, scalar));
        }
        out
    }

    /// A job with `launches` of (kernel, scratch, scalar); a scratch has `size` bytes and more.
    fn job(launches: &[(usize, usize, u8)], scratch: &[usize], order: bool) -> Job {
        let buffer = |name: &str, bytes, role| Buffer {
            name: name.into(),
            bytes,
            role,
            results: vec![],
            width: 1,
            data: vec![],
        };
        let mut buffers = vec![buffer("w", 4, Role::In), buffer("c", 8, Role::Inout)];
        if order {
            buffers.reverse();
        }
        let first = buffers.len();
        buffers.extend(scratch.iter().map(|n| buffer("t", *n, Role::Out)));
        let mut kernels: Vec<Kernel> = vec![];
        let mut images: Vec<Image> = vec![];
        let mut steps = vec![];
        for (k, s, x) in launches {
            let (entry, image) = (format!("k{k}"), format!("i{}", k % 2));
            let i = images.iter().position(|i| i.name == image).unwrap_or_else(|| {
                images.push(Image { name: image, bytes: 0, data: Arc::default() });
                images.len() - 1
            });
            let at = kernels.iter().position(|k| k.entry == entry).unwrap_or_else(|| {
                kernels.push(Kernel { name: entry.clone(), entry, image: i });
                kernels.len() - 1
            });
            let address = |buffer| Arg::Address { buffer, offset: 0 };
            let temp = first + s % scratch.len();
            steps.push(Step::Launch(Launch {
                kernel: at,
                args: vec![address(0), address(temp), Arg::Bytes(vec![*x])],
                grid: [1; 3],
                block: [1; 3],
                cluster: None,
                shared: 0,
                cooperative: false,
                writes: vec![temp],
                reads: vec![0],
                shown: String::new(),
            }));
        }
        Job { images, kernels, buffers, steps, ..Job::default() }
    }

    fn data(name: &str) -> Option<Tensor> {
        let bytes = if name == "w" { 4 } else { 8 };
        Some(Tensor::zeros(DType::U8, vec![bytes]))
    }

    proptest! {
        /// Whatever comes after what, the process runs the steps of the job at hand, on buffers
        /// that are large enough and different where the job's are.
        #[test]
        fn the_process_runs_each_job(
            jobs in prop::collection::vec(
                (
                    prop::collection::vec((0usize..4, 0usize..3, any::<u8>()), 0..5),
                    prop::collection::vec(1usize..100, 1..4),
                    any::<bool>(),
                ),
                1..6,
            ),
        ) {
            let mut held = Held::default();
            let mut there = Mirror::default();
            for (launches, scratch, order) in &jobs {
                let job = job(launches, scratch, *order);
                let (more, numbers) = held.more(&job, &data).unwrap();
                let given = more.buffers.iter().filter(|b| b.role != Role::Out).count();
                prop_assert_eq!(given, more.data.len());
                there.take(more);
                let name = |b: &Buffer, n| match b.role {
                    Role::Out => (None, n),
                    _ => (Some(b.name.clone()), 0),
                };
                let wanted = shown(
                    &job.steps,
                    &job.kernels,
                    &job.images.iter().map(|i| i.name.clone()).collect::<Vec<_>>(),
                    &|b| name(&job.buffers[b], numbers[b]),
                );
                let found = shown(&there.steps, &there.kernels, &there.images, &|b| {
                    name(&there.buffers[b], b)
                });
                prop_assert_eq!(wanted, found);
                let mut distinct = numbers.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), numbers.len());
                for (b, n) in job.buffers.iter().zip(&numbers) {
                    prop_assert!(there.buffers[*n].bytes >= b.bytes);
                    prop_assert_eq!(there.buffers[*n].role, b.role);
                }
                // the same again is nothing new
                let (again, _) = held.more(&job, &data).unwrap();
                prop_assert!(again.steps.is_empty() && again.buffers.is_empty());
            }
        }
    }

    /// An arm of `match` may be the first that has a weight.
    #[test]
    fn a_parameter_may_come_late() {
        let mut held = Held::default();
        let first = job(&[], &[1, 2], false);
        assert!(held.lacks(&first));
        held.more(&first, &data).unwrap();
        assert!(!held.lacks(&first));
        let mut second = job(&[], &[1, 2, 3], false);
        assert!(!held.lacks(&second));
        second.buffers[1].name = "w2".into();
        assert!(held.lacks(&second));
        let (more, _) = held.more(&second, &data).unwrap();
        let names: Vec<&str> = more.buffers.iter().map(|b| b.name.as_str()).collect();
        assert_eq!((names, more.data.len()), (vec!["w2", "t"], 1));
        assert!(!held.lacks(&second) && !held.lacks(&first));
    }

    #[test]
    fn a_parameter_keeps_its_size() {
        let mut held = Held::default();
        let mut j = job(&[], &[1], false);
        held.more(&j, &data).unwrap();
        j.buffers[0].bytes = 5;
        let why = held.more(&j, &data).map(|_| ()).unwrap_err();
        assert!(why.starts_with("`w` had 4 B in a step and has 5 B in the next: "), "{why}");
        assert!(Held::default().more(&job(&[], &[1], false), &|_| None).is_err());
    }
}

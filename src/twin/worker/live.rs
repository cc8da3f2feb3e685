//! Steps of a loop on buffers that stay on the device.

use std::io::{BufRead, Write};

use super::{Bound, Fenced, START, Stop, Worker, broken};
use crate::twin::device::{self, Pinned};
use crate::twin::job::{Ask, Job, More, RUNNING, Role, Word};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// Bytes that are copied to the device at a time.
const SOME: usize = 16 << 20;

/// What stays from step to step.
#[derive(Default)]
struct Held {
    modules: Vec<device::Module>,
    kernels: Vec<device::Kernel>,
    /// Without the data of its buffers.
    job: Job,
    bound: Bound,
    /// Numbers that the step before left, not looked at yet.
    numbers: Option<(usize, Pinned)>,
    left: Option<DType>,
    margins: Vec<Option<f64>>,
}

impl Held {
    /// Looks at what the step before left.
    fn look(&mut self) -> Result<(), Stop> {
        let (Some(dtype), Some((bytes, p))) = (self.left.take(), &self.numbers) else {
            return Ok(());
        };
        let n = (*bytes as u64 * 8 / dtype.bits().max(1)) as usize;
        let bytes = p.bytes()?.get(..*bytes).unwrap_or_default();
        let found = Tensor::from_bytes(dtype, vec![n], bytes).ok().and_then(|t| t.margin());
        self.margins.push(found);
        Ok(())
    }
}

impl<W: Write> Worker<'_, W> {
    /// Runs a step for each ask, until the input ends; then the fences must hold.
    pub(super) fn live(&mut self, input: &mut impl BufRead) -> Result<(), Stop> {
        self.device_info()?;
        let mut held = Held::default();
        let mut step = 0;
        while let Some(ask) = Ask::read(input)? {
            let ns = self.ask(input, &mut held, ask, step)?;
            Word::Ran(ns).write(self.out)?;
            step += 1;
        }
        held.look()?;
        Word::Margins(held.margins.clone()).write(self.out)?;
        self.doing("looking at what lies around the buffers")?;
        let mut faults = vec![];
        for n in 0..held.bound.buffers.len() {
            self.fences(&held.bound, n, None, &mut faults)?;
        }
        Ok(Word::Faults(faults).write(self.out)?)
    }

    /// One step; what the next one needs is taken in, and what the last one left is looked at, while
    /// the device works.
    fn ask(
        &mut self,
        input: &mut impl BufRead,
        held: &mut Held,
        ask: Ask,
        step: u64,
    ) -> Result<f64, Stop> {
        let running = format!("{RUNNING}{step}");
        self.doing.clone_from(&running);
        for (n, bytes) in &ask.give {
            let b = held.bound.buffers.get(*n).ok_or_else(|| broken("bytes for no buffer"))?;
            self.device.write(&b.memory, START, bytes)?;
        }
        let start = self.device.mark()?;
        self.start(&held.job, &held.bound)?;
        let end = self.device.mark()?;
        held.look()?;
        let taken = match ask.more {
            true => self.more(input, held),
            false => Ok(false),
        };
        if matches!(taken, Ok(true)) {
            Word::Doing(running.clone()).write(self.out)?;
        }
        // what a kernel broke shows in whatever call of the driver comes next
        let doing = std::mem::replace(&mut self.doing, running);
        self.device.wait()?;
        let ns = self.device.between(&start, &end)?;
        if let Some(m) = ask.margin {
            let b = held.bound.buffers.get(m.buffer);
            let b = b.ok_or_else(|| broken("no such buffer is wanted"))?;
            if held.numbers.as_ref().is_none_or(|(n, _)| *n != m.bytes) {
                held.numbers = Some((m.bytes, self.device.pinned(m.bytes)?));
            }
            if let Some((_, p)) = &mut held.numbers {
                self.device.read_into(&b.memory, START + m.offset, p)?;
            }
            held.left = DType::parse(&m.dtype);
        }
        for n in &ask.take {
            let b = held.bound.buffers.get(*n);
            let b = b.ok_or_else(|| broken("no such buffer is wanted"))?;
            let bytes = self.device.read(&b.memory, START, b.bytes)?;
            Word::Result { buffer: *n, bytes: bytes.len() }.write(self.out)?;
            self.out.write_all(&bytes)?;
        }
        self.doing = doing;
        taken?;
        Ok(ns)
    }

    /// Copies what comes in to a buffer, some of it at a time.
    fn upload(&self, input: &mut impl BufRead, to: &Fenced) -> Result<(), Stop> {
        let mut some = vec![0; SOME.min(to.bytes)];
        let mut at = 0;
        while at < to.bytes {
            some.truncate(to.bytes - at);
            let part = some.as_mut_slice();
            input.read_exact(part)?;
            self.device.write(&to.memory, START + at, part)?;
            at += part.len();
        }
        Ok(())
    }

    /// Takes in what the next step needs. Tells whether it said so.
    fn more(&mut self, input: &mut impl BufRead, held: &mut Held) -> Result<bool, Stop> {
        let m = More::read(input)?;
        let said = !(m.images.is_empty() && m.kernels.is_empty() && m.buffers.is_empty());
        for i in &m.images {
            held.modules.push(self.module(i)?);
        }
        for k in m.kernels {
            let kernel = self.kernel(&held.modules, &k)?;
            held.kernels.push(kernel);
            held.job.kernels.push(k);
        }
        for b in m.buffers {
            if b.role != Role::Out {
                self.doing(format!("copying `{}` to the device", b.name))?;
            }
            let fenced = self.fenced(&b)?;
            if b.role != Role::Out {
                self.upload(input, &fenced)?;
            }
            held.bound.buffers.push(fenced);
            held.job.buffers.push(b);
        }
        let first = held.job.steps.is_empty();
        for (at, step) in m.steps {
            let ready = self.ready(&step, &held.kernels, &held.bound.buffers)?;
            match (held.job.steps.get_mut(at), held.bound.ready.get_mut(at)) {
                (Some(s), Some(r)) => (*s, *r) = (step, ready),
                _ => {
                    held.job.steps.push(step);
                    held.bound.ready.push(ready);
                }
            }
        }
        held.job.steps.truncate(m.len);
        held.bound.ready.truncate(m.len);
        if first {
            self.resources(&held.job, &held.kernels, &held.bound)?;
        }
        Ok(said)
    }
}

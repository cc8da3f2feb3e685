//! Steps of a loop on buffers that stay on the device.

use std::io::{BufRead, Write};

use super::{Bound, START, Stop, Worker, broken};
use crate::twin::device;
use crate::twin::job::{self, Ask, Job, More, Role, Word};

/// What stays from step to step.
#[derive(Default)]
struct Held {
    modules: Vec<device::Module>,
    kernels: Vec<device::Kernel>,
    /// Without the data of its buffers.
    job: Job,
    bound: Bound,
}

impl<W: Write> Worker<'_, W> {
    /// Runs a step for each ask, until the input ends; then the fences must hold.
    pub(super) fn live(&mut self, input: &mut impl BufRead) -> Result<(), Stop> {
        self.device_info()?;
        let mut held = Held::default();
        let mut step = 0;
        while let Some(ask) = Ask::read(input)? {
            self.doing = format!("running step {step}");
            for (n, bytes) in &ask.give {
                let b = held.bound.buffers.get(*n);
                let b = b.ok_or_else(|| broken("bytes for no buffer"))?;
                self.device.write(&b.memory, START, bytes)?;
            }
            let start = self.device.mark()?;
            self.start(&held.job, &held.bound)?;
            let end = self.device.mark()?;
            // while the device works; what was started has its arguments already
            let taken = ask.next.map_or(Ok(()), |m| self.more(input, &mut held, m));
            // what a kernel broke shows in whatever call of the driver comes next
            let doing = std::mem::replace(&mut self.doing, format!("running step {step}"));
            self.device.wait()?;
            self.doing = doing;
            taken?;
            let ns = self.device.between(&start, &end)?;
            for n in &ask.take {
                let b = held.bound.buffers.get(*n);
                let b = b.ok_or_else(|| broken("no such buffer is wanted"))?;
                let bytes = self.device.read(&b.memory, START, b.bytes)?;
                Word::Result { buffer: *n, bytes: bytes.len() }.write(self.out)?;
                self.out.write_all(&bytes)?;
            }
            Word::Ran(ns).write(self.out)?;
            step += 1;
        }
        self.doing("looking at what lies around the buffers")?;
        let mut faults = vec![];
        for n in 0..held.bound.buffers.len() {
            self.fences(&held.bound, n, None, &mut faults)?;
        }
        Ok(Word::Faults(faults).write(self.out)?)
    }

    /// Takes in what the next step needs.
    fn more(&mut self, input: &mut impl BufRead, held: &mut Held, m: More) -> Result<(), Stop> {
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
            let data = if b.role == Role::Out { vec![] } else { job::take(input, b.bytes)? };
            let fenced = self.fenced(&b, &data)?;
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
        Ok(())
    }
}

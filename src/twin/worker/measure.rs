//! Times of a job's steps on the device.

use std::io::Write;
use std::time::Instant;

use super::{Bound, START, Stop, Worker};
use crate::twin::device;
use crate::twin::job::{Job, Measure, Role, Times, Word};
use crate::twin::median;

/// Sets of buffers that a cold measurement takes at most.
const MOST_SETS: usize = 8192;

struct Side<'j> {
    job: &'j Job,
    sets: Vec<Bound>,
}

struct Copies {
    bytes: usize,
    pairs: Vec<(device::Buffer, device::Buffer)>,
    runs: usize,
}

impl<W: Write> Worker<'_, W> {
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

    pub(super) fn measure(
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
        Ok((median(run), median(bare)))
    }
}

//! What a device does: each figure from a kernel that keeps one resource busy.
//!
//! Comes in: an open device. Goes out: facts of a target document by their key path. A rate is the
//! median over repeated launches of work over time; work that a loop does around is not counted.

use super::device::{Arg, Buffer, Device, DeviceError, Kernel, Launch, Module};
use super::median;

/// The kernels, from `kernels/calibrate/calibrate.cu`.
const KERNELS: &str = include_str!("../../kernels/calibrate/calibrate.ptx");

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The key path in a target document: `rates.sustained.l2`.
    pub path: String,
    pub value: f64,
    pub unit: &'static str,
    /// How it was measured.
    pub how: String,
}

impl Measured {
    /// Whether the documents state it as an integer.
    pub fn is_count(&self) -> bool {
        self.path.ends_with(".count") || self.path.ends_with(".capacity")
    }
}

/// Launches of which the median is taken.
const REPEATS: usize = 9;
/// Random words that fill the matrix unit's operands.
const OPERANDS: usize = 12_288;

struct Bench<'d> {
    device: &'d Device,
    module: Module,
    sink: Buffer,
    units: u32,
    out: Vec<Measured>,
}

/// Measures everything; `say` is told what comes next.
///
/// # Errors
/// A device that does not run the kernels.
pub fn calibrate(device: &Device, say: &dyn Fn(&str)) -> Result<Vec<Measured>, DeviceError> {
    let module = device.load("calibrate.ptx", KERNELS.as_bytes())?;
    let sink = device.zeros(64)?;
    let units = device.multiprocessors()?;
    let mut b = Bench { device, module, sink, units, out: vec![] };
    b.add(
        "units.sm.count",
        f64::from(units),
        "sm",
        "attribute CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
    );
    let l2 = device.l2_bytes()?;
    b.add("caches.l2.capacity", f64::from(l2), "B", "attribute CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE");
    say("launches");
    b.launches()?;
    say("latencies");
    b.latencies(l2)?;
    say("memory");
    b.memory(l2)?;
    say("scalar units");
    b.scalar()?;
    say("matrix units");
    b.matrix()?;
    Ok(b.out)
}

impl Bench<'_> {
    fn add(&mut self, path: &str, value: f64, unit: &'static str, how: impl Into<String>) {
        self.out.push(Measured { path: path.into(), value, unit, how: how.into() });
    }

    fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        self.device.kernel(&self.module, name)
    }

    /// Median nanoseconds of `n` launches in a row, each; warmed up by as many.
    fn each(&self, k: &Kernel, at: Launch, args: &[Arg], n: u32) -> Result<f64, DeviceError> {
        let run = || (0..n).try_for_each(|_| self.device.launch(k, at, args));
        self.device.time(run)?;
        let times: Result<Vec<f64>, DeviceError> =
            (0..REPEATS).map(|_| self.device.time(run)).collect();
        Ok(median(times?) / f64::from(n))
    }

    /// What a launch adds to kernels that follow each other: with kernels of `c` and of `2 c` clocks,
    /// twice the first's time less the second's.
    fn launches(&mut self) -> Result<(), DeviceError> {
        let (k, at) = (self.kernel("spin")?, Launch::line(self.units, 128));
        let one = self.each(&k, at, &[Arg::U32(20_000)], 100)?;
        let two = self.each(&k, at, &[Arg::U32(40_000)], 100)?;
        let empty = self.each(&self.kernel("nothing")?, at, &[], 100)?;
        let how = format!(
            "time between kernels of 10 us that follow each other in a stream; empty kernels take {empty:.0} ns each"
        );
        self.add("costs.launch", 2.0 * one - two, "ns", how);

        let k = self.kernel("barriers")?;
        let rounds = 1000;
        let mut times = vec![];
        for _ in 0..REPEATS {
            let count = self.device.zeros(4)?;
            let args = [Arg::Buffer(&count), Arg::U32(rounds)];
            times.push(self.device.time(|| self.device.launch(&k, at, &args))?);
        }
        let how = format!(
            "{rounds} barriers of {} blocks of 128 threads: one add and polling on it",
            self.units
        );
        self.add("costs.grid_barrier", median(times) / f64::from(rounds), "ns", how);
        Ok(())
    }

    fn latencies(&mut self, l2: u32) -> Result<(), DeviceError> {
        let hops = 20_000u32;
        let one = Launch::line(1, 1);
        for (path, bytes) in
            [("caches.l2.latency", l2 as usize / 16), ("storages.gmem.latency", 8 * l2 as usize)]
        {
            let links = self.device.upload(&ring(bytes / 128))?;
            let k = self.kernel("follow")?;
            // each launch goes on where the last one ended: a long ring has no line in the cache yet
            let at = self.device.zeros(4)?;
            let args = [Arg::Buffer(&links), Arg::U32(hops), Arg::Buffer(&at)];
            let t = self.each(&k, one, &args, 1)?;
            let how = format!(
                "{hops} dependent loads of random lines of 128 B in {} MiB, one thread",
                bytes >> 20
            );
            self.add(path, t / f64::from(hops), "ns", how);
        }
        let k = self.kernel("follow_shared")?;
        let at = |hops| [Arg::U32(hops), Arg::Buffer(&self.sink)];
        let (short, long) =
            (self.each(&k, one, &at(hops), 1)?, self.each(&k, one, &at(2 * hops), 1)?);
        let how = format!("{hops} dependent loads of one thread");
        self.add("storages.smem.latency", (long - short) / f64::from(hops), "ns", how);
        Ok(())
    }

    fn memory(&mut self, l2: u32) -> Result<(), DeviceError> {
        let bytes = 2usize << 30;
        let (from, to) = (self.device.zeros(bytes)?, self.device.zeros(bytes)?);
        let k = self.kernel("copy")?;
        let at = Launch::line((bytes >> 14) as u32, 256);
        let t = self.each(&k, at, &[Arg::Buffer(&from), Arg::Buffer(&to)], 4)?;
        let how = format!("copy of {} MiB, bytes read and written", bytes >> 20);
        self.add("rates.sustained.gmem", 2.0 * bytes as f64 / t * 1e9, "B/s", how);

        let at = Launch::line(self.units * 4, 512);
        // a whole number of steps of all threads
        let step = 4 * 16 * 4 * self.units as usize * 512;
        let bytes = (l2 as usize / 3 / step).max(1) * step;
        let k = self.kernel("read_again")?;
        let rounds = 200u32;
        let words = u32::try_from(bytes / 16).unwrap_or(u32::MAX);
        let args = [Arg::Buffer(&from), Arg::U32(words), Arg::U32(rounds), Arg::Buffer(&self.sink)];
        let t = self.each(&k, at, &args, 1)?;
        let how =
            format!("{rounds} reads of the same {} MiB past the caches of the units", bytes >> 20);
        self.add("rates.sustained.l2", bytes as f64 * f64::from(rounds) / t * 1e9, "B/s", how);

        let k = self.kernel("read_shared")?;
        let rounds = 20_000u32;
        let at = Launch::line(self.units, 1024);
        let t = self.each(&k, at, &[Arg::U32(rounds), Arg::Buffer(&self.sink)], 1)?;
        let n = 8.0 * 16.0 * 1024.0 * f64::from(self.units) * f64::from(rounds);
        self.add(
            "rates.sustained.smem",
            n / t * 1e9,
            "B/s",
            "reads of 16 B a thread without bank conflicts",
        );
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), DeviceError> {
        // kernel, path, unit, what one instruction counts
        let all = [
            ("fma_f32", "rates.sustained.fma.f32", "flop/s", 2.0),
            ("fma_f64", "rates.sustained.fma.f64", "flop/s", 2.0),
            ("fma_f16", "rates.sustained.fma.f16", "op/s", 2.0),
            ("fma_bf16", "rates.sustained.fma.bf16", "op/s", 2.0),
            ("exp2_f32", "rates.sustained.sfu", "op/s", 1.0),
            ("mad_s32", "rates.sustained.int", "op/s", 1.0),
            ("cvt_bf16", "rates.sustained.cvt", "op/s", 2.0),
        ];
        for (name, path, unit, each) in all {
            let k = self.kernel(name)?;
            let rounds = 4000u32;
            let at = Launch::line(2 * self.units, 1024);
            let t = self.each(&k, at, &[Arg::U32(rounds), Arg::Buffer(&self.sink)], 1)?;
            let n = 128.0 * 1024.0 * 2.0 * f64::from(self.units) * f64::from(rounds);
            let clock = self.clock()?;
            let how = format!("`{name}`: 8 independent chains a thread, at {:.0} MHz", clock / 1e6);
            self.add(path, each * n / t * 1e9, unit, how);
            if name == "fma_f32" {
                self.add(
                    "clocks.sustained",
                    clock,
                    "Hz",
                    "clocks over time of the f32 multiply-adds",
                );
            }
        }
        Ok(())
    }

    /// The clock, in Hz, that the last watched kernel ran at.
    fn clock(&self) -> Result<f64, DeviceError> {
        let bytes = self.device.download(&self.sink)?;
        let word = |i: usize| {
            let b = bytes.get(8 * i..8 * i + 8).and_then(|b| b.try_into().ok());
            b.map_or(0.0, |b| u64::from_le_bytes(b) as f64)
        };
        Ok(if word(2) > 0.0 { word(1) / word(2) * 1e9 } else { 0.0 })
    }

    fn matrix(&mut self) -> Result<(), DeviceError> {
        let all = [
            ("mma_bf16", "bf16", 2, Fill::Bf16),
            ("mma_f16", "f16", 2, Fill::F16),
            ("mma_tf32", "tf32", 4, Fill::F32),
            ("mma_f8e4m3", "f8e4m3", 1, Fill::F8),
            ("mma_f8e5m2", "f8e5m2", 1, Fill::F8),
            ("mma_i8", "i8", 1, Fill::Bytes),
        ];
        for (name, dtype, bytes, fill) in all {
            let bits = self.device.upload(&fill.words())?;
            let k = self.kernel(name)?;
            let rounds = 60_000u32;
            let at = Launch { shared: 49_152, ..Launch::line(self.units, 256) };
            let args = [Arg::U32(rounds), Arg::Buffer(&bits), Arg::Buffer(&self.sink)];
            let t = self.each(&k, at, &args, 1)?;
            // 4 steps of 32 bytes along K, two warpgroups of 64 rows
            let flops = 2.0 * 128.0 * 256.0 * f64::from(4 * 32 / bytes);
            let n = flops * f64::from(self.units) * f64::from(rounds);
            let clock = self.clock()?;
            let how = format!(
                "products of 128 x 256 tiles of normal random values in shared memory, at {:.0} MHz",
                clock / 1e6
            );
            self.add(&format!("rates.sustained.tensor.{dtype}"), n / t * 1e9, "flop/s", how);
        }
        Ok(())
    }
}

/// Values of the operands: they decide how much power a product takes.
#[derive(Clone, Copy)]
enum Fill {
    F32,
    F16,
    Bf16,
    F8,
    Bytes,
}

impl Fill {
    fn words(self) -> Vec<u8> {
        let mut g = Generator(0x9e37_79b9);
        let mut out = Vec::with_capacity(4 * OPERANDS);
        while out.len() < 4 * OPERANDS {
            let x = g.normal();
            match self {
                Fill::F32 => out.extend(x.to_le_bytes()),
                Fill::F16 => out.extend(half::f16::from_f32(x).to_le_bytes()),
                Fill::Bf16 => out.extend(half::bf16::from_f32(x).to_le_bytes()),
                // sign and a small exponent and mantissa: no NaN among them
                Fill::F8 => out.push((g.next() as u8 & 0x87) | 0x30 | (g.next() as u8 & 0x08)),
                Fill::Bytes => out.push(g.next() as u8),
            }
        }
        out
    }
}

/// Marsaglia's xorshift32, for values that only need to look random.
struct Generator(u32);

impl Generator {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// About N(0, 1): the sum of 12 uniform values, less 6.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.next() as f32 / u32::MAX as f32).sum::<f32>() - 6.0
    }
}

/// One ring through `n` lines of 128 bytes in random order, as the bytes of the lines.
fn ring(n: usize) -> Vec<u8> {
    let n = n.max(1);
    let mut order: Vec<u32> = (0..u32::try_from(n).unwrap_or(u32::MAX)).collect();
    let mut g = Generator(12_345);
    // line 0 stays first: a walk starts there
    for i in (2..n).rev() {
        order.swap(i, 1 + g.next() as usize % i);
    }
    let mut out = vec![0u8; n * 128];
    for (i, at) in order.iter().enumerate() {
        let next = order.get((i + 1) % n).copied().unwrap_or(0);
        let at = *at as usize * 128;
        if let Some(word) = out.get_mut(at..at + 4) {
            word.copy_from_slice(&next.to_le_bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_visits_every_line_once() {
        for n in [1, 2, 3, 1000] {
            let bytes = ring(n);
            let next = |at: usize| {
                u32::from_le_bytes(bytes[at * 128..at * 128 + 4].try_into().unwrap()) as usize
            };
            let mut seen = vec![false; n];
            let mut at = 0;
            for _ in 0..n {
                assert!(!seen[at]);
                seen[at] = true;
                at = next(at);
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn the_kernels_are_those_of_the_source() {
        let source = include_str!("../../kernels/calibrate/calibrate.cu");
        for line in KERNELS.lines().filter_map(|l| l.strip_prefix(".visible .entry ")) {
            let name = line.split('(').next().unwrap();
            assert!(
                source.contains(&format!(" {name}(")) || source.contains(&format!("({name},")),
                "{name}"
            );
        }
    }

    #[test]
    fn operands_have_no_nan() {
        let bytes = Fill::F8.words();
        assert_eq!(bytes.len(), 4 * OPERANDS);
        assert!(bytes.iter().all(|b| b & 0x7f != 0x7f));
        let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
        let words = Fill::F32.words();
        let values: Vec<f32> =
            words.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
        let squares: Vec<f32> = values.iter().map(|x| x * x).collect();
        assert!(mean(&values).abs() < 0.03 && (mean(&squares) - 1.0).abs() < 0.05);
    }
}

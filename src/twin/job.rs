//! What a device is asked to do, and what it answers: plain data that a child process takes.
//!
//! A kernel can bring down the process that starts it. So a device is driven by a process of its
//! own, which reads one [`Job`] from its standard input and writes [`Word`]s, a line each, to its
//! standard output. Bytes follow the line that announces how many.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::types::value::Tensor;

/// Kernels, buffers, what happens to them in order, and what is wanted of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    pub images: Vec<Image>,
    pub kernels: Vec<Kernel>,
    pub buffers: Vec<Buffer>,
    pub steps: Vec<Step>,
    pub task: Task,
    /// The job of the other side of a comparison of times; its images and data follow.
    pub against: Option<Arc<Job>>,
}

/// A kernel image; its bytes follow the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    pub name: String,
    pub bytes: usize,
    #[serde(skip)]
    pub data: Arc<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name of its declaration.
    pub name: String,
    pub entry: String,
    pub image: usize,
}

/// What kernels may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read only: a change is a fault.
    In,
    /// Read and updated.
    Inout,
    /// Written before it is read.
    Out,
}

/// Memory of the device; the data of `In` and `Inout` follow the job, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    pub name: String,
    pub bytes: usize,
    pub role: Role,
    /// The parts of it that are results: the first byte and how many.
    pub results: Vec<(usize, usize)>,
    /// Bytes of an element.
    pub width: usize,
    #[serde(skip)]
    pub data: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Repeats `pattern` (1, 2 or 4 bytes) over a buffer.
    Fill {
        buffer: usize,
        pattern: Vec<u8>,
    },
    Launch(Launch),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub kernel: usize,
    pub args: Vec<Arg>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: Option<[u32; 3]>,
    pub shared: u32,
    pub cooperative: bool,
    /// Buffers that it may write, and those that it may only read.
    pub writes: Vec<usize>,
    pub reads: Vec<usize>,
    /// As messages name it: `launch 2, `combine` in `attend``.
    pub shown: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// An address in a buffer.
    Address {
        buffer: usize,
        offset: u64,
    },
    /// A scalar, as its bytes.
    Bytes(Vec<u8>),
    Map {
        buffer: usize,
        offset: u64,
        map: TensorMap,
    },
}

/// A tensor map; extents and box in logical order, the last innermost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// The dtype's name.
    pub dtype: String,
    pub extents: Vec<u64>,
    /// Of `box`.
    pub tile: Vec<u32>,
    /// Bytes; 0 for none.
    pub swizzle: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Steps of a loop on buffers that stay: [`Ask`]s follow the job, until the input ends.
    #[default]
    Live,
    /// Run and look for faults; `repeat` more runs look for races.
    Check {
        repeat: u32,
    },
    Measure(Measure),
}

/// How times are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub warmup: u32,
    pub groups: u32,
    /// Runs between two marks, at most.
    pub runs: u32,
    /// Each run takes other buffers than those before it, more than the last cache holds.
    pub cold: bool,
    /// A captured graph is replayed.
    pub graph: bool,
}

/// What a process does in a step of a loop, before the number of the step.
pub const RUNNING: &str = "running step ";

/// One step of a loop. It runs the steps that came before it as a [`More`]; the first one runs none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Bytes for the start of a buffer, before the steps.
    pub give: Vec<(usize, Vec<u8>)>,
    /// Buffers whose bytes are wanted after them.
    pub take: Vec<usize>,
    /// Numbers whose two largest are told apart; the end of the loop tells the distances.
    pub margin: Option<Numbers>,
    /// A [`More`] follows, for the next step. Without it the steps are the same again.
    pub more: bool,
}

/// Numbers in a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    pub buffer: usize,
    pub offset: usize,
    pub bytes: usize,
    /// The dtype's name.
    pub dtype: String,
}

/// What comes to a process that holds images, kernels, buffers and steps.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct More {
    pub images: Vec<Image>,
    pub kernels: Vec<Kernel>,
    pub buffers: Vec<Buffer>,
    /// Steps that are not those of before, by their places; in order.
    pub steps: Vec<(usize, Step)>,
    /// How many steps there are.
    pub len: usize,
    /// Of the buffers that are not `Out`, in order.
    #[serde(skip)]
    pub data: Vec<Tensor>,
}

/// What the child says, a line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Device(DeviceInfo),
    Resources(Vec<Resources>),
    /// It is about to do this.
    Doing(String),
    /// The device or the driver refused, or a kernel failed while `doing`.
    Failed {
        doing: String,
        why: String,
    },
    NoDriver(String),
    Faults(Vec<Fault>),
    /// The bytes of a result buffer follow.
    Result {
        buffer: usize,
        bytes: usize,
    },
    Times(Times),
    /// A step ran: nanoseconds on the device from its first launch to its last.
    Ran(f64),
    /// How far the two largest numbers were apart, for each ask that wanted it.
    Margins(Vec<Option<f64>>),
    Done,
}

/// The device that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    pub name: String,
    pub capability: (i32, i32),
    pub multiprocessors: u32,
    /// 13000 for CUDA 13.0.
    pub driver: i32,
    /// Kilohertz, the most that each clock runs at.
    pub clock_khz: u32,
    pub memory_clock_khz: u32,
    pub l2_bytes: u64,
}

/// What the driver says of a kernel at one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    pub kernel: String,
    /// A thread's.
    pub registers: u32,
    /// Bytes of a thread in local memory: spills and arrays.
    pub local: u32,
    /// Bytes of a block.
    pub static_shared: u32,
    pub dynamic_shared: u32,
    pub threads: u32,
    /// Blocks that are resident on one multiprocessor.
    pub resident: u32,
    /// Clusters that are resident on the device.
    pub clusters: Option<u32>,
    /// Of the code that runs: 90 for sm_90.
    pub binary: u32,
}

/// What a run did that it may not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    pub buffer: usize,
    pub kind: FaultKind,
    /// The first byte, from the start of the buffer: negative before it, beyond its end after it.
    pub first: i64,
    /// Bytes at fault, as far as they were looked at.
    pub count: u64,
    /// The launch after which it was first seen, where that is known.
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// An element of a result that nothing wrote.
    Unwritten,
    /// A write before or after the buffer.
    Outside,
    /// A write to what is only read.
    Changed,
    /// Two runs on the same bytes differ.
    Race,
    /// The result depends on what a buffer held before it was written.
    Stale,
}

/// Nanoseconds of one run each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The means of the groups, in the order they were taken.
    pub groups: Vec<f64>,
    /// Of the other side, interleaved with these.
    pub against: Option<Vec<f64>>,
    /// Of a copy within the device that reads and writes half as many bytes each, taken in between.
    pub copy: Option<Vec<f64>>,
    /// Bytes that the copy reads and writes together.
    pub copy_bytes: u64,
    pub runs_per_group: u32,
    /// What the host takes to start one run, and the bare calls of the driver for its launches.
    pub host: f64,
    pub bare: f64,
    /// Sets of buffers that a cold run rotates through, and their bytes together.
    pub sets: u32,
    pub set_bytes: u64,
}

/// The longest head of a job.
const HEAD: u64 = 256 << 20;

fn images_and_data(job: &Job) -> impl Iterator<Item = &Vec<u8>> {
    let given = job.buffers.iter().filter(|b| b.role != Role::Out).map(|b| &b.data);
    job.images.iter().map(|i| i.data.as_ref()).chain(given)
}

/// A line of JSON; nothing where the input has ended.
fn read_head<T: serde::de::DeserializeOwned>(r: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut head = String::new();
    if r.by_ref().take(HEAD).read_line(&mut head)? == 0 {
        return Ok(None);
    }
    serde_json::from_str(&head).map(Some).map_err(io::Error::other)
}

fn write_head(w: &mut impl Write, head: &impl Serialize) -> io::Result<()> {
    let head = serde_json::to_string(head).map_err(io::Error::other)?;
    writeln!(w, "{head}")
}

fn read_images(r: &mut impl Read, images: &mut [Image]) -> io::Result<()> {
    for i in images {
        i.data = Arc::new(take(r, i.bytes)?);
    }
    Ok(())
}

impl Job {
    /// # Errors
    /// A child that went away.
    pub fn write(&self, w: &mut impl Write) -> io::Result<()> {
        write_head(w, self)?;
        for part in std::iter::once(self).chain(self.against.as_deref()) {
            for bytes in images_and_data(part) {
                w.write_all(bytes)?;
            }
        }
        w.flush()
    }

    /// # Errors
    /// What is no job.
    pub fn read(r: &mut impl BufRead) -> io::Result<Job> {
        let head = read_head(r)?;
        let mut job: Job = head.ok_or(io::ErrorKind::UnexpectedEof)?;
        job.read_data(r)?;
        if let Some(other) = job.against.as_mut().map(Arc::make_mut) {
            other.read_data(r)?;
        }
        Ok(job)
    }

    fn read_data(&mut self, r: &mut impl Read) -> io::Result<()> {
        read_images(r, &mut self.images)?;
        for b in self.buffers.iter_mut().filter(|b| b.role != Role::Out) {
            b.data = take(r, b.bytes)?;
        }
        Ok(())
    }
}

impl Ask {
    /// # Errors
    /// A child that went away.
    pub fn write(&self, w: &mut impl Write) -> io::Result<()> {
        write_head(w, self)?;
        w.flush()
    }

    /// None at the end.
    ///
    /// # Errors
    /// What is no ask.
    pub fn read(r: &mut impl BufRead) -> io::Result<Option<Ask>> {
        read_head(r)
    }
}

impl More {
    /// # Errors
    /// A child that went away.
    pub fn write(&self, w: &mut impl Write) -> io::Result<()> {
        write_head(w, self)?;
        self.images.iter().try_for_each(|i| w.write_all(&i.data))?;
        self.data.iter().try_for_each(|t| t.write_to(w))?;
        w.flush()
    }

    /// With its images. The data of its buffers follow, to be read one after the other.
    ///
    /// # Errors
    /// What is no such thing.
    pub fn read(r: &mut impl BufRead) -> io::Result<More> {
        let mut more: More = read_head(r)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        read_images(r, &mut more.images)?;
        Ok(more)
    }
}

/// Exactly `n` bytes; no more memory is taken than there are bytes.
fn take(r: &mut impl Read, n: usize) -> io::Result<Vec<u8>> {
    let mut out = vec![];
    let got = r.by_ref().take(n as u64).read_to_end(&mut out)?;
    if got == n { Ok(out) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

impl Word {
    /// # Errors
    /// A parent that went away.
    pub fn write(&self, w: &mut impl Write) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        writeln!(w, "{text}")?;
        w.flush()
    }
}

/// A word, with the bytes that follow it.
///
/// # Errors
/// What is no word; the end.
pub fn read_word(r: &mut impl BufRead) -> io::Result<(Word, Vec<u8>)> {
    let mut line = String::new();
    if r.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let word: Word = serde_json::from_str(&line).map_err(io::Error::other)?;
    let bytes = match &word {
        Word::Result { bytes, .. } => take(r, *bytes)?,
        _ => vec![],
    };
    Ok((word, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_out_as_it_went_in() {
        let buffer = |name: &str, role, data: &[u8]| Buffer {
            name: name.into(),
            bytes: data.len().max(4),
            role,
            results: if role == Role::In { vec![] } else { vec![(0, data.len())] },
            width: 1,
            data: data.to_vec(),
        };
        let part = Job {
            images: vec![Image { name: "k.ptx".into(), bytes: 3, data: Arc::new(vec![1, 10, 3]) }],
            buffers: vec![
                buffer("x", Role::In, &[10, 10, 10, 10]),
                buffer("y", Role::Out, &[]),
                buffer("z", Role::Inout, &[1, 2, 3, 4, 5]),
            ],
            task: Task::Check { repeat: 3 },
            ..Job::default()
        };
        let job = Job { against: Some(Arc::new(part.clone())), ..part };
        let mut bytes = vec![];
        job.write(&mut bytes).unwrap();
        let back = Job::read(&mut bytes.as_slice()).unwrap();
        assert_eq!(*back.images[0].data, [1, 10, 3]);
        assert_eq!(back.buffers[2].data, [1, 2, 3, 4, 5]);
        let other = back.against.unwrap();
        assert_eq!(other.buffers[0].data, [10; 4]);
        assert_eq!(other.task, Task::Check { repeat: 3 });
        // a job that was cut is no job
        for n in 0..bytes.len() {
            assert!(Job::read(&mut &bytes[..n]).is_err(), "{n}");
        }
    }

    #[test]
    fn bytes_follow_the_word_that_announces_them() {
        let mut out = vec![];
        Word::Result { buffer: 1, bytes: 3 }.write(&mut out).unwrap();
        out.extend([10, 13, 10]);
        Word::Done.write(&mut out).unwrap();
        let mut r = out.as_slice();
        let (w, bytes) = read_word(&mut r).unwrap();
        assert!(matches!(w, Word::Result { buffer: 1, bytes: 3 }));
        assert_eq!(bytes, [10, 13, 10]);
        assert!(matches!(read_word(&mut r).unwrap().0, Word::Done));
        assert!(read_word(&mut r).is_err());
    }
}

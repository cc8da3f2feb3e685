//! The other end of [`super::worker`]: starts the process, hands it a job, and hears it out.

use std::io::{BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::job::{Ask, DeviceInfo, Fault, Job, More, Resources, Times, Word, read_word};

/// What a device said of a job.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub device: DeviceInfo,
    pub resources: Vec<Resources>,
    pub faults: Vec<Fault>,
    /// The bytes of each result buffer, by its number.
    pub results: Vec<(usize, Vec<u8>)>,
    pub times: Option<Times>,
    /// Of a loop: the distances of the two largest numbers.
    pub margins: Vec<Option<f64>>,
}

/// Why a device gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// There is no driver, or no device.
    NoDevice(String),
    /// The process cannot be started.
    NoProcess(String),
    /// It failed, ended or stayed silent while `doing`.
    Failed { doing: String, why: String },
}

/// The word that makes the binary a worker.
pub const WORKER: &str = "device-worker";

/// Runs a job in a process of its own. `silent` is how long it may say nothing; `hear` is told
/// what it does.
///
/// # Errors
/// No device, or a kernel that breaks the process.
pub fn run(job: &Arc<Job>, silent: Duration, hear: &dyn Fn(&str)) -> Result<Answer, Broken> {
    let mut p = Process::start(silent)?;
    p.send(Message::Job(job.clone()));
    let mut out = Answer::default();
    while p.hear(&mut out, hear)?.is_none() {}
    Ok(out)
}

/// What a process is sent.
pub enum Message {
    Job(Arc<Job>),
    Ask(Box<Ask>),
    More(Box<More>),
}

/// A process that drives a device. It ends when this is dropped.
pub struct Process {
    /// None once it is dropped.
    child: Option<Child>,
    /// None once there is nothing more to send.
    to: Option<Sender<Message>>,
    words: Receiver<std::io::Result<(Word, Vec<u8>)>>,
    /// What it wrote to its standard error.
    said: Receiver<String>,
    silent: Duration,
    doing: String,
}

/// A word that ends an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// A step of a loop, with its nanoseconds on the device.
    Step(f64),
    Done,
}

impl Process {
    /// Threads carry what goes in and out, so that neither side waits for the other to read; they
    /// are not waited for: what holds a pipe open would hold this process too.
    ///
    /// # Errors
    /// No process can be started.
    pub fn start(silent: Duration) -> Result<Process, Broken> {
        let no = |e: std::io::Error| Broken::NoProcess(format!("cannot start a process: {e}"));
        let program = std::env::current_exe().map_err(no)?;
        let mut child = Command::new(program)
            .arg(WORKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(no)?;
        let (Some(mut into), Some(from), Some(mut err)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Broken::NoProcess("a process has no pipes".into()));
        };
        let (to, messages) = channel();
        std::thread::spawn(move || {
            // a child that ends early does not read: what it said tells why
            while let Ok(m) = messages.recv() {
                let sent = match m {
                    Message::Job(job) => job.write(&mut into),
                    Message::Ask(ask) => ask.write(&mut into),
                    Message::More(more) => more.write(&mut into),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        let (say, said) = channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = err.by_ref().take(1 << 16).read_to_string(&mut text);
            let _ = say.send(text);
            // what comes after is let go, so that the child is not held up
            let _ = std::io::copy(&mut err, &mut std::io::sink());
        });
        let (send, words) = channel();
        std::thread::spawn(move || {
            let mut r = BufReader::new(from);
            loop {
                let word = read_word(&mut r);
                let end = word.is_err();
                if send.send(word).is_err() || end {
                    break;
                }
            }
        });
        let doing = "starting".to_string();
        Ok(Process { child: Some(child), to: Some(to), words, said, silent, doing })
    }

    pub fn send(&self, m: Message) {
        if let Some(to) = &self.to {
            let _ = to.send(m);
        }
    }

    /// What it is taken to do until it says something else.
    pub fn doing(&mut self, what: String) {
        self.doing = what;
    }

    /// Nothing more is sent.
    pub fn close(&mut self) {
        self.to = None;
    }

    /// Takes one word; tells whether it ends an answer.
    ///
    /// # Errors
    /// No device; a process that fails, ends or stays silent.
    pub fn hear(&mut self, out: &mut Answer, hear: &dyn Fn(&str)) -> Result<Option<End>, Broken> {
        let doing = self.doing.clone();
        let failed = |why| Broken::Failed { doing, why };
        let (word, bytes) = match self.words.recv_timeout(self.silent) {
            Ok(Ok(word)) => word,
            Ok(Err(_)) => return Err(failed(self.ended())),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let why = format!("no answer for {} s: it was ended", self.silent.as_secs());
                return Err(failed(why));
            }
        };
        match word {
            Word::Device(d) => out.device = d,
            Word::Resources(r) => out.resources = r,
            Word::Doing(what) => {
                hear(&what);
                self.doing = what;
            }
            Word::Faults(f) => out.faults = f,
            Word::Result { buffer, .. } => out.results.push((buffer, bytes)),
            Word::Times(t) => out.times = Some(t),
            Word::Margins(m) => out.margins = m,
            Word::Ran(ns) => return Ok(Some(End::Step(ns))),
            Word::Done => return Ok(Some(End::Done)),
            Word::NoDriver(why) => return Err(Broken::NoDevice(why)),
            Word::Failed { doing, why } => return Err(Broken::Failed { doing, why }),
        }
        Ok(None)
    }

    /// How it ended, and what it said of that.
    fn ended(&mut self) -> String {
        let status = self.child.as_mut().and_then(|c| {
            let _ = c.kill();
            c.try_wait().ok().flatten()
        });
        let mut why = match status {
            Some(status) => format!("the process ended: {status}"),
            _ => "the process ended".to_string(),
        };
        let text = self.said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        // a panic begins with an empty line
        if let Some(line) = text.lines().find(|l| !l.trim().is_empty()) {
            why += &format!("; it said: {line}");
        }
        why
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // whatever it still does is of no use; a device that hangs may keep it from ending
        let _ = child.kill();
        std::thread::spawn(move || child.wait());
    }
}

/// Runs the worker on the standard streams. Gives the exit status.
pub fn serve() -> u8 {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut out = std::io::stdout().lock();
    let done = super::worker::work(&mut input, &mut out);
    u8::from(done.and_then(|()| out.flush()).is_err())
}

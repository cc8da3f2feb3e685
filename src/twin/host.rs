//! The other end of [`super::worker`]: starts the process, hands it a job, and hears it out.

use std::io::{BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::job::{DeviceInfo, Fault, Job, Resources, Times, Word, read_word};

/// What a device said of a job.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub device: DeviceInfo,
    pub resources: Vec<Resources>,
    pub faults: Vec<Fault>,
    /// The bytes of each result buffer, by its number.
    pub results: Vec<(usize, Vec<u8>)>,
    pub times: Option<Times>,
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
    let no = |e: std::io::Error| Broken::NoProcess(format!("cannot start a process: {e}"));
    let program = std::env::current_exe().map_err(no)?;
    let mut child = Command::new(program)
        .arg(WORKER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no)?;
    let answer = converse(&mut child, job, silent, hear);
    // whatever it still does is of no use; a device that hangs may keep it from ending
    let _ = child.kill();
    std::thread::spawn(move || child.wait());
    answer
}

/// The threads are not waited for: what holds a pipe open would hold this process too.
fn converse(
    child: &mut Child,
    job: &Arc<Job>,
    silent: Duration,
    hear: &dyn Fn(&str),
) -> Result<Answer, Broken> {
    let (Some(mut to), Some(from), Some(mut err)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Broken::NoProcess("a process has no pipes".into()));
    };
    let job = job.clone();
    // a child that ends early does not read its job: what it said tells why
    std::thread::spawn(move || job.write(&mut to));
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
    let mut out = Answer::default();
    let mut doing = "starting".to_string();
    loop {
        match words.recv_timeout(silent) {
            Ok(Ok((word, bytes))) => match word {
                Word::Device(d) => out.device = d,
                Word::Resources(r) => out.resources = r,
                Word::Doing(what) => {
                    hear(&what);
                    doing = what;
                }
                Word::Faults(f) => out.faults = f,
                Word::Result { buffer, .. } => out.results.push((buffer, bytes)),
                Word::Times(t) => out.times = Some(t),
                Word::Done => return Ok(out),
                Word::NoDriver(why) => return Err(Broken::NoDevice(why)),
                Word::Failed { doing, why } => return Err(Broken::Failed { doing, why }),
            },
            Ok(Err(_)) => {
                let _ = child.kill();
                let mut why = match child.try_wait() {
                    Ok(Some(status)) => format!("the process ended: {status}"),
                    _ => "the process ended".to_string(),
                };
                let text = said.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
                if let Some(line) = text.lines().next() {
                    why += &format!("; it said: {line}");
                }
                return Err(Broken::Failed { doing, why });
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let why = format!("no answer for {} s: it was ended", silent.as_secs());
                return Err(Broken::Failed { doing, why });
            }
        }
    }
}

/// Runs the worker on the standard streams. Gives the exit status.
pub fn serve() -> u8 {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut out = std::io::stdout().lock();
    let done = super::worker::work(&mut input, &mut out);
    u8::from(done.and_then(|()| out.flush()).is_err())
}

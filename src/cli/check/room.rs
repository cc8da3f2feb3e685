//! Whether a run fits this machine's memory, before anything is allocated.

use crate::analysis::{self, Options};
use crate::cli::common::Selected;
use crate::session::Point;

/// What does not fit, if the machine says how much it has.
pub fn lacking(s: &Selected, point: &Point, wide: bool) -> Option<String> {
    let free = available()?;
    let a = analysis::analyze(&s.graph, &point.env, None, &Options::counts()).ok()?;
    let peaks = a.capacity.iter().filter(|p| p.storage == "gmem" || p.storage == "host");
    // in f64 every value of a narrower float grows, at most by four from f16
    let need = peaks.map(|p| p.allocated).max()?.saturating_mul(if wide { 4 } else { 1 });
    (need > free).then(|| {
        format!(
            "`{}` holds up to {} at these sizes, this machine has {} free",
            s.name(),
            gib(need),
            gib(free)
        )
    })
}

/// The same of so many bytes that are made before anything runs.
pub fn lacking_bytes(what: &str, need: u128) -> Option<String> {
    let free = available()?;
    (need > free).then(|| format!("{what} take {}, this machine has {} free", gib(need), gib(free)))
}

fn gib(n: u128) -> String {
    format!("{:.3} GiB", n as f64 / f64::from(1u32 << 30))
}

/// Bytes that a program may still take; only Linux says so.
fn available() -> Option<u128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

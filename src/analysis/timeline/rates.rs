//! How long an amount takes on a resource of the target.
//!
//! Times are whole femtoseconds, rounded up. A resource of a unit has `1 / units` of the device's
//! rate; the last cache, `gmem`, the link and the host are the whole device's. What one unit takes
//! from them is bounded by its own port, that of `smem`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::roofline::{self, MEASURED, Rate};
use super::record::RateRecord;
use crate::base::HashMap;
use crate::ops::facts::Resource;
use crate::target::Target;
use crate::types::placement::Storage;

/// Femtoseconds.
pub(in crate::analysis) type Fs = u64;

const FS: u128 = 1_000_000_000_000_000;

/// What does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Pipe {
    Matrix,
    Fma,
    Sfu,
    Int,
    Cvt,
    Smem,
    /// From here on of the whole device.
    Cache,
    Gmem,
    Link,
    Host,
}

impl Pipe {
    pub const ALL: [Pipe; 10] = [
        Pipe::Matrix,
        Pipe::Fma,
        Pipe::Sfu,
        Pipe::Int,
        Pipe::Cvt,
        Pipe::Smem,
        Pipe::Cache,
        Pipe::Gmem,
        Pipe::Link,
        Pipe::Host,
    ];

    /// Whether all units share it.
    pub fn shared(self) -> bool {
        self >= Pipe::Cache
    }

    pub fn index(self) -> usize {
        self as usize
    }
}

/// The rates and latencies of a target, with a record of those that were used.
pub(super) struct Rates<'t> {
    pub target: &'t Target,
    /// Units that run grid positions.
    pub units: u64,
    /// Name of the last cache before `gmem`.
    pub cache: Option<&'t str>,
    /// Of one dependent access.
    pub gmem_latency: Fs,
    pub cache_latency: Fs,
    pub smem_latency: Fs,
    found: RefCell<HashMap<String, Option<Rate>>>,
    used: RefCell<BTreeMap<String, RateRecord>>,
    unrated: RefCell<BTreeMap<String, String>>,
}

impl<'t> Rates<'t> {
    /// None where the target does not say how many units it has.
    pub fn new(target: &'t Target) -> Option<Rates<'t>> {
        let units = target.grid_unit()?.count.known()?.value.max(1);
        let cache = roofline::last_cache(target).map(|(name, _)| name);
        let mut rates = Rates {
            target,
            units,
            cache,
            gmem_latency: 0,
            cache_latency: 0,
            smem_latency: 0,
            found: RefCell::default(),
            used: RefCell::default(),
            unrated: RefCell::default(),
        };
        let of = |s: Storage| target.storage(s.name()).and_then(|s| s.latency.as_ref());
        rates.gmem_latency = rates.latency("latency of gmem", of(Storage::Gmem)).unwrap_or(0);
        let cached = cache.and_then(|c| target.cache(c)).and_then(|c| c.latency.as_ref());
        let name = format!("latency of {}", cache.unwrap_or("cache"));
        // a cache is no slower than what it caches
        rates.cache_latency = rates.latency(&name, cached).unwrap_or(rates.gmem_latency);
        rates.smem_latency = rates.latency("latency of smem", of(Storage::Smem)).unwrap_or(0);
        Some(rates)
    }

    fn latency(&self, name: &str, d: Option<&crate::target::Datum<f64>>) -> Option<Fs> {
        let reason = match d {
            Some(d) => match d.known() {
                Some(f) => return Some(nanoseconds(f.value)),
                None => d.absent().unwrap_or_default().to_string(),
            },
            None => "the target states none".to_string(),
        };
        self.unrated.borrow_mut().insert(name.to_string(), reason);
        None
    }

    /// A fixed cost of the target; nothing where it states none.
    pub fn cost(&self, name: &str) -> Fs {
        match self.target.cost(name) {
            Ok(f) => nanoseconds(f.value),
            Err(reason) => {
                self.unrated.borrow_mut().insert(name.to_string(), reason);
                0
            }
        }
    }

    /// Time of work on the units' pipe for it, as if the whole device did it.
    pub fn work(&self, r: Resource, amount: u128) -> Option<(Pipe, Fs)> {
        let name = r.name();
        self.look(&name, || roofline::rate(self.target, MEASURED, r));
        let found = self.found.borrow();
        let rate = found.get(&name)?.as_ref()?;
        let pipe = match r {
            Resource::Tensor(_) if rate.name == name => Pipe::Matrix,
            Resource::Tensor(d) | Resource::Fma(d) if d.is_float() => Pipe::Fma,
            Resource::Tensor(_) | Resource::Fma(_) | Resource::Int => Pipe::Int,
            Resource::Sfu => Pipe::Sfu,
            Resource::Cvt => Pipe::Cvt,
        };
        Some((pipe, time(amount.div_ceil(rate.divide), rate.per_s)))
    }

    /// Time of bytes through a storage, the last cache or the link, at the whole device's rate.
    pub fn bytes(&self, pipe: Pipe, amount: u128) -> Option<Fs> {
        let name = self.name(pipe)?;
        self.look(name, || roofline::stated(self.target, MEASURED, name));
        let found = self.found.borrow();
        let rate = found.get(name)?.as_ref()?;
        Some(time(amount, rate.per_s))
    }

    fn look(&self, name: &str, rate: impl FnOnce() -> Result<Rate, String>) {
        if self.found.borrow().contains_key(name) {
            return;
        }
        let rate = rate().inspect_err(|reason| {
            self.unrated.borrow_mut().insert(name.to_string(), reason.clone());
        });
        if let Ok(r) = &rate {
            let record = RateRecord {
                resource: name.to_string(),
                set: r.set.as_str().to_string(),
                rate: r.text.clone(),
                note: r.note.clone(),
            };
            self.used.borrow_mut().insert(name.to_string(), record);
        }
        self.found.borrow_mut().insert(name.to_string(), rate.ok().filter(|r| r.per_s > 0));
    }

    /// The name of a pipe's rate; none for those whose rates go by dtype.
    fn name(&self, pipe: Pipe) -> Option<&str> {
        match pipe {
            Pipe::Smem => Some(Storage::Smem.name()),
            Pipe::Cache => self.cache,
            Pipe::Gmem => Some(Storage::Gmem.name()),
            Pipe::Host => Some(Storage::Host.name()),
            Pipe::Link => Some("link"),
            _ => None,
        }
    }

    /// What people call a pipe.
    pub fn label(&self, pipe: Pipe) -> String {
        let name = match pipe {
            Pipe::Matrix => "matrix",
            Pipe::Fma => "fma",
            Pipe::Sfu => "sfu",
            Pipe::Int => "int",
            Pipe::Cvt => "cvt",
            _ => self.name(pipe).unwrap_or("cache"),
        };
        name.to_string()
    }

    /// The rates that were asked for, and what has none, with the reason.
    pub fn records(&self) -> (Vec<RateRecord>, Vec<String>) {
        let unrated = self.unrated.borrow();
        let unrated = unrated.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        (self.used.borrow().values().cloned().collect(), unrated)
    }
}

fn nanoseconds(ns: f64) -> Fs {
    (ns * 1e6).round().clamp(0.0, u64::MAX as f64) as Fs
}

fn time(amount: u128, per_s: u128) -> Fs {
    let fs = match amount.checked_mul(FS) {
        Some(n) => n.div_ceil(per_s.max(1)),
        None => (amount / per_s.max(1)).saturating_mul(FS),
    };
    Fs::try_from(fs).unwrap_or(Fs::MAX)
}

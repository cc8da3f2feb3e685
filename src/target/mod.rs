//! Targets: what a device and its architecture are, as checked facts.
//!
//! Comes in: the text of TOML documents, embedded here or given by the caller; this module
//! reads no files. Goes out: a [`Target`], or a [`TargetError`] with every problem found.
//! Analyses ask by level, storage and resource, and never by vendor.
//!
//! Units of work. A rate of `tensor.<dtype>` is in flop/s and counts a multiply-add as two, for
//! integers too. A rate of `fma.<dtype>` is in op/s: one instruction (an addition, a product, a
//! comparison or a multiply-add) for one point is one op; a document may state the datasheet's
//! flop/s, which are halved. `sfu`, `int` and `cvt` are in op/s, one result each. Bandwidths
//! (`gmem`, `l2`, `smem`, `host`, `link`) are in B/s of the whole device, both directions
//! together.

mod check;
mod doc;
mod edit;
mod fact;
mod model;
mod toml_tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::diag::did_you_mean;
use crate::types::dtype::DType;

pub use edit::{NewFact, with_measured};
pub use fact::{Datum, Fact, Origin};
pub use model::{
    Cache, Extent, FactRow, Form, Instruction, InstructionKind, Level, RateSet, STORAGE_WORDS,
    Sizes, Storage, Unit,
};
pub use toml_tree::Problem;

macro_rules! documents {
    ($($id:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!("../../targets/", $id, ".toml")))),*]
    };
}

const DEVICES: &[(&str, &str)] = documents![
    "cpu.generic_x86_64",
    "nvidia.a100_sxm_80gb",
    "nvidia.b200_sxm",
    "nvidia.h100_sxm",
    "nvidia.h200_sxm",
    "nvidia.rtx_6000_ada",
];

const ARCHITECTURES: &[(&str, &str)] = documents!["sm_80", "sm_89", "sm_90", "sm_100", "x86_64"];

/// The ids of the devices that the compiler knows, in the order of the alphabet.
pub fn ids() -> impl Iterator<Item = &'static str> + Clone {
    DEVICES.iter().map(|(id, _)| *id)
}

/// The ids of the architectures that the compiler knows.
pub fn architecture_ids() -> impl Iterator<Item = &'static str> + Clone {
    ARCHITECTURES.iter().map(|(id, _)| *id)
}

/// The text of a built-in device's document.
pub fn builtin_device(id: &str) -> Option<&'static str> {
    DEVICES.iter().find(|(i, _)| *i == id).map(|(_, text)| *text)
}

/// The text of a built-in architecture's document.
pub fn builtin_architecture(id: &str) -> Option<&'static str> {
    ARCHITECTURES.iter().find(|(i, _)| *i == id).map(|(_, text)| *text)
}

/// What a document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Architecture,
    Device,
}

impl DocumentKind {
    /// The word of the key `kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            DocumentKind::Architecture => "architecture",
            DocumentKind::Device => "device",
        }
    }
}

/// Why there is no target: at least one problem; those of the device before those of its
/// architecture, each in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    pub problems: Vec<Problem>,
}

impl TargetError {
    fn unknown(id: &str, extra: &[&str]) -> TargetError {
        let mut known: Vec<&str> = ids().collect::<Vec<_>>();
        known.extend_from_slice(extra);
        // `nvidia.h20` is as near to one id as to another by edits; an id that it begins is
        // meant more often than not.
        let begun = known.iter().copied().filter(|k| !id.is_empty() && k.starts_with(id));
        let help =
            match begun.min_by_key(|k| k.len()).or_else(|| did_you_mean(id, known.iter().copied()))
            {
                Some(k) => format!("did you mean `{k}`?"),
                None => format!("known targets: {}", toml_tree::list(known.iter().copied())),
            };
        TargetError {
            problems: vec![Problem {
                document: "target".into(),
                span: 0..0,
                line: 0,
                column: 0,
                path: String::new(),
                message: format!("expected the id of a target, found `{id}`"),
                help: Some(help),
            }],
        }
    }
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, p) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{p}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TargetError {}

/// A device with its architecture, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    id: String,
    name: String,
    architecture: String,
    architecture_name: String,
    ptx_version: Option<Datum<u64>>,
    levels: Vec<Level>,
    grid: usize,
    units: Vec<Unit>,
    storages: Vec<Storage>,
    caches: Vec<Cache>,
    peak_clock: Datum<f64>,
    sustained_clock: Option<Datum<f64>>,
    per_clock: BTreeMap<String, Datum<f64>>,
    peak: BTreeMap<String, Datum<f64>>,
    sustained: BTreeMap<String, Datum<f64>>,
    costs: BTreeMap<String, Datum<f64>>,
    instructions: Vec<Instruction>,
}

impl Target {
    /// A target that the compiler knows.
    ///
    /// # Errors
    /// The id is unknown; the error names the nearest.
    pub fn builtin(id: &str) -> Result<Target, TargetError> {
        Target::find(id, |_| None, &[])
    }

    /// A target by id: `lookup` gives the text of the user's own documents by id, and goes
    /// before the built-in ones, for architectures too. `own` are the user's device ids, for
    /// the message.
    ///
    /// # Errors
    /// The id is unknown, or its documents have problems.
    pub fn find(
        id: &str,
        lookup: impl Fn(&str) -> Option<String>,
        own: &[&str],
    ) -> Result<Target, TargetError> {
        match lookup(id).or_else(|| builtin_device(id).map(str::to_string)) {
            Some(text) => Target::parse(id, &text, lookup),
            None => Err(TargetError::unknown(id, own)),
        }
    }

    /// Reads a device's document. `lookup` gives the text of an architecture by id; where it
    /// gives none, the built-in one of that id is used.
    ///
    /// # Errors
    /// Every syntax error, unknown key, wrong type or unit, unknown name and missing fact, each
    /// with document, line, column and key path.
    pub fn parse(
        id: &str,
        device_text: &str,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Target, TargetError> {
        check::device(id, device_text, lookup)
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The device's name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The architecture's id, for example `sm_90`.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The architecture's name for people.
    pub fn architecture_name(&self) -> &str {
        &self.architecture_name
    }

    /// The latest version of PTX that the driver takes, as major * 10 + minor.
    pub fn ptx_version(&self) -> Option<&Fact<u64>> {
        self.ptx_version.as_ref()?.known()
    }

    /// Coarse to fine; at least one.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    pub fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|l| l.name == name)
    }

    /// Position of a level among [`Target::levels`].
    pub fn level_index(&self, name: &str) -> Option<usize> {
        self.levels.iter().position(|l| l.name == name)
    }

    /// The level whose positions make up the launch grid. None only for a target without
    /// levels, which no check passes.
    pub fn grid_level(&self) -> Option<&Level> {
        self.levels.get(self.grid)
    }

    /// The level of which the sizes of the others are counted.
    pub fn finest_level(&self) -> Option<&Level> {
        self.levels.last()
    }

    /// How many positions of `level` one position of `within` holds. `Unstated` also where
    /// `within` does not enclose `level` or either name is unknown.
    pub fn extent(&self, level: &str, within: &str) -> Extent {
        let (Some(i), Some(o)) = (self.level_index(level), self.level_index(within)) else {
            return Extent::Unstated;
        };
        let (Some(inner), Some(outer)) = (self.levels.get(i), self.levels.get(o)) else {
            return Extent::Unstated;
        };
        if o >= i {
            return Extent::Unstated;
        }
        let size = |l: &Level| match &l.size {
            Some(d) => d.known().map(|f| f.value),
            None => (Some(&l.name) == self.finest_level().map(|f| &f.name)).then_some(1),
        };
        let at_most = |l: &Level| l.at_most.get(within).and_then(Datum::known).map(|f| f.value);
        if let (Some(a), Some(b)) = (size(inner), size(outer))
            && let Some(n) = b.checked_div(a)
        {
            return Extent::Exactly(n);
        }
        if let Some(n) = at_most(inner) {
            return Extent::AtMost(n);
        }
        let of_finest = self.finest_level().and_then(at_most);
        match (of_finest, size(inner)) {
            (Some(n), Some(s)) if s > 0 => Extent::AtMost(n / s),
            _ => Extent::Unstated,
        }
    }

    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    pub fn unit(&self, name: &str) -> Option<&Unit> {
        self.units.iter().find(|u| u.name == name)
    }

    /// The hardware that runs the positions of a level.
    pub fn unit_of(&self, level: &str) -> Option<&Unit> {
        self.units.iter().find(|u| u.level == level)
    }

    /// The hardware that runs the launch grid.
    pub fn grid_unit(&self) -> Option<&Unit> {
        self.unit_of(&self.grid_level()?.name)
    }

    pub fn storages(&self) -> &[Storage] {
        &self.storages
    }

    pub fn storage(&self, name: &str) -> Option<&Storage> {
        self.storages.iter().find(|s| s.name == name)
    }

    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    pub fn cache(&self, name: &str) -> Option<&Cache> {
        self.caches.iter().find(|c| c.name == name)
    }

    /// Clock of the units in Hz.
    pub fn clock(&self, set: RateSet) -> Option<Fact<f64>> {
        match set {
            RateSet::Peak => self.peak_clock.known().cloned(),
            RateSet::Sustained => self.sustained_clock.as_ref()?.known().cloned(),
        }
    }

    /// The rate of a resource on the whole device, in the units of the module's text; none
    /// where the target does not know it ([`Target::rate_or_reason`] says why).
    pub fn rate(&self, set: RateSet, resource: &str) -> Option<Fact<f64>> {
        self.rate_or_reason(set, resource).ok()
    }

    /// The rate of a resource: stated, or from what one unit does in a clock. Sustained
    /// bandwidths are never derived: they must be measured.
    ///
    /// # Errors
    /// The reason why the rate is not known.
    pub fn rate_or_reason(&self, set: RateSet, resource: &str) -> Result<Fact<f64>, String> {
        let stated = match set {
            RateSet::Peak => &self.peak,
            RateSet::Sustained => &self.sustained,
        };
        match stated.get(resource) {
            Some(Datum::Absent(reason)) => return Err(reason.clone()),
            Some(Datum::Known(f)) => return Ok(as_ops(resource, f.clone())),
            None => {}
        }
        let unstated = || format!("the target states no {} rate of `{resource}`", set.as_str());
        let per_clock = match self.per_clock.get(resource) {
            None => return Err(unstated()),
            Some(Datum::Absent(reason)) => return Err(reason.clone()),
            Some(Datum::Known(f)) => f,
        };
        let bandwidth = per_clock.unit == "B/clock";
        if set == RateSet::Sustained && bandwidth {
            return Err(unstated());
        }
        let unit = self.grid_unit().ok_or_else(unstated)?;
        let count = match &unit.count {
            Datum::Known(f) => f.value,
            Datum::Absent(reason) => return Err(reason.clone()),
        };
        let clock = self
            .clock(set)
            .ok_or_else(|| format!("the target states no {} clock", set.as_str()))?;
        let Fact { value, unit: per, source, note, .. } = as_ops(resource, per_clock.clone());
        Ok(Fact {
            value: value * count as f64 * clock.value,
            unit: per.replace("/clock", "/s"),
            origin: Origin::Derived,
            source: format!(
                "{value} {per} x {count} {} x {:.0} Hz; {source}; {}",
                unit.name, clock.value, clock.source
            ),
            note,
        })
    }

    /// The resources that have a stated or derived rate in a set.
    pub fn resources(&self, set: RateSet) -> Vec<&str> {
        let stated = match set {
            RateSet::Peak => &self.peak,
            RateSet::Sustained => &self.sustained,
        };
        let mut all: Vec<&str> =
            stated.keys().chain(self.per_clock.keys()).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|r| self.rate(set, r).is_some());
        all
    }

    /// Nanoseconds of a fixed cost: `launch` (one launch of a grid) or `grid_barrier` (all
    /// positions of the grid wait for each other).
    ///
    /// # Errors
    /// The reason why it is not known.
    pub fn cost(&self, name: &str) -> Result<Fact<f64>, String> {
        match self.costs.get(name) {
            Some(Datum::Known(f)) => Ok(f.clone()),
            Some(Datum::Absent(reason)) => Err(reason.clone()),
            None => Err(format!("the target states no cost `{name}`")),
        }
    }

    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The family that a hint's word asks for.
    pub fn instruction(&self, hint: &str) -> Option<&Instruction> {
        self.instructions.iter().find(|i| i.hint == hint)
    }

    /// The families that multiply matrices of these dtypes, in the order of the document.
    pub fn matrix(
        &self,
        a: DType,
        b: DType,
        acc: DType,
    ) -> impl Iterator<Item = (&Instruction, &Form)> {
        self.instructions
            .iter()
            .flat_map(|i| i.forms.iter().map(move |f| (i, f)))
            .filter(move |(_, f)| f.takes(a, b, acc))
    }

    /// The families that copy from one storage to another.
    pub fn copies<'a>(
        &'a self,
        from: &'a str,
        to: &'a str,
    ) -> impl Iterator<Item = &'a Instruction> {
        self.instructions.iter().filter(move |i| i.moves.iter().any(|(f, t)| f == from && t == to))
    }

    /// Every fact with its key path, for `target show`; the families are in
    /// [`Target::instructions`].
    pub fn facts(&self) -> Vec<FactRow> {
        let mut rows = vec![];
        rows.extend(self.ptx_version.iter().map(|d| FactRow::new("ptx_version".into(), d)));
        for l in &self.levels {
            let path = format!("levels.{}", l.name);
            rows.extend(l.size.iter().map(|d| FactRow::new(format!("{path}.size"), d)));
            rows.extend(named(&format!("{path}.at_most"), &l.at_most));
        }
        for u in &self.units {
            let path = format!("units.{}", u.name);
            rows.push(FactRow::new(format!("{path}.count"), &u.count));
            rows.extend(named(&format!("{path}.resident"), &u.resident));
        }
        for s in &self.storages {
            let path = format!("storages.{}", s.name);
            rows.push(FactRow::new(format!("{path}.capacity"), &s.capacity));
            for (key, datum) in
                [("pool", &s.pool), ("reserved", &s.reserved), ("granule", &s.granule)]
            {
                rows.extend(datum.iter().map(|d| FactRow::new(format!("{path}.{key}"), d)));
            }
            rows.extend(named(&format!("{path}.align"), &s.align));
            rows.extend(named(&format!("{path}.access"), &s.access));
            rows.extend(s.latency.iter().map(|d| FactRow::new(format!("{path}.latency"), d)));
        }
        for c in &self.caches {
            let path = format!("caches.{}", c.name);
            rows.push(FactRow::new(format!("{path}.capacity"), &c.capacity));
            rows.extend(c.latency.iter().map(|d| FactRow::new(format!("{path}.latency"), d)));
        }
        rows.push(FactRow::new("clocks.peak".into(), &self.peak_clock));
        rows.extend(
            self.sustained_clock.iter().map(|d| FactRow::new("clocks.sustained".into(), d)),
        );
        rows.extend(named("per_clock", &self.per_clock));
        rows.extend(named("rates.peak", &self.peak));
        rows.extend(named("rates.sustained", &self.sustained));
        rows.extend(named("costs", &self.costs));
        rows
    }
}

fn named<T: fact::FactValue>(
    prefix: &str,
    all: &BTreeMap<String, Datum<T>>,
) -> impl Iterator<Item = FactRow> {
    all.iter().map(move |(k, d)| FactRow::new(format!("{prefix}.{k}"), d))
}

/// `fma.*` in flop becomes op: a multiply-add counts as two flop and is one instruction.
fn as_ops(resource: &str, f: Fact<f64>) -> Fact<f64> {
    if !resource.starts_with("fma.") {
        return f;
    }
    match f.unit.strip_prefix("flop/") {
        None => f,
        Some(per) => Fact {
            unit: format!("op/{per}"),
            value: f.value / 2.0,
            origin: Origin::Derived,
            source: format!("{} flop/{per} / 2; {}", f.value, f.source),
            note: f.note,
        },
    }
}

/// Checks a document of either kind: a device with its architecture, or an architecture alone.
/// `lookup` is as in [`Target::parse`]. Returns what the document describes.
///
/// # Errors
/// As [`Target::parse`].
pub fn check(
    id: &str,
    text: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<DocumentKind, TargetError> {
    let mut r = toml_tree::Reader::new(id, text);
    let is_architecture = r.root().is_some_and(|mut t| {
        matches!(t.get("kind").map(|n| n.value),
            Some(toml_tree::Value::Str(k)) if k == DocumentKind::Architecture.as_str())
    });
    if !is_architecture {
        return Target::parse(id, text, lookup).map(|_| DocumentKind::Device);
    }
    let mut r = toml_tree::Reader::new(id, text);
    check::architecture(&mut r, id);
    if r.problems.is_empty() {
        Ok(DocumentKind::Architecture)
    } else {
        Err(TargetError { problems: r.into_problems() })
    }
}

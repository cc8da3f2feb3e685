//! What an analysis found, as plain data. The whole program and each op have one shape.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::advice::Finding;
use super::scopes::ScopeRecord;
use super::timeline::record::Prediction;
use crate::base::{SourceMap, Span};
use crate::types::dtype::DType;

/// The version of the records below; a change of meaning or shape changes it.
pub const SCHEMA: &str = "tilefoundry.analysis/1";

/// How a number stands to the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    #[default]
    Exact,
    UpperBound,
    LowerBound,
}

impl Certainty {
    /// Of a sum. A sum of upper and lower bounds is neither; it is called an upper bound, since
    /// lower bounds arise here only in communication, which is never added to the others.
    pub fn and(self, other: Certainty) -> Certainty {
        if self == Certainty::Exact { other } else { self }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Certainty::Exact => "exact",
            Certainty::UpperBound => "upper_bound",
            Certainty::LowerBound => "lower_bound",
        }
    }
}

/// A place in the source; `at` is `file:line:column` once [`Analysis::locate`] has run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Site {
    pub file: u32,
    pub start: u32,
    pub end: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl Site {
    pub fn new(span: Span) -> Site {
        Site { file: span.file.0, start: span.start, end: span.end, at: None }
    }

    pub fn span(&self) -> Span {
        let file = crate::base::FileId(self.file);
        Span { file, start: self.start, end: self.end }
    }

    pub(super) fn locate(&mut self, sources: &SourceMap) {
        self.at = Some(sources.locate(self.span()));
    }
}

/// A quotient of integers, reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub num: u128,
    pub den: u128,
}

impl Ratio {
    pub const ZERO: Ratio = Ratio { num: 0, den: 1 };

    /// `num / den`; a zero `den` is taken as 1.
    pub fn new(num: u128, den: u128) -> Ratio {
        let den = den.max(1);
        let (mut a, mut b) = (num, den);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let g = a.max(1);
        Ratio { num: num / g, den: den / g }
    }

    pub fn plus(self, other: Ratio) -> Ratio {
        let exact = self.num.checked_mul(other.den).zip(other.num.checked_mul(self.den));
        match (exact.and_then(|(a, b)| a.checked_add(b)), self.den.checked_mul(other.den)) {
            (Some(n), Some(d)) => Ratio::new(n, d),
            // beyond 128 bits: whole units are exact enough for what was that large
            _ => Ratio::new((self.num / self.den).saturating_add(other.num / other.den), 1),
        }
    }

    /// The difference, zero where `other` is larger.
    pub fn minus(self, other: Ratio) -> Ratio {
        let exact = self.num.checked_mul(other.den).zip(other.num.checked_mul(self.den));
        match (exact, self.den.checked_mul(other.den)) {
            (Some((a, b)), Some(d)) => Ratio::new(a.saturating_sub(b), d),
            _ => Ratio::new((self.num / self.den).saturating_sub(other.num / other.den), 1),
        }
    }

    /// The quotient; none where `other` is zero.
    pub fn over(self, other: Ratio) -> Option<Ratio> {
        let num = self.num.checked_mul(other.den)?;
        let den = self.den.checked_mul(other.num)?;
        (den > 0).then(|| Ratio::new(num, den))
    }

    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> std::cmp::Ordering {
        match (self.num.checked_mul(other.den), other.num.checked_mul(self.den)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.as_f64().total_cmp(&other.as_f64()),
        }
    }
}

/// An integer if it is one, otherwise `"num/den"`.
impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.num) {
            Ok(n) if self.den == 1 => s.serialize_u64(n),
            _ => s.serialize_str(&format!("{}/{}", self.num, self.den)),
        }
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ratio".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        super::schema::ratio()
    }
}

/// A JSON number where it fits 64 bits, otherwise its digits as a string.
pub(super) fn big<S: Serializer>(n: &u128, s: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*n) {
        Ok(n) => s.serialize_u64(n),
        Err(_) => s.serialize_str(&n.to_string()),
    }
}

/// What one position of a level does.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PerUnit {
    pub level: String,
    /// Positions of the level.
    #[serde(serialize_with = "big")]
    pub units: u128,
    /// Of the busiest one.
    #[serde(serialize_with = "big")]
    pub max: u128,
    /// `max` of a program of several launches adds the busiest of each, which need not be one
    /// unit: an upper bound then.
    pub max_is: Certainty,
    pub mean: Ratio,
}

/// One counted quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Amount {
    /// As authored once: whole extents, no padding, no copy of the same.
    #[serde(serialize_with = "big")]
    pub logical: u128,
    /// By all positions, replication and padding counted as they run. Traffic of `gmem` and
    /// `host` counts a byte once for each op and grid position, however many of its threads use it.
    #[serde(serialize_with = "big")]
    pub total: u128,
    /// `total`, but what the positions within one grid position repeat is counted once.
    #[serde(serialize_with = "big")]
    pub grid: u128,
    pub is: Certainty,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_unit: Vec<PerUnit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkRecord {
    /// `tensor.bf16`, `fma.f32`, `sfu`, `int`, `cvt`. A `tensor` multiply-add counts as 2.
    pub resource: String,
    #[serde(flatten)]
    pub amount: Amount,
}

/// Floating-point operations of one dtype, over `tensor` and `fma`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlopRecord {
    #[serde(serialize_with = "name")]
    #[schemars(with = "String")]
    pub dtype: DType,
    #[serde(serialize_with = "big")]
    pub logical: u128,
    #[serde(serialize_with = "big")]
    pub total: u128,
    #[serde(serialize_with = "big")]
    pub grid: u128,
    pub is: Certainty,
}

fn name<S: Serializer>(d: &DType, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(d.name())
}

/// Bytes of one storage.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrafficRecord {
    pub storage: String,
    pub read: Amount,
    pub write: Amount,
}

/// Bytes that move between the owners of one level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CommRecord {
    pub level: String,
    /// That one unit sends; it receives as many.
    #[serde(serialize_with = "big")]
    pub per_unit: u128,
    /// Sent by all units.
    #[serde(serialize_with = "big")]
    pub total: u128,
    pub is: Certainty,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    pub work: Vec<WorkRecord>,
    pub flops: Vec<FlopRecord>,
    pub traffic: Vec<TrafficRecord>,
    pub communication: Vec<CommRecord>,
}

impl Costs {
    /// Work on a resource by its name.
    pub fn work(&self, resource: &str) -> Option<&Amount> {
        self.work.iter().find(|w| w.resource == resource).map(|w| &w.amount)
    }

    pub fn flops(&self, dtype: DType) -> Option<&FlopRecord> {
        self.flops.iter().find(|f| f.dtype == dtype)
    }

    pub fn traffic(&self, storage: &str) -> Option<&TrafficRecord> {
        self.traffic.iter().find(|t| t.storage == storage)
    }
}

/// One op, with all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpRecord {
    pub node: u32,
    pub op: String,
    /// Name of the first result.
    pub result: String,
    /// The calls around it: `step/attend`.
    pub scope: String,
    pub site: Site,
    /// Index among the launches; none for an op outside meshes, which is the whole device's.
    pub launch: Option<usize>,
    /// How often it runs at the position that runs it most.
    #[serde(serialize_with = "big")]
    pub runs: u128,
    /// Runs of all positions that work apart.
    #[serde(serialize_with = "big")]
    pub runs_total: u128,
    /// Mesh axes whose positions all do the same work.
    pub replicated_over: Vec<String>,
    pub costs: Costs,
}

/// One outermost mesh.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LaunchRecord {
    pub name: String,
    pub site: Site,
    /// Level and positions in all.
    #[serde(serialize_with = "pairs")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub positions: Vec<(String, u128)>,
    /// Grid positions that one unit holds at once, by its shared pools and limits.
    pub resident: Option<u64>,
    /// What allows no more of them: storages that are full, and levels of which a unit holds no
    /// more positions (`smem`, `rmem`, `thread`, `cta`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resident_by: Vec<String>,
    pub waves: Option<u64>,
    /// Where the grid's positions first wait for each other; all of them must then be resident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<Site>,
}

impl LaunchRecord {
    /// Whether positions would wait for others that cannot start.
    pub fn stuck(&self) -> bool {
        self.barrier.is_some() && self.waves.is_some_and(|w| w > 1)
    }
}

fn pairs<S: Serializer>(v: &[(String, u128)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(v.iter().map(|(k, n)| (k, u64::try_from(*n).unwrap_or(u64::MAX))))
}

pub(super) fn sizes<S: Serializer>(v: &[(String, i64)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(v.iter().map(|(k, n)| (k, n)))
}

/// The distinct bytes of one buffer in `gmem` that the program touches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FootprintRecord {
    pub buffer: String,
    pub site: Site,
    /// A parameter, weight or result: it exists before or after the program.
    pub persistent: bool,
    #[serde(serialize_with = "big")]
    pub size: u128,
    #[serde(serialize_with = "big")]
    pub read: u128,
    pub read_is: Certainty,
    #[serde(serialize_with = "big")]
    pub write: u128,
    pub write_is: Certainty,
}

/// A value that is live at a peak.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LiveValue {
    pub value: String,
    pub ty: String,
    pub site: Site,
    #[serde(serialize_with = "big")]
    pub live: u128,
    #[serde(serialize_with = "big")]
    pub allocated: u128,
    /// Depth of its ring; 1 for a plain value.
    pub buffers: u64,
}

/// Peak bytes in one owner of a storage.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PeakRecord {
    pub storage: String,
    /// The level whose position owns it, `cta`; for a part, `thread of mma`.
    pub owner: String,
    /// Elements once, no alignment; each result beside its operands.
    #[serde(serialize_with = "big")]
    pub live: u128,
    /// The same where a result takes a dying operand's place if it may.
    #[serde(serialize_with = "big")]
    pub live_in_place: u128,
    /// As stored: a copy for each position, partial sums apart, aligned, rings counted.
    #[serde(serialize_with = "big")]
    pub allocated: u128,
    #[serde(serialize_with = "big")]
    pub allocated_in_place: u128,
    pub is: Certainty,
    /// Bytes the owner has; the verdict holds `allocated_in_place` against it.
    pub limit: Option<u64>,
    pub limit_source: String,
    pub exceeded: bool,
    /// What runs at the peak of `allocated_in_place`.
    pub op: String,
    pub site: Site,
    /// Largest first.
    pub values: Vec<LiveValue>,
    /// What would fit, if it does not.
    pub would_fit: Vec<String>,
}

/// Time on one resource.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BoundRow {
    pub resource: String,
    /// Work on it, in the unit of the rate.
    #[serde(serialize_with = "big")]
    pub amount: u128,
    pub is: Certainty,
    /// Exact picoseconds; none where no rate is known.
    pub ps: Option<Ratio>,
    /// The rate and where it is from, or why there is none.
    pub rate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A lower bound of the time: the maximum over resources.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// `device` or `placed`.
    pub name: String,
    /// Whether the inputs are in `gmem` (`cold`) or already in the last cache (`warm`).
    pub form: String,
    pub ps: Option<Ratio>,
    /// The resource that binds.
    pub binds: String,
    /// `compute`, `bandwidth` or `latency`.
    pub kind: String,
    /// Slowest first; those without a rate last.
    pub rows: Vec<BoundRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Roofline {
    pub rates: String,
    pub bounds: Vec<Bound>,
}

impl Roofline {
    pub fn bound(&self, name: &str, form: &str) -> Option<&Bound> {
        self.bounds.iter().find(|b| b.name == name && b.form == form)
    }
}

/// Everything found about one program at stated sizes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    pub program: String,
    pub target: Option<String>,
    /// Dims with their values, and parameters with the value stated for their elements.
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "BTreeMap<String, i64>")]
    pub dims: Vec<(String, i64)>,
    /// The whole program.
    pub costs: Costs,
    /// Work of ops outside every mesh is the whole device's.
    pub unplaced_ops: usize,
    pub launches: Vec<LaunchRecord>,
    pub footprints: Vec<FootprintRecord>,
    pub capacity: Vec<PeakRecord>,
    /// What the last cache keeps; none without a target, or on several devices.
    pub reuse: Option<super::reuse::Reuse>,
    pub roofline: Option<Roofline>,
    /// Totals of each call path, callers first.
    pub scopes: Vec<ScopeRecord>,
    /// The predicted time.
    pub prediction: Option<Prediction>,
    /// What would make it faster or smaller, the most time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Finding>,
    pub ops: Vec<OpRecord>,
    pub notes: Vec<String>,
}

impl Analysis {
    /// Whether every capacity holds, and every grid with a barrier is resident at once.
    pub fn fits(&self) -> bool {
        self.capacity.iter().all(|p| !p.exceeded) && !self.launches.iter().any(LaunchRecord::stuck)
    }

    pub fn peak(&self, storage: &str, owner: &str) -> Option<&PeakRecord> {
        self.capacity.iter().find(|p| p.storage == storage && p.owner == owner)
    }

    /// Fills in `file:line:column` of every site, for JSON.
    pub fn locate(&mut self, sources: &SourceMap) {
        let launches = self.launches.iter_mut().map(|l| &mut l.site);
        let prints = self.footprints.iter_mut().map(|f| &mut f.site);
        let ops = self.ops.iter_mut().map(|o| &mut o.site);
        let predicted = self.prediction.iter_mut().flat_map(Prediction::sites);
        for s in launches.chain(prints).chain(ops).chain(predicted) {
            s.locate(sources);
        }
        for p in &mut self.capacity {
            p.site.locate(sources);
            p.values.iter_mut().for_each(|v| v.site.locate(sources));
        }
        for f in &mut self.advice {
            f.sites.iter_mut().for_each(|s| s.site.locate(sources));
        }
    }
}

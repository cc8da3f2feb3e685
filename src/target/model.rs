//! What a checked target consists of. Nothing here names a vendor: levels, units, caches and
//! instruction families are data.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fact::{Datum, Fact, Origin};
use crate::types::dtype::DType;

/// The storage words of the language. A target maps its memories on some of them.
pub const STORAGE_WORDS: [&str; 5] = ["host", "gmem", "smem", "rmem", "tmem"];

/// One level of the topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    pub name: String,
    /// Whether the positions of this level make up the launch grid.
    pub grid: bool,
    /// How many positions of the finest level one position has, where the hardware fixes it
    /// (a warp: 32).
    pub size: Option<Datum<u64>>,
    /// By enclosing level: at most how many positions of this level one position of it holds.
    pub at_most: BTreeMap<String, Datum<u64>>,
}

/// How many positions of a level one position of an enclosing level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Extent {
    /// Fixed by the hardware.
    Exactly(u64),
    /// Chosen by the program up to this.
    AtMost(u64),
    /// The target states no limit.
    Unstated,
}

/// The hardware that runs the positions of a level (SMs run CTAs).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unit {
    pub name: String,
    /// The level whose positions this unit runs.
    pub level: String,
    /// How many the device has.
    pub count: Datum<u64>,
    /// By level: at most how many positions of it one unit holds at once.
    pub resident: BTreeMap<String, Datum<u64>>,
}

/// A memory that programs can name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Storage {
    /// One of [`STORAGE_WORDS`].
    pub name: String,
    /// The level whose positions own it; none for memory outside the device.
    pub owner: Option<String>,
    /// Bytes that one owner may use.
    pub capacity: Datum<u64>,
    /// Bytes that all owners on one `pool_unit` share.
    pub pool: Option<Datum<u64>>,
    /// The unit that has the pool.
    pub pool_unit: Option<String>,
    /// Bytes of the pool that each position of the grid level loses to the system.
    pub reserved: Option<Datum<u64>>,
    /// Bytes that an owner's use is rounded up to.
    pub granule: Option<Datum<u64>>,
    /// Alignment of a value in bytes, by layout: `plain`, `swizzle`.
    pub align: BTreeMap<String, Datum<u64>>,
    /// How accesses are served, by [`ACCESS_WORDS`].
    pub access: BTreeMap<String, Datum<u64>>,
    /// Nanoseconds of one dependent access.
    pub latency: Option<Datum<f64>>,
}

/// Facts of how a storage serves accesses, with their units: neighbouring positions of the finest
/// level that are served together; bytes that one of them can ask for at once; the smallest part
/// that is moved; banks that each give one `bank` of bytes at a time.
pub const ACCESS_WORDS: [(&str, &str); 5] =
    [("group", "thread"), ("widest", "B"), ("sector", "B"), ("banks", "bank"), ("bank", "B")];

/// A cache that programs do not name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cache {
    pub name: String,
    /// The storage whose accesses it serves.
    pub of: String,
    /// Bytes.
    pub capacity: Datum<u64>,
    /// Nanoseconds of one dependent access.
    pub latency: Option<Datum<f64>>,
}

/// Which of the two rate sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSet {
    /// From the datasheet; for bounds.
    Peak,
    /// Measured on the device; for predictions.
    Sustained,
}

impl RateSet {
    pub fn as_str(self) -> &'static str {
        match self {
            RateSet::Peak => "peak",
            RateSet::Sustained => "sustained",
        }
    }
}

/// What an instruction family does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InstructionKind {
    /// `acc += a @ b` on a tile.
    Matrix,
    /// Moves values between storages.
    Copy,
    /// Lets positions wait for each other or for copies.
    Barrier,
    /// Groups positions that reach each other's storage.
    Group,
}

impl InstructionKind {
    pub const ALL: [(&'static str, InstructionKind); 4] = [
        ("matrix", InstructionKind::Matrix),
        ("copy", InstructionKind::Copy),
        ("barrier", InstructionKind::Barrier),
        ("group", InstructionKind::Group),
    ];
}

/// The extents that one axis of an instruction may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// Any of these.
    OneOf(Vec<u64>),
    /// `min`, `min + step`, up to `max`.
    Steps { min: u64, max: u64, step: u64 },
}

impl Sizes {
    pub fn contains(&self, size: u64) -> bool {
        match self {
            Sizes::OneOf(all) => all.contains(&size),
            Sizes::Steps { min, max, step } => {
                size >= *min && size <= *max && (size - min).is_multiple_of(*step)
            }
        }
    }

    /// The largest; 0 for an empty list, which no checked target has.
    pub fn max(&self) -> u64 {
        match self {
            Sizes::OneOf(all) => all.iter().copied().max().unwrap_or(0),
            Sizes::Steps { max, .. } => *max,
        }
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sizes::OneOf(all) => {
                let words: Vec<String> = all.iter().map(u64::to_string).collect();
                f.write_str(&words.join(", "))
            }
            Sizes::Steps { min, max, step } => write!(f, "{min}..{max} step {step}"),
        }
    }
}

/// Operand dtypes and tile shapes that go together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Form {
    #[serde(serialize_with = "names")]
    pub a: Vec<DType>,
    #[serde(serialize_with = "names")]
    pub b: Vec<DType>,
    #[serde(serialize_with = "names")]
    pub acc: Vec<DType>,
    /// Whether `a` and `b` may differ; else both are the same dtype.
    pub mixed: bool,
    pub m: Sizes,
    pub n: Sizes,
    /// Bytes of `a` along the reduced axis; the extent is these over the bytes of an element.
    pub k_bytes: Sizes,
}

fn names<S: serde::Serializer>(all: &[DType], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(all.iter().map(|d| d.name()))
}

impl Form {
    /// Whether the dtypes fit this form.
    pub fn takes(&self, a: DType, b: DType, acc: DType) -> bool {
        self.a.contains(&a)
            && self.b.contains(&b)
            && self.acc.contains(&acc)
            && (self.mixed || a == b)
    }

    /// Whether the dtypes and the tile fit; `k` counts elements.
    pub fn fits(&self, a: DType, b: DType, acc: DType, [m, n, k]: [u64; 3]) -> bool {
        let bits = k.saturating_mul(a.bits());
        self.takes(a, b, acc)
            && self.m.contains(m)
            && self.n.contains(n)
            && bits.is_multiple_of(8)
            && self.k_bytes.contains(bits / 8)
    }
}

/// A family of instructions that a hint can ask for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instruction {
    /// The vendor's name.
    pub name: String,
    /// The word in `#[atom(..)]` and `#[via(..)]`.
    pub hint: String,
    pub kind: InstructionKind,
    /// The level whose positions issue it.
    pub level: String,
    /// Positions of the finest level that take part in one issue.
    pub participants: u64,
    /// Whether the issuer goes on before it is done.
    pub asynchronous: bool,
    /// Matrix: operand dtypes and shapes.
    pub forms: Vec<Form>,
    /// Matrix: storages that the operands may be in.
    pub a: Vec<String>,
    pub b: Vec<String>,
    pub acc: Vec<String>,
    /// Copy: pairs of storages, from and to.
    pub moves: Vec<(String, String)>,
    /// Copy: the level in whose positions one load may reach several finer ones.
    pub multicast: Option<String>,
    /// Copy: bytes that one participant moves.
    pub bytes: Option<Sizes>,
    /// Copy: the contiguous run is a multiple of this many bytes.
    pub run_bytes: Option<u64>,
    /// Copy: at most this many axes, and at most this extent of each.
    pub max_rank: Option<u64>,
    pub max_extent: Option<u64>,
    /// Copy: alignment of the destination in bytes.
    pub align: Option<u64>,
    /// Group: at most this many positions.
    pub max_group: Option<u64>,
    pub origin: Origin,
    pub source: String,
    pub note: Option<String>,
}

/// One row of [`super::Target::facts`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactRow {
    /// The key path, for example `storages.smem.capacity`.
    pub path: String,
    /// The value in words, or none for an absent fact.
    pub value: Option<String>,
    pub unit: String,
    /// None for an absent fact.
    pub origin: Option<Origin>,
    /// The source, or the reason why the fact is absent.
    pub source: String,
    pub note: Option<String>,
}

impl FactRow {
    pub(super) fn new<T: super::fact::FactValue>(path: String, datum: &Datum<T>) -> FactRow {
        match datum {
            Datum::Known(Fact { value, unit, origin, source, note }) => FactRow {
                path,
                value: Some(value.show()),
                unit: unit.clone(),
                origin: Some(*origin),
                source: source.clone(),
                note: note.clone(),
            },
            Datum::Absent(reason) => FactRow {
                path,
                value: None,
                unit: String::new(),
                origin: None,
                source: reason.clone(),
                note: None,
            },
        }
    }
}

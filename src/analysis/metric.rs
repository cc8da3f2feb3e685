//! Figures of an analysis by name, for sweeps, plots, differences and crossings.

use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Amount, Analysis, Certainty, Costs, Ratio};
use super::units;
use crate::diag::did_you_mean;
use crate::types::placement::Storage;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Unit {
    #[serde(rename = "B")]
    Bytes,
    /// Operations of one kind.
    #[serde(rename = "op")]
    Ops,
    #[serde(rename = "ps")]
    Picoseconds,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    pub value: Ratio,
    pub unit: Unit,
    pub is: Certainty,
}

impl Metric {
    fn of(value: u128, unit: Unit, is: Certainty) -> Metric {
        Metric { value: Ratio::new(value, 1), unit, is }
    }

    /// The integer, where it is one.
    pub fn int(&self) -> Option<u128> {
        (self.value.den == 1).then_some(self.value.num)
    }

    /// At most three digits.
    pub fn show(&self) -> String {
        self.unit.show(self.value)
    }
}

impl Unit {
    /// A value of this unit, at most three digits.
    pub fn show(self, value: Ratio) -> String {
        match self {
            Unit::Bytes => units::bytes(value.num / value.den),
            Unit::Ops => units::count(value.num / value.den, ""),
            Unit::Picoseconds => units::time(value.as_f64()),
        }
    }

    /// As it stands behind an exact number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "B",
            Unit::Ops => "op",
            Unit::Picoseconds => "ps",
        }
    }
}

/// Which of the three counts of an amount.
fn pick(a: &Amount, which: &str) -> u128 {
    match which {
        "total" => a.total,
        "grid" => a.grid,
        _ => a.logical,
    }
}

/// A path without its last word, where that says which count is meant.
fn which(path: &str) -> (&str, &str) {
    match path.rsplit_once('.') {
        Some((p, w @ ("total" | "grid" | "logical"))) => (p, w),
        _ => (path, "logical"),
    }
}

impl Costs {
    /// The figures of [`Analysis::metric`] that one op has as well: flops, work, traffic and
    /// communication.
    pub fn metric(&self, path: &str) -> Option<Metric> {
        let (path, which) = which(path);
        let of = |a: &Amount, unit| Metric::of(pick(a, which), unit, a.is);
        let none = |unit| Metric::of(0, unit, Certainty::Exact);
        if let Some(d) = path.strip_prefix("flops.") {
            let f = self.flops.iter().find(|f| f.dtype.name() == d);
            return Some(f.map_or(none(Unit::Ops), |f| {
                let n = match which {
                    "total" => f.total,
                    "grid" => f.grid,
                    _ => f.logical,
                };
                Metric::of(n, Unit::Ops, f.is)
            }));
        }
        if let Some(r) = path.strip_prefix("work.") {
            return Some(self.work(r).map_or(none(Unit::Ops), |a| of(a, Unit::Ops)));
        }
        if let Some(l) = path.strip_prefix("communication.") {
            let c = self.communication.iter().find(|c| c.level == l)?;
            return Some(Metric::of(c.total, Unit::Bytes, c.is));
        }
        let (storage, way) = path.split_once('.')?;
        let t = self.traffic(storage);
        if t.is_none() && !Storage::ALL.iter().any(|s| s.name() == storage) {
            return None;
        }
        match way {
            "read" => Some(t.map_or(none(Unit::Bytes), |t| of(&t.read, Unit::Bytes))),
            "write" => Some(t.map_or(none(Unit::Bytes), |t| of(&t.write, Unit::Bytes))),
            _ => None,
        }
    }

    /// Paths of what is counted here, by all positions.
    pub fn metrics(&self) -> Vec<String> {
        let mut out: Vec<String> =
            self.work.iter().map(|w| format!("work.{}.total", w.resource)).collect();
        for t in &self.traffic {
            out.push(format!("{}.read.total", t.storage));
            out.push(format!("{}.write.total", t.storage));
        }
        out.extend(self.communication.iter().map(|c| format!("communication.{}", c.level)));
        out
    }
}

impl Analysis {
    /// A figure by its path; `None` where there is none of that name. Without more words it is the
    /// logical one, with `.total` or `.grid` that of all positions:
    ///
    /// * `flops.f16`, `work.sfu`, `work.tensor.bf16`
    /// * `gmem.read`, `smem.write.total`
    /// * `peak.rmem`, `peak.rmem.in_place`, `peak.rmem.allocated`: of the storage's first owner
    /// * `communication.gpu`: bytes that all units of a level send
    /// * `footprint.x.read`, `footprint.x.write`
    /// * `predicted`, the predicted time
    /// * `bound`, the cold bound as placed; `bound.device`, `bound.placed.warm`
    pub fn metric(&self, path: &str) -> Option<Metric> {
        if path == "predicted" {
            let p = self.prediction.as_ref()?;
            return Some(Metric { value: p.ps, unit: Unit::Picoseconds, is: p.is });
        }
        if path == "bound" || path.starts_with("bound.") {
            return self.bound_metric(path);
        }
        if let Some(p) = path.strip_prefix("peak.") {
            let (storage, form) = p.split_once('.').unwrap_or((p, ""));
            let p = self.capacity.iter().find(|p| p.storage == storage)?;
            let n = match form {
                "" => p.live,
                "in_place" => p.live_in_place,
                "allocated" => p.allocated_in_place,
                _ => return None,
            };
            return Some(Metric::of(n, Unit::Bytes, p.is));
        }
        if let Some(f) = path.strip_prefix("footprint.") {
            let (name, way) = f.rsplit_once('.')?;
            let f = self.footprints.iter().find(|f| f.buffer == name)?;
            return match way {
                "read" => Some(Metric::of(f.read, Unit::Bytes, f.read_is)),
                "write" => Some(Metric::of(f.write, Unit::Bytes, f.write_is)),
                _ => None,
            };
        }
        self.costs.metric(path)
    }

    fn bound_metric(&self, path: &str) -> Option<Metric> {
        let rest = path.strip_prefix("bound")?.trim_start_matches('.');
        let (name, form) = match rest.split_once('.') {
            Some((n, f)) => (n, f),
            None if rest.is_empty() => ("placed", "cold"),
            None => (rest, "cold"),
        };
        let b = self.roofline.as_ref()?.bound(name, form)?;
        let is = b.rows.first().map_or(Certainty::Exact, |r| r.is);
        Some(Metric { value: b.ps?, unit: Unit::Picoseconds, is })
    }

    /// A figure that is an integer, by its path.
    pub fn figure(&self, path: &str) -> Option<u128> {
        self.metric(path)?.int()
    }

    /// Paths of what this analysis counts, bounds last.
    pub fn metrics(&self) -> Vec<String> {
        let mut out = self.costs.metrics();
        out.extend(self.costs.flops.iter().map(|f| format!("flops.{}", f.dtype.name())));
        let mut seen: Vec<&str> = vec![];
        for p in &self.capacity {
            if !seen.contains(&p.storage.as_str()) {
                seen.push(&p.storage);
                out.push(format!("peak.{}.allocated", p.storage));
            }
        }
        for f in &self.footprints {
            out.push(format!("footprint.{}.read", f.buffer));
            out.push(format!("footprint.{}.write", f.buffer));
        }
        if let Some(r) = &self.roofline {
            out.extend(r.bounds.iter().map(|b| format!("bound.{}.{}", b.name, b.form)));
        }
        if self.prediction.is_some() {
            out.push("predicted".into());
        }
        out
    }
}

/// What to say of a path that names no figure of any of these; none where one of them has it. Work
/// on a resource that none of them uses is no figure, though it could be called zero.
pub fn unknown<'a>(path: &str, of: impl IntoIterator<Item = &'a Analysis>) -> Option<String> {
    let of: Vec<&Analysis> = of.into_iter().collect();
    let used = |a: &Analysis| match path.strip_prefix("work.").or(path.strip_prefix("flops.")) {
        Some(_) => a.metrics().iter().any(|k| which(k).0 == which(path).0),
        None => true,
    };
    if of.is_empty() || of.iter().any(|a| used(a) && a.metric(path).is_some()) {
        return None;
    }
    let mut known: Vec<String> = of.iter().flat_map(|a| a.metrics()).collect();
    known.push("bound".into());
    known.sort();
    known.dedup();
    // the logical figure is the path without its last word
    let near = known.iter().flat_map(|k| [k.as_str(), which(k).0]);
    Some(match did_you_mean(path, near) {
        Some(n) => format!("there is no figure `{path}`: did you mean `{n}`?"),
        None => {
            let few: Vec<String> = known
                .iter()
                .filter(|k| !k.starts_with("footprint."))
                .map(|k| format!("`{k}`"))
                .collect();
            format!("there is no figure `{path}`; there are {}", few.join(", "))
        }
    })
}

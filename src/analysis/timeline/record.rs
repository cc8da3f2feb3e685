//! A predicted time, as plain data.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::record::{Certainty, Ratio, Site};
pub use super::trace::{Gap, Interval, Lane};

/// A predicted time. Not a bound: a simulation of the program over the target's resources, by the
/// rules in the module's text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// Picoseconds in all, launches and ops outside meshes one after the other.
    pub ps: Ratio,
    /// `exact` where all of it was simulated; `upper_bound` where trips take the end of a range of
    /// data, positions are taken for longer ones or a loop does not come to repeat itself.
    pub is: Certainty,
    /// Picoseconds where the last cache has at the start, and keeps, what the program touches. As
    /// much as `ps` where that is more than it holds.
    pub warm_ps: Ratio,
    /// The `placed` bound at the same rates, which no prediction is below.
    pub bound_ps: Option<Ratio>,
    /// Where the inputs are at the start: `cold`, in `gmem`.
    pub form: String,
    /// The rates used, by resource.
    pub rates: Vec<RateRecord>,
    /// What the target does not state, with the reason; it costs nothing here.
    pub unrated: Vec<String>,
    /// The whole device: launches and ops outside meshes, in order.
    pub stages: Vec<StageRecord>,
    /// One for each launch of the analysis.
    pub launches: Vec<LaunchPrediction>,
}

impl Prediction {
    pub(in crate::analysis) fn sites(&mut self) -> impl Iterator<Item = &mut Site> {
        let launches = self.launches.iter_mut().flat_map(|l| {
            let lanes = l.lanes.iter_mut().flat_map(|x| &mut x.intervals);
            lanes.map(|i| &mut i.site).chain([&mut l.site])
        });
        self.stages.iter_mut().map(|s| &mut s.site).chain(launches)
    }
}

/// A rate with the set that it is from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateRecord {
    pub resource: String,
    /// `sustained` or `peak`.
    pub set: String,
    /// Of the whole device, with its unit.
    pub rate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Consecutive work of the whole device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageRecord {
    /// A launch's name, or the op's.
    pub name: String,
    pub site: Site,
    /// Index of the launch; none for an op outside meshes.
    pub launch: Option<usize>,
    /// How often it runs.
    pub runs: u64,
    /// Picoseconds of all runs.
    pub ps: Ratio,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LaunchPrediction {
    /// Index among the analysis' launches.
    pub launch: usize,
    pub name: String,
    pub site: Site,
    /// Picoseconds of one run, its overhead included.
    pub ps: Ratio,
    /// Of that, what the target states for a launch.
    pub overhead_ps: Ratio,
    /// The same with all that the unit does one after the other, nothing overlapped.
    pub serial_ps: Ratio,
    /// How often it runs.
    pub runs: u64,
    /// Grid positions of one device.
    pub positions: u64,
    /// Positions that one unit runs side by side.
    pub resident: u64,
    /// Times that all places on all units fill: the last one may be partial.
    pub waves: u64,
    /// Positions in the last wave.
    pub tail: u64,
    /// Of each resource: the share of the time in which it is busy, on the unit with most to do.
    pub busy: Vec<BusyRecord>,
    /// What the chain of events that ends last consists of: queueing for and using a resource,
    /// `latency` of what was read, `grid barrier`, `launch`. The parts add up to the launch's time
    /// where all positions run alike.
    pub critical: Vec<BusyRecord>,
    /// The largest part of it.
    pub limit: String,
    /// What one position does: the first on the unit with most to do.
    pub lanes: Vec<Lane>,
}

/// How busy a resource is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BusyRecord {
    pub resource: String,
    /// Picoseconds of work.
    pub ps: Ratio,
    /// Thousandths of the launch's time, rounded down.
    pub per_mille: u64,
}

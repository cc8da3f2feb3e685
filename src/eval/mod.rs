//! The reference evaluator: what a program means, computed.
//!
//! In: a verified graph, a number for each dim, one tensor for each parameter. Out: the outputs,
//! the same bits for any number of threads. Placements are ignored (a value is the whole logical
//! tensor), except that code which depends on the coordinates of a mesh runs once for each
//! combination of those it really uses, in parallel.

mod axes;
mod deps;
mod direct;
mod fail;
mod frame;
mod fused;
mod group;
mod node;
mod plan;
mod prepared;
mod run;
mod tile_run;
mod tiles;
mod value;
mod window;

use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, ValueId};
use crate::types::dim::Env;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

pub use direct::direct;
pub use prepared::prepared;

/// How to evaluate.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Every float is f64 and nothing rounds in between.
    pub wide: bool,
    /// Accumulate in index order on any machine.
    pub exact_order: bool,
    /// Intermediate values to give back, where they stand outside loops of positions. A value
    /// that varies comes with its mesh axes in front.
    pub keep: Vec<ValueId>,
    /// Told how far the run is.
    pub progress: Option<&'a dyn Progress>,
}

/// Hears how far a run is.
pub trait Progress: Sync {
    /// `done` of about `total` steps; `what` ran last.
    fn step(&self, done: u64, total: u64, what: &str);
}

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One for each output of the graph.
    pub outputs: Vec<Tensor>,
    /// The intermediates that were asked for and have a value, in the order asked.
    pub kept: Vec<(ValueId, Tensor)>,
    /// How many groups of nodes could not run in blocks as planned, and ran node by node.
    pub whole: u64,
}

/// Runs a verified graph. `inputs` has one tensor for each of the graph's parameters, in order.
///
/// # Errors
/// What the program does wrong at these sizes and values: a window out of bounds, two positions
/// that write one element, an element nobody wrote, an input that does not fit.
pub fn evaluate(
    graph: &Graph,
    env: &Env,
    inputs: &[Tensor],
    opts: &Options<'_>,
) -> Result<Outcome, Box<Diagnostic>> {
    run::run(graph, env, inputs.to_vec(), opts)
}

/// As [`evaluate`]; a buffer that nobody else holds is changed in place.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_owned(
    graph: &Graph,
    env: &Env,
    inputs: Vec<Tensor>,
    opts: &Options<'_>,
) -> Result<Outcome, Box<Diagnostic>> {
    run::run(graph, env, inputs, opts)
}

/// The dtype that values have in a run.
fn value_dtype(declared: DType, wide: bool) -> DType {
    if wide && declared.is_float() { DType::F64 } else { declared }
}

/// The shape that a parameter has at the sizes bound in `env`; `None` where a dim is not bound.
pub fn shape_of(graph: &Graph, v: ValueId, env: &Env) -> Option<Vec<usize>> {
    graph.ty(v).shape.iter().map(|e| e.eval(env).and_then(|n| usize::try_from(n).ok())).collect()
}

/// The dims that a graph needs and `env` lacks, as a diagnostic.
fn unbound(graph: &Graph, env: &Env) -> Option<Box<Diagnostic>> {
    let missing: Vec<_> = graph
        .dims
        .iter()
        .filter(|d| env.get(**d).is_none())
        .filter_map(|d| graph.vars.get(*d))
        .collect();
    let first = missing.first()?;
    let names: Vec<String> = missing.iter().map(|i| format!("`{}`", i.name)).collect();
    let text = format!("no size is stated for {}", names.join(", "));
    let help = format!("state it: `--dim {}=N`", first.name);
    Some(Box::new(Diagnostic::new(Code::UnboundDim, first.span, text).help(help)))
}

#[cfg(test)]
mod tests;

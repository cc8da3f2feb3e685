//! What a program costs: work, bytes, capacity, and the lower bounds of its time.
//!
//! Comes in: a verified [`Graph`], values for its dims, and a target if there is one. Goes out: an
//! [`Analysis`], plain data. Everything follows from the domains, accesses and placements of the
//! ops; nothing here knows an op or a vendor by name. The definitions stand in the modules: work
//! and bytes in `cost`, trips in `trips`, liveness in `live`, distinct bytes in `footprint`,
//! bounds in `roofline`.

// a refusal ends the analysis: its size does not matter
#![allow(clippy::result_large_err)]

pub mod advice;
pub mod arms;
mod boxes;
mod capacity;
mod changed;
pub mod compare_text;
mod cost;
pub mod crossings;
mod cx;
pub mod diff;
mod footprint;
mod live;
mod machine;
pub mod metric;
pub mod plot;
pub mod poly;
pub mod record;
pub mod reuse;
mod roofline;
pub mod schema;
pub mod scopes;
mod shape;
mod since;
mod sum;
pub mod sweep;
mod text;
pub mod timeline;
mod trips;
pub mod units;
mod walk;
mod window;

#[cfg(test)]
mod tests;

pub use record::{Analysis, Certainty};
pub use text::{Findings, Show, text};

use crate::diag::{Code, Diagnostic};
use crate::graph::{Def, Graph, NodeKind, ValueId};
use crate::ops::Role;
use crate::target::Target;
use crate::types::dim::{Env, VarId, VarKind};
use crate::types::placement::{AxisId, MeshId};
use cost::OpCost;
use cx::Cx;
use live::Liveness;
use machine::Machine;
use record::{LaunchRecord, OpRecord, PeakRecord, SCHEMA, Site};

/// What an analysis takes besides the program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leaves out the bounds of time.
    pub no_roofline: bool,
    /// Leaves out the predicted time.
    pub no_prediction: bool,
    /// Leaves out the search for the largest dim that fits, where a capacity is exceeded.
    pub no_search: bool,
    /// Leaves out the records of single ops, and the notes.
    pub no_ops: bool,
    /// Leaves out the records of footprints; the bounds have what they need of them.
    pub no_footprints: bool,
    /// Leaves out the advice.
    pub no_advice: bool,
}

impl Options {
    /// Nothing but the counts, the capacities and what the caller takes out of these again.
    pub fn counts() -> Options {
        Options {
            no_roofline: true,
            no_prediction: true,
            no_search: true,
            no_ops: true,
            no_footprints: true,
            no_advice: true,
        }
    }
}

/// Analyses one function at the sizes of `env`, which has a value for every dim; data used as an
/// index may have one too, and takes the end of its range otherwise.
///
/// # Errors
/// A dim without a value or outside its range, or trips that nothing bounds. An exceeded capacity
/// is no error but a verdict: see [`Analysis::fits`] and [`refusals`].
pub fn analyze(
    graph: &Graph,
    env: &Env,
    target: Option<&Target>,
    options: &Options,
) -> Result<Analysis, Diagnostic> {
    check_dims(graph, env)?;
    let cx = Cx::new(graph, env, Machine::new(graph, target))?;
    let mut ops: Vec<OpCost> = vec![];
    for s in &cx.walk.steps {
        ops.extend(cost::of(&cx, s)?);
    }
    let live = live::analyze(&cx)?;
    let mut capacity = capacity::peaks(&cx, &live);
    if !options.no_search {
        search_dims(graph, env, target, &mut capacity);
    }
    let launches = launches(&cx, &live, &ops);
    let rated = target.filter(|_| !options.no_roofline);
    let counts = options.no_footprints && rated.is_none() && options.no_prediction;
    let footprints = match counts {
        true => vec![],
        false => footprint::footprints(&cx, ops.iter()),
    };
    let predicted = target.filter(|_| !options.no_prediction);
    let bounded = rated.or(predicted).is_some();
    let groups = roofline::Groups::of(&cx, if bounded { &ops } else { &[] });
    let placed = |rates| roofline::Placed::of(&cx, rates, &groups, &launches, &footprints);
    let peak = rated.map(|t| placed((t, roofline::PEAK)));
    let roofline = rated
        .zip(peak.as_ref())
        .map(|(t, placed)| roofline::roofline(&cx, (t, roofline::PEAK), &ops, placed, &footprints));
    // the sizes of a sweep that asks for another figure leave it out as they leave out the ops
    let reuse = target.filter(|_| !options.no_ops || predicted.is_some());
    let reuse = reuse.and_then(|t| reuse::reuse(&cx, t, &ops, &launches));
    let predicted = predicted.and_then(|t| {
        let kept = reuse.as_ref().and_then(|r| r.gmem_lru).map(u128::from);
        let measured = placed((t, roofline::MEASURED));
        timeline::predict(&cx, t, &ops, (&groups, &measured), &launches, &footprints, kept)
    });
    let bound = roofline.as_ref().and_then(|r| r.bound("placed", "cold"));
    let advice = match options.no_advice {
        true => vec![],
        false => {
            let bound = (bound, peak.as_ref());
            let priced = (bound, predicted.as_ref(), &groups, footprints.as_slice());
            advice::advise(&cx, &ops, &live, &launches, &capacity, priced)
        }
    };
    let all: Vec<&OpCost> = ops.iter().collect();
    let unplaced = |o: &&&OpCost| o.run.launch.is_none() && !o.entries.is_empty();
    let value = |v: &VarId| (graph.vars.name(*v).to_string(), env.get(*v).unwrap_or(0));
    Ok(Analysis {
        schema: SCHEMA,
        program: match &graph.module {
            Some(m) => format!("{m}.{}", graph.name),
            None => graph.name.clone(),
        },
        target: target.map(|t| t.id().to_string()),
        dims: graph.dims.iter().map(value).collect(),
        costs: sum::costs(&cx, &all),
        unplaced_ops: all.iter().filter(unplaced).count(),
        launches,
        footprints: footprints.into_iter().map(|f| f.record).collect(),
        capacity,
        reuse,
        roofline,
        advice,
        prediction: predicted.map(|p| p.record),
        scopes: if options.no_ops { vec![] } else { scopes::scopes(&cx, &ops)? },
        ops: if options.no_ops { vec![] } else { records(&cx, &ops) },
        notes: if options.no_ops { vec![] } else { notes(&cx, &ops, target) },
    })
}

/// The capacities that are exceeded, as diagnostics with every value live at the peak.
pub fn refusals(graph: &Graph, analysis: &Analysis) -> Vec<Diagnostic> {
    let mut out = capacity::diagnostics(graph, &analysis.capacity);
    for l in analysis.launches.iter().filter(|l| l.stuck()) {
        let (Some(at), Some(r), Some(w)) = (&l.barrier, l.resident, l.waves) else { continue };
        let (level, n) = l.positions.first().cloned().unwrap_or_default();
        let message = format!(
            "the {n} positions of `{level}` wait for each other here, and only {r} fit a unit at \
             once: they would start in {w} waves"
        );
        out.push(
            Diagnostic::new(Code::GridNotResident, at.span(), message)
                .label(l.site.span(), format!("launch {}", l.name))
                .help("use fewer or smaller positions, or finish the reduction in a second launch"),
        );
    }
    out
}

/// The peaks alone.
fn peaks(graph: &Graph, env: &Env, target: Option<&Target>) -> Result<Vec<PeakRecord>, Diagnostic> {
    let cx = Cx::new(graph, env, Machine::new(graph, target))?;
    let live: Liveness = live::analyze(&cx)?;
    Ok(capacity::peaks(&cx, &live))
}

/// The largest value of a dim, up to its present one, at which every capacity holds; the other
/// dims keep their values. None where even its least value does not fit. Peaks are taken to grow
/// with the dim between the least value and the present one, as they do within one `match` arm.
pub fn largest_fitting(
    graph: &Graph,
    env: &Env,
    dim: VarId,
    target: Option<&Target>,
) -> Option<i64> {
    let info = graph.vars.get(dim)?;
    let fits = |v: i64| {
        let mut at = env.clone();
        at.set(dim, v);
        peaks(graph, &at, target).is_ok_and(|p| p.iter().all(|p| !p.exceeded))
    };
    let high = env.get(dim).or_else(|| info.hi.eval(env))?;
    let low = info.lo.eval(env)?.min(high);
    if fits(high) {
        return Some(high);
    }
    // an arm below may exceed its own capacity: go down by halves until something fits
    let (mut good, mut bad) = (None, high);
    let mut step = 1i64;
    while good.is_none() && bad > low {
        let next = bad.saturating_sub(step).max(low);
        match fits(next) {
            true => good = Some(next),
            false => bad = next,
        }
        step = step.saturating_mul(2);
    }
    let mut good = good?;
    while bad - good > 1 {
        let mid = good + (bad - good) / 2;
        if fits(mid) { good = mid } else { bad = mid }
    }
    Some(good)
}

/// The variables that stand for numbers read from a parameter, for `--value lens=4096`: give them
/// values in the `env` of [`analyze`] and counts are those of that value.
pub fn data_vars(graph: &Graph, param: &str) -> Vec<VarId> {
    let from = |v: &u32| {
        let mut at = ValueId(*v);
        // operands are defined before their uses
        for _ in 0..=graph.node_count() {
            match graph.value(at).def {
                Def::Param(i) => return graph.params.get(i).is_some_and(|p| p.name == param),
                Def::Node(n, _) => match graph.node(n).inputs.first() {
                    Some(first) => at = *first,
                    None => return false,
                },
                Def::RegionParam(..) => return false,
            }
        }
        false
    };
    let data = graph.vars.iter().filter(|(_, i)| matches!(&i.kind, VarKind::Data(v) if from(v)));
    data.map(|(id, _)| id).collect()
}

/// Adds to each exceeded capacity the largest value of each dim that fits.
fn search_dims(graph: &Graph, env: &Env, target: Option<&Target>, capacity: &mut [PeakRecord]) {
    if capacity.iter().all(|p| !p.exceeded) {
        return;
    }
    for d in &graph.dims {
        let Some(v) = largest_fitting(graph, env, *d, target).filter(|v| Some(*v) != env.get(*d))
        else {
            continue;
        };
        for p in capacity.iter_mut().filter(|p| p.exceeded) {
            p.would_fit.push(format!("`{}` up to {v}", graph.vars.name(*d)));
        }
    }
}

fn check_dims(graph: &Graph, env: &Env) -> Result<(), Diagnostic> {
    for d in &graph.dims {
        let Some(info) = graph.vars.get(*d) else { continue };
        let name = &info.name;
        let Some(v) = env.get(*d) else {
            return Err(Diagnostic::new(
                Code::UnboundDim,
                info.span,
                format!("the dim `{name}` has no value"),
            )
            .help(format!("give it one: `--dim {name}=VALUE`")));
        };
        let (lo, hi) = (info.lo.eval(env), info.hi.eval(env));
        if lo.is_some_and(|l| v < l) || hi.is_some_and(|h| v > h) {
            let show = |x: Option<i64>| x.map_or("?".to_string(), |x| x.to_string());
            return Err(Diagnostic::new(
                Code::DimOutOfRange,
                info.span,
                format!("`{name}` = {v} is outside {}..={}", show(lo), show(hi)),
            ));
        }
    }
    Ok(())
}

fn launches(cx: &Cx, live: &Liveness, ops: &[OpCost]) -> Vec<LaunchRecord> {
    let unit = cx.machine.target.and_then(|t| t.grid_unit()).and_then(|u| u.count.known());
    let mut out = vec![];
    for (i, l) in cx.walk.launches.iter().enumerate() {
        let mut ranks: Vec<usize> = l.meshes.iter().filter_map(|m| cx.mesh_rank(*m)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let at = |r: &usize| (cx.machine.level(*r).to_string(), sum::units(cx, i, *r));
        let resident = capacity::resident(cx, live, i);
        let per_wave =
            unit.zip(resident.as_ref()).map(|(u, r)| u128::from(u.value) * u128::from(r.0));
        let grid = sum::units(cx, i, cx.machine.grid);
        let waves = per_wave.filter(|w| *w > 0).map(|w| grid.div_ceil(w));
        out.push(LaunchRecord {
            name: sum::launch_name(cx, l),
            site: Site::new(l.span),
            positions: ranks.iter().map(at).collect(),
            resident: resident.as_ref().map(|r| r.0),
            resident_by: resident.map_or(vec![], |r| r.1),
            waves: waves.and_then(|w| u64::try_from(w).ok()),
            barrier: barrier(cx, i, &l.meshes, ops),
        });
    }
    out
}

/// Where the positions of a launch's grid first wait for each other: at a completion over an axis
/// of the grid, or at the seam between blocks that `fuse` joins.
fn barrier(cx: &Cx, launch: usize, meshes: &[MeshId], ops: &[OpCost]) -> Option<Site> {
    let graph = cx.graph;
    let over_grid = |a: &AxisId| {
        let mesh = graph.meshes.axis(*a).and_then(|x| graph.meshes.mesh(x.mesh));
        mesh.is_some_and(|m| cx.machine.rank(m) == cx.machine.grid)
    };
    let completes = ops.iter().find(|o| {
        let partial = o.op.node.inputs.first().map(|v| &graph.ty(*v).place.partial);
        o.run.launch == Some(launch)
            && o.op.op.role() == Role::Complete
            && partial.is_some_and(|p| p.iter().any(|(a, _)| over_grid(a)))
    });
    if let Some(o) = completes {
        return Some(Site::new(o.op.node.span));
    }
    let fused = graph.nodes().find_map(|(_, n)| match &n.kind {
        NodeKind::Mesh { meshes: m, .. } if m.as_slice() == meshes => n.hint("fuse"),
        _ => None,
    });
    let many = cx.walk.launches.len() > 1;
    fused.filter(|_| many).map(|h| Site::new(h.span))
}

fn records(cx: &Cx, ops: &[OpCost]) -> Vec<OpRecord> {
    let record = |o: &OpCost| {
        let node = o.op.node;
        let out = node.outputs.first();
        let id = out.map(|v| cx.graph.value(*v).def);
        let runs = o.run.trips.runs.most();
        OpRecord {
            node: match id {
                Some(Def::Node(n, _)) => n.0,
                _ => u32::MAX,
            },
            op: o.op.op.name().into(),
            result: out.map_or(String::new(), |v| cx.graph.value_name(*v)),
            scope: cx.graph.scope_path(node.scope),
            site: Site::new(node.span),
            launch: o.run.launch,
            runs,
            runs_total: o.run.count(cx, &o.run.each),
            replicated_over: {
                let name = |a| cx.graph.meshes.axis_name(a).to_string();
                o.replicated.iter().map(|a| name(*a)).collect()
            },
            costs: sum::costs(cx, &[o]),
        }
    };
    ops.iter().map(record).collect()
}

/// What a reader must know to read the numbers.
fn notes(cx: &Cx, ops: &[OpCost], target: Option<&Target>) -> Vec<String> {
    let mut out = vec![];
    let repeated: Vec<&OpCost> =
        ops.iter().filter(|o| !o.replicated.is_empty() && o.entries.iter().any(is_work)).collect();
    if !repeated.is_empty() {
        let mut axes: Vec<&str> = repeated
            .iter()
            .flat_map(|o| &o.replicated)
            .map(|a| cx.graph.meshes.axis_name(*a))
            .collect();
        axes.sort_unstable();
        axes.dedup();
        let (n, over) = (repeated.len(), axes.join(", "));
        out.push(match n {
            1 => format!("1 op is whole over {over}: every position there computes it again"),
            _ => format!("{n} ops are whole over {over}: every position there computes them again"),
        });
    }
    if ops.iter().any(|o| o.run.trips.is == Certainty::UpperBound) {
        out.push("trips that depend on data take the end of its range".into());
    }
    if target.is_none() {
        out.push("no target: capacities are not checked and nothing is rated".into());
    }
    for (_, text) in &cx.graph.assumed {
        let line = format!("assumed at these sizes: {text}");
        if !out.contains(&line) {
            out.push(line);
        }
    }
    out
}

fn is_work(e: &cost::Entry) -> bool {
    matches!(e.key, cost::Key::Work(_)) && e.total > 0
}

//! Totals of each call path: a model, its layers, their parts.
//!
//! Calls of one path are one record, so that the children of an array in a loop are `layer`, 28
//! calls. A record has all that runs below it; what stands directly in it is the rest.

use std::collections::hash_map::Entry;

use schemars::JsonSchema;
use serde::Serialize;

use super::cost::OpCost;
use super::cx::Cx;
use super::record::{Costs, Ratio, big};
use super::sum;
use super::walk::Frame;
use crate::base::HashMap;
use crate::diag::Diagnostic;
use crate::graph::{Graph, ScopeId};

/// What the calls of one path cost together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScopeRecord {
    /// The calls, outermost first: `step/layer/attend`.
    pub path: String,
    /// How often it is called, at the position that calls it most.
    #[serde(serialize_with = "big")]
    pub calls: u128,
    /// Whether it is a part of the standard library.
    pub library: bool,
    /// Ops of one call each, as the program writes them.
    pub ops: usize,
    /// Of all calls together.
    pub costs: Costs,
}

impl ScopeRecord {
    /// How deep it is: 0 for the function itself.
    pub fn depth(&self) -> usize {
        self.path.matches('/').count()
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The mean over the calls.
    pub fn each(&self, total: u128) -> Ratio {
        Ratio::new(total, self.calls.max(1))
    }
}

struct Group<'o, 'c> {
    path: String,
    calls: HashMap<ScopeId, u128>,
    library: bool,
    ops: Vec<&'o OpCost<'c>>,
}

/// A record of each path, callers before what they call.
pub(super) fn scopes(cx: &Cx, ops: &[OpCost]) -> Result<Vec<ScopeRecord>, Diagnostic> {
    let mut groups: Vec<Group> = vec![];
    let mut by_path: HashMap<String, usize> = HashMap::default();
    for o in ops {
        for id in above(cx.graph, o.op.node.scope) {
            let path = cx.graph.scope_path(id);
            let at = *by_path.entry(path.clone()).or_insert_with(|| {
                let library = above(cx.graph, id).iter().any(|s| cx.graph.scope(*s).call.is_some());
                groups.push(Group { path, calls: HashMap::default(), library, ops: vec![] });
                groups.len() - 1
            });
            let Some(g) = groups.get_mut(at) else { continue };
            g.ops.push(o);
            if let Entry::Vacant(e) = g.calls.entry(id) {
                e.insert(calls(cx, o, id)?);
            }
        }
    }
    let record = |g: Group| ScopeRecord {
        path: g.path,
        calls: g.calls.values().sum(),
        library: g.library,
        ops: g.ops.len(),
        costs: sum::costs(cx, &g.ops),
    };
    Ok(groups.into_iter().map(record).collect())
}

/// A scope and those around it, outermost first.
fn above(graph: &Graph, id: ScopeId) -> Vec<ScopeId> {
    let mut out = vec![id];
    let mut at = id;
    while let Some(p) = graph.scope(at).parent {
        out.push(p);
        at = p;
    }
    out.reverse();
    out
}

/// Runs of the loops around a scope, of which `o` is an op.
fn calls(cx: &Cx, o: &OpCost, scope: ScopeId) -> Result<u128, Diagnostic> {
    let Some(frame) = cx.walk.frame(o.run.frame) else { return Ok(1) };
    let within = |l: &usize| {
        let node = cx.walk.loops.get(*l).map(|l| cx.graph.node(l.node));
        node.is_some_and(|n| above(cx.graph, n.scope).contains(&scope))
    };
    let loops = frame.loops.iter().copied().take_while(|l| !within(l)).collect();
    let around = Frame { loops, ..frame.clone() };
    let trips = cx.trips(&around, &o.run.active)?;
    Ok(trips.runs.most())
}

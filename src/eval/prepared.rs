//! Prepared values of a graph that runs many times: computed once, then given like weights.

use std::collections::HashSet;

use super::deps::Deps;
use super::{Options, evaluate};
use crate::diag::Diagnostic;
use crate::graph::verify::node_exprs;
use crate::graph::{Def, Graph, NodeId, Output, Param, ParamKind, ValueId, node_regions};
use crate::types::dim::{Env, Expr};
use crate::types::value::Tensor;

/// Computes the prepared values that depend on weights only, and gives the graph that takes them
/// as further weights, behind its parameters. `inputs` has a tensor for each parameter, of which
/// the weights are read.
///
/// # Errors
/// What the values do wrong, as in a run.
pub fn prepared(
    g: &Graph,
    env: &Env,
    inputs: &[Tensor],
) -> Result<(Graph, Vec<Tensor>), Box<Diagnostic>> {
    let uses = Deps::new(g, env).uses;
    let (nodes, values) = fixed(g, &uses);
    let mut first = g.clone();
    first.outputs = values.iter().map(|v| Output { name: g.value_name(*v), value: *v }).collect();
    let all = g.region(g.root).nodes.iter().copied().collect();
    prune(&mut first, &uses, &all);
    let made = evaluate(&first, env, inputs, &Options::default())?.outputs;
    let mut rest = g.clone();
    for v in values {
        rest.value_mut(v).def = Def::Param(rest.params.len());
        let kind = ParamKind::Weight { key: None };
        rest.params.push(Param { name: g.value_name(v), kind, value: v });
    }
    prune(&mut rest, &uses, &nodes);
    Ok((rest, made))
}

/// The nodes of the root that give the same in every run on the same weights, and the prepared
/// values among what they make.
fn fixed(g: &Graph, uses: &[Vec<ValueId>]) -> (HashSet<NodeId>, Vec<ValueId>) {
    let weight = |p: &&Param| matches!(p.kind, ParamKind::Weight { .. });
    let mut known: HashSet<ValueId> = g.params.iter().filter(weight).map(|p| p.value).collect();
    let mut nodes = HashSet::new();
    for n in &g.region(g.root).nodes {
        if uses[n.0 as usize].iter().all(|v| known.contains(v)) && !sized(g, *n) {
            nodes.insert(*n);
            known.extend(&g.node(*n).outputs);
        }
    }
    let made = |v: &&ValueId| known.contains(v) && matches!(g.value(**v).def, Def::Node(..));
    (nodes, g.prepared.iter().filter(made).copied().collect())
}

/// Whether a dim of the graph stands in a node or inside it.
fn sized(g: &Graph, n: NodeId) -> bool {
    let node = g.node(n);
    let shapes = node.outputs.iter().flat_map(|v| &g.ty(*v).shape);
    let exprs = node_exprs(node);
    exprs.iter().chain(shapes).flat_map(Expr::vars).any(|v| g.dims.contains(&v))
        || node_regions(&node.kind)
            .iter()
            .any(|r| g.region(*r).nodes.iter().any(|inner| sized(g, *inner)))
}

/// Drops those of `nodes` that make nothing that is used.
fn prune(g: &mut Graph, uses: &[Vec<ValueId>], nodes: &HashSet<NodeId>) {
    let mut needed: HashSet<ValueId> = g.outputs.iter().map(|o| o.value).collect();
    let mut kept = g.region(g.root).nodes.clone();
    kept.reverse();
    kept.retain(|n| {
        // what is given is not made
        let made = |v: &ValueId| needed.contains(v) && matches!(g.value(*v).def, Def::Node(..));
        let stays = !nodes.contains(n) || g.node(*n).outputs.iter().any(made);
        if stays {
            needed.extend(&uses[n.0 as usize]);
        }
        stays
    });
    kept.reverse();
    let root = g.root;
    g.region_mut(root).nodes = kept;
}

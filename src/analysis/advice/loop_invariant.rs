//! An op in a loop whose operands do not depend on the loop.

use super::look::{name, op_name};
use super::{Draft, Edit, Program, Rule, bytes_of};
use crate::analysis::cost::OpCost;
use crate::analysis::walk::Frame;
use crate::base::HashMap;
use crate::graph::{NodeKind, ValueId};
use crate::ops::Role;
use crate::types::placement::Storage;

pub(super) static RULE: Rule = Rule {
    kind: "loop-invariant",
    title: "a loop makes the same value in every trip",
    means: "An op, or a chain of ops, stands in a loop and uses nothing that the loop changes: not \
            its variable, not its carried values, not what depends on them. Numbers made from \
            nothing (`zeros`, `arange`) are not counted.",
    size: "All that the ops do, less what they do once for each run of the loop: \
           `1 - runs outside / runs inside`.",
    remedy: "Move the ops before the loop. Their results then live as long as the loop does.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    // by value, the loops around its definition that it does not depend on
    let mut free: HashMap<ValueId, usize> = HashMap::default();
    let mut by_depth: HashMap<(Vec<usize>, usize), Vec<usize>> = HashMap::default();
    let mut order = vec![];
    for (i, o) in p.ops.iter().enumerate() {
        let depth = needs(p, o, &free);
        for out in &o.op.node.outputs {
            free.insert(*out, depth);
        }
        let loops = p.cx.walk.frame(o.run.frame).map(|f| f.loops.clone()).unwrap_or_default();
        let moves = matches!(o.op.op.role(), Role::Compute | Role::Reshard | Role::Read);
        if depth >= loops.len() || !moves || o.entries.is_empty() {
            continue;
        }
        let key = (loops, depth);
        let ops = by_depth.entry(key.clone()).or_default();
        if ops.is_empty() {
            order.push(key);
        }
        ops.push(i);
    }
    let drafts = order.into_iter().filter_map(|k| draft(p, &k, by_depth.get(&k)?));
    drafts.collect()
}

/// How many of the loops around an op it depends on, counted from outside to the innermost such.
fn needs(p: &Program, o: &OpCost, free: &HashMap<ValueId, usize>) -> usize {
    let graph = p.cx.graph;
    let loops = p.cx.walk.frame(o.run.frame).map(|f| f.loops.as_slice()).unwrap_or_default();
    let of_value = |v: &ValueId| {
        let v = p.cx.walk.resolve(*v);
        let born = p.cx.walk.births.get(&v).and_then(|b| p.cx.walk.frame(b.frame));
        let born = born.map_or(0, |f| f.loops.len());
        free.get(&v).copied().unwrap_or(born)
    };
    let values = o.op.node.inputs.iter().chain(&o.op.node.uses).map(of_value).max().unwrap_or(0);
    let vars: Vec<_> = o.op.attrs.exprs().iter().flat_map(|e| e.vars()).collect();
    let of_var = |(i, l): (usize, &usize)| {
        let node = p.cx.walk.loops.get(*l).map(|l| &graph.node(l.node).kind);
        let used = matches!(node, Some(NodeKind::Loop { var, .. }) if vars.contains(var));
        used.then_some(i + 1)
    };
    let named = loops.iter().enumerate().filter_map(of_var).max().unwrap_or(0);
    // what updates a buffer in place is not the same twice
    let updates = o.op.op.role() == Role::Write;
    let made = matches!(o.op.op.role(), Role::Empty);
    if updates || made { loops.len() } else { values.max(named).min(loops.len()) }
}

fn draft(p: &Program, (loops, depth): &(Vec<usize>, usize), ops: &[usize]) -> Option<Draft> {
    let first = p.ops.get(*ops.first()?)?;
    let frame = p.cx.walk.frame(first.run.frame)?;
    let outside = Frame { loops: loops.get(..*depth)?.to_vec(), ..frame.clone() };
    let num = p.cx.trips(&outside, &first.run.active).ok()?.sum();
    let den = first.run.trips.sum();
    if den <= num || num == 0 {
        return None;
    }
    let edits: Vec<Edit> = ops
        .iter()
        .flat_map(|op| {
            let n = p.ops.get(*op).map_or(0, |o| o.entries.len());
            (0..n).map(|entry| Edit::Scale { op: *op, entry, num, den })
        })
        .collect();
    let l = p.cx.walk.loops.get(*loops.get(*depth)?)?;
    let at = p.cx.graph.node(l.node).span;
    let results: Vec<String> = ops
        .iter()
        .filter_map(|o| p.ops.get(*o)?.op.node.outputs.first())
        .map(|v| name(p, *v))
        .take(3)
        .collect();
    let times = den / num;
    let and = if ops.len() > results.len() { ", .." } else { "" };
    let mut d = Draft::new(
        format!(
            "{}{and} {} the same in each of the loop's {times} trips",
            results.join(", "),
            if ops.len() == 1 { "is" } else { "are" }
        ),
        format!("move {} before the loop: 1 run instead of {times}", results.join(", ") + and),
    );
    d.bytes = [Storage::Gmem, Storage::Smem]
        .iter()
        .find_map(|s| bytes_of(p, s.name(), &edits))
        .filter(|b| b.read + b.write > 0);
    d.edits = edits;
    d.is = first.run.trips.is;
    for op in ops.iter().filter_map(|o| p.ops.get(*o)) {
        d = d.spot(op.op.node.span, format!("{} does not depend on the loop", op_name(op)));
    }
    Some(d.spot(at, format!("the loop, {times} trips")))
}

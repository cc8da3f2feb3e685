//! Partial values that are completed in every trip, or after they have grown.

use super::look::{name, op_name};
use super::{Bytes, Draft, Edit, Program, Rule};
use crate::analysis::cost::OpCost;
use crate::graph::{NodeKind, ValueId};
use crate::ops::{PartialRule, Role};

pub(super) static RULE: Rule = Rule {
    kind: "partial",
    title: "a partial value is completed at the wrong place",
    means: "A sum is completed in each trip of a loop that only adds the results up: the sum of the \
            partial values is partial too, and can be completed once. Or a partial value is \
            broadcast before it is completed: completing it before sends less.",
    size: "The bytes between positions that the better place does not send.",
    remedy: "Move `complete` behind the loop, or before the op that makes the value larger.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    let completes =
        p.ops.iter().enumerate().filter(|(_, o)| {
            o.op.op.role() == Role::Complete && o.comm.iter().any(|c| c.total > 0)
        });
    completes.filter_map(|(i, o)| in_loop(p, i, o).or_else(|| grown(p, i, o))).collect()
}

fn sent(o: &OpCost, p: &Program, num: u128, den: u128) -> Option<Bytes> {
    let c = o.comm.first()?;
    let total: u128 = o.comm.iter().map(|c| c.total).sum();
    let less = total - total.saturating_mul(num).div_ceil(den.max(1)).min(total);
    Some(Bytes { of: p.cx.machine.level(c.rank).to_string(), read: 0, write: less })
}

fn in_loop(p: &Program, op: usize, o: &OpCost) -> Option<Draft> {
    let g = p.cx.graph;
    let (part, whole) = (*o.op.node.inputs.first()?, *o.op.node.outputs.first()?);
    let sums = g.ty(part).place.partial.iter();
    if !sums.clone().all(|(_, r)| *r == crate::types::placement::Reduction::Sum) {
        return None;
    }
    let loops = p.cx.walk.frame(o.run.frame)?.loops.clone();
    let l = p.cx.walk.loops.get(*loops.last()?)?;
    let NodeKind::Loop { body, .. } = &g.node(l.node).kind else { return None };
    let region = g.region(*body);
    let is = |x: &ValueId| p.cx.walk.resolve(*x) == p.cx.walk.resolve(whole);
    let mut users = p.ops.iter().filter(|u| u.op.node.inputs.iter().any(is));
    let (user, None) = (users.next()?, users.next()) else { return None };
    let other = user.op.node.inputs.iter().find(|x| !is(x))?;
    let slot = region.params.iter().position(|x| x == other)?;
    let next = region.results.get(slot)?;
    let adds = user.op.op.partial_rule() == PartialRule::Linear
        && user.op.node.outputs.first() == Some(&p.cx.walk.resolve(*next));
    // the carried value must not be needed whole inside the loop
    let read = |x: &&OpCost| x.op.node.inputs.contains(other);
    if !adds || p.ops.iter().filter(read).count() != 1 {
        return None;
    }
    let outside = crate::analysis::walk::Frame {
        loops: loops.get(..loops.len() - 1)?.to_vec(),
        ..p.cx.walk.frame(o.run.frame)?.clone()
    };
    let once = p.cx.trips(&outside, &o.run.active).ok()?.sum();
    let all = o.run.trips.sum();
    if all <= once {
        return None;
    }
    let times = all / once.max(1);
    let mut d = Draft::new(
        format!(
            "{} is completed in each of {times} trips, and only added to {}",
            name(p, whole),
            name(p, *other)
        ),
        format!("add the partial values up and complete {} once, behind the loop", name(p, *other)),
    );
    d.bytes = sent(o, p, once, all);
    d.edits = vec![Edit::Sent { op, num: once, den: all }];
    Some(d.spot(o.op.node.span, format!("{times} times")).spot(user.op.node.span, "added up here"))
}

fn grown(p: &Program, op: usize, o: &OpCost) -> Option<Draft> {
    let g = p.cx.graph;
    let bits = |v: ValueId| -> Option<u128> {
        let ty = g.ty(v);
        let n = p.cx.elements(ty, g.value(v).span, &|_| true).ok()?;
        Some(n.saturating_mul(u128::from(ty.dtype.bits())))
    };
    let last = *o.op.node.inputs.first()?;
    let axes = &g.ty(last).place.partial;
    let (mut at, mut best) = (last, None);
    // back through the ops that pass the partial value on
    for _ in 0..p.ops.len() {
        let Some(made) =
            p.cx.op_of(at).filter(|m| matches!(m.op.role(), Role::Compute | Role::View))
        else {
            break;
        };
        let mut from = made.node.inputs.iter().filter(|v| g.ty(**v).place.partial == *axes);
        let (Some(v), None) = (from.next(), from.next()) else { break };
        at = *v;
        let n = bits(at)?;
        if n < bits(last)? && best.is_none_or(|(_, b, _)| n < b) {
            best = Some((at, n, made));
        }
    }
    let (early, n, made) = best?;
    let all = bits(last)?;
    let mut d = Draft::new(
        format!(
            "{} is completed after `{}` has made it {} times as large",
            name(p, early),
            made.op.name(),
            all / n.max(1)
        ),
        format!("complete {} before `{}`", name(p, early), made.op.name()),
    );
    d.bytes = sent(o, p, n, all);
    d.edits = vec![Edit::Sent { op, num: n, den: all }];
    Some(d.spot(o.op.node.span, op_name(o)).spot(made.node.span, "larger from here on"))
}

//! A value stored wider than any of its readers needs it.

use std::collections::BTreeMap;

use super::look::{Access, accesses, buffer, name, persistent};
use super::{Draft, Edit, Program, Rule, bytes_of};
use crate::analysis::cost::OpCost;
use crate::graph::{Def, ValueId};
use crate::ops::facts::Resource;
use crate::ops::{Call, Role};
use crate::types::dtype::DType;
use crate::types::placement::Storage;
use crate::types::ty::TensorTy;

pub(super) static RULE: Rule = Rule {
    kind: "wide-value",
    title: "a value is stored wider than it is used",
    means: "A value that the program makes is written to `gmem` or `smem`, and all that is done with \
            it afterwards is a conversion to a narrower dtype.",
    size: "`1 - narrow bits / wide bits` of the bytes written and read.",
    remedy: "Convert before the value is stored. The result is the same, for nothing else reads it.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    let (mut out, mut loose) = (vec![], vec![]);
    for storage in [Storage::Gmem, Storage::Smem] {
        let mut by: BTreeMap<ValueId, Vec<Access>> = BTreeMap::new();
        for a in accesses(p, storage) {
            by.entry(buffer(p, a.value)).or_default().push(a);
        }
        for (root, all) in by {
            let given = matches!(p.cx.graph.value(root).def, Def::Param(_));
            if given || persistent(p, root) {
                continue;
            }
            let outside = |a: &Access| p.ops.get(a.op).is_some_and(|o| o.run.launch.is_none());
            match draft(p, storage, root, &all) {
                Some(d) if all.iter().all(outside) => loose.push((root, d)),
                d => out.extend(d),
            }
        }
    }
    out.extend(together(p, loose));
    out
}

/// What ops outside meshes hand to each other, as one finding.
fn together(p: &Program, loose: Vec<(ValueId, Draft)>) -> Option<Draft> {
    if loose.len() < 2 {
        return loose.into_iter().next().map(|(_, d)| d);
    }
    let n = loose.len();
    let names: Vec<String> = loose.iter().map(|(v, _)| name(p, *v)).take(4).collect();
    let and = if n > names.len() { ", .." } else { "" };
    let mut all = Draft::new(
        format!(
            "{n} values are stored in gmem wider than they are used, each converted by what reads \
             it: {}{and}",
            names.join(", ")
        ),
        "cast each before it is stored: do the cast in the op that makes the value".into(),
    );
    for (_, d) in loose {
        all.sites.extend(d.sites.into_iter().take(1));
        all.edits.extend(d.edits);
    }
    all.sites.truncate(8);
    all.bytes = bytes_of(p, Storage::Gmem.name(), &all.edits);
    Some(all)
}

fn draft(p: &Program, storage: Storage, root: ValueId, all: &[Access]) -> Option<Draft> {
    let wide = p.cx.graph.ty(root).dtype;
    let reads: Vec<&Access> = all.iter().filter(|a| a.read).collect();
    let mut to: Vec<(usize, DType)> = vec![];
    for r in &reads {
        to.extend(narrowed(p, r.op)?);
    }
    let narrow = to.first().map(|(_, d)| *d)?;
    let same = to.iter().all(|(_, d)| *d == narrow);
    if !same || narrow.bits() >= wide.bits() || all.iter().all(|a| a.read) {
        return None;
    }
    // what is copied there as it was given is not converted on the way
    let made = all.iter().filter(|a| !a.read).all(|w| computes(p, w));
    if !made {
        return None;
    }
    let (num, den) = (u128::from(narrow.bits()), u128::from(wide.bits()));
    let edits: Vec<Edit> =
        all.iter().map(|a| Edit::Scale { op: a.op, entry: a.entry, num, den }).collect();
    let (value, place) = (name(p, root), storage.name());
    let mut d = Draft::new(
        format!("{value} is stored in {place} as {wide}, and only ever converted to {narrow}"),
        format!("cast {value} to {narrow} before it is stored, and drop the cast behind it"),
    );
    d.bytes = bytes_of(p, place, &edits);
    d.edits = edits;
    d = d.spot(p.cx.graph.value(root).span, format!("stored as {wide}"));
    for (op, dtype) in to {
        let span = p.ops.get(op)?.op.node.span;
        d = d.spot(span, format!("converted to {dtype}"));
    }
    Some(d)
}

/// Whether what is written was computed here: a copy from `gmem` cannot convert.
fn computes(p: &Program, w: &Access) -> bool {
    let Some(o) = p.ops.get(w.op) else { return false };
    match o.op.op.role() {
        // what gathers or scatters sums in the dtype of its result
        Role::Compute => o.op.op.in_place() || o.op.op.contraction(),
        Role::Complete | Role::Create => true,
        _ => {
            let from = o.op.node.inputs.last().map(|v| p.cx.graph.ty(*v).place.storage);
            from == Some(Storage::Rmem)
        }
    }
}

/// The conversions that an op's result ends in; none where something else is done with it.
fn narrowed(p: &Program, op: usize) -> Option<Vec<(usize, DType)>> {
    let o = p.ops.get(op)?;
    if let Some(d) = converts(p, o) {
        return Some(vec![(op, d)]);
    }
    if !matches!(o.op.op.role(), Role::Reshard | Role::Read) {
        return None;
    }
    let mut out = vec![];
    let mut todo = o.op.node.outputs.clone();
    while let Some(v) = todo.pop() {
        let last = |x: &ValueId| p.cx.walk.resolve(*x) == v;
        if p.cx.walk.late_uses.iter().any(|(x, _, _)| last(x))
            || p.cx.walk.starts.iter().any(|(x, _, _)| last(x))
        {
            return None;
        }
        for (i, o) in p.ops.iter().enumerate() {
            if !o.op.node.inputs.iter().any(last) {
                continue;
            }
            match (converts(p, o), p.cx.is_free(&o.op)) {
                (Some(d), _) => out.push((i, d)),
                (None, true) => todo.extend(&o.op.node.outputs),
                (None, false) => return None,
            }
        }
    }
    Some(out)
}

/// The dtype to which an op converts its operand, if that is all it does.
fn converts(p: &Program, o: &OpCost) -> Option<DType> {
    let node = o.op.node;
    let ([from], [to]) = (node.inputs.as_slice(), node.outputs.as_slice()) else { return None };
    let (from, to) = (p.cx.graph.ty(*from), p.cx.graph.ty(*to));
    if o.op.op.role() != Role::Compute || from.shape != to.shape || from.dtype == to.dtype {
        return None;
    }
    let (inputs, outs): (Vec<TensorTy>, _) = (vec![from.clone()], vec![to.clone()]);
    let call = Call { inputs: &inputs, attrs: o.op.attrs, vars: &p.cx.graph.vars };
    let work = o.op.op.work(&call, &outs);
    let only = !work.is_empty() && work.iter().all(|w| w.resource == Resource::Cvt);
    only.then_some(to.dtype)
}

//! A value that goes through `gmem` between two launches, or between ops outside meshes.

use std::collections::BTreeMap;

use super::cluster::{Cluster, Group, clusters, group};
use super::look::{Access, accesses, buffer, caller, name, op_name, persistent};
use super::{Draft, Edit, Program, Rule, bytes_of};
use crate::analysis::record::Certainty;
use crate::graph::{Def, ParamKind, ValueId};
use crate::target::InstructionKind;
use crate::types::placement::{AxisSplit, Storage};
use crate::types::ty::TensorTy;

pub(super) static RULE: Rule = Rule {
    kind: "gmem-round-trip",
    title: "a value goes through gmem and comes back",
    means: "A launch, or an op outside meshes, writes a value to `gmem` that a later one reads. A \
            result of the program must be written in any case: of it only the reads count. Ops \
            outside meshes are one finding where they can run as one: cut along a dimension that \
            they share, no block needs another (of two contractions, only where the cut divides \
            all their operands), or one position can hold what they hand over.",
    size: "All bytes written plus all bytes read. Exact where each reading position uses what the \
           same position wrote; otherwise an upper bound, for positions must then exchange parts. \
           An upper bound too where one mesh over ops outside meshes has fewer positions than units.",
    remedy: "Put both in one mesh and hand the value over in `rmem` or `smem`. Where two launches \
             split it differently, the edit says how many positions wrote what one reads: they can \
             hand it over within a group of positions that reach each other's memory.",
    find,
};

fn place(p: &Program, a: &Access) -> Group {
    group(p, a.op)
}

fn find(p: &Program) -> Vec<Draft> {
    let mut by: BTreeMap<ValueId, Vec<Access>> = BTreeMap::new();
    for a in accesses(p, Storage::Gmem) {
        by.entry(buffer(p, a.value)).or_default().push(a);
    }
    let mut out: Vec<Draft> = clusters(p, &by).iter().filter_map(|c| together(p, c, &by)).collect();
    for (root, all) in &by {
        // what the caller or a checkpoint gives is read in any case
        if !own(p, *root) {
            continue;
        }
        let writes: Vec<&Access> = all.iter().filter(|a| !a.read).collect();
        let wrote: Vec<Group> = writes.iter().map(|a| place(p, a)).collect();
        let reads: Vec<&Access> =
            all.iter().filter(|a| a.read && !wrote.contains(&place(p, a))).collect();
        if writes.is_empty() || reads.is_empty() {
            continue;
        }
        let bare = |a: &&&Access| matches!(place(p, a), Group::Op(_));
        if !writes.iter().chain(&reads).all(|a| bare(&a)) {
            out.push(between(p, *root, &writes, &reads));
        }
    }
    out
}

fn own(p: &Program, root: ValueId) -> bool {
    match p.cx.graph.value(root).def {
        Def::Param(i) => !matches!(
            p.cx.graph.params.get(i).map(|p| &p.kind),
            Some(ParamKind::Arg | ParamKind::Inout | ParamKind::Weight { .. }) | None
        ),
        _ => true,
    }
}

fn writes_and_reads(
    p: &Program,
    root: ValueId,
    writes: &[&Access],
    reads: &[&Access],
) -> Vec<Edit> {
    let kept = persistent(p, root);
    let gone = reads.iter().chain(writes.iter().filter(|_| !kept));
    gone.map(|a| Edit::Scale { op: a.op, entry: a.entry, num: 0, den: 1 }).collect()
}

/// A value handed from one launch to another.
fn between(p: &Program, root: ValueId, writes: &[&Access], reads: &[&Access]) -> Draft {
    let edits = writes_and_reads(p, root, writes, reads);
    let (what, label) = (name(p, root), |a: &Access| match place(p, a) {
        Group::Launch(l) => {
            let name = p.launches.get(l).map_or("", |l| l.name.as_str());
            format!("launch `{name}` of `{}`", caller(p, a.op))
        }
        Group::Op(i) => p.ops.get(i).map_or(String::new(), op_name),
    });
    let (Some(w), Some(r)) = (writes.first(), reads.first()) else {
        return Draft::new(what, String::new());
    };
    let same = writes.iter().all(|w| reads.iter().all(|r| alike(p, w, r)));
    let (mut from, mut to) = (label(w), label(r));
    if from == to {
        (from, to) = (format!("the earlier {from}"), format!("the later {to}"));
    }
    let loose = matches!(place(p, w), Group::Op(_));
    let edit = match same {
        _ if loose => format!("do {from} in {to}, on the part of {what} that each position reads"),
        _ if matches!(place(p, r), Group::Op(_)) => {
            format!("do {to} in {from}, on the part of {what} that each position writes")
        }
        true => {
            format!("fuse {from} with {to}: both split {what} alike, so it can stay where it is")
        }
        false => exchange(p, &what, (w, &from), (r, &to)),
    };
    let mut d = Draft::new(format!("{what} is written by {from} and read again by {to}"), edit);
    d.is = if same { Certainty::Exact } else { Certainty::UpperBound };
    d.bytes = bytes_of(p, "gmem", &edits);
    d.edits = edits;
    if let (Group::Launch(_), Group::Launch(launch)) = (place(p, w), place(p, r)) {
        d.edits.push(Edit::Fuse { launch });
    }
    for (a, how) in writes.iter().map(|a| (a, "written")).chain(reads.iter().map(|a| (a, "read"))) {
        if let Some(o) = p.ops.get(a.op) {
            d = d.spot(o.op.node.span, format!("{how} by {}", label(a)));
        }
    }
    d.sites.dedup();
    d
}

/// What two launches can do that split a value differently: positions that hand each other parts
/// must be in one group of the target, or wait for the whole grid.
fn exchange(p: &Program, what: &str, w: (&Access, &str), r: (&Access, &str)) -> String {
    let ((w, from), (r, to)) = (w, r);
    let level = p.cx.machine.level(p.cx.machine.grid);
    let groups = p.cx.machine.target.map(|t| t.instructions()).unwrap_or_default();
    let groups = groups.iter().filter(|i| i.kind == InstructionKind::Group);
    let group = groups.filter_map(|i| Some((u128::from(i.max_group?), &i.level))).max();
    let meet = |n: u128| format!("a {level} of {to} reads what {n} {level}s of {from} wrote");
    let fused = format!(
        "`#[fuse]` saves the launch between them, and {what} still goes through gmem or its cache"
    );
    match (writers(p, w, r), group) {
        (Some(0 | 1), _) => format!(
            "fuse {from} with {to} and give the reader the writer's split: a {level} of {to} reads \
             only what one {level} of {from} wrote"
        ),
        (Some(n), Some((most, group))) if n <= most => format!(
            "run {from} and {to} as one launch with groups of {n} {level}s, each in a {group}: {}, \
             and can get it from them",
            meet(n)
        ),
        (Some(n), Some((most, group))) => format!(
            "{}, more than the {most} of a {group}: split {what} so that fewer write what one \
             reads; {fused}",
            meet(n)
        ),
        (Some(n), None) => format!(
            "{}: give the reader the writer's split and complete the result; {fused}",
            meet(n)
        ),
        (None, _) => format!(
            "fuse {from} with {to}: they split {what} differently, so give the reader the writer's \
             split, or let positions exchange parts; {fused}"
        ),
    }
}

/// How many grid positions wrote what one position reads, where the tiles say it: parts of one
/// whole value, or windows of which the larger is so many of the smaller.
fn writers(p: &Program, w: &Access, r: &Access) -> Option<u128> {
    let once = |a: &&Access| {
        p.ops.get(a.op).is_some_and(|o| o.run.trips.runs.counts.iter().all(|n| *n == 1))
    };
    if ![w, r].iter().all(once) {
        return None;
    }
    let (a, b) = (tile(p, w)?, tile(p, r)?);
    let span = p.ops.get(w.op)?.op.node.span;
    if whole(p, w, a) && whole(p, r, b) && a.shape == b.shape {
        let keep = |x| p.cx.rank(x) <= p.cx.machine.grid;
        let local = |ty: &TensorTy| -> Option<Vec<u128>> {
            let shape = p.cx.shape(ty, span).ok()?.into_iter().zip(&ty.place.axes);
            Some(shape.map(|(n, s)| p.cx.axis_local(s, n, &keep)).collect())
        };
        let parts = local(b)?.into_iter().zip(local(a)?);
        return Some(parts.map(|(r, w)| r.div_ceil(w.max(1))).product());
    }
    let (wrote, reads) = (w.e.local, r.e.local);
    match (reads.checked_rem(wrote), wrote.checked_rem(reads)) {
        (Some(0), _) if reads > wrote => Some(reads / wrote),
        (_, Some(0)) if wrote > reads => Some(1),
        _ => None,
    }
}

/// What a position writes to a value, or makes of what it reads.
fn tile<'p>(p: &'p Program, a: &Access) -> Option<&'p TensorTy> {
    let node = p.ops.get(a.op)?.op.node;
    let v = if a.read { node.outputs.first() } else { node.inputs.last() };
    v.map(|v| p.cx.graph.ty(*v))
}

/// Whether a tile is all of the value, split over positions.
fn whole(p: &Program, a: &Access, tile: &TensorTy) -> bool {
    p.cx.graph.ty(a.value).shape == tile.shape
}

/// Whether each grid position reads what it wrote: the tiles on both sides have one split over the
/// grid.
fn alike(p: &Program, w: &Access, r: &Access) -> bool {
    let (Some(a), Some(b)) = (tile(p, w), tile(p, r)) else { return false };
    let all = whole(p, w, a) && whole(p, r, b);
    all && a.shape == b.shape && grid_split(p, a) == grid_split(p, b)
}

/// By axis, its factors with the level and extent of the mesh axes over the grid; what is finer is
/// one factor.
fn grid_split(p: &Program, ty: &TensorTy) -> Vec<Vec<(u128, Option<usize>)>> {
    let cx = p.cx;
    let axis = |s: &AxisSplit| {
        let mut out: Vec<(u128, Option<usize>)> = vec![];
        for f in &s.factors {
            let rank = f.axis.map(|a| cx.rank(a)).filter(|r| *r <= cx.machine.grid);
            let n = f.extent.eval(cx.env).unwrap_or(1).max(1) as u128;
            match out.last_mut().filter(|l| l.1.is_none() && rank.is_none()) {
                Some(l) => l.0 = l.0.saturating_mul(n),
                None => out.push((n, rank)),
            }
        }
        out
    };
    ty.place.axes.iter().map(axis).collect()
}

/// The values that the ops of a cluster hand to each other: one finding.
fn together(p: &Program, c: &Cluster, by: &BTreeMap<ValueId, Vec<Access>>) -> Option<Draft> {
    let inside = |a: &&Access| c.ops.contains(&a.op);
    let (mut edits, mut values) = (vec![], vec![]);
    for (root, all) in by.iter().filter(|(root, _)| own(p, **root)) {
        let writes: Vec<&Access> = all.iter().filter(|a| !a.read).collect();
        let (here, elsewhere): (Vec<&Access>, Vec<&Access>) =
            all.iter().filter(|a| a.read).partition(inside);
        if writes.len() != 1 || !writes.iter().all(inside) || here.is_empty() {
            continue;
        }
        values.push(*root);
        let zero = |a: &Access| Edit::Scale { op: a.op, entry: a.entry, num: 0, den: 1 };
        edits.extend(here.into_iter().map(zero));
        // who else reads it needs it written
        if elsewhere.is_empty() && !persistent(p, *root) {
            edits.extend(writes.into_iter().map(zero));
        }
    }
    let mut names: Vec<String> = values.iter().map(|v| name(p, *v)).collect();
    names.truncate(4);
    let and = if values.len() > names.len() { ", .." } else { "" };
    let (n, k, blocks) = (c.ops.len(), values.len(), c.blocks(p));
    let go = if k == 1 { "value goes" } else { "values go" };
    let free = match blocks {
        1 => "though one position can hold them".to_string(),
        _ => format!("though {blocks} blocks of the work need nothing of each other"),
    };
    let level = p.cx.machine.target.map_or("position", |_| p.cx.machine.level(p.cx.machine.grid));
    let units = p.cx.machine.target.and_then(|t| t.grid_unit()).and_then(|u| u.count.known());
    let grid = match (blocks, units.map(|u| u128::from(u.value))) {
        (1, _) => format!("one {level}"),
        (_, Some(u)) if blocks > u => format!("as many {level}s as run at once, {u} or more"),
        _ => format!("up to {blocks} {level}s"),
    };
    let mut d = Draft::new(
        format!(
            "{k} {go} through gmem between {n} ops outside meshes, {free}: {}{and}",
            names.join(", ")
        ),
        format!(
            "one mesh, of {grid}, over the {n} ops that hand over {}{and}: read its inputs with \
             `reshard(.., rmem[..])` or into `smem`, and write only its results to gmem",
            names.join(", ")
        ),
    );
    // on fewer positions than units a mesh has bounds that ops of the whole device have not
    if units.is_some_and(|u| blocks < u128::from(u.value)) {
        d.is = Certainty::UpperBound;
    }
    d.bytes = bytes_of(p, "gmem", &edits);
    d.edits = edits;
    d.edits.push(Edit::Join { ops: c.ops.iter().copied().collect(), positions: blocks });
    for v in values.iter().take(8) {
        d = d.spot(p.cx.graph.value(*v).span, format!("{} goes through gmem", name(p, *v)));
    }
    d.bytes.is_some().then_some(d)
}

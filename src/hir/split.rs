//! How a distribution passes through one op: from operands forward, and from the destination.
//!
//! The rules are those of the op's domain and accesses; no op is known here by name. A mesh axis
//! that splits an operand's axis splits the domain dimension which indexes it; a split dimension
//! that indexes a result splits it, one that is reduced leaves it partial.

use super::fit::fitting;
use crate::diag::Code;
use crate::graph::Graph;
use crate::ops::facts::{Access, AxisAccess, Domain};
use crate::ops::{Attr, Call, Op, PartialRule, Role};
use crate::types::dim::Expr;
use crate::types::placement::{
    AxisId, AxisSplit, Factor, Placement, Reduction, Storage, show_split,
};
use crate::types::ty::TensorTy;

/// What the use of a value asks of its placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    pub axes: Vec<AxisSplit>,
    /// An annotation: storage and swizzle are asked for too.
    pub hard: Option<Placement>,
}

/// Why operands cannot be put together.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub code: Code,
    pub message: String,
    /// Operands, with a remark each.
    pub operands: Vec<(usize, String)>,
    pub help: String,
}

/// Placements of the results, and what stands in the way.
pub struct Placed {
    pub placements: Vec<Placement>,
    pub conflicts: Vec<Conflict>,
}

/// Factors of one domain dimension.
#[derive(Clone, Debug, Default)]
pub struct DimSplit {
    pub factors: Vec<Factor>,
    pub padded: bool,
    /// The operand it came from.
    from: Option<usize>,
}

/// Places the results of an op.
pub fn forward(
    g: &Graph,
    op: &dyn Op,
    call: &Call,
    outs: &[TensorTy],
    demand: &[Option<Demand>],
    inside: bool,
) -> Placed {
    let mut conflicts = vec![];
    let mut varying: Vec<AxisId> =
        call.inputs.iter().flat_map(|t| t.place.varying.clone()).collect();
    for e in call.attrs.exprs() {
        varying.extend(super::place::coords(g, &e));
    }
    varying.sort_unstable();
    varying.dedup();
    let placements = match op.role() {
        Role::Reshard => reshard(call, outs, &varying),
        Role::Complete => complete(call),
        Role::Write => write(call, &mut conflicts, g, &varying),
        Role::Local => local(call, outs, &varying),
        Role::Collect => collect(call, outs, &varying),
        _ => derived(g, op, call, outs, demand, &varying, inside, &mut conflicts),
    };
    Placed { placements, conflicts }
}

fn reshard(call: &Call, outs: &[TensorTy], varying: &[AxisId]) -> Vec<Placement> {
    let rank = outs.first().map_or(0, TensorTy::rank);
    let mut p = match call.attrs.get("placement") {
        Some(Attr::Placement(p)) => p.clone(),
        _ => Placement::whole(Storage::Gmem, rank),
    };
    p.add_varying(varying.iter().copied());
    vec![p]
}

fn complete(call: &Call) -> Vec<Placement> {
    let mut p = match call.inputs.first() {
        Some(t) => t.place.clone(),
        None => return vec![],
    };
    p.partial.clear();
    vec![p]
}

fn write(
    call: &Call,
    conflicts: &mut Vec<Conflict>,
    g: &Graph,
    varying: &[AxisId],
) -> Vec<Placement> {
    if let Some(tile) = call.inputs.get(1)
        && let Some((_, r)) = tile.place.partial.first()
    {
        conflicts.push(partial_conflict(g, 1, tile, *r));
    }
    let Some(base) = call.inputs.first() else { return vec![] };
    let mut p = base.place.clone();
    // a buffer in registers or shared memory is each position's own, so it varies as its tile does
    let own = |a: &AxisId| match p.storage {
        Storage::Host | Storage::Gmem => false,
        Storage::Rmem => true,
        Storage::Smem | Storage::Tmem => {
            let cta = g.topology.iter().position(|(l, _)| l == "cta");
            cta.is_some_and(|c| g.meshes.axis_rank(*a) <= c)
        }
    };
    let more: Vec<AxisId> = varying.iter().copied().filter(own).collect();
    p.add_varying(more);
    vec![p]
}

fn local(call: &Call, outs: &[TensorTy], varying: &[AxisId]) -> Vec<Placement> {
    let Some(x) = call.inputs.first() else { return vec![] };
    let mut p = Placement::whole(x.place.storage, outs.first().map_or(0, TensorTy::rank));
    p.partial = x.place.partial.clone();
    p.add_varying(varying.iter().copied().chain(x.place.split_axes()));
    vec![p]
}

fn collect(call: &Call, outs: &[TensorTy], varying: &[AxisId]) -> Vec<Placement> {
    let Some(x) = call.inputs.first() else { return vec![] };
    let axes = call.attrs.0.iter().find_map(|(_, a)| match a {
        Attr::Axes(v) => Some(v.clone()),
        _ => None,
    });
    let axes = axes.unwrap_or_default();
    let mut p = Placement::whole(x.place.storage, outs.first().map_or(0, TensorTy::rank));
    let shape = outs.first().map_or(&[][..], |t| &t.shape);
    for (i, slot) in p.axes.iter_mut().enumerate() {
        match axes.get(i) {
            Some(a) => {
                let extent = shape.get(i).cloned().unwrap_or_default();
                slot.factors = vec![Factor { extent, axis: Some(*a) }];
            }
            None => {
                if let Some(s) = x.place.axes.get(i - axes.len()) {
                    *slot = s.clone();
                }
            }
        }
    }
    p.partial = x.place.partial.clone();
    p.add_varying(varying.iter().copied().filter(|a| !axes.contains(a)));
    vec![p]
}

#[allow(clippy::too_many_arguments)]
fn derived(
    g: &Graph,
    op: &dyn Op,
    call: &Call,
    outs: &[TensorTy],
    demand: &[Option<Demand>],
    varying: &[AxisId],
    inside: bool,
    conflicts: &mut Vec<Conflict>,
) -> Vec<Placement> {
    let domain = op.domain(call, outs);
    let mut dims: Vec<DimSplit> = vec![DimSplit::default(); domain.dims.len()];
    for (i, (t, access)) in call.inputs.iter().zip(&domain.reads).enumerate() {
        if let Err(c) = absorb(g, &domain, &mut dims, call.inputs, i, t, access) {
            conflicts.push(c);
        }
    }
    for (d, s) in domain.dims.iter().zip(&mut dims) {
        if !d.splittable && s.factors.iter().any(|f| f.axis.is_some()) {
            conflicts.push(Conflict {
                code: Code::NeedsWhole,
                message: format!(
                    "`{}` needs all elements along this axis, which is split",
                    op.name()
                ),
                operands: vec![(s.from.unwrap_or(0), "split here".into())],
                help: "gather it first, for example with `reshard(x, smem)`".into(),
            });
            *s = DimSplit::default();
        }
    }
    for (o, access) in domain.writes.iter().enumerate() {
        let (Some(Some(d)), Some(t)) = (demand.get(o), outs.get(o)) else { continue };
        take_demand(&domain, &mut dims, d, t, access, varying);
    }
    let storage = storage_of(op, call, inside);
    let (partial, refused) = partials(g, op, call);
    conflicts.extend(refused);
    outs.iter()
        .enumerate()
        .map(|(o, t)| {
            let mut p = Placement::whole(storage, t.rank());
            if let Some(access) = domain.writes.get(o) {
                p.axes = project(&domain, &dims, access, t.rank());
            }
            for (d, s) in domain.dims.iter().zip(&dims) {
                if let Some(r) = d.reduce {
                    for a in s.factors.iter().filter_map(|f| f.axis) {
                        p.set_partial(a, r);
                    }
                }
            }
            for (a, r) in &partial {
                p.set_partial(*a, *r);
            }
            p.add_varying(varying.iter().copied());
            if let Some(Some(Demand { hard: Some(h), .. })) = demand.get(o) {
                let fixed = matches!(op.role(), Role::View | Role::Read);
                if !fixed {
                    p.storage = h.storage;
                    p.swizzle = h.swizzle;
                    p.layout = h.layout.clone();
                }
            }
            p
        })
        .collect()
}

/// Enters the splits of one operand into the domain.
fn absorb(
    g: &Graph,
    domain: &Domain,
    dims: &mut [DimSplit],
    inputs: &[TensorTy],
    i: usize,
    t: &TensorTy,
    access: &Access,
) -> Result<(), Conflict> {
    for (k, split) in t.place.axes.iter().enumerate() {
        if split.is_whole() && !split.padded {
            continue;
        }
        let extent = t.shape.get(k).cloned().unwrap_or_default();
        let shown = show_split(split, &extent, &g.vars, &g.meshes);
        let list = match access.axes.get(k) {
            Some(AxisAccess::Dims(list)) => list,
            _ => {
                return Err(Conflict {
                    code: Code::NeedsWhole,
                    message: format!("axis {k} is read by windows or by data, and is split: `{shown}`"),
                    operands: vec![(i, format!("axis {k} is `{shown}`"))],
                    help: "a split axis is read whole: gather it with `reshard`, or take the position's piece with `local`".into(),
                });
            }
        };
        let Some(parts) = distribute(split, list, domain) else {
            let fits = fitting(split, list, domain);
            return Err(Conflict {
                code: Code::SplitReshape,
                message: format!("the new axes do not end at the factors of `{shown}`"),
                operands: vec![(i, format!("axis {k} is `{shown}`"))],
                help: match fits.map(|s| show_split(&s, &extent, &g.vars, &g.meshes)) {
                    Some(s) => format!("`{s}` in its place ends where the new axes do: split it so, or `reshard` it first"),
                    None => "no split over these mesh axes in this order ends where the new axes do: divide one, as in `thread[warp: 8, lane: 32]`, and split each part over one of them, or `reshard` to fewer positions, or reshape before it is split".into(),
                },
            });
        };
        for (d, new) in parts {
            // one mesh axis may tie one dimension only
            for a in new.factors.iter().filter_map(|f| f.axis) {
                let other = dims
                    .iter()
                    .enumerate()
                    .find(|(e, s)| *e != d && s.factors.iter().any(|f| f.axis == Some(a)));
                if let Some((_, s)) = other {
                    let name = g.meshes.axis_name(a).to_string();
                    return Err(Conflict {
                        code: Code::SplitConflict,
                        message: format!(
                            "`{name}` would split two different dimensions of the operation"
                        ),
                        operands: two(i, s.from, inputs, g, &shown, &name),
                        help: format!("`reshard` one operand so that it is whole over `{name}`"),
                    });
                }
            }
            let slot = &mut dims[d];
            if slot.factors.is_empty() {
                *slot = DimSplit { from: Some(i), ..new };
                continue;
            }
            match merge(slot, &new) {
                Some(m) => *slot = DimSplit { from: slot.from, ..m },
                None => {
                    let first = slot.from.unwrap_or(0);
                    let had = show_split(
                        &AxisSplit { factors: slot.factors.clone(), padded: slot.padded },
                        &domain.dims[d].extent,
                        &g.vars,
                        &g.meshes,
                    );
                    return Err(Conflict {
                        code: Code::SplitConflict,
                        message: format!(
                            "the operands are split differently: `{had}` and `{shown}`"
                        ),
                        operands: vec![
                            (first, format!("split `{had}`")),
                            (i, format!("split `{shown}`")),
                        ],
                        help: format!("`reshard` one operand to the split of the other: `{had}`"),
                    });
                }
            }
        }
    }
    Ok(())
}

fn two(
    i: usize,
    from: Option<usize>,
    inputs: &[TensorTy],
    g: &Graph,
    shown: &str,
    name: &str,
) -> Vec<(usize, String)> {
    let mut out = vec![(i, format!("split `{shown}`"))];
    if let Some(f) = from
        && let Some(t) = inputs.get(f)
    {
        let place = t.place.show(&t.shape, &g.vars, &g.meshes);
        out.insert(0, (f, format!("`{name}` splits another axis here: `{place}`")));
    }
    out
}

/// Gives a mixed-radix axis' factors to its dimensions. `None` where a split factor crosses.
fn distribute(
    split: &AxisSplit,
    list: &[usize],
    domain: &Domain,
) -> Option<Vec<(usize, DimSplit)>> {
    if let [d] = list {
        let s = DimSplit { factors: split.factors.clone(), padded: split.padded, from: None };
        return Some(vec![(*d, s)]);
    }
    if list.is_empty() {
        return Some(vec![]);
    }
    if split.padded {
        return None;
    }
    let mut out: Vec<(usize, DimSplit)> = vec![];
    let mut dims = list.iter();
    let mut at: Option<(usize, Expr)> = None;
    for f in &split.factors {
        let mut left = f.extent.clone();
        let mut whole = true;
        while !left.is_one() {
            let (d, rest) = match at.take() {
                Some((d, r)) if !r.is_one() => (d, r),
                _ => {
                    let d = *dims.next()?;
                    out.push((d, DimSplit::default()));
                    (d, domain.dims.get(d)?.extent.clone())
                }
            };
            if rest.is_one() {
                continue;
            }
            let slot = &mut out.last_mut()?.1.factors;
            if let Some(q) = rest.exact_div(&left) {
                slot.push(Factor { extent: left.clone(), axis: f.axis });
                at = Some((d, q));
                left = Expr::one();
            } else {
                let q = left.exact_div(&rest)?;
                if f.axis.is_some() {
                    return None;
                }
                slot.push(Factor { extent: rest, axis: None });
                left = q;
                whole = false;
            }
        }
        if f.extent.is_one() && f.axis.is_some() && whole {
            // a mesh axis of one position: it splits nothing, but keeps its place
            if let Some((_, s)) = out.last_mut() {
                s.factors.push(f.clone());
            }
        }
    }
    Some(out)
}

/// The common refinement of two factorings of one extent.
fn merge(a: &DimSplit, b: &DimSplit) -> Option<DimSplit> {
    if b.factors.is_empty() {
        return Some(a.clone());
    }
    if a.padded || b.padded {
        return (a.padded == b.padded && a.factors == b.factors).then(|| a.clone());
    }
    let mut out: Vec<Factor> = vec![];
    let mut xs: Vec<Factor> = a.factors.iter().rev().cloned().collect();
    let mut ys: Vec<Factor> = b.factors.iter().rev().cloned().collect();
    loop {
        match (xs.pop(), ys.pop()) {
            (None, None) => break,
            (Some(f), None) | (None, Some(f)) => {
                if !f.extent.is_one() {
                    return None;
                }
                out.push(f);
            }
            (Some(x), Some(y)) => {
                if x.axis.is_some() && x.axis == y.axis {
                    if x.extent != y.extent {
                        return None;
                    }
                    out.push(x);
                    continue;
                }
                if x.extent == y.extent {
                    if x.axis.is_some() && y.axis.is_some() {
                        return None;
                    }
                    out.push(Factor { extent: x.extent, axis: x.axis.or(y.axis) });
                    continue;
                }
                // the larger one is refined; a split factor covers whole unsplit ones only
                if let Some(q) = x.extent.exact_div(&y.extent) {
                    refine(&x, &y, q, &mut xs, &mut ys, &mut out)?;
                } else if let Some(q) = y.extent.exact_div(&x.extent) {
                    refine(&y, &x, q, &mut ys, &mut xs, &mut out)?;
                } else {
                    return None;
                }
            }
        }
    }
    Some(DimSplit { factors: tidy(out), padded: false, from: a.from })
}

/// `big = small * q`: takes `small` off both. A split `big` swallows unsplit pieces.
fn refine(
    big: &Factor,
    small: &Factor,
    q: Expr,
    bigs: &mut Vec<Factor>,
    smalls: &mut Vec<Factor>,
    out: &mut Vec<Factor>,
) -> Option<()> {
    match big.axis {
        None => {
            out.push(small.clone());
            bigs.push(Factor { extent: q, axis: None });
        }
        Some(_) => {
            // all pieces under a split factor must be unsplit
            let mut left = q;
            if small.axis.is_some() {
                return None;
            }
            while !left.is_one() {
                let next = smalls.pop()?;
                if next.axis.is_some() {
                    return None;
                }
                if let Some(r) = left.exact_div(&next.extent) {
                    left = r;
                } else {
                    let rest = next.extent.exact_div(&left)?;
                    smalls.push(Factor { extent: rest, axis: None });
                    left = Expr::one();
                }
            }
            out.push(big.clone());
        }
    }
    Some(())
}

/// Joins neighbouring unsplit factors and drops those of one.
pub fn tidy(factors: Vec<Factor>) -> Vec<Factor> {
    let mut out: Vec<Factor> = vec![];
    for f in factors {
        match (f.axis, out.last_mut()) {
            (None, _) if f.extent.is_one() => {}
            (None, Some(last)) if last.axis.is_none() => last.extent = last.extent.mul(&f.extent),
            _ => out.push(f),
        }
    }
    if out.iter().all(|f| f.axis.is_none()) {
        out.clear();
    }
    out
}

/// What the destination asks, where no operand says otherwise.
fn take_demand(
    domain: &Domain,
    dims: &mut [DimSplit],
    demand: &Demand,
    t: &TensorTy,
    access: &Access,
    varying: &[AxisId],
) {
    for (k, split) in demand.axes.iter().enumerate() {
        if split.is_whole() {
            continue;
        }
        let Some(AxisAccess::Dims(list)) = access.axes.get(k) else { continue };
        if t.shape.get(k).is_some_and(Expr::is_one) {
            continue;
        }
        let Some(parts) = distribute(split, list, domain) else { continue };
        for (d, mut new) in parts {
            let used = |a: AxisId| {
                varying.contains(&a)
                    || dims
                        .iter()
                        .enumerate()
                        .any(|(e, s)| e != d && s.factors.iter().any(|f| f.axis == Some(a)))
            };
            if new.padded && new.factors.iter().any(|f| f.axis.is_some_and(used)) {
                continue;
            }
            for f in &mut new.factors {
                if f.axis.is_some_and(used) {
                    f.axis = None;
                }
            }
            let Some(dim) = domain.dims.get(d) else { continue };
            if !dim.splittable || dim.reduce.is_some() {
                continue;
            }
            let slot = &mut dims[d];
            if slot.factors.is_empty() {
                *slot = new;
            } else if let Some(m) = merge(slot, &new) {
                *slot = DimSplit { from: slot.from, ..m };
            }
        }
    }
}

/// The splits of the axes of an operand or result.
pub fn project(domain: &Domain, dims: &[DimSplit], access: &Access, rank: usize) -> Vec<AxisSplit> {
    let mut out = vec![AxisSplit::default(); rank];
    for (slot, a) in out.iter_mut().zip(&access.axes) {
        let AxisAccess::Dims(list) = a else { continue };
        let mut factors = vec![];
        let mut padded = false;
        for d in list {
            match dims.get(*d) {
                Some(s) if !s.factors.is_empty() => {
                    factors.extend(s.factors.clone());
                    padded |= s.padded;
                }
                _ => {
                    let extent = domain.dims.get(*d).map(|x| x.extent.clone()).unwrap_or_default();
                    factors.push(Factor { extent, axis: None });
                }
            }
        }
        *slot = if padded {
            AxisSplit { factors, padded }
        } else {
            AxisSplit { factors: tidy(factors), padded }
        };
    }
    out
}

/// The splits of the domain as they are, for the demands on the operands.
pub fn domain_splits(
    g: &Graph,
    domain: &Domain,
    inputs: &[TensorTy],
    outs: &[TensorTy],
) -> Vec<DimSplit> {
    let mut dims: Vec<DimSplit> = vec![DimSplit::default(); domain.dims.len()];
    for (i, (t, a)) in outs.iter().zip(&domain.writes).enumerate() {
        let _ = absorb(g, domain, &mut dims, outs, i, t, a);
    }
    for (i, (t, a)) in inputs.iter().zip(&domain.reads).enumerate() {
        let _ = absorb(g, domain, &mut dims, inputs, i, t, a);
    }
    dims
}

fn storage_of(op: &dyn Op, call: &Call, inside: bool) -> Storage {
    if let (Role::View | Role::Read, Some(t)) = (op.role(), call.inputs.first()) {
        return t.place.storage;
    }
    if !inside {
        return Storage::Gmem;
    }
    if op.contraction() {
        return Storage::Rmem;
    }
    let has = |s: Storage| call.inputs.iter().any(|t| t.place.storage == s && !t.shape.is_empty());
    if has(Storage::Rmem) || has(Storage::Tmem) {
        Storage::Rmem
    } else if has(Storage::Smem) {
        Storage::Smem
    } else {
        Storage::Rmem
    }
}

/// The partials that operands bring along, and the first that the op does not pass on.
///
/// A refused one counts for the result where the op passes its kind: the other operand may be a
/// carried variable, which is partial once the loop's body is known to make it so.
fn partials(g: &Graph, op: &dyn Op, call: &Call) -> (Vec<(AxisId, Reduction)>, Option<Conflict>) {
    use Reduction as R;
    let mut out: Vec<(AxisId, R)> = vec![];
    let mut refused = None;
    for (i, t) in call.inputs.iter().enumerate() {
        for (a, r) in &t.place.partial {
            let others = || call.inputs.iter().enumerate().filter(|(j, _)| *j != i);
            let alike = others().all(|(_, o)| o.place.partial_over(*a) == Some(*r));
            let alone = others().all(|(_, o)| o.place.partial_over(*a).is_none());
            let (kind, fits) = match op.partial_rule() {
                PartialRule::None => (false, false),
                PartialRule::View => (true, true),
                PartialRule::Linear => (*r == R::Sum, alike),
                PartialRule::Multilinear => (*r == R::Sum, alone),
                PartialRule::Monotone => (matches!(r, R::Max | R::Min), alike),
            };
            if !(kind && fits) && refused.is_none() {
                refused = Some(partial_conflict(g, i, t, *r));
            }
            if kind && !out.contains(&(*a, *r)) {
                out.push((*a, *r));
            }
        }
    }
    (out, refused)
}

fn partial_conflict(g: &Graph, operand: usize, t: &TensorTy, kind: Reduction) -> Conflict {
    let axes = t.place.partial.iter().filter(|(_, r)| *r == kind);
    let axes: Vec<&str> = axes.map(|(a, _)| g.meshes.axis_name(*a)).collect();
    let (kind, found) = (kind.name(), |a: &&str| format!("partial({}, {a})", kind.name()));
    let found: Vec<String> = axes.iter().map(found).collect();
    Conflict {
        code: Code::PartialOperand,
        message: format!(
            "an operand is partial: its {kind} over `{}` is not finished",
            axes.join("`, `")
        ),
        operands: vec![(operand, format!("found {}", found.join(" ")))],
        help: "finish it with `complete(..)`; only linear operations take a partial sum, only monotone ones a partial max or min".into(),
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;

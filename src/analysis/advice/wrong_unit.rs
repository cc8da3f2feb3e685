//! Contractions that the matrix unit cannot do or cannot fill, and bounds by scalar units.

use super::look::op_name;
use super::{Draft, Edit, Program, Rule};
use crate::analysis::cost::{Key, OpCost, by_hand};
use crate::analysis::record::Certainty;
use crate::analysis::units::{count, percent};
use crate::ops::Call;
use crate::ops::facts::{AxisAccess, Resource};
use crate::target::{Form, Instruction, RateSet, Sizes};
use crate::types::dtype::DType;
use crate::types::ty::TensorTy;

pub(super) static MATRIX: Rule = Rule {
    kind: "matrix-unit",
    title: "a contraction does not use the matrix unit, or not all of it",
    means: "No matrix rate of the target takes the operands' dtype, so the multiply-adds run on \
            scalar units; or a placement splits the product finer than the positions that issue \
            a matrix instruction together, so that each has a small product of its own; or the \
            tile of a position is no multiple of any shape that its matrix instructions take, so \
            that a part of each is padding.",
    size: "For a dtype: the bound with the work in the widest dtype that the unit takes, which \
           rounds otherwise. For a split: the bound with the work on the matrix unit. For a shape: \
           the padded tile over the tile; the bound takes the full rate and does not count it.",
    remedy: "Cast the operands; leave the product whole over the finest level, for the instruction \
             spreads it itself; or choose a tile of the named multiple.",
    find: matrix,
};

pub(super) static SCALAR: Rule = Rule {
    kind: "scalar-unit",
    title: "special functions, conversions or integer work bind",
    means: "The bound is that of a unit for neither multiply-adds nor memory.",
    size: "All work of the named op on that unit: an upper bound, for something must take its place.",
    remedy: "Hoist what is the same for many elements (one reciprocal instead of many quotients), \
             compute a part of the functions as polynomials on the multiply-add units, convert once.",
    find: scalar,
};

fn matrix(p: &Program) -> Vec<Draft> {
    let all = p.ops.iter().enumerate().filter(|(_, o)| o.op.op.contraction());
    let why = |(i, o)| dtype(p, i, o).or_else(|| split(p, i, o)).or_else(|| shape(p, i, o));
    all.filter_map(why).collect()
}

/// The matrix work of an op: its entry and dtype.
fn tensor(o: &OpCost) -> Option<(usize, DType)> {
    o.entries.iter().enumerate().find_map(|(i, e)| match e.key {
        Key::Work(Resource::Tensor(d)) => Some((i, d)),
        _ => None,
    })
}

fn dtype(p: &Program, op: usize, o: &OpCost) -> Option<Draft> {
    let target = p.cx.machine.target?;
    let (entry, d) = tensor(o)?;
    let rated = |d: DType| target.rate(RateSet::Peak, &Resource::Tensor(d).name()).is_some();
    if rated(d) || !d.is_float() {
        return None;
    }
    let narrower = |x: &&DType| x.is_float() && x.bits() <= d.bits() && **x != d && rated(**x);
    let to = DType::ALL.iter().filter(narrower).max_by_key(|x| x.bits())?;
    let mut f = Draft::new(
        format!(
            "{} multiplies {d}, for which `{}` has no matrix rate: it runs on scalar units",
            op_name(o),
            target.id()
        ),
        format!("cast the operands to {to} and keep `out = f32`, if its rounding is acceptable"),
    );
    f.edits = vec![Edit::Unit { op, entry, to: Resource::Tensor(*to) }];
    Some(f.spot(o.op.node.span, format!("{d} x {d}")))
}

/// A product that its placement splits finer than any matrix instruction takes.
fn split(p: &Program, op: usize, o: &OpCost) -> Option<Draft> {
    let (entry, d) = o.entries.iter().enumerate().find_map(|(i, e)| Some((i, e.by_hand?)))?;
    let axes = by_hand(p.cx, o);
    let level = p.cx.machine.level(p.cx.rank(*axes.first()?));
    let names: Vec<String> =
        axes.iter().map(|a| format!("`{}`", p.cx.graph.meshes.axis_name(*a))).collect();
    let names = names.join(" and ");
    let Key::Work(unit) = o.entries.get(entry)?.key else { return None };
    let mut f = Draft::new(
        format!(
            "{} is split over {names}, so that each {level} multiplies for itself, on `{}`",
            op_name(o),
            unit.name()
        ),
        format!(
            "leave the operands and the product whole over {names}: an instruction of `{}` spreads \
             them over the {level}s itself",
            Resource::Tensor(d).name()
        ),
    );
    // a multiply-add is one operation of a scalar unit and two of the matrix unit
    let to = Resource::Tensor(d);
    f.edits = vec![Edit::Unit { op, entry, to }, Edit::Scale { op, entry, num: 2, den: 1 }];
    Some(f.spot(o.op.node.span, format!("split over {names}")))
}

/// A size with the least padding: the padded extent.
fn padded(sizes: &Sizes, n: u128) -> Option<u128> {
    let up = |s: u64| n.next_multiple_of(u128::from(s.max(1)));
    match sizes {
        Sizes::OneOf(all) => all.iter().map(|s| up(*s)).min(),
        Sizes::Steps { min, step, .. } => Some(up(*step).max(u128::from(*min))),
    }
}

fn shape(p: &Program, op: usize, o: &OpCost) -> Option<Draft> {
    let target = p.cx.machine.target?;
    let (entry, _) = tensor(o)?;
    o.run.launch?;
    let [a, b] = o.op.node.inputs.get(..2)? else { return None };
    let (a, b) = (p.cx.graph.ty(*a), p.cx.graph.ty(*b));
    let acc = p.cx.graph.ty(*o.op.node.outputs.first()?).dtype;
    let mut best: Option<(u128, u128, &Instruction, &Form, [u128; 3])> = None;
    for (i, f) in target.matrix(a.dtype, b.dtype, acc) {
        let rank = target.level_index(&i.level)?;
        let [m, n, k] = tile(p, o, rank)?;
        let bytes = k.saturating_mul(u128::from(a.dtype.bits())).div_ceil(8);
        // the product is symmetric: either operand may be the instruction's first
        for [x, y] in [[m, n], [n, m]] {
            let full = padded(&f.m, x)? * padded(&f.n, y)? * padded(&f.k_bytes, bytes)?;
            let used = x * y * bytes;
            let better =
                best.is_none_or(|(u, w, ..)| full.saturating_mul(u) < w.saturating_mul(used));
            if used > 0 && better {
                best = Some((used, full, i, f, [m, n, k]));
            }
        }
    }
    let (used, full, i, f, [m, n, k]) = best.filter(|(used, full, ..)| used < full)?;
    let share = percent(used as f64 / full as f64);
    let k_sizes = match &f.k_bytes {
        Sizes::OneOf(all) => {
            let each = all.iter().map(|b| (b * 8 / a.dtype.bits().max(1)).to_string());
            each.collect::<Vec<_>>().join(" or ")
        }
        s => format!("{s} bytes"),
    };
    let mut d = Draft::new(
        format!(
            "{} of {m} x {n} x {k} fills {share} of `{}`, which takes m of {}, n of {} and k of \
             {k_sizes}",
            op_name(o),
            i.name,
            f.m,
            f.n
        ),
        format!("a tile whose axes are multiples of m = {}, n = {} and k = {k_sizes}", f.m, f.n),
    );
    d.edits = vec![Edit::Scale { op, entry, num: full, den: used }];
    d.beyond = true;
    Some(d.spot(o.op.node.span, format!("{m} x {n} x {k} in one {}", i.level)))
}

/// Extents of a contraction in one position of a level: rows, columns and the reduced axis.
fn tile(p: &Program, o: &OpCost, rank: usize) -> Option<[u128; 3]> {
    let node = o.op.node;
    let types = |vs: &[crate::graph::ValueId]| -> Vec<TensorTy> {
        vs.iter().map(|v| p.cx.graph.ty(*v).clone()).collect()
    };
    let (inputs, outs) = (types(&node.inputs), types(&node.outputs));
    let call = Call { inputs: &inputs, attrs: o.op.attrs, vars: &p.cx.graph.vars };
    let domain = o.op.op.domain(&call, &outs);
    let dims = |a: &AxisAccess| match a {
        AxisAccess::Dims(d) => d.clone(),
        _ => vec![],
    };
    let in_operand = |i: usize, d: usize| {
        domain.reads.get(i).is_some_and(|r| r.axes.iter().any(|a| dims(a).contains(&d)))
    };
    let keep = |a| p.cx.rank(a) <= rank;
    let local = |ty: &TensorTy, i: usize| -> Option<u128> {
        let extent = p.cx.size(ty.shape.get(i)?, node.span).ok()?;
        Some(ty.place.axes.get(i).map_or(extent, |s| p.cx.axis_local(s, extent, &keep)))
    };
    let mut out = [1u128; 3];
    let (result, first) = (outs.first()?, inputs.first()?);
    for (i, a) in domain.writes.first()?.axes.iter().enumerate() {
        let of = dims(a);
        let (x, y) = (of.iter().any(|d| in_operand(0, *d)), of.iter().any(|d| in_operand(1, *d)));
        match (x, y) {
            (true, false) => out[0] *= local(result, i)?,
            (false, true) => out[1] *= local(result, i)?,
            _ => {}
        }
    }
    for (i, a) in domain.reads.first()?.axes.iter().enumerate() {
        let reduced = |d: &usize| domain.dims.get(*d).is_some_and(|d| d.reduce.is_some());
        if dims(a).iter().any(reduced) {
            out[2] *= local(first, i)?;
        }
    }
    Some(out)
}

fn scalar(p: &Program) -> Vec<Draft> {
    let Some(bound) = p.bound else { return vec![] };
    let here = |k: &Key| match k {
        Key::Work(r @ (Resource::Sfu | Resource::Int | Resource::Cvt)) => r.name() == bound.binds,
        _ => false,
    };
    let of =
        |o: &OpCost| -> u128 { o.entries.iter().filter(|e| here(&e.key)).map(|e| e.total).sum() };
    let Some((op, o)) = p.ops.iter().enumerate().max_by_key(|(i, o)| (of(o), usize::MAX - *i))
    else {
        return vec![];
    };
    let all: u128 = p.ops.iter().map(of).sum();
    if all == 0 {
        return vec![];
    }
    let share = percent(of(o) as f64 / all as f64);
    let unit = &bound.binds;
    let mut d = Draft::new(
        format!(
            "`{unit}` binds with {} results; {} makes {share} of them",
            count(all, ""),
            op_name(o)
        ),
        format!("make {} cheaper on `{unit}`: once for many elements, or on `fma`", op_name(o)),
    );
    d.is = Certainty::UpperBound;
    let mine = o.entries.iter().enumerate().filter(|(_, e)| here(&e.key));
    d.edits = mine.map(|(entry, _)| Edit::Scale { op, entry, num: 0, den: 1 }).collect();
    vec![d.spot(o.op.node.span, format!("{} on `{unit}`", count(of(o), "")))]
}

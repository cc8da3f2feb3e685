//! Which addresses neighbouring positions touch at once: by the placement that says which of them
//! has which element, and the layout of the buffer.

use super::Program;
use crate::graph::ValueId;
use crate::ops::facts::AxisAccess;
use crate::ops::{Call, Role, Sub};
use crate::types::placement::{AxisSplit, Factor, Storage, Swizzle};
use crate::types::ty::TensorTy;

/// Addresses that are enumerated for one access.
const MOST: u128 = 1 << 16;

/// What one group of positions accesses.
pub(super) struct Group {
    /// First byte of each position's first access.
    pub first: Vec<u128>,
    /// First byte of every access of all positions.
    pub all: Vec<u128>,
    /// Bytes of one access of one position.
    pub width: u128,
}

/// One fact of how a storage serves accesses.
pub(super) fn fact(p: &Program, s: Storage, word: &str) -> Option<u128> {
    let all = &p.cx.machine.target?.storage(s.name())?.access;
    Some(u128::from(all.get(word)?.known()?.value))
}

/// One factor of a split axis.
struct Digit {
    extent: u128,
    /// `(stride, extent)`: the digit is `position / stride % extent`; none where it is a register's.
    lane: Option<(u128, u128)>,
}

/// One axis of the value in registers: its factors, major first, and its stride in the buffer.
struct Axis {
    digits: Vec<Digit>,
    stride: u128,
}

/// The accesses of the first group of positions to `stored`, whose elements they hold as `spread`
/// says. None where that is not known.
pub(super) fn group(p: &Program, stored: ValueId, spread: &TensorTy, s: Storage) -> Option<Group> {
    let (lanes, widest) = (fact(p, s, "group")?, fact(p, s, "widest")?);
    let strides = strides(p, stored)?;
    let bits = u128::from(spread.dtype.bits());
    if !bits.is_multiple_of(8) || strides.len() != spread.rank() {
        return None;
    }
    let size = bits / 8;
    let mut axes = vec![];
    for ((split, e), stride) in spread.place.axes.iter().zip(&spread.shape).zip(strides) {
        let extent = u128::try_from(e.eval(p.cx.env)?).ok()?;
        axes.push(Axis { digits: digits(p, split, extent)?, stride });
    }
    let finest = p.cx.machine.finest();
    let over = spread.place.split_axes();
    let over = over.iter().filter(|a| p.cx.rank(**a) == finest);
    let positions: u128 = over.map(|a| p.cx.extent(*a)).product();
    if positions < 2 {
        return None;
    }
    // an access takes elements of the innermost whole factor along the contiguous axis
    let run = axes.iter().find(|a| a.stride == 1).and_then(|a| a.digits.last());
    let run = run.filter(|d| d.lane.is_none()).map_or(1, |d| d.extent);
    let mut vector = 1u128;
    while run.is_multiple_of(vector * 2) && vector * 2 * size <= widest {
        vector *= 2;
    }
    let steps = registers(&axes, vector)?;
    let lanes = lanes.min(positions);
    if lanes.saturating_mul(steps.len() as u128) > MOST {
        return None;
    }
    let first: Vec<u128> = (0..lanes).map(|t| start(&axes, t) * size).collect();
    let all = first.iter().flat_map(|f| steps.iter().map(move |s| f + s * size)).collect();
    Some(Group { first, all, width: vector * size })
}

fn digits(p: &Program, split: &AxisSplit, extent: u128) -> Option<Vec<Digit>> {
    if split.factors.is_empty() {
        return Some(vec![Digit { extent, lane: None }]);
    }
    let one = |f: &Factor| {
        let extent = u128::try_from(f.extent.eval(p.cx.env)?).ok()?;
        let lane = match f.axis {
            None => None,
            // coarser axes are at their first position
            Some(a) if p.cx.rank(a) != p.cx.machine.finest() => Some((1, 1)),
            Some(a) => {
                let stride = p.cx.graph.meshes.axis(a)?.stride.eval(p.cx.env)?;
                Some((u128::try_from(stride).ok()?.max(1), extent))
            }
        };
        Some(Digit { extent, lane })
    };
    split.factors.iter().map(one).collect()
}

/// Offsets of all accesses of one position: every register, in steps of the vector.
fn registers(axes: &[Axis], vector: u128) -> Option<Vec<u128>> {
    let mut out: Vec<u128> = vec![0];
    for a in axes {
        let mut weight = a.stride;
        for (k, d) in a.digits.iter().rev().enumerate() {
            if d.lane.is_none() {
                let by = if k == 0 && a.stride == 1 { vector } else { 1 };
                if d.extent.div_ceil(by).saturating_mul(out.len() as u128) > MOST {
                    return None;
                }
                let at = (0..d.extent).step_by(usize::try_from(by).ok()?);
                out = at.flat_map(|i| out.iter().map(move |o| o + i * weight)).collect();
            }
            weight *= d.extent;
        }
    }
    Some(out)
}

/// Offset of a position's first element.
fn start(axes: &[Axis], position: u128) -> u128 {
    let of_axis = |a: &Axis| {
        let (mut weight, mut at) = (a.stride, 0u128);
        for d in a.digits.iter().rev() {
            if let Some((stride, extent)) = d.lane {
                at += (position / stride) % extent * weight;
            }
            weight *= d.extent;
        }
        at
    };
    axes.iter().map(of_axis).sum()
}

/// Elements between neighbours along each axis of a value, in its buffer.
fn strides(p: &Program, v: ValueId) -> Option<Vec<u128>> {
    let v = p.cx.walk.resolve(v);
    let free = p.cx.op_of(v).filter(|o| p.cx.is_free(o));
    let Some(op) = free else { return rows(p, v) };
    let from = *op.node.inputs.first()?;
    let base = strides(p, from)?;
    match op.op.role() {
        Role::Read => {
            let subs = op.attrs.subs("subs")?;
            let kept = |(i, _): &(usize, &u128)| !matches!(subs.get(*i), Some(Sub::At(_)));
            Some(base.iter().enumerate().filter(kept).map(|(_, s)| *s).collect())
        }
        Role::Reshard | Role::Write => Some(base),
        Role::View => view(p, &op, &base),
        _ => None,
    }
}

/// Of a buffer: row-major over what its owner has.
fn rows(p: &Program, v: ValueId) -> Option<Vec<u128>> {
    let ty = p.cx.graph.ty(v);
    if ty.place.layout.is_some() {
        return None;
    }
    let owner = p.cx.machine.owner(ty.place.storage);
    let keep = |a| owner.is_some_and(|o| p.cx.rank(a) <= o);
    let mut out = vec![];
    let mut next = 1u128;
    for (i, e) in ty.shape.iter().enumerate().rev() {
        let extent = u128::try_from(e.eval(p.cx.env)?).ok()?;
        let local = match ty.place.axes.get(i) {
            Some(s) => {
                // parts of an owner must be blocks, for its first element to be element 0
                let whole = s.factors.iter().position(|f| !f.axis.is_some_and(keep));
                if s.factors.iter().skip(whole.unwrap_or(0)).any(|f| f.axis.is_some_and(keep)) {
                    return None;
                }
                p.cx.axis_local(s, extent, &keep)
            }
            None => extent,
        };
        out.push(next);
        next = next.saturating_mul(local);
    }
    out.reverse();
    Some(out)
}

/// Through a view whose domain says how its axes come from its operand's.
fn view(p: &Program, op: &crate::analysis::cx::OpNode, base: &[u128]) -> Option<Vec<u128>> {
    let types = |vs: &[ValueId]| -> Vec<TensorTy> {
        vs.iter().map(|v| p.cx.graph.ty(*v).clone()).collect()
    };
    let (inputs, outs) = (types(&op.node.inputs), types(&op.node.outputs));
    if inputs.first()?.dtype != outs.first()?.dtype {
        return None;
    }
    let call = Call { inputs: &inputs, attrs: op.attrs, vars: &p.cx.graph.vars };
    let domain = op.op.domain(&call, &outs);
    let mut of_dim: Vec<Option<u128>> = vec![None; domain.dims.len()];
    let extent = |d: usize| u128::try_from(domain.dims.get(d)?.extent.eval(p.cx.env)?).ok();
    for (a, s) in domain.reads.first()?.axes.iter().zip(base) {
        let AxisAccess::Dims(dims) = a else { return None };
        let mut weight = *s;
        for d in dims.iter().rev() {
            *of_dim.get_mut(*d)? = Some(weight);
            weight = weight.saturating_mul(extent(*d)?);
        }
    }
    let axis = |a: &AxisAccess| -> Option<u128> {
        let AxisAccess::Dims(dims) = a else { return None };
        let mut at: Option<(u128, u128)> = None;
        for d in dims.iter().rev() {
            let s = of_dim.get(*d).copied().flatten().unwrap_or(0);
            match at {
                None => at = Some((s, s.saturating_mul(extent(*d)?))),
                // several dims are one axis only where they follow each other
                Some((first, next)) if s == next => {
                    at = Some((first, next.saturating_mul(extent(*d)?)));
                }
                Some(_) => return None,
            }
        }
        Some(at.map_or(0, |(s, _)| s))
    };
    domain.writes.first()?.axes.iter().map(axis).collect()
}

/// A byte address as a swizzle moves it.
pub(super) fn swizzled(at: u128, s: Option<Swizzle>) -> u128 {
    let Some(s) = s else { return at };
    let mask = ((1u128 << s.bits.min(64)) - 1) << (s.base + s.shift).min(60);
    at ^ ((at & mask) >> s.shift.min(60))
}

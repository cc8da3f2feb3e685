//! Elements of an axis in order.

use std::cmp::Ordering;

use crate::ops::support::class::load_ordered;
use crate::ops::support::data::around;
use crate::ops::support::prelude::*;

/// Positions, along an axis, of the first `k` elements in order; equal ones by their index. NaN is
/// larger than every number, as in PyTorch.
pub struct Ordered {
    /// In the result's row-major order, the position in the tensor.
    pub at: Vec<usize>,
    /// The same as an index along the axis.
    pub index: Vec<i64>,
}

pub fn ordered(x: &Tensor, axis: usize, k: usize, descending: bool) -> Ordered {
    match Class::of([x.dtype()]) {
        Class::F32 => by(x.shape(), &x.to_f32s(), axis, k, descending, floats),
        Class::F64 => by(x.shape(), &x.to_f64s(), axis, k, descending, floats),
        Class::Int => by(x.shape(), &load_ordered(x), axis, k, descending, i64::cmp),
    }
}

fn floats<T: Real>(a: &T, b: &T) -> Ordering {
    match (a.nan(), b.nan()) {
        (false, false) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (x, y) => x.cmp(&y),
    }
}

fn by<T>(
    shape: &[usize],
    v: &[T],
    axis: usize,
    k: usize,
    descending: bool,
    cmp: fn(&T, &T) -> Ordering,
) -> Ordered {
    let (outer, n, inner) = around(shape, axis);
    let k = k.min(n);
    let len = outer * k * inner;
    let (mut at, mut index) = (vec![0; len], vec![0; len]);
    let mut order: Vec<usize> = vec![];
    for o in 0..outer {
        for i in 0..inner {
            let place = |j: usize| (o * n + j) * inner + i;
            order.clear();
            order.extend(0..n);
            // a stable sort keeps equal elements in index order, in both directions
            order.sort_by(|a, b| {
                let c = cmp(&v[place(*a)], &v[place(*b)]);
                if descending { c.reverse() } else { c }
            });
            for (r, j) in order.iter().take(k).enumerate() {
                let to = (o * k + r) * inner + i;
                at[to] = place(*j);
                index[to] = *j as i64;
            }
        }
    }
    Ordered { at, index }
}

/// Comparisons that an order of `n` elements takes for each: the number of halvings.
pub fn depth(n: Option<i64>) -> i64 {
    let n = n.unwrap_or(i64::MAX).max(2) as u64;
    i64::from(64 - (n - 1).leading_zeros())
}

/// The last axis unless `dim` names another.
pub fn axis(op: &str, call: &Call) -> Result<usize, OpError> {
    match (call.attrs.get("dim"), call.input(0)?.rank().checked_sub(1)) {
        (None, Some(last)) => Ok(last),
        _ => check::axis(op, call, 0, "dim"),
    }
}

/// The same, where it was checked before.
pub fn axis_of(attrs: &Attrs, rank: usize) -> usize {
    let dim = check::axes_of(attrs, "dim", rank).and_then(|d| d.first().copied());
    dim.unwrap_or(rank.saturating_sub(1))
}

/// The domain: a point for each element, the axis in order whole in one position.
pub fn domain(x: &TensorTy, axis: usize, k: &Expr) -> Domain {
    let mut dims = access::parallel(&x.shape);
    if let Some(d) = dims.get_mut(axis) {
        d.splittable = false;
    }
    let mut write = Access::direct(0..x.rank());
    if let Some(a) = write.axes.get_mut(axis) {
        *a = AxisAccess::Any { touched: k.clone() };
    }
    Domain {
        dims,
        reads: vec![Access::direct(0..x.rank())],
        writes: vec![write.clone(), write],
        exact: false,
    }
}

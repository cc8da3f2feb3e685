//! Ops with an index for each element.

use crate::ops::support::gather::positions;
use crate::ops::support::prelude::*;
use crate::ops::support::walk::strides;

/// Operand `i` holds integers and has the rank of the first.
pub fn check_indices(op: &str, call: &Call, i: usize, axis: usize) -> Result<usize, OpError> {
    check::takes(op, call, i, "idx", Takes::Ints)?;
    check::rank(op, call, i, "idx", call.input(0)?.rank())?;
    Ok(axis)
}

/// Each extent of operand `i` is at most that of operand `j`, one axis apart.
pub fn check_within(
    op: &str,
    call: &Call,
    (i, a): (usize, &str),
    (j, b): (usize, &str),
    except: Option<usize>,
) -> Result<(), OpError> {
    check::rank(op, call, j, b, call.input(i)?.rank())?;
    for (k, (x, y)) in call.input(i)?.shape.iter().zip(&call.input(j)?.shape).enumerate() {
        let d = call.vars.ge(y, x);
        if Some(k) == except || d == Decision::Yes {
            continue;
        }
        let (sx, sy) = (call.vars.show(x), call.vars.show(y));
        let err = match d {
            Decision::Unknown => OpError::new(
                Code::Undecided,
                format!(
                    "whether axis {k} of `{a}`, {sx}, is at most that of `{b}`, {sy}, is undecided"
                ),
            ),
            _ => OpError::new(
                Code::ShapeMismatch,
                format!("`{op}`: axis {k} of `{a}` is {sx}, beyond that of `{b}`, which is {sy}"),
            ),
        };
        return Err(check::with_types(err, call, &[(i, a), (j, b)])
            .help(format!("`{a}` may be shorter than `{b}` in an axis, not longer")));
    }
    Ok(())
}

/// The first elements of each axis of an operand, as many as `shape` has.
pub fn part(t: &TensorTy, shape: &[Expr]) -> Access {
    let axis = |(i, (e, n)): (usize, (&Expr, &Expr))| match e == n {
        true => AxisAccess::Dims(vec![i]),
        false => AxisAccess::Window { dim: i, start: Expr::zero() },
    };
    Access { axes: t.shape.iter().zip(shape).enumerate().map(axis).collect() }
}

/// An operand of which one axis is indexed by data.
pub fn through(t: &TensorTy, shape: &[Expr], d: usize) -> Access {
    let mut access = part(t, shape);
    if let (Some(a), Some(n)) = (access.axes.get_mut(d), t.shape.get(d)) {
        *a = access::some(n, &Expr::product(shape));
    }
    access
}

/// For each index, the position in a tensor of `shape` whose axis `d` it replaces.
pub fn targets(op: &str, shape: &[usize], idx: &Tensor, d: usize) -> Result<Vec<usize>, EvalError> {
    let at = positions(op, idx, shape.get(d).copied().unwrap_or(0))?;
    let (from, to) = (strides(idx.shape()), strides(shape));
    let place = |(i, k): (usize, usize)| {
        let mut rest = i;
        let mut p = 0;
        for (axis, (f, t)) in from.iter().zip(&to).enumerate() {
            let (f, t) = ((*f).max(1) as usize, *t as usize);
            p += if axis == d { k } else { rest / f } * t;
            rest %= f;
        }
        p
    };
    Ok(at.into_iter().enumerate().map(place).collect())
}

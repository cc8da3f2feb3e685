//! Ops that write or read through indices: one for each element, or one for each slice.

use super::index_select::select_axis;
use crate::ops::support::data::{around, pair_data};
use crate::ops::support::gather::{add_at, index_list, positions};
use crate::ops::support::prelude::*;
use crate::ops::support::walk::strides;

/// Operand 1, `idx`, holds integers and has the rank of the first; gives the axis `dim`.
pub fn check_indices(op: &str, call: &Call) -> Result<usize, OpError> {
    let axis = check::axis(op, call, 0, "dim")?;
    check::takes(op, call, 1, "idx", Takes::Ints)?;
    check::rank(op, call, 1, "idx", call.input(0)?.rank())?;
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
fn part(t: &TensorTy, shape: &[Expr]) -> Access {
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

/// Operands `z`, `idx` and `src` of an op that writes slices of `src` at indices of an axis of `z`.
fn check_slices(op: &str, call: &Call) -> Result<(), OpError> {
    check::same_dtype(op, call, (0, "z"), (2, "src"))?;
    index_list(op, call, 1, "idx")?;
    let d = select_axis(op, call)?;
    let (z, idx, src) = (call.input(0)?, call.input(1)?, call.input(2)?);
    check::rank(op, call, 2, "src", z.rank())?;
    let n = idx.shape.first().cloned().unwrap_or_default();
    for (i, (a, b)) in z.shape.iter().zip(&src.shape).enumerate() {
        let (name, want) = match i == d {
            true => ("the length of `idx`".to_string(), &n),
            false => (format!("axis {i} of `z`"), a),
        };
        check::equal(
            op,
            call,
            (&format!("axis {i} of `src`"), b),
            (&name, want),
            "`src` is as long as `idx` in axis `dim`, and as `z` elsewhere",
        )
        .map_err(|e| check::with_types(e, call, &[(0, "z"), (1, "idx"), (2, "src")]))?;
    }
    Ok(())
}

/// The domain of such an op: a point for each element of `src`. Where `over` is set, elements of
/// `z` are replaced and not read.
fn slices(op: &str, call: &Call, outs: &[TensorTy], over: bool) -> Domain {
    let (Some(z), Some(src)) = (call.inputs.first(), call.inputs.get(2)) else {
        return access::create(outs);
    };
    let d = select_axis(op, call).unwrap_or(0);
    let mut at = Access::direct(0..z.rank());
    if let (Some(a), Some(n), Some(reads)) = (at.axes.get_mut(d), z.shape.get(d), src.shape.get(d))
    {
        *a = access::some(n, reads);
    }
    let mut domain = Domain {
        dims: access::parallel(&src.shape),
        reads: vec![at.clone(), Access::direct([d]), Access::direct(0..src.rank())],
        writes: vec![at],
        exact: false,
    };
    written(&mut domain, d, over);
    domain
}

/// The domain of an op that writes an element of `src` for each index: a point for each index.
fn elements(call: &Call, outs: &[TensorTy], d: usize, over: bool) -> Domain {
    let (Some(z), Some(idx), Some(src)) =
        (call.inputs.first(), call.inputs.get(1), call.inputs.get(2))
    else {
        return access::create(outs);
    };
    let at = through(z, &idx.shape, d);
    let mut domain = Domain {
        dims: access::parallel(&idx.shape),
        reads: vec![at.clone(), Access::direct(0..idx.rank()), part(src, &idx.shape)],
        writes: vec![at],
        exact: false,
    };
    written(&mut domain, d, over);
    domain
}

/// Settles what a write through indices of axis `d` asks: dimensions that index no axis of the
/// result by themselves stay whole, and what is replaced is not read.
fn written(domain: &mut Domain, d: usize, over: bool) {
    access::whole_unless_written(domain);
    let axis = domain.reads.first_mut().and_then(|a| a.axes.get_mut(d));
    if let (true, Some(a)) = (over, axis) {
        *a = AxisAccess::Any { touched: Expr::zero() };
    }
}

/// For each element of `src`, in row-major order, its position in `z`.
fn slice_targets(op: &str, cx: &EvalCx) -> Result<Vec<usize>, EvalError> {
    let (z, idx, src) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let d = axis_in(cx, z);
    let (_, n, inner) = around(z.shape(), d);
    let at = positions(op, idx, n)?;
    let m = at.len().max(1);
    let place = |i: usize| {
        let (row, col) = (i / inner.max(1), i % inner.max(1));
        ((row / m) * n + at.get(row % m).copied().unwrap_or(0)) * inner + col
    };
    Ok((0..src.len()).map(place).collect())
}

/// The axis that `dim` names, 0 by default.
fn axis_in(cx: &EvalCx, z: &Tensor) -> usize {
    check::axes_of(cx.attrs, "dim", z.rank()).and_then(|d| d.first().copied()).unwrap_or(0)
}

/// `z` with the elements of `src` in these positions; of several for one, the last stays.
fn put_at(z: &Tensor, src: &Tensor, at: &[usize]) -> Result<Tensor, EvalError> {
    let data = pair_data!(z.data(), src.data(), (z, s) => {
        let mut v = z.to_vec();
        for (p, x) in at.iter().zip(s) {
            if let Some(o) = v.get_mut(*p) {
                *o = *x;
            }
        }
        v
    })?;
    data::tensor(z.dtype(), z.shape().to_vec(), data)
}

/// An op that writes elements or slices of `src` into `z` through indices of an axis.
pub struct Write {
    pub name: &'static str,
    pub doc: Doc,
    /// An index for each slice of `src`, and not for each element.
    pub slices: bool,
    /// What is there is added to, and not replaced.
    pub add: bool,
}

const DIM: Param = Param::named("dim", ParamKind::Dims, DefaultValue::Required);

impl Op for Write {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        const Z: Param = Param::tensor("z");
        const IDX: Param = Param::tensor("idx");
        const SRC: Param = Param::tensor("src");
        match self.slices {
            true => const { &[Z, IDX, SRC, Param { default: DefaultValue::Int(0), ..DIM }] },
            false => const { &[Z, IDX, SRC, DIM] },
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        if self.add {
            check::takes(self.name, call, 0, "z", Takes::Numbers)?;
        }
        match self.slices {
            true => check_slices(self.name, call)?,
            false => {
                check::same_dtype(self.name, call, (0, "z"), (2, "src"))?;
                let d = check_indices(self.name, call)?;
                check_within(self.name, call, (1, "idx"), (0, "z"), Some(d))?;
                check_within(self.name, call, (1, "idx"), (2, "src"), None)?;
            }
        }
        let (z, src) = (call.input(0)?, call.input(2)?);
        let mut out = TensorTy::new(z.dtype, z.shape.clone());
        if !self.add && z.range == src.range {
            out.range = z.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        match self.slices {
            true => slices(self.name, call, outs, !self.add),
            false => {
                let d = check::axis(self.name, call, 0, "dim").unwrap_or(0);
                elements(call, outs, d, !self.add)
            }
        }
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        match call.inputs.first() {
            Some(z) if self.add => Cost::ONE.work(z.dtype),
            _ => vec![],
        }
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (z, idx, src) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
        let (at, src) = match self.slices {
            true => (slice_targets(self.name, cx)?, src.clone()),
            false => {
                let at = targets(self.name, z.shape(), idx, axis_in(cx, z))?;
                (at, data::block(src, &vec![0; src.rank()], idx.shape())?)
            }
        };
        Ok(vec![match self.add {
            true => add_at(z, &src, cx.out(0)?.dtype, |i| at[i]),
            false => put_at(z, &src, &at)?,
        }])
    }

    fn in_place(&self) -> bool {
        true
    }
}

//! Reads and sums through indices.

use super::data::{around, pair_data};
use super::prelude::*;
use crate::types::data::same;

/// Indices as positions of an axis of `n`; the error names the first that is outside.
pub fn positions(op: &str, idx: &Tensor, n: usize) -> Result<Vec<usize>, EvalError> {
    let outside = |i: usize| {
        let (k, at) = (data::shown_int(idx, i), data::at_index(i, idx.shape()));
        EvalError::new(format!("`{op}`: index {k}{at} is outside 0..{n}"))
    };
    let v = idx.to_i64s();
    let inside = |(i, k): (usize, &i64)| {
        usize::try_from(*k).ok().filter(|k| *k < n).ok_or_else(|| outside(i))
    };
    v.iter().enumerate().map(inside).collect()
}

/// Rows `at` of an axis: the result has `at.len()` in that axis' place.
pub fn take_axis(
    x: &Tensor,
    axis: usize,
    at: &[usize],
    shape: Vec<usize>,
) -> Result<Tensor, EvalError> {
    let (outer, n, inner) = around(x.shape(), axis);
    data::count(&shape)?;
    let data = same!(x.data(), v => {
        let mut out = Vec::with_capacity(outer * at.len() * inner);
        for o in 0..outer {
            for &k in at {
                let from = (o * n + k) * inner;
                out.extend_from_slice(&v[from..from + inner]);
            }
        }
        out
    });
    data::tensor(x.dtype(), shape, data)
}

/// As [`take_axis`]; where `at` is `None` the result is `fill`, one element of the same dtype.
pub fn take_axis_or(
    x: &Tensor,
    axis: usize,
    at: &[Option<usize>],
    shape: Vec<usize>,
    fill: &Tensor,
) -> Result<Tensor, EvalError> {
    let (outer, n, inner) = around(x.shape(), axis);
    data::count(&shape)?;
    let data = pair_data!(x.data(), fill.data(), (v, f) => {
        let mut out = Vec::with_capacity(outer * at.len() * inner);
        for o in 0..outer {
            for k in at {
                match (k, f.first()) {
                    (Some(k), _) => {
                        let from = (o * n + k) * inner;
                        out.extend_from_slice(&v[from..from + inner]);
                    }
                    (None, Some(f)) => out.extend(std::iter::repeat_n(*f, inner)),
                    (None, None) => {}
                }
            }
        }
        out
    })?;
    data::tensor(x.dtype(), shape, data)
}

/// `z` with each element of `src` added at its position, in order, in the accumulator's dtype.
pub fn add_at(z: &Tensor, src: &Tensor, out: DType, place: impl Fn(usize) -> usize) -> Tensor {
    fn floats<T: Real>(
        z: &Tensor,
        src: &Tensor,
        out: DType,
        place: impl Fn(usize) -> usize,
    ) -> Tensor {
        let mut v = T::load(z).into_owned();
        for (i, s) in T::load(src).iter().enumerate() {
            let p = place(i);
            v[p] = v[p] + *s;
        }
        T::store(out, z.shape().to_vec(), v)
    }
    match Class::of([z.dtype(), out]) {
        Class::F32 => floats::<f32>(z, src, out, place),
        Class::F64 => floats::<f64>(z, src, out, place),
        Class::Int => {
            let mut v = z.to_i64s().into_owned();
            for (i, s) in src.to_i64s().iter().enumerate() {
                let p = place(i);
                v[p] = v[p].wrapping_add(*s);
            }
            Tensor::from_i64s(out, z.shape().to_vec(), v)
        }
    }
}

/// The indices of one axis: integers of rank 1.
pub fn index_list(op: &str, call: &Call, i: usize, name: &str) -> Result<(), OpError> {
    check::takes(op, call, i, name, Takes::Ints)?;
    check::rank(op, call, i, name, 1)
}

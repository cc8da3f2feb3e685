//! Moving elements of any dtype.

use crate::ops::EvalError;
use crate::types::data::same;
use crate::types::dtype::DType;
use crate::types::value::{Data, Slice, Tensor};

use super::walk::{Walk, fill, strides};

/// The same expression on two vectors of one type.
macro_rules! pair_data {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $e:expr) => {
        match ($a, $b) {
            (Slice::F64($x), Slice::F64($y)) => Ok(Data::F64($e)),
            (Slice::F32($x), Slice::F32($y)) => Ok(Data::F32($e)),
            (Slice::F16($x), Slice::F16($y)) => Ok(Data::F16($e)),
            (Slice::Bf16($x), Slice::Bf16($y)) => Ok(Data::Bf16($e)),
            (Slice::Bits8($x), Slice::Bits8($y)) => Ok(Data::Bits8($e)),
            (Slice::I64($x), Slice::I64($y)) => Ok(Data::I64($e)),
            (Slice::I32($x), Slice::I32($y)) => Ok(Data::I32($e)),
            (Slice::I16($x), Slice::I16($y)) => Ok(Data::I16($e)),
            (Slice::I8($x), Slice::I8($y)) => Ok(Data::I8($e)),
            (Slice::U64($x), Slice::U64($y)) => Ok(Data::U64($e)),
            (Slice::U32($x), Slice::U32($y)) => Ok(Data::U32($e)),
            (Slice::U8($x), Slice::U8($y)) => Ok(Data::U8($e)),
            _ => Err(EvalError::new("operands of one op have different element types")),
        }
    };
}

pub(crate) use pair_data;

/// A tensor of moved elements.
pub fn tensor(dtype: DType, shape: Vec<usize>, data: Data) -> Result<Tensor, EvalError> {
    Tensor::new(dtype, shape, data).map_err(|e| EvalError::new(e.to_string()))
}

/// ` at [1, 2]`: where element `i` of a shape is; nothing at rank 0.
pub fn at_index(i: usize, shape: &[usize]) -> String {
    if shape.is_empty() {
        return String::new();
    }
    let at: Vec<usize> = strides(shape)
        .iter()
        .zip(shape)
        .map(|(s, n)| i / (*s).max(1) as usize % n.max(&1))
        .collect();
    format!(" at {at:?}")
}

/// Element `i` of a tensor of integers, as it is written.
pub fn shown_int(t: &Tensor, i: usize) -> String {
    match t.dtype() {
        DType::U64 => (t.get_i64(i) as u64).to_string(),
        _ => t.get_i64(i).to_string(),
    }
}

/// The number of elements of a shape, held below what memory can address.
pub fn count(shape: &[usize]) -> Result<usize, EvalError> {
    crate::types::value::elements(shape)
        .filter(|n| *n <= isize::MAX as usize / 16)
        .ok_or_else(|| EvalError::new(format!("shape {shape:?} has too many elements")))
}

/// Element `i` of the result is the one at `start` plus the indices times `strides`.
pub fn strided<T: Copy + Default + Send + Sync>(
    v: &[T],
    shape: &[usize],
    strides: &[isize],
    start: isize,
) -> Vec<T> {
    let walk = Walk::starting(shape, [strides], [start]);
    let [step] = walk.steps();
    fill(shape.iter().product(), |from, part| {
        walk.runs(from, from + part.len(), |pos, n, [at]| {
            let o = &mut part[pos - from..pos - from + n];
            match step {
                1 => o.copy_from_slice(&v[at..at + n]),
                _ => {
                    let mut i = at as isize;
                    for o in o {
                        *o = v[i as usize];
                        i += step;
                    }
                }
            }
        });
    })
}

/// A tensor read through other strides.
pub fn restride(
    t: &Tensor,
    shape: Vec<usize>,
    strides: &[isize],
    start: isize,
) -> Result<Tensor, EvalError> {
    count(&shape)?;
    let data = same!(t.data(), v => strided(v, &shape, strides, start));
    tensor(t.dtype(), shape, data)
}

/// The axes in another order.
pub fn permute(t: &Tensor, perm: &[usize]) -> Result<Tensor, EvalError> {
    if perm.iter().copied().eq(0..t.rank()) {
        return Ok(t.clone());
    }
    let (shape, st) = permuted(t.shape(), perm);
    restride(t, shape, &st, 0)
}

/// Shape and strides of permuted axes.
pub fn permuted(shape: &[usize], perm: &[usize]) -> (Vec<usize>, Vec<isize>) {
    let st = strides(shape);
    (
        perm.iter().map(|p| shape.get(*p).copied().unwrap_or(1)).collect(),
        perm.iter().map(|p| st.get(*p).copied().unwrap_or(0)).collect(),
    )
}

/// The product of the extents before, at and after an axis.
pub fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (
        shape.iter().take(axis).product(),
        shape.get(axis).copied().unwrap_or(1),
        shape.iter().skip(axis + 1).product(),
    )
}

/// The elements at these positions.
pub fn pick(t: &Tensor, shape: Vec<usize>, at: &[usize]) -> Result<Tensor, EvalError> {
    let data = same!(t.data(), v => fill(at.len(), |start, part| {
        for (o, &i) in part.iter_mut().zip(&at[start..]) {
            *o = v[i];
        }
    }));
    tensor(t.dtype(), shape, data)
}

/// The same elements under another shape.
pub fn reshaped(t: &Tensor, shape: &[usize]) -> Result<Tensor, EvalError> {
    if count(shape)? != t.len() {
        return Err(EvalError::new(format!("{:?} has other elements than {shape:?}", t.shape())));
    }
    Ok(t.reshape(shape.to_vec()))
}

fn check_block(shape: &[usize], starts: &[usize], lens: &[usize]) -> Result<(), EvalError> {
    let inside =
        |((n, s), l): ((&usize, &usize), &usize)| s.checked_add(*l).is_some_and(|e| e <= *n);
    if shape.len() == starts.len()
        && shape.len() == lens.len()
        && shape.iter().zip(starts).zip(lens).all(inside)
    {
        return Ok(());
    }
    Err(EvalError::new(format!("a block of {lens:?} at {starts:?} is outside {shape:?}")))
}

/// A block of a tensor.
pub fn block(t: &Tensor, starts: &[usize], lens: &[usize]) -> Result<Tensor, EvalError> {
    check_block(t.shape(), starts, lens)?;
    Ok(t.slice_block(starts, lens))
}

/// Writes a block over a part of a tensor.
pub fn put(to: &mut Tensor, starts: &[usize], block: &Tensor) -> Result<(), EvalError> {
    check_block(to.shape(), starts, block.shape())?;
    to.write_block(starts, block);
    Ok(())
}

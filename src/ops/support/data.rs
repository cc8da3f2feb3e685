//! Moving elements of any dtype.

use crate::ops::EvalError;
use crate::types::dtype::DType;
use crate::types::value::{Data, Tensor};

use super::walk::{Walk, fill, strides};

/// The same expression on the vector inside, whatever its type; it gives a vector of that type.
macro_rules! map_data {
    ($d:expr, $v:ident => $e:expr) => {
        match $d {
            Data::F64($v) => Data::F64($e),
            Data::F32($v) => Data::F32($e),
            Data::F16($v) => Data::F16($e),
            Data::Bf16($v) => Data::Bf16($e),
            Data::Bits8($v) => Data::Bits8($e),
            Data::I64($v) => Data::I64($e),
            Data::I32($v) => Data::I32($e),
            Data::I16($v) => Data::I16($e),
            Data::I8($v) => Data::I8($e),
            Data::U64($v) => Data::U64($e),
            Data::U32($v) => Data::U32($e),
            Data::U8($v) => Data::U8($e),
        }
    };
}

/// The same expression on two vectors of one type.
macro_rules! pair_data {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $e:expr) => {
        match ($a, $b) {
            (Data::F64($x), Data::F64($y)) => Ok(Data::F64($e)),
            (Data::F32($x), Data::F32($y)) => Ok(Data::F32($e)),
            (Data::F16($x), Data::F16($y)) => Ok(Data::F16($e)),
            (Data::Bf16($x), Data::Bf16($y)) => Ok(Data::Bf16($e)),
            (Data::Bits8($x), Data::Bits8($y)) => Ok(Data::Bits8($e)),
            (Data::I64($x), Data::I64($y)) => Ok(Data::I64($e)),
            (Data::I32($x), Data::I32($y)) => Ok(Data::I32($e)),
            (Data::I16($x), Data::I16($y)) => Ok(Data::I16($e)),
            (Data::I8($x), Data::I8($y)) => Ok(Data::I8($e)),
            (Data::U64($x), Data::U64($y)) => Ok(Data::U64($e)),
            (Data::U32($x), Data::U32($y)) => Ok(Data::U32($e)),
            (Data::U8($x), Data::U8($y)) => Ok(Data::U8($e)),
            _ => Err(EvalError::new("operands of one op have different element types")),
        }
    };
}

pub(crate) use {map_data, pair_data};

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
    let data = map_data!(t.data(), v => strided(v, &shape, strides, start));
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
    let data = map_data!(t.data(), v => fill(at.len(), |start, part| {
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

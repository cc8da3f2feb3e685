//! Elements of any dtype in the type that kernels compute in, a chunk at a time.
//!
//! A narrow tensor is never widened as a whole: a chunk is decoded into a buffer in the nearest
//! cache, computed with, and encoded to where the result lies.

use std::borrow::Cow;

use super::data;
use super::walk::{CHUNK, Lane, Walk, broadcast_strides, fill};
use bytemuck::Pod;

use crate::base::spread::{map, scratch};
use crate::ops::EvalError;
use crate::types::convert as cv;
use crate::types::dtype::DType;
use crate::types::value::{Data, Slice, Tensor};

/// Writes elements from a position on.
type Decode<'a, T> = Box<dyn Fn(usize, &mut [T]) + Send + Sync + 'a>;

/// A tensor's elements as `T`.
pub enum Source<'a, T: Copy> {
    Plain(Cow<'a, [T]>),
    Coded(Decode<'a, T>),
}

impl<T: Copy> From<Vec<T>> for Source<'_, T> {
    fn from(v: Vec<T>) -> Self {
        Source::Plain(v.into())
    }
}

fn coded<'a, S: Copy + Sync, T: Copy>(
    v: &'a [S],
    decode: impl Fn(&[S], &mut [T]) + Send + Sync + 'a,
) -> Source<'a, T> {
    Source::Coded(Box::new(move |at, out| decode(&v[at..at + out.len()], out)))
}

impl<'a, T: Copy + Default + Send + Sync + 'a> Source<'a, T> {
    /// `f` of each element.
    pub fn map(self, f: impl Fn(T) -> T + Send + Sync + 'a) -> Source<'a, T> {
        Source::Coded(Box::new(move |at, out| {
            let mut buffer = [T::default(); CHUNK];
            for (i, out) in out.chunks_mut(CHUNK).enumerate() {
                map(self.read(at + i * CHUNK, out.len(), &mut buffer), out, &f);
            }
        }))
    }

    /// All elements, where they lie in one piece already.
    pub fn plain(&self) -> Option<&[T]> {
        match self {
            Source::Plain(v) => Some(v),
            Source::Coded(_) => None,
        }
    }

    /// `n` elements from `at` on: where they lie, or decoded into `buffer`.
    pub fn read<'b>(&'b self, at: usize, n: usize, buffer: &'b mut [T]) -> &'b [T] {
        match self {
            Source::Plain(v) => &v[at..at + n],
            Source::Coded(decode) => {
                let buffer = &mut buffer[..n];
                decode(at, buffer);
                buffer
            }
        }
    }

    /// A run of a broadcast operand: its stride is 1, or 0 where one element serves all.
    fn lane<'b>(&'b self, at: usize, step: isize, n: usize, buffer: &'b mut [T]) -> Lane<'b, T> {
        if step == 0 {
            let mut one = [T::default()];
            Lane::One(self.read(at, 1, &mut one).first().copied().unwrap_or_default())
        } else {
            Lane::Many(self.read(at, n, buffer))
        }
    }
}

/// What [`Tensor::to_f32s`] gives.
pub fn f32s(t: &Tensor) -> Source<'_, f32> {
    match (t.data(), t.dtype()) {
        (Slice::F16(v), _) => coded(v, cv::decode_f16),
        (Slice::Bf16(v), _) => coded(v, cv::decode_bf16),
        (Slice::Bits8(v), DType::F8e4m3) => decoded(v, &cv::E4M3_VALUES),
        (Slice::Bits8(v), DType::F8e5m2) => decoded(v, &cv::E5M2_VALUES),
        (Slice::Bits8(v), DType::F8e8m0) => decoded(v, &cv::E8M0_VALUES),
        (Slice::Bits8(v), DType::F4e2m1) => decoded(v, &cv::E2M1_VALUES),
        _ => Source::Plain(t.to_f32s()),
    }
}

fn decoded<'a>(v: &'a [u8], table: &'static [f32; 256]) -> Source<'a, f32> {
    coded(v, |v, o| map(v, o, |c| table[c as usize]))
}

/// What [`Tensor::to_i64s`] gives; where `ordered`, u64 has its top bit flipped, so that the order
/// as i64 is that of the values.
pub fn i64s(t: &Tensor, ordered: bool) -> Source<'_, i64> {
    match t.data() {
        Slice::I32(v) => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::I16(v) => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::I8(v) => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::U32(v) => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::U8(v) => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::Bits8(v) if t.dtype() == DType::Bool => coded(v, |v, o| map(v, o, |x| x as i64)),
        Slice::U64(v) if ordered => coded(v, |v, o| map(v, o, |x| x as i64 ^ i64::MIN)),
        _ => Source::Plain(t.to_i64s()),
    }
}

/// A vector whose elements are encoded from what `f` gives.
fn encoded<T: Pod, O: Copy + Default + Send>(
    len: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
    encode: impl Fn(&[T], &mut [O]) + Sync,
) -> Vec<O> {
    fill(len, |at, part: &mut [O]| {
        scratch(|wide| {
            let wide = &mut wide[..part.len()];
            f(at, wide);
            encode(wide, part);
        });
    })
}

/// A tensor of what `f` writes, each element rounded once.
pub fn of_f32s(
    dtype: DType,
    shape: Vec<usize>,
    f: impl Fn(usize, &mut [f32]) + Sync,
) -> Result<Tensor, EvalError> {
    let len = data::count(&shape)?;
    let data = match dtype {
        DType::F32 => Data::F32(fill(len, f)),
        DType::Tf32 => Data::F32(encoded(len, f, |x, o| map(x, o, cv::tf32_of_f32))),
        DType::F16 => Data::F16(encoded(len, f, cv::encode_f16)),
        DType::Bf16 => Data::Bf16(encoded(len, f, |x, o| map(x, o, cv::bf16_of_f32))),
        DType::F8e4m3 => Data::Bits8(encoded(len, f, |x, o| map(x, o, cv::e4m3_of_f32))),
        DType::F8e5m2 => Data::Bits8(encoded(len, f, |x, o| map(x, o, cv::e5m2_of_f32))),
        DType::F8e8m0 => Data::Bits8(encoded(len, f, |x, o| map(x, o, cv::e8m0_of_f32))),
        DType::F4e2m1 => Data::Bits8(encoded(len, f, |x, o| map(x, o, cv::e2m1_of_f32))),
        _ => return Ok(Tensor::from_f32s(dtype, shape, fill(len, f))),
    };
    data::tensor(dtype, shape, data)
}

/// A tensor of `f` of the elements of one.
pub fn map_f32s(
    x: &Tensor,
    dtype: DType,
    f: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Result<Tensor, EvalError> {
    let source = f32s(x);
    let shape = x.shape().to_vec();
    match source.plain() {
        Some(x) => of_f32s(dtype, shape, |at, part| f(&x[at..at + part.len()], part)),
        None => of_f32s(dtype, shape, |at, part| {
            scratch(|buffer| f(source.read(at, part.len(), buffer), part));
        }),
    }
}

/// A tensor of what `f` writes, which wraps; where `ordered`, u64 comes with its top bit flipped.
pub fn of_i64s(
    dtype: DType,
    shape: Vec<usize>,
    ordered: bool,
    f: impl Fn(usize, &mut [i64]) + Sync,
) -> Result<Tensor, EvalError> {
    let len = data::count(&shape)?;
    let data = match dtype {
        DType::I64 => Data::I64(fill(len, f)),
        DType::I32 => Data::I32(encoded(len, f, |x, o| map(x, o, |x| x as i32))),
        DType::I16 => Data::I16(encoded(len, f, |x, o| map(x, o, |x| x as i16))),
        DType::I8 => Data::I8(encoded(len, f, |x, o| map(x, o, |x| x as i8))),
        DType::U32 => Data::U32(encoded(len, f, |x, o| map(x, o, |x| x as u32))),
        DType::U8 => Data::U8(encoded(len, f, |x, o| map(x, o, |x| x as u8))),
        DType::U64 => {
            let flip = if ordered { i64::MIN } else { 0 };
            Data::U64(encoded(len, f, |x, o| map(x, o, |x| (x ^ flip) as u64)))
        }
        _ => return Ok(Tensor::from_i64s(dtype, shape, fill(len, f))),
    };
    data::tensor(dtype, shape, data)
}

/// Writes `kernel` of two operands that are broadcast to `shape`; for [`fill`] and its like.
pub fn broadcast2<'a, T: Pod + Default + Send + Sync, O>(
    shape: &[usize],
    (a, a_shape): (&'a Source<'a, T>, &[usize]),
    (b, b_shape): (&'a Source<'a, T>, &[usize]),
    kernel: fn(Lane<T>, Lane<T>, &mut [O]),
) -> impl Fn(usize, &mut [O]) + Sync + 'a
where
    O: 'a,
{
    let (sa, sb) = (broadcast_strides(a_shape, shape), broadcast_strides(b_shape, shape));
    let walk = Walk::new(shape, [&sa, &sb]);
    let [step_a, step_b] = walk.steps();
    let plain = a.plain().is_some() && b.plain().is_some();
    let run = move |start: usize, part: &mut [O], x: &mut [T], y: &mut [T]| {
        walk.runs(start, start + part.len(), |pos, n, [i, j]| {
            let o = &mut part[pos - start..pos - start + n];
            kernel(a.lane(i, step_a, n, x), b.lane(j, step_b, n, y), o);
        });
    };
    move |start, part| {
        if plain {
            return run(start, part, &mut [], &mut []);
        }
        scratch(|x| scratch(|y| run(start, part, x, y)));
    }
}

/// What [`Tensor::cast`] gives; between narrow floats without widening the whole.
pub fn cast(t: &Tensor, dtype: DType) -> Result<Tensor, EvalError> {
    if dtype == DType::F32 && t.dtype().is_int() {
        // rounded once, straight from the integer
        return data::tensor(dtype, t.shape().to_vec(), Data::F32(t.to_f32s().into_owned()));
    }
    let narrow = |d: DType| d.is_float() && d != DType::F64;
    if t.dtype() == dtype || !narrow(t.dtype()) || !narrow(dtype) || t.dtype() == DType::Tf32 {
        return Ok(t.cast(dtype));
    }
    let x = f32s(t);
    match (&x, dtype) {
        (Source::Plain(_), _) => Ok(t.cast(dtype)),
        (Source::Coded(decode), _) => of_f32s(dtype, t.shape().to_vec(), decode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_gives_what_the_whole_conversion_gives() {
        let n = 3000;
        let values: Vec<f32> = (0..n).map(|i| (i as f32 - 1500.0) * 0.37).collect();
        for dtype in DType::ALL {
            let t = Tensor::from_f32s(DType::F32, vec![n], values.clone()).cast(dtype);
            let mut buffer = [0f32; 700];
            let part = f32s(&t).read(900, 700, &mut buffer).to_vec();
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
            assert!(part.iter().zip(&t.to_f32s()[900..1600]).all(same), "{dtype}");
            let mut buffer = [0i64; 700];
            let source = i64s(&t, false);
            assert_eq!(source.read(900, 700, &mut buffer), &t.to_i64s()[900..1600], "{dtype}");
        }
    }

    #[test]
    fn a_result_is_rounded_as_a_cast_rounds() {
        let n = 3000;
        let values: Vec<f32> = (0..n).map(|i| (i as f32 - 1500.0) * 0.37).collect();
        let whole = Tensor::from_f32s(DType::F32, vec![n], values.clone());
        for dtype in DType::ALL {
            let t = of_f32s(dtype, vec![n], |at, part| {
                part.copy_from_slice(&values[at..at + part.len()])
            });
            assert!(t.unwrap().bit_equal(&whole.cast(dtype)), "{dtype}");
            let ints = whole.cast(DType::I64);
            let ints = ints.to_i64s();
            let t = of_i64s(dtype, vec![n], false, |at, part| {
                part.copy_from_slice(&ints[at..at + part.len()])
            });
            assert!(t.unwrap().bit_equal(&whole.cast(DType::I64).cast(dtype)), "{dtype}");
            for to in [DType::F32, DType::F16, DType::Bf16, DType::F8e4m3, DType::Tf32] {
                let x = whole.cast(dtype);
                assert!(cast(&x, to).unwrap().bit_equal(&x.cast(to)), "{dtype} to {to}");
            }
        }
    }
}

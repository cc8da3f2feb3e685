//! A tensor that several threads fill, each its own blocks.
//!
//! In: a dtype, a shape, and blocks that do not overlap. Out: for each block a [`Part`] that one
//! thread may write, and at the end the tensor. Elements of no block are any.

use super::block::{Rows, rows};
use super::dtype::DType;
use super::pool;
use super::value::{Data, Slice, Tensor, elements};
use half::{bf16, f16};

/// A tensor in the making.
pub struct Canvas {
    dtype: DType,
    shape: Vec<usize>,
    data: Data,
}

/// The elements of one block, run by run.
pub enum Part<'a> {
    F64(Vec<&'a mut [f64]>),
    F32(Vec<&'a mut [f32]>),
    F16(Vec<&'a mut [f16]>),
    Bf16(Vec<&'a mut [bf16]>),
    Bits8(Vec<&'a mut [u8]>),
    I64(Vec<&'a mut [i64]>),
    I32(Vec<&'a mut [i32]>),
    I16(Vec<&'a mut [i16]>),
    I8(Vec<&'a mut [i8]>),
    U64(Vec<&'a mut [u64]>),
    U32(Vec<&'a mut [u32]>),
    U8(Vec<&'a mut [u8]>),
}

/// The same expression for the element type that a dtype is stored in.
macro_rules! of_dtype {
    ($dtype:expr, $make:expr) => {
        match $dtype {
            DType::F64 => Data::F64($make),
            DType::F32 | DType::Tf32 => Data::F32($make),
            DType::F16 => Data::F16($make),
            DType::Bf16 => Data::Bf16($make),
            DType::I64 => Data::I64($make),
            DType::I32 => Data::I32($make),
            DType::I16 => Data::I16($make),
            DType::I8 => Data::I8($make),
            DType::U64 => Data::U64($make),
            DType::U32 => Data::U32($make),
            DType::U8 => Data::U8($make),
            DType::F8e4m3 | DType::F8e5m2 | DType::F8e8m0 | DType::F4e2m1 | DType::Bool => {
                Data::Bits8($make)
            }
        }
    };
}

impl Canvas {
    /// `None` where the shape has more elements than memory can address or the system gives.
    pub fn new(dtype: DType, shape: Vec<usize>) -> Option<Canvas> {
        let n = elements(&shape).filter(|n| *n <= isize::MAX as usize / 16)?;
        if let Some(data) = pool::take(dtype, n) {
            return Some(Canvas { dtype, shape, data });
        }
        // the system gives zeroed pages, which the threads that write them then touch first
        let data = of_dtype!(dtype, bytemuck::try_zeroed_vec(n).ok()?);
        Some(Canvas { dtype, shape, data })
    }

    /// The parts of blocks at `starts` with extents `lens`; `None` where a block is not inside or
    /// two overlap.
    pub fn parts(&mut self, blocks: &[(Vec<usize>, Vec<usize>)]) -> Option<Vec<Part<'_>>> {
        let inside = |(starts, lens): &(Vec<usize>, Vec<usize>)| {
            starts.len() == self.shape.len()
                && lens.len() == self.shape.len()
                && self.shape.iter().zip(starts).zip(lens).all(|((n, s), l)| s + l <= *n)
        };
        if !blocks.iter().all(inside) {
            return None;
        }
        let all: Vec<Rows> = blocks.iter().map(|(s, l)| rows(&self.shape, s, l)).collect();
        Some(match &mut self.data {
            Data::F64(v) => cut(v, &all)?.into_iter().map(Part::F64).collect(),
            Data::F32(v) => cut(v, &all)?.into_iter().map(Part::F32).collect(),
            Data::F16(v) => cut(v, &all)?.into_iter().map(Part::F16).collect(),
            Data::Bf16(v) => cut(v, &all)?.into_iter().map(Part::Bf16).collect(),
            Data::Bits8(v) => cut(v, &all)?.into_iter().map(Part::Bits8).collect(),
            Data::I64(v) => cut(v, &all)?.into_iter().map(Part::I64).collect(),
            Data::I32(v) => cut(v, &all)?.into_iter().map(Part::I32).collect(),
            Data::I16(v) => cut(v, &all)?.into_iter().map(Part::I16).collect(),
            Data::I8(v) => cut(v, &all)?.into_iter().map(Part::I8).collect(),
            Data::U64(v) => cut(v, &all)?.into_iter().map(Part::U64).collect(),
            Data::U32(v) => cut(v, &all)?.into_iter().map(Part::U32).collect(),
            Data::U8(v) => cut(v, &all)?.into_iter().map(Part::U8).collect(),
        })
    }

    pub fn finish(self) -> Tensor {
        Tensor::build(self.dtype, self.shape, self.data)
    }
}

impl Part<'_> {
    /// Writes the block; false where it has another type or another number of elements.
    pub fn put(&mut self, block: &Tensor) -> bool {
        match (self, block.data()) {
            (Part::F64(to), Slice::F64(from)) => copy(to, from),
            (Part::F32(to), Slice::F32(from)) => copy(to, from),
            (Part::F16(to), Slice::F16(from)) => copy(to, from),
            (Part::Bf16(to), Slice::Bf16(from)) => copy(to, from),
            (Part::Bits8(to), Slice::Bits8(from)) => copy(to, from),
            (Part::I64(to), Slice::I64(from)) => copy(to, from),
            (Part::I32(to), Slice::I32(from)) => copy(to, from),
            (Part::I16(to), Slice::I16(from)) => copy(to, from),
            (Part::I8(to), Slice::I8(from)) => copy(to, from),
            (Part::U64(to), Slice::U64(from)) => copy(to, from),
            (Part::U32(to), Slice::U32(from)) => copy(to, from),
            (Part::U8(to), Slice::U8(from)) => copy(to, from),
            _ => false,
        }
    }
}

fn copy<T: Copy>(to: &mut [&mut [T]], from: &[T]) -> bool {
    let n: usize = to.iter().map(|r| r.len()).sum();
    if n != from.len() {
        return false;
    }
    let mut rest = from;
    for run in to {
        let (now, later) = rest.split_at(run.len());
        run.copy_from_slice(now);
        rest = later;
    }
    true
}

/// The runs of each block, in the block's order.
fn cut<'a, T>(data: &'a mut [T], blocks: &[Rows]) -> Option<Vec<Vec<&'a mut [T]>>> {
    let mut runs: Vec<(usize, usize)> = vec![];
    for (i, b) in blocks.iter().enumerate().filter(|(_, b)| b.len > 0) {
        runs.extend(b.starts.iter().map(|s| (*s, i)));
    }
    // a block's own runs are in order, and stay so
    runs.sort_unstable();
    let mut out: Vec<Vec<&mut [T]>> =
        blocks.iter().map(|b| Vec::with_capacity(b.starts.len())).collect();
    let (mut rest, mut at) = (data, 0);
    for (start, i) in runs {
        let len = blocks.get(i)?.len;
        let (_, after) = std::mem::take(&mut rest).split_at_mut_checked(start.checked_sub(at)?)?;
        let (run, after) = after.split_at_mut_checked(len)?;
        out.get_mut(i)?.push(run);
        (rest, at) = (after, start + len);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_put_together() {
        let whole = Tensor::from_f64s(DType::F16, vec![4, 6], (0..24).map(f64::from).collect());
        let mut canvas = Canvas::new(DType::F16, vec![4, 6]).unwrap();
        let blocks: Vec<(Vec<usize>, Vec<usize>)> = [(0, 0), (0, 4), (3, 0), (3, 4)]
            .iter()
            .map(|(r, c)| {
                (vec![*r, *c], vec![if *r == 0 { 3 } else { 1 }, if *c == 0 { 4 } else { 2 }])
            })
            .collect();
        for (mut part, (s, l)) in canvas.parts(&blocks).unwrap().into_iter().zip(&blocks) {
            assert!(part.put(&whole.slice_block(s, l)));
            assert!(!part.put(&Tensor::zeros(DType::F16, vec![5])));
            assert!(!part.put(&Tensor::zeros(DType::Bf16, l.clone())));
        }
        assert!(canvas.finish().bit_equal(&whole));
    }

    #[test]
    fn overlapping_blocks_are_refused() {
        let mut canvas = Canvas::new(DType::F32, vec![4]).unwrap();
        let block = |s: usize, l: usize| (vec![s], vec![l]);
        assert!(canvas.parts(&[block(0, 3), block(2, 2)]).is_none());
        assert!(canvas.parts(&[block(3, 2)]).is_none());
        assert!(canvas.parts(&[block(2, 2), block(0, 0), block(0, 2)]).is_some());
    }
}

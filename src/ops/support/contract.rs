//! What products share: the dtypes they take, where their work is done, and batched products of
//! loaded operands.

use half::bf16;
use rayon::prelude::*;

use super::check::{self, Takes};
use super::gemm::{Factor, Mat, Order, product, product_bf16};
use crate::base::spread::spread;
use crate::ops::facts::Resource;
use crate::ops::{Call, OpError};
use crate::types::dtype::DType;

/// Below this many multiply-adds a product is not worth sharing.
const SMALL: usize = 1 << 17;

fn is_f8(d: DType) -> bool {
    matches!(d, DType::F8e4m3 | DType::F8e5m2)
}

/// The dtype of operands 0 and 1; the two 8-bit floats may meet.
pub fn operand_dtype(op: &str, call: &Call, [a, b]: [&str; 2]) -> Result<DType, OpError> {
    let x = check::takes(op, call, 0, a, Takes::Numbers)?;
    let y = check::takes(op, call, 1, b, Takes::Numbers)?;
    if is_f8(x) && is_f8(y) {
        return Ok(x);
    }
    check::same_dtype(op, call, (0, a), (1, b))
}

/// What does the multiply-adds of operands of dtype `d`, taken in `precision` if that is given.
pub fn resource(d: DType, precision: Option<DType>) -> Resource {
    match precision {
        Some(p) => Resource::Tensor(p),
        None if d.is_float() || d.bits() == 8 => Resource::Tensor(d),
        None => Resource::Int,
    }
}

/// One operand of a batched product: `rows x cols` matrices in a slice.
pub struct Batch<'a, T> {
    pub data: &'a [T],
    pub rows: usize,
    pub cols: usize,
    /// Whether the matrices are stored with rows and columns exchanged.
    pub transposed: bool,
}

impl<T: Copy> Batch<'_, T> {
    fn mat(&self, index: usize) -> Mat<'_, T> {
        let size = self.rows * self.cols;
        let data = self.data.get(index * size..(index + 1) * size).unwrap_or(&[]);
        let (row_stride, col_stride) =
            if self.transposed { (1, self.rows) } else { (self.cols, 1) };
        Mat { data, rows: self.rows, cols: self.cols, row_stride, col_stride }
    }
}

/// The products of matrices `pairs[i]` of `a` and `b`, one after the other.
pub fn batched<T: Factor>(
    a: &Batch<T>,
    b: &Batch<T>,
    pairs: &[(usize, usize)],
    exact_order: bool,
) -> Vec<T::Sum> {
    each(a, b, pairs, exact_order, product)
}

/// The same, each sum rounded to bf16.
pub fn batched_bf16(
    a: &Batch<bf16>,
    b: &Batch<bf16>,
    pairs: &[(usize, usize)],
    exact_order: bool,
) -> Vec<bf16> {
    each(a, b, pairs, exact_order, product_bf16)
}

fn each<T: Factor, O: Copy + Default + Send>(
    a: &Batch<T>,
    b: &Batch<T>,
    pairs: &[(usize, usize)],
    exact_order: bool,
    product: impl Fn(Mat<T>, Mat<T>, &mut [O], Order) + Sync,
) -> Vec<O> {
    let size = a.rows * b.cols;
    let mut out = vec![O::default(); pairs.len() * size];
    if out.is_empty() {
        return out;
    }
    let work = size.saturating_mul(a.cols);
    let one =
        |out: &mut [O], &(i, j): &(usize, usize), order| product(a.mat(i), b.mat(j), out, order);
    let spread = spread(usize::MAX);
    let order = match (exact_order, spread && work >= SMALL) {
        (true, _) => Order::Index,
        (_, false) => Order::One,
        (_, true) => Order::All,
    };
    let parts = pairs.len();
    if !spread
        || parts == 1
        || (order == Order::All && parts < 8)
        || work.saturating_mul(parts) < SMALL
    {
        out.chunks_mut(size).zip(pairs).for_each(|(o, p)| one(o, p, order));
    } else {
        let order = if exact_order { Order::Index } else { Order::One };
        out.par_chunks_mut(size).zip(pairs).for_each(|(o, p)| one(o, p, order));
    }
    out
}

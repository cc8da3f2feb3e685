//! Matrix products in f32 and f64 through the `gemm` crate.
//!
//! Unsafe because the crate takes raw pointers: [`product`] checks that every element it may touch
//! lies inside the slices. bf16 has kernels of its own.

use std::ops::{AddAssign, Mul};

use half::bf16;

use super::bf16_product::{self, Element};
use super::class::Real;
use crate::types::convert as cv;

/// An element of a matrix that products are made of.
pub trait Factor: Copy + Send + Sync {
    /// What sums are in.
    type Sum: Copy + Default + Send + Sync + AddAssign + Mul<Output = Self::Sum>;

    fn widen(self) -> Self::Sum;
    /// `out = a b`, not in index order.
    fn library(a: Mat<Self>, b: Mat<Self>, out: &mut [Self::Sum], threads: bool);
}

impl Factor for f32 {
    type Sum = f32;

    fn widen(self) -> f32 {
        self
    }

    fn library(a: Mat<f32>, b: Mat<f32>, out: &mut [f32], threads: bool) {
        library(a, b, out, threads);
    }
}

impl Factor for f64 {
    type Sum = f64;

    fn widen(self) -> f64 {
        self
    }

    fn library(a: Mat<f64>, b: Mat<f64>, out: &mut [f64], threads: bool) {
        library(a, b, out, threads);
    }
}

impl Factor for bf16 {
    type Sum = f32;

    fn widen(self) -> f32 {
        self.to_f32()
    }

    fn library(a: Mat<bf16>, b: Mat<bf16>, out: &mut [f32], threads: bool) {
        if bf16_product::few_rows(a, b, out) || bf16_product::product(a, b, out, threads) {
            return;
        }
        let single = |m: &Mat<bf16>| cv::map(m.data, bf16::to_f32);
        let (x, y) = (single(&a), single(&b));
        library(a.with(&x), b.with(&y), out, threads);
    }
}

/// A matrix inside a slice.
#[derive(Clone, Copy)]
pub struct Mat<'a, T> {
    pub data: &'a [T],
    pub rows: usize,
    pub cols: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

impl<T> Mat<'_, T> {
    /// The same matrix in another slice.
    fn with<'b, S>(&self, data: &'b [S]) -> Mat<'b, S> {
        let Mat { rows, cols, row_stride, col_stride, .. } = *self;
        Mat { data, rows, cols, row_stride, col_stride }
    }

    /// Whether all its elements lie inside the slice.
    fn fits(&self) -> bool {
        let last = self.rows.saturating_sub(1) * self.row_stride
            + self.cols.saturating_sub(1) * self.col_stride;
        self.rows == 0 || self.cols == 0 || last < self.data.len()
    }

    pub fn at(&self, r: usize, c: usize) -> Option<&T> {
        self.data.get(r * self.row_stride + c * self.col_stride)
    }
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each sum in index order.
    Index,
    /// By the library, on this thread.
    One,
    /// By the library, on all threads.
    All,
}

/// `out = a b`, row-major. An inner extent of 0 gives zeros. The order of a sum depends on the
/// extents and the processor, never on the number of threads.
pub fn product<T: Factor>(a: Mat<T>, b: Mat<T>, out: &mut [T::Sum], order: Order) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(
        b.rows == k && out.len() == m * n && a.fits() && b.fits(),
        "product of {m} x {k} and {} x {n}",
        b.rows
    );
    if m == 0 || n == 0 || k == 0 || order == Order::Index {
        out.fill(T::Sum::default());
        return index_order(a, b, out);
    }
    T::library(a, b, out, order == Order::All);
}

/// `out = a b`, each sum rounded to bf16.
pub fn product_bf16(a: Mat<bf16>, b: Mat<bf16>, out: &mut [bf16], order: Order) {
    let few = a.rows <= bf16_product::FEW || a.cols == 0;
    if !few && order != Order::Index && bf16_product::product(a, b, out, order == Order::All) {
        return;
    }
    let mut sums = vec![0.0; out.len()];
    product(a, b, &mut sums, order);
    bf16::put(&sums, out);
}

#[allow(unsafe_code)]
fn library<T: Real>(a: Mat<T>, b: Mat<T>, out: &mut [T], threads: bool) {
    let parallelism = match threads {
        true => gemm::Parallelism::Rayon(0),
        false => gemm::Parallelism::None,
    };
    // SAFETY: `product` checked that `a` and `b` lie inside their slices and that `out` has m * n
    // elements, which no one else sees; the crate takes f32 and f64, the only `Real`s.
    unsafe {
        gemm::gemm(
            a.rows,
            b.cols,
            a.cols,
            out.as_mut_ptr(),
            1,
            b.cols as isize,
            false,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Each result adds its products one by one in the order of `k`.
fn index_order<T: Factor>(a: Mat<T>, b: Mat<T>, out: &mut [T::Sum]) {
    for (i, row) in out.chunks_mut(b.cols.max(1)).enumerate() {
        for k in 0..a.cols {
            let Some(x) = a.at(i, k) else { continue };
            let line = b.data.get(k * b.row_stride..).and_then(|d| d.get(..b.cols));
            if let (1, Some(line)) = (b.col_stride, line) {
                row.iter_mut().zip(line).for_each(|(o, y)| *o += x.widen() * y.widen());
                continue;
            }
            for (j, o) in row.iter_mut().enumerate() {
                if let Some(y) = b.at(k, j) {
                    *o += x.widen() * y.widen();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u32) -> Vec<f32> {
        let mut s = seed;
        let step = |_| {
            s = s.wrapping_mul(1664525).wrapping_add(1013904223);
            (s >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(step).collect()
    }

    fn mat(data: &[f32], rows: usize, cols: usize) -> Mat<'_, f32> {
        Mat { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        for (m, n, k) in [(1, 300, 700), (130, 1, 517), (67, 90, 1030), (200, 160, 300)] {
            let (a, b) = (noise(m * k, 1), noise(k * n, 2));
            let run = |order| {
                let mut out = vec![1.0; m * n];
                product(mat(&a, m, k), mat(&b, k, n), &mut out, order);
                out
            };
            let one = run(Order::One);
            for threads in [1, 2, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(one, pool.install(|| run(Order::All)), "{m} {n} {k} {threads}");
            }
            let plain = run(Order::Index);
            assert!(one.iter().zip(&plain).all(|(x, y)| (x - y).abs() < 1e-3));
        }
    }
}

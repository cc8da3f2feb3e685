//! Matrix products of bf16 operands, summed in f32.
//!
//! Where the processor multiplies pairs of bf16 (AVX512-BF16) its unit is used, see
//! [`super::bf16_unit`]. The unit takes subnormal numbers as 0, so operands that have or could give
//! such are left to the caller.
//!
//! A few rows times a matrix are bound by the reading of the matrix, so that is read once, as it
//! is, on any processor.

use half::bf16;
use rayon::prelude::*;

use super::gemm::Mat;
use crate::base::spread::{map, spread};
use crate::types::convert::bf16_of_f32;

/// Up to this many rows the right operand is read in place.
pub const FEW: usize = 3;
/// Lanes of a sum over the inner extent.
const LANES: usize = 64;
/// Columns that a thread takes at a time, where each lies in one piece, and where their elements lie
/// side by side.
const COLUMNS: [usize; 2] = [64, 512];

#[inline(always)]
fn widen(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// `out = a b` for few rows; false where there are many. Each sum has [`LANES`] lanes, joined as a
/// tree, or is in index order where the columns of `b` lie side by side.
pub fn few_rows(a: Mat<bf16>, b: Mat<bf16>, out: &mut [f32]) -> bool {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if m > FEW || n == 0 || m == 0 || !(b.row_stride == 1 || b.col_stride == 1) {
        return false;
    }
    if k == 0 {
        out.fill(0.0);
        return true;
    }
    let mut left = vec![0f32; m * k];
    for (i, row) in left.chunks_mut(k).enumerate() {
        let at = i * a.row_stride;
        match a.data.get(at..at + k).filter(|_| a.col_stride == 1) {
            Some(line) => row.iter_mut().zip(line).for_each(|(o, x)| *o = widen(*x)),
            None => {
                let of = |c| a.at(i, c).map_or(0.0, |x| widen(*x));
                row.iter_mut().enumerate().for_each(|(c, o)| *o = of(c));
            }
        }
    }
    let columns = COLUMNS[usize::from(b.row_stride != 1)];
    for (row, x) in out.chunks_mut(n).zip(left.chunks(k)) {
        let part = |(c, o): (usize, &mut [f32])| {
            pulp::Arch::new().dispatch(Columns { x, b, first: c * columns, out: o });
        };
        match spread(n.saturating_mul(k)) {
            true => row.par_chunks_mut(columns).enumerate().for_each(part),
            false => row.chunks_mut(columns).enumerate().for_each(part),
        }
    }
    true
}

/// The columns that a thread takes. No closure: the processor's own instructions reach only what is
/// inlined in the call that has them.
struct Columns<'a> {
    x: &'a [f32],
    b: Mat<'a, bf16>,
    first: usize,
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.b.row_stride == 1 {
            true => dots(self.x, self.b, self.first, self.out),
            false => rows(self.x, self.b, self.first, self.out),
        }
    }
}

/// The lanes of a sum. No vector of them lies across two lines of the cache.
#[repr(align(64))]
struct Lanes([f32; LANES]);

/// Columns whose elements lie one after the other.
#[inline(always)]
fn dots(x: &[f32], b: Mat<bf16>, first: usize, out: &mut [f32]) {
    for (j, o) in out.iter_mut().enumerate() {
        let at = (first + j) * b.col_stride;
        let column = b.data.get(at..at + x.len()).unwrap_or(&[]);
        let mut sums = Lanes([0f32; LANES]);
        let (xs, x_rest) = x.as_chunks::<LANES>();
        let (ys, y_rest) = column.as_chunks::<LANES>();
        for (x, y) in xs.iter().zip(ys) {
            for ((l, x), y) in sums.0.iter_mut().zip(x).zip(y) {
                *l += *x * widen(*y);
            }
        }
        let mut lanes = sums.0;
        for ((l, x), y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
            *l += *x * widen(*y);
        }
        let mut half = LANES / 2;
        while half > 0 {
            let (low, high) = lanes.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(l, h)| *l += *h);
            half /= 2;
        }
        *o = lanes[0];
    }
}

/// Rows whose elements lie one after the other.
#[inline(always)]
fn rows(x: &[f32], b: Mat<bf16>, first: usize, out: &mut [f32]) {
    out.fill(0.0);
    for (k, x) in x.iter().enumerate() {
        let at = k * b.row_stride + first;
        let row = b.data.get(at..at + out.len()).unwrap_or(&[]);
        out.iter_mut().zip(row).for_each(|(o, y)| *o += *x * widen(*y));
    }
}

/// What sums are stored as.
pub trait Element: Copy + Send + Sync {
    /// Stores sums, each rounded once.
    fn put(sums: &[f32], to: &mut [Self]);
}

impl Element for f32 {
    fn put(sums: &[f32], to: &mut [f32]) {
        to.copy_from_slice(sums);
    }
}

impl Element for bf16 {
    fn put(sums: &[f32], to: &mut [bf16]) {
        map(sums, to, bf16_of_f32);
    }
}

/// `out = a b` by the processor's unit for bf16; false where it has none or would lose subnormal
/// numbers.
pub fn product<O: Element>(a: Mat<bf16>, b: Mat<bf16>, out: &mut [O], threads: bool) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bf16")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && a.cols > 0
        && stay_normal(a.data, b.data)
    {
        super::bf16_unit::product(a, b, out, threads);
        return true;
    }
    let _ = (a, b, out, threads);
    false
}

/// Whether all elements and all sums of their products are normal or 0. An element of exponent e is
/// a multiple of 2^(e - 7), so with exponents of at least -112 together all products, and so their
/// sums, are multiples of 2^-126, the least normal f32.
#[cfg(target_arch = "x86_64")]
fn stay_normal(a: &[bf16], b: &[bf16]) -> bool {
    let (a, b) = (least_exponent(a), least_exponent(b));
    a > 0 && b > 0 && a + b >= 2 * 127 - 112
}

/// The biased exponent of the element next to 0, which is 0 for a subnormal one; 512 where all
/// elements are 0.
#[cfg(target_arch = "x86_64")]
fn least_exponent(x: &[bf16]) -> u16 {
    // without its sign and less 1, a 0 is larger than all others
    let least = |part: &[bf16]| {
        pulp::Arch::new().dispatch(|| {
            let key = |x: &bf16| (x.to_bits() & 0x7fff).wrapping_sub(1);
            part.iter().fold(u16::MAX, |m, x| m.min(key(x)))
        })
    };
    let key = match spread(x.len()) {
        true => x.par_chunks(1 << 16).map(least).min().unwrap_or(u16::MAX),
        false => least(x),
    };
    key.checked_add(1).map_or(512, |magnitude| magnitude >> 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u32) -> Vec<bf16> {
        let mut s = seed;
        let step = |_| {
            s = s.wrapping_mul(1664525).wrapping_add(1013904223);
            bf16::from_f32((s >> 8) as f32 / (1 << 23) as f32 - 1.0)
        };
        (0..n).map(step).collect()
    }

    /// The product in f64, and the sum of the magnitudes of the terms.
    fn exact(a: Mat<bf16>, b: Mat<bf16>) -> Vec<(f64, f64)> {
        let mut out = vec![];
        for i in 0..a.rows {
            for j in 0..b.cols {
                let terms = (0..a.cols)
                    .map(|k| a.at(i, k).unwrap().to_f64() * b.at(k, j).unwrap().to_f64());
                out.push(terms.fold((0.0, 0.0), |(s, m), t| (s + t, m + t.abs())));
            }
        }
        out
    }

    type Product = fn(Mat<bf16>, Mat<bf16>, &mut [f32]) -> bool;

    fn held(f: Product, m: usize, n: usize, k: usize) {
        let (a, b) = (noise(m * k, 1), noise(k * n, 2));
        for turned in [(false, false), (false, true), (true, false), (true, true)] {
            let mat = |data, rows, cols, turned| {
                let (row_stride, col_stride) = if turned { (1, rows) } else { (cols, 1) };
                Mat { data, rows, cols, row_stride, col_stride }
            };
            let (a, b) = (mat(&a, m, k, turned.0), mat(&b, k, n, turned.1));
            let mut out = vec![7.0; m * n];
            if !f(a, b, &mut out) {
                continue;
            }
            for (i, (got, (sum, size))) in out.iter().zip(exact(a, b)).enumerate() {
                // k roundings of partial sums of at most `size`
                let bound = (k + 2) as f64 * 2f64.powi(-24) * size + 1e-37;
                assert!((f64::from(*got) - sum).abs() <= bound, "{m} {n} {k} {turned:?} at {i}");
            }
        }
    }

    const SIZES: [(usize, usize, usize); 10] = [
        (1, 1, 1),
        (1, 700, 130),
        (3, 33, 129),
        (2, 5, 0),
        (12, 32, 384),
        (13, 33, 385),
        (200, 70, 5),
        (14, 3100, 5),
        (14, 40, 769),
        (250, 31, 64),
    ];

    #[test]
    fn few_rows_are_products() {
        for (m, n, k) in SIZES {
            held(few_rows, m, n, k);
        }
    }

    #[test]
    fn the_unit_gives_products_for_any_number_of_threads() {
        for (m, n, k) in SIZES {
            held(|a, b, o| product(a, b, o, false), m, n, k);
            held(|a, b, o| product(a, b, o, true), m, n, k);
        }
        // the sums of an element do not depend on what is beside it
        let (a, b) = (noise(40 * 900, 3), noise(900 * 50, 4));
        let left = Mat { data: &a[..], rows: 40, cols: 900, row_stride: 900, col_stride: 1 };
        let right = Mat { data: &b[..], rows: 900, cols: 50, row_stride: 50, col_stride: 1 };
        let mut all = vec![0.0; 40 * 50];
        if product(left, right, &mut all, true) {
            let mut one = vec![0.0; 50];
            let row = Mat { data: &a[900 * 17..900 * 18], rows: 1, ..left };
            assert!(product(row, right, &mut one, false));
            assert_eq!(one, all[17 * 50..18 * 50]);
        }
    }

    /// Where the processor has the unit, it takes what it can give exactly, and nothing else.
    #[test]
    fn subnormal_numbers_are_left_to_the_caller() {
        fn mat(data: &[bf16]) -> Mat<'_, bf16> {
            Mat { data, rows: 4, cols: 4, row_stride: 4, col_stride: 1 }
        }
        let takes = |x: f64, y: f64| {
            // zeros do not count
            let of = |v: f64| {
                let mut all = vec![bf16::ZERO; 16];
                all[5] = bf16::from_f64(v);
                all
            };
            let (a, b, mut out) = (of(x), of(y), vec![0.0; 16]);
            product(mat(&a), mat(&b), &mut out, false)
        };
        let (one, two) = (takes(1.0, 1.0), 2f64);
        for (x, y, exact) in [
            (two.powi(-130), 1.0, false),
            (1.0, -two.powi(-130), false),
            (two.powi(-126), two.powi(14), true),
            (two.powi(-126), two.powi(13), false),
            (two.powi(-56), -two.powi(-56), true),
            (-two.powi(-56), two.powi(-57), false),
            (0.0, two.powi(-120), true),
            (f64::INFINITY, 1.0, true),
        ] {
            assert_eq!(takes(x, y), one && exact, "{x} {y}");
        }
    }
}

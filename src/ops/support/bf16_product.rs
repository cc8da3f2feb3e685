//! Matrix products of bf16 operands, summed in f32.
//!
//! Where the processor multiplies pairs of bf16 (AVX512-BF16) this is the loop nest of Goto and
//! van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): panels of both
//! operands are packed so that the innermost loop reads them in order, and a tile of the result
//! stays in registers. Each sum goes over the inner extent in order, in blocks of [`KC`] that start
//! from 0 and are added up; it depends on neither the other extents nor the threads. The unit
//! takes subnormal numbers as 0 and gives 0 for them, so operands that have some, or whose products
//! may add up to one, are left to the caller.
//!
//! A few rows times a matrix are bound by the reading of the matrix, so that is read once, as it
//! is, on any processor.

use half::bf16;
use rayon::prelude::*;

use super::gemm::Mat;
use crate::base::spread::spread;

/// Up to this many rows the right operand is read in place.
const FEW: usize = 3;
/// Lanes of a sum over the inner extent.
const LANES: usize = 64;
/// Columns that a thread takes at a time.
const COLUMNS: usize = 512;

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
    out.fill(0.0);
    let left: Vec<f32> =
        (0..m * k).map(|i| a.at(i / k.max(1), i % k.max(1)).map_or(0.0, |x| widen(*x))).collect();
    for (row, x) in out.chunks_mut(n).zip(left.chunks(k.max(1))) {
        let part = |(c, o): (usize, &mut [f32])| {
            let first = c * COLUMNS;
            pulp::Arch::new().dispatch(|| match b.row_stride == 1 {
                true => dots(x, b, first, o),
                false => rows(x, b, first, o),
            });
        };
        match spread(n.saturating_mul(k)) {
            true => row.par_chunks_mut(COLUMNS).enumerate().for_each(part),
            false => row.chunks_mut(COLUMNS).enumerate().for_each(part),
        }
    }
    true
}

/// Columns whose elements lie one after the other.
#[inline(always)]
fn dots(x: &[f32], b: Mat<bf16>, first: usize, out: &mut [f32]) {
    for (j, o) in out.iter_mut().enumerate() {
        let at = (first + j) * b.col_stride;
        let column = b.data.get(at..at + x.len()).unwrap_or(&[]);
        let mut lanes = [0f32; LANES];
        let (xs, x_rest) = x.as_chunks::<LANES>();
        let (ys, y_rest) = column.as_chunks::<LANES>();
        for (x, y) in xs.iter().zip(ys) {
            for ((l, x), y) in lanes.iter_mut().zip(x).zip(y) {
                *l += *x * widen(*y);
            }
        }
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

/// `out = a b` by the processor's unit for bf16; false where it has none or would lose subnormal
/// numbers.
pub fn product(a: Mat<bf16>, b: Mat<bf16>, out: &mut [f32], threads: bool) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bf16")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && stay_normal(a.data, b.data)
    {
        unit::product(a, b, out, threads);
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

#[cfg(target_arch = "x86_64")]
mod unit {
    use half::bf16;
    use rayon::prelude::*;
    use std::arch::x86_64::*;

    use super::Mat;

    /// Rows and columns of the tile in registers: 24 of the 32 registers hold sums.
    const MR: usize = 12;
    const NR: usize = 32;
    /// The inner extent of a block, even: a panel of `KC x NR` fits in L1.
    pub const KC: usize = 384;
    /// Columns of a block: `KC x NC` pairs are read from L2 and L3, once for each block of rows.
    const NC: usize = 3072;
    /// Rows of a block at most, a multiple of [`MR`].
    const MC: usize = 192;

    /// A packed pair of bf16, the first in the low half.
    type Pair = u32;

    pub fn product(a: Mat<bf16>, b: Mat<bf16>, out: &mut [f32], threads: bool) {
        let (m, n, k) = (a.rows, b.cols, a.cols);
        assert!(out.len() == m * n && b.rows == k);
        if k == 0 {
            out.fill(0.0);
        }
        if m == 0 || n == 0 {
            return;
        }
        let share = match threads {
            true => m.div_ceil(2 * rayon::current_num_threads().max(1)),
            false => m,
        };
        let mc = share.next_multiple_of(MR).clamp(MR, MC);
        let mut right = vec![];
        for jc in (0..n).step_by(NC) {
            for pc in (0..k).step_by(KC) {
                let at = At { jc, nc: NC.min(n - jc), pc, kc: KC.min(k - pc), mc };
                right.resize(at.nc.div_ceil(NR) * at.pairs() * NR, 0);
                let panel = |(j, to): (usize, &mut [Pair])| {
                    let from = Lanes {
                        data: b.data,
                        start: pc * b.row_stride + (jc + j * NR) * b.col_stride,
                        lane: b.col_stride,
                        step: b.row_stride,
                        lanes: NR.min(at.nc - j * NR),
                    };
                    pack::<NR>(&from, at.kc, to);
                };
                let size = at.pairs() * NR;
                match threads {
                    true => right.par_chunks_mut(size).enumerate().for_each(panel),
                    false => right.chunks_mut(size).enumerate().for_each(panel),
                }
                let block = |(i, rows): (usize, &mut [f32])| at.block(a, i, &right, rows, n);
                match threads {
                    true => out.par_chunks_mut(mc * n).enumerate().for_each(block),
                    false => out.chunks_mut(mc * n).enumerate().for_each(block),
                }
            }
        }
    }

    /// Where the loops over blocks are.
    struct At {
        jc: usize,
        nc: usize,
        pc: usize,
        kc: usize,
        /// Rows of a block.
        mc: usize,
    }

    impl At {
        fn pairs(&self) -> usize {
            self.kc.div_ceil(2)
        }

        /// Adds block `i` of the rows of `a` times the packed columns to its rows of the result.
        fn block(&self, a: Mat<bf16>, i: usize, right: &[Pair], rows: &mut [f32], n: usize) {
            let (count, size) = (rows.len() / n, self.pairs() * MR);
            let mut left = vec![0; count.div_ceil(MR) * size];
            for (r, to) in left.chunks_mut(size).enumerate() {
                let from = Lanes {
                    data: a.data,
                    start: (i * self.mc + r * MR) * a.row_stride + self.pc * a.col_stride,
                    lane: a.row_stride,
                    step: a.col_stride,
                    lanes: MR.min(count - r * MR),
                };
                pack::<MR>(&from, self.kc, to);
            }
            for (j, b) in right.chunks(self.pairs() * NR).enumerate() {
                let at = self.jc + j * NR;
                let columns = at..(at + NR).min(self.jc + self.nc);
                for (a, rows) in left.chunks(size).zip(rows.chunks_mut(MR * n)) {
                    add(a, b, rows, n, columns.clone(), self.pc == 0);
                }
            }
        }
    }

    /// Vectors side by side in a slice: element `k` of lane `i` is at
    /// `start + i * lane + k * step`.
    struct Lanes<'a> {
        data: &'a [bf16],
        start: usize,
        lane: usize,
        step: usize,
        lanes: usize,
    }

    /// Pairs of `R` lanes, one pair of each after the other; lanes that are not there are 0.
    fn pack<const R: usize>(from: &Lanes, kc: usize, to: &mut [Pair]) {
        if from.lanes < R {
            to.fill(0);
        }
        let bits = |x: &bf16| Pair::from(x.to_bits());
        if from.step == 1 {
            for i in 0..from.lanes {
                let at = from.start + i * from.lane;
                let line = from.data.get(at..at + kc).unwrap_or(&[]);
                let (pairs, last) = line.as_chunks::<2>();
                let slots = to.iter_mut().skip(i).step_by(R);
                let last = last.first().map(&bits);
                let all = pairs.iter().map(|[x, y]| bits(x) | bits(y) << 16).chain(last);
                slots.zip(all).for_each(|(o, p)| *o = p);
            }
            return;
        }
        for (p, to) in to.chunks_mut(R).enumerate() {
            let at = from.start + 2 * p * from.step;
            let odd = 2 * p + 1 == kc;
            if from.lane == 1 && from.lanes == R && !odd {
                let (x, y) = (at, at + from.step);
                let (x, y) = (from.data.get(x..x + R), from.data.get(y..y + R));
                let lines = x.unwrap_or(&[]).iter().zip(y.unwrap_or(&[]));
                to.iter_mut().zip(lines).for_each(|(o, (x, y))| *o = bits(x) | bits(y) << 16);
                continue;
            }
            for (i, o) in to.iter_mut().enumerate().take(from.lanes) {
                let at = at + i * from.lane;
                let x = from.data.get(at).map_or(0, bits);
                let y = if odd { 0 } else { from.data.get(at + from.step).map_or(0, bits) };
                *o = x | y << 16;
            }
        }
    }

    /// Adds the product of two packed panels to columns of rows of `n`, or puts it there.
    fn add(
        a: &[Pair],
        b: &[Pair],
        rows: &mut [f32],
        n: usize,
        columns: std::ops::Range<usize>,
        first: bool,
    ) {
        let mut sums = [[0f32; NR]; MR];
        run(a, b, &mut sums);
        for (row, sums) in rows.chunks_mut(n).zip(&sums) {
            let to = row.get_mut(columns.clone()).unwrap_or(&mut []);
            match first {
                true => to.iter_mut().zip(sums).for_each(|(o, s)| *o = *s),
                false => to.iter_mut().zip(sums).for_each(|(o, s)| *o += *s),
            }
        }
    }

    #[allow(unsafe_code)]
    fn run(a: &[Pair], b: &[Pair], sums: &mut [[f32; NR]; MR]) {
        let (a, b) = (a.as_chunks::<MR>().0, b.as_chunks::<NR>().0);
        // SAFETY: `super::product` has asked the processor for AVX512-BF16 and AVX512-BW, which
        // come with AVX512-F.
        unsafe { tile(a, b, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn tile(a: &[[Pair; MR]], b: &[[Pair; NR]], sums: &mut [[f32; NR]; MR]) {
        let mut acc = [[_mm512_setzero_ps(); 2]; MR];
        for (a, b) in a.iter().zip(b) {
            let (low, high) = halves(b);
            for (acc, x) in acc.iter_mut().zip(a) {
                let x = pairs(_mm512_set1_epi32(x.cast_signed()));
                acc[0] = _mm512_dpbf16_ps(acc[0], x, low);
                acc[1] = _mm512_dpbf16_ps(acc[1], x, high);
            }
        }
        for (sums, [low, high]) in sums.iter_mut().zip(acc) {
            let (to_low, to_high) = sums.split_at_mut(NR / 2);
            store(to_low, low);
            store(to_high, high);
        }
    }

    #[target_feature(enable = "avx512f")]
    #[allow(unsafe_code)]
    fn pairs(x: __m512i) -> __m512bh {
        // SAFETY: both are 512 bits of any pattern.
        unsafe { std::mem::transmute(x) }
    }

    #[target_feature(enable = "avx512f")]
    #[allow(unsafe_code)]
    fn halves(b: &[Pair; NR]) -> (__m512bh, __m512bh) {
        let (low, high) = b.split_at(NR / 2);
        // SAFETY: each half has the 16 elements that are read.
        unsafe {
            (
                pairs(_mm512_loadu_si512(low.as_ptr().cast())),
                pairs(_mm512_loadu_si512(high.as_ptr().cast())),
            )
        }
    }

    #[target_feature(enable = "avx512f")]
    #[allow(unsafe_code)]
    fn store(to: &mut [f32], from: __m512) {
        assert_eq!(to.len(), NR / 2);
        // SAFETY: there are 16 elements, which are written.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), from) }
    }
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

//! Matrix products by the processor's unit for bf16.
//!
//! The loop nest of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
//! (2008): panels of both operands are packed so that the innermost loop reads them in order, and
//! a tile of the result stays in registers. Each sum goes over the inner extent in order, in
//! blocks of [`KC`] that start from 0 and are added up; it depends on neither the other extents nor
//! the threads. A block of rows is finished before it is rounded and stored.

use half::bf16;
use rayon::prelude::*;
use std::arch::x86_64::*;
use std::cell::RefCell;

use super::bf16_product::Element;
use super::gemm::Mat;

/// Rows and columns of the tile in registers: 24 of the 32 registers hold sums.
const MR: usize = 12;
const NR: usize = 32;
/// The inner extent of a block, even: a panel of `KC x NR` fits in L1.
const KC: usize = 384;
/// Rows of a block at most, multiples of [`MR`]: where sums are stored at once, and where sums of
/// `MC x NC` wait for further blocks.
const MC: [usize; 2] = [192, 96];
/// Columns of a block at most, multiples of [`NR`].
const NC: [usize; 2] = [3072, 2048];
/// Pairs of packed columns that a block has at most; they are read again for each block of rows.
const PACKED: usize = 2 << 20;

/// A packed pair of bf16, the first in the low half.
type Pair = u32;

/// `out = a b`, row-major. The processor must have the unit.
pub fn product<O: Element>(a: Mat<bf16>, b: Mat<bf16>, out: &mut [O], threads: bool) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(out.len() == m * n && b.rows == k && k > 0);
    let share = match threads {
        true => m.div_ceil(2 * rayon::current_num_threads().max(1)),
        false => m,
    };
    let mc = share.next_multiple_of(MR).clamp(MR, MC[usize::from(k > KC)]);
    let pairs = k.div_ceil(2);
    let nc =
        (PACKED / pairs / NR * NR).clamp(NR, NC[usize::from(k > KC)]).min(n.next_multiple_of(NR));
    let mut right = RIGHT.take();
    right.resize(right.len().max(nc * pairs), 0);
    for jc in (0..n).step_by(nc) {
        let columns = Columns { b, jc, nc: nc.min(n - jc) };
        let panels = columns.nc.div_ceil(NR);
        let right = &mut right[..panels * NR * pairs];
        let mut pieces: Vec<(usize, usize, &mut [Pair])> = vec![];
        for (q, block) in right.chunks_mut(panels * NR * KC / 2).enumerate() {
            let size = block.len() / panels;
            pieces.extend(block.chunks_mut(size).enumerate().map(|(j, to)| (q, j, to)));
        }
        match threads {
            true => pieces.into_par_iter().for_each(|(q, j, to)| columns.pack(q, j, to)),
            false => pieces.into_iter().for_each(|(q, j, to)| columns.pack(q, j, to)),
        }
        let right = &*right;
        let block = |(i, rows): (usize, &mut [O])| columns.times(a, i * mc, right, rows);
        match threads {
            true => out.par_chunks_mut(mc * n).enumerate().for_each(block),
            false => out.chunks_mut(mc * n).enumerate().for_each(block),
        }
    }
    RIGHT.set(right);
}

thread_local! {
    // What a thread packs into and adds up in, kept from one product to the next: the system
    // clears memory that it gives, which would take as long as the packing. They are taken out
    // while in use, for a thread that waits may start another product.
    static RIGHT: RefCell<Vec<Pair>> = const { RefCell::new(Vec::new()) };
    static LEFT: RefCell<Vec<Pair>> = const { RefCell::new(Vec::new()) };
    static SUMS: RefCell<Vec<[f32; NR]>> = const { RefCell::new(Vec::new()) };
}

/// Columns of the right operand that are packed together.
struct Columns<'a> {
    b: Mat<'a, bf16>,
    jc: usize,
    nc: usize,
}

impl Columns<'_> {
    /// Panel `j` of block `q` of the inner extent.
    fn pack(&self, q: usize, j: usize, to: &mut [Pair]) {
        let b = &self.b;
        let from = Lanes {
            data: b.data,
            start: q * KC * b.row_stride + (self.jc + j * NR) * b.col_stride,
            lane: b.col_stride,
            step: b.row_stride,
            lanes: NR.min(self.nc - j * NR),
        };
        pack::<NR>(&from, KC.min(b.rows - q * KC), to);
    }

    /// Rows of `a` from `ic` on times the packed columns, into their places in rows of the result.
    fn times<O: Element>(&self, a: Mat<bf16>, ic: usize, right: &[Pair], rows: &mut [O]) {
        let (n, k) = (self.b.cols, self.b.rows);
        let (count, panels) = (rows.len() / n, self.nc.div_ceil(NR));
        // sums of one block are stored at once
        let once = k <= KC;
        let lines = if once { 0 } else { count.next_multiple_of(MR) * panels };
        let (mut kept_sums, mut kept_left) = (SUMS.take(), LEFT.take());
        kept_sums.resize(kept_sums.len().max(lines), [0.0; NR]);
        let size = count.next_multiple_of(MR) * KC.min(k).div_ceil(2);
        kept_left.resize(kept_left.len().max(size), 0);
        let (sums, left) = (&mut kept_sums[..lines], &mut kept_left[..size]);
        for (q, right) in right.chunks(panels * NR * KC / 2).enumerate() {
            let kc = KC.min(k - q * KC);
            let size = kc.div_ceil(2) * MR;
            for (r, to) in left.chunks_mut(size).enumerate().take(count.div_ceil(MR)) {
                let from = Lanes {
                    data: a.data,
                    start: (ic + r * MR) * a.row_stride + q * KC * a.col_stride,
                    lane: a.row_stride,
                    step: a.col_stride,
                    lanes: MR.min(count - r * MR),
                };
                pack::<MR>(&from, kc, to);
            }
            for (j, b) in right.chunks(right.len() / panels).enumerate() {
                if once {
                    let at = self.jc + j * NR;
                    let to = at..(at + NR).min(self.jc + self.nc);
                    for (a, rows) in left.chunks(size).zip(rows.chunks_mut(MR * n)) {
                        for (row, made) in rows.chunks_mut(n).zip(&run(a, b)) {
                            if let Some(o) = row.get_mut(to.clone()) {
                                O::put(&made[..o.len().min(NR)], o);
                            }
                        }
                    }
                    continue;
                }
                for (a, sums) in left.chunks(size).zip(sums.chunks_mut(MR * panels)) {
                    for (row, made) in sums.chunks_mut(panels).zip(&run(a, b)) {
                        let Some(to) = row.get_mut(j) else { continue };
                        match q {
                            0 => *to = *made,
                            _ => to.iter_mut().zip(made).for_each(|(o, s)| *o += *s),
                        }
                    }
                }
            }
        }
        for (row, sums) in rows.chunks_mut(n).zip(sums.chunks(panels)) {
            let sums = sums.as_flattened().get(..self.nc).unwrap_or(&[]);
            if let Some(to) = row.get_mut(self.jc..self.jc + self.nc) {
                O::put(sums, to);
            }
        }
        SUMS.set(kept_sums);
        LEFT.set(kept_left);
    }
}

/// Vectors side by side in a slice: element `k` of lane `i` is at `start + i * lane + k * step`.
struct Lanes<'a> {
    data: &'a [bf16],
    start: usize,
    lane: usize,
    step: usize,
    lanes: usize,
}

/// Pairs of `R` lanes, one pair of each after the other; lanes that are not there are 0.
fn pack<const R: usize>(from: &Lanes, kc: usize, to: &mut [Pair]) {
    let to = to.as_chunks_mut::<R>().0;
    if from.lanes < R {
        to.as_flattened_mut().fill(0);
    }
    let pair = |x: bf16, y: bf16| Pair::from(x.to_bits()) | Pair::from(y.to_bits()) << 16;
    if from.step == 1 {
        // by pieces of a cache line of each lane, so that the lines written are few
        for (c, to) in to.chunks_mut(16).enumerate() {
            for i in 0..from.lanes {
                let at = from.start + i * from.lane;
                let line = from.data.get(at + c * 32..at + kc.min(c * 32 + 32)).unwrap_or(&[]);
                let (pairs, last) = line.as_chunks::<2>();
                for (to, [x, y]) in to.iter_mut().zip(pairs) {
                    to[i % R] = pair(*x, *y);
                }
                if let ([x], Some(to)) = (last, to.get_mut(pairs.len())) {
                    to[i % R] = pair(*x, bf16::ZERO);
                }
            }
        }
        return;
    }
    for (p, to) in to.iter_mut().enumerate() {
        let at = from.start + 2 * p * from.step;
        let odd = 2 * p + 1 == kc;
        if from.lane == 1 && from.lanes == R && !odd {
            let (x, y) = (at, at + from.step);
            let (x, y) = (from.data.get(x..x + R), from.data.get(y..y + R));
            let lines = x.unwrap_or(&[]).iter().zip(y.unwrap_or(&[]));
            to.iter_mut().zip(lines).for_each(|(o, (x, y))| *o = pair(*x, *y));
            continue;
        }
        for (i, o) in to.iter_mut().enumerate().take(from.lanes) {
            let at = at + i * from.lane;
            let x = from.data.get(at).copied().unwrap_or_default();
            let y = if odd { None } else { from.data.get(at + from.step).copied() };
            *o = pair(x, y.unwrap_or_default());
        }
    }
}

/// The product of two packed panels.
#[allow(unsafe_code)]
fn run(a: &[Pair], b: &[Pair]) -> [[f32; NR]; MR] {
    let (a, b) = (a.as_chunks::<MR>().0, b.as_chunks::<NR>().0);
    let mut made = [[0f32; NR]; MR];
    // SAFETY: `super::bf16_product::product` has asked the processor for AVX512-BF16 and
    // AVX512-BW, which come with AVX512-F.
    unsafe { tile(a, b, &mut made) }
    made
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

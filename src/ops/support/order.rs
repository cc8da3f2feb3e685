//! The one order in which reductions combine elements.
//!
//! A row is cut into blocks of [`BLOCK`] elements. Within a block, element `i` goes to lane
//! `i % 16`, each lane combines its elements in order, and the lanes are combined as a tree
//! (lane `i` with `i + 8`, then `+ 4`, `+ 2`, `+ 1`). The blocks' results are combined as a tree of
//! neighbours: (0, 1), (2, 3), ..., a last odd one goes up alone. The order depends on the length
//! of the row alone, so a result has the same bits for any memory layout, thread count and
//! machine; lanes make it fit vector registers, and trees keep the rounding error small. Columns
//! are combined in the same order without being moved: a lane is then a row of partial results.

use rayon::prelude::*;

use super::chunks::Source;
use super::walk::{PARALLEL, spread, wide};

const LANES: usize = 16;
/// Elements of a block.
pub const BLOCK: usize = 512;

/// Columns that are reduced side by side: their lanes stay in the nearest cache.
const STRIP: usize = 128;

/// What a reduction combines with; [`monoid`] makes it.
pub struct Monoid<T> {
    /// The result for no elements. What is joined once changes no more by it.
    pub identity: T,
    pub join: fn(T, T) -> T,
    /// One block; [`block`] with the same function inlined.
    pub block: fn(&[T]) -> T,
    /// Each of the first joined with each of the second; [`over`] with the function inlined.
    pub over: fn(&mut [T], &[T]),
}

/// A [`Monoid`] from its identity and a function of two.
macro_rules! monoid {
    ($identity:expr, $join:expr) => {
        $crate::ops::support::order::Monoid {
            identity: $identity,
            join: $join,
            block: |x| $crate::ops::support::order::block(x, $identity, $join),
            over: |a, x| $crate::ops::support::order::over(a, x, $join),
        }
    };
}

pub(crate) use monoid;

/// Combines the elements of one block.
#[inline(always)]
pub fn block<T: Copy>(x: &[T], identity: T, join: impl Fn(T, T) -> T) -> T {
    wide(
        #[inline(always)]
        move || {
            let mut lanes = [identity; LANES];
            let (chunks, rest) = x.as_chunks::<LANES>();
            for c in chunks {
                for (l, v) in lanes.iter_mut().zip(c) {
                    *l = join(*l, *v);
                }
            }
            for (l, v) in lanes.iter_mut().zip(rest) {
                *l = join(*l, *v);
            }
            let mut half = LANES / 2;
            while half > 0 {
                let (low, high) = lanes.split_at_mut(half);
                for (l, h) in low.iter_mut().zip(high) {
                    *l = join(*l, *h);
                }
                half /= 2;
            }
            lanes[0]
        },
    )
}

/// Joins each element of `a` with that of `x`.
#[inline(always)]
pub fn over<T: Copy>(a: &mut [T], x: &[T], join: impl Fn(T, T) -> T) {
    wide(
        #[inline(always)]
        move || {
            for (a, x) in a.iter_mut().zip(x) {
                *a = join(*a, *x);
            }
        },
    );
}

impl<T: Copy + Default + Send + Sync> Monoid<T> {
    /// Combines a row.
    pub fn row(&self, x: &[T]) -> T {
        if x.len() <= BLOCK {
            return (self.block)(x);
        }
        self.tree(&mut x.chunks(BLOCK).map(self.block).collect::<Vec<_>>())
    }

    fn tree(&self, totals: &mut [T]) -> T {
        let mut len = totals.len();
        while len > 1 {
            for i in 0..len / 2 {
                totals[i] = (self.join)(totals[2 * i], totals[2 * i + 1]);
            }
            if len % 2 == 1 {
                totals[len / 2] = totals[len - 1];
            }
            len = len.div_ceil(2);
        }
        totals.first().copied().unwrap_or(self.identity)
    }

    /// Combines each row of `n` elements; there are `rows` of them.
    pub fn rows(&self, x: &Source<T>, rows: usize, n: usize) -> Vec<T> {
        if n == 0 {
            return vec![self.identity; rows];
        }
        let blocks = n.div_ceil(BLOCK);
        let one = |row: usize, b: usize, buffer: &mut [T]| {
            let at = b * BLOCK;
            (self.block)(x.read(row * n + at, BLOCK.min(n - at), buffer))
        };
        let some = |rows: std::ops::Range<usize>| -> Vec<T> {
            let (mut buffer, mut totals) = ([T::default(); BLOCK], vec![self.identity; blocks]);
            let row = |r| {
                for (b, t) in totals.iter_mut().enumerate() {
                    *t = one(r, b, &mut buffer);
                }
                self.tree(&mut totals)
            };
            rows.map(row).collect()
        };
        if !spread(rows.saturating_mul(n)) {
            return some(0..rows);
        }
        if n > PARALLEL {
            let row = |r| {
                let totals = (0..blocks).into_par_iter().with_min_len(PARALLEL / BLOCK / 4);
                let block = |b| one(r, b, &mut [T::default(); BLOCK]);
                self.tree(&mut totals.map(block).collect::<Vec<_>>())
            };
            return (0..rows).map(row).collect();
        }
        let group = (PARALLEL / n / 4).max(1);
        let part = |g: usize| some(g * group..rows.min((g + 1) * group));
        let parts: Vec<_> = (0..rows.div_ceil(group)).into_par_iter().map(part).collect();
        parts.concat()
    }

    /// Combines the columns of `outer` matrices of `n` rows and `inner` columns, each in the order
    /// of a row of its elements.
    pub fn columns(&self, x: &Source<T>, outer: usize, n: usize, inner: usize) -> Vec<T> {
        let (strips, blocks) = (inner.div_ceil(STRIP), n.div_ceil(BLOCK));
        let block = |u: usize| {
            let (strip, b) = (u / blocks, u % blocks);
            let (matrix, column) = (strip / strips, strip % strips * STRIP);
            let (first, end) = (b * BLOCK, n.min((b + 1) * BLOCK));
            let width = STRIP.min(inner - column);
            let at = |row: usize| (matrix * n + row) * inner + column;
            self.lanes(x, width, (first..end).map(at))
        };
        let units = outer * strips * blocks;
        let totals: Vec<Vec<T>> = match spread(outer * n * inner) {
            true => (0..units).into_par_iter().map(block).collect(),
            false => (0..units).map(block).collect(),
        };
        let mut out = Vec::with_capacity(outer * inner);
        let mut totals = totals.into_iter();
        for _ in 0..outer * strips {
            let mut level: Vec<Vec<T>> = totals.by_ref().take(blocks).collect();
            while level.len() > 1 {
                let mut pairs = std::mem::take(&mut level).into_iter();
                while let Some(mut a) = pairs.next() {
                    if let Some(b) = pairs.next() {
                        (self.over)(&mut a, &b);
                    }
                    level.push(a);
                }
            }
            level.into_iter().for_each(|v| out.extend(v));
        }
        out
    }

    /// Combines one block of `width` columns, whose rows start at these positions.
    fn lanes(
        &self,
        x: &Source<T>,
        width: usize,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Vec<T> {
        let mut buffer = [T::default(); STRIP];
        // lanes without an element would change nothing
        let mut left = rows.len().min(LANES);
        let mut lanes = vec![self.identity; left * width];
        for (i, at) in rows.enumerate() {
            let lane = &mut lanes[i % LANES * width..][..width];
            (self.over)(lane, x.read(at, width, &mut buffer));
        }
        for half in [8, 4, 2, 1] {
            if left > half {
                let (low, high) = lanes.split_at_mut(half * width);
                (self.over)(low, &high[..(left - half) * width]);
                left = half;
            }
        }
        lanes.truncate(width);
        lanes
    }
}

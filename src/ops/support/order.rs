//! The one order in which reductions combine elements.
//!
//! A row is cut into blocks of [`BLOCK`] elements. Within a block, element `i` goes to lane
//! `i % 16`, each lane combines its elements in order, and the lanes are combined as a tree
//! (lane `i` with `i + 8`, then `+ 4`, `+ 2`, `+ 1`). The blocks' results are combined as a tree of
//! neighbours: (0, 1), (2, 3), ..., a last odd one goes up alone. The order depends on the length
//! of the row alone, so a result has the same bits for any memory layout, thread count and
//! machine; lanes make it fit vector registers, and trees keep the rounding error small.

use rayon::prelude::*;

use super::walk::{PARALLEL, spread};

const LANES: usize = 16;
/// Elements of a block.
pub const BLOCK: usize = 512;

/// What a reduction combines with.
pub struct Monoid<T> {
    /// The result for no elements.
    pub identity: T,
    pub join: fn(T, T) -> T,
    /// One block; [`block`] with the same function inlined.
    pub block: fn(&[T]) -> T,
}

/// Combines the elements of one block.
#[inline(always)]
pub fn block<T: Copy>(x: &[T], identity: T, join: impl Fn(T, T) -> T) -> T {
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
}

impl<T: Copy + Send + Sync> Monoid<T> {
    /// Combines a row.
    pub fn row(&self, x: &[T]) -> T {
        if x.len() <= BLOCK {
            return (self.block)(x);
        }
        self.tree(x.chunks(BLOCK).map(self.block).collect())
    }

    fn tree(&self, mut totals: Vec<T>) -> T {
        while totals.len() > 1 {
            totals = totals
                .chunks(2)
                .map(|p| match p {
                    [a, b] => (self.join)(*a, *b),
                    [a, ..] => *a,
                    [] => self.identity,
                })
                .collect();
        }
        totals.first().copied().unwrap_or(self.identity)
    }

    /// Combines each row of `n` elements; there are `rows` of them.
    pub fn rows(&self, x: &[T], rows: usize, n: usize) -> Vec<T> {
        if n == 0 {
            return vec![self.identity; rows];
        }
        if !spread(x.len()) {
            return x.chunks(n).map(|r| self.row(r)).collect();
        }
        if n > PARALLEL {
            let row = |r: &[T]| self.tree(r.par_chunks(BLOCK).map(self.block).collect());
            return x.chunks(n).map(row).collect();
        }
        let group = (PARALLEL / n / 4).max(1) * n;
        let parts: Vec<Vec<T>> =
            x.par_chunks(group).map(|g| g.chunks(n).map(|r| self.row(r)).collect()).collect();
        parts.concat()
    }
}

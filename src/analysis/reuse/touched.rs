//! What was touched so far, and how many distinct bytes were touched since a step.

use std::collections::BTreeMap;

use super::super::boxes::{Inexact, Set};
use super::Key;

/// What was last touched in one step, of one buffer.
pub(super) struct Piece {
    /// From 1.
    pub step: usize,
    pub set: Set,
    pub bytes: u128,
}

#[derive(Default)]
pub(super) struct Touched {
    /// Of each buffer, the latest step last.
    pieces: BTreeMap<Key, Vec<Piece>>,
    /// Bytes last touched in each step, as a Fenwick tree: entry i - 1 is their sum over the last
    /// `i & -i` steps up to step i. A program of thousands of ops asks for many distances.
    sums: Vec<u128>,
    all: u128,
}

fn lowest(i: usize) -> usize {
    i & i.wrapping_neg()
}

impl Touched {
    /// The pieces of a buffer, the latest last.
    pub fn of(&self, key: Key) -> &[Piece] {
        self.pieces.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Distinct bytes touched from the begin of a step on.
    pub fn since(&self, step: usize) -> u128 {
        self.all - self.until(step.saturating_sub(1))
    }

    /// Bytes last touched in the steps 1 to `step`.
    fn until(&self, step: usize) -> u128 {
        let (mut i, mut sum) = (step, 0);
        while i > 0 {
            sum += self.sums.get(i - 1).copied().unwrap_or(0);
            i -= lowest(i);
        }
        sum
    }

    pub fn push(&mut self, key: Key, piece: Piece) {
        if piece.bytes == 0 {
            return;
        }
        while self.sums.len() < piece.step {
            let i = self.sums.len() + 1;
            self.sums.push(self.until(i - 1) - self.until(i - lowest(i)));
        }
        self.change(piece.step, |sum| sum + piece.bytes);
        self.all += piece.bytes;
        self.pieces.entry(key).or_default().push(piece);
    }

    /// Leaves of each piece of a buffer what `left` says, with its bytes.
    pub fn shrink(
        &mut self,
        key: Key,
        mut left: impl FnMut(&Set) -> Result<(Set, u128), Inexact>,
    ) -> Result<(), Inexact> {
        let Some(mut pieces) = self.pieces.remove(&key) else { return Ok(()) };
        for p in &mut pieces {
            let (set, bytes) = left(&p.set)?;
            let gone = p.bytes - bytes;
            self.change(p.step, |sum| sum - gone);
            self.all -= gone;
            (p.set, p.bytes) = (set, bytes);
        }
        pieces.retain(|p| p.bytes > 0);
        self.pieces.insert(key, pieces);
        Ok(())
    }

    fn change(&mut self, step: usize, new: impl Fn(u128) -> u128) {
        let mut i = step;
        while let Some(sum) = self.sums.get_mut(i.wrapping_sub(1)) {
            *sum = new(*sum);
            i += lowest(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ValueId;

    #[test]
    fn distances_are_sums_over_the_steps() {
        let mut t = Touched::default();
        let key = |k: u32| (ValueId(k), None);
        let mut plain = vec![0u128; 40];
        for step in 1..40usize {
            for k in 0..3u32 {
                let bytes = (step as u128 * 7 + u128::from(k) * 5) % 11;
                t.push(key(k), Piece { step, set: Set::default(), bytes });
                plain[step] += bytes;
            }
            if step % 5 == 0 {
                // half of what the first buffer has is touched elsewhere
                for p in t.of(key(0)) {
                    plain[p.step] -= p.bytes.div_ceil(2);
                }
                let half: Vec<u128> = t.of(key(0)).iter().map(|p| p.bytes / 2).collect();
                let mut half = half.into_iter();
                assert!(t.shrink(key(0), |s| Ok((s.clone(), half.next().unwrap_or(0)))).is_ok());
            }
            for from in 1..=step {
                assert_eq!(t.since(from), plain[from..].iter().sum::<u128>(), "{from} of {step}");
            }
        }
    }
}

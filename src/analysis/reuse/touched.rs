//! What was touched so far, and how many distinct bytes were touched since a step.

use std::collections::BTreeMap;

use super::super::boxes::{Inexact, Set};
use super::super::since::Since;
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
    bytes: Since,
}

impl Touched {
    /// The pieces of a buffer, the latest last.
    pub fn of(&self, key: Key) -> &[Piece] {
        self.pieces.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Distinct bytes touched from the begin of a step on.
    pub fn since(&self, step: usize) -> u128 {
        self.bytes.since(step)
    }

    pub fn push(&mut self, key: Key, piece: Piece) {
        if piece.bytes > 0 {
            self.bytes.add(piece.step, piece.bytes);
            self.pieces.entry(key).or_default().push(piece);
        }
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
            self.bytes.take(p.step, p.bytes - bytes);
            (p.set, p.bytes) = (set, bytes);
        }
        pieces.retain(|p| p.bytes > 0);
        self.pieces.insert(key, pieces);
        Ok(())
    }
}

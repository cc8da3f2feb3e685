//! A point in time that knows what the time before it went to.

use super::rates::{Fs, Pipe};

/// Of what the time on the way to an event consists: each pipe, then the rest.
pub(super) const PARTS: usize = Pipe::ALL.len() + 2;

/// Waiting for what was read, and for other positions.
pub(super) const LATENCY: usize = Pipe::ALL.len();
pub(super) const BARRIER: usize = Pipe::ALL.len() + 1;

/// Femtoseconds since the start, and how much of them each part takes on the chain of events that
/// led here: queueing for and using a pipe, or waiting. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Time {
    pub at: Fs,
    pub of: [Fs; PARTS],
}

impl Time {
    /// The later one.
    pub fn max(self, other: Time) -> Time {
        if other.at > self.at { other } else { self }
    }

    /// Later by `t`, that `part` takes.
    pub fn after(mut self, part: usize, t: Fs) -> Time {
        self.at = self.at.saturating_add(t);
        if let Some(p) = self.of.get_mut(part) {
            *p = p.saturating_add(t);
        }
        self
    }
}

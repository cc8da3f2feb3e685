//! What a run did that it may not do, seen in bytes.
//!
//! A result is poisoned before a run, with one byte in the first run and another in the second: an
//! element that holds the poison of both was written in neither. Around each buffer lie fences of a
//! known byte.

use super::job::{Fault, FaultKind};

/// The poisons of the first and the second run: NaN in every float of at least 8 bits that has
/// one, and a number.
pub const POISON: [u8; 2] = [0xff, 0x5a];
/// The byte of fences.
pub const FENCE: u8 = 0xc3;
/// Bytes of the fence on each side of a buffer.
pub const FENCE_BYTES: usize = 64 << 10;

/// Bytes of a result at `width` bytes an element that no run wrote: each part of an element holds
/// the poison of its run.
pub fn unwritten(first: &[u8], second: &[u8], width: usize) -> Option<(usize, u64)> {
    let width = width.max(1);
    let mut at = None;
    let mut count = 0;
    for (i, (a, b)) in first.chunks(width).zip(second.chunks(width)).enumerate() {
        if a.iter().all(|x| *x == POISON[0]) && b.iter().all(|x| *x == POISON[1]) {
            at.get_or_insert(i * width);
            count += a.len() as u64;
        }
    }
    at.map(|at| (at, count))
}

/// The first byte that differs, and how many do.
pub fn differing(a: &[u8], b: &[u8]) -> Option<(usize, u64)> {
    if a == b {
        return None;
    }
    let first = a.iter().zip(b).position(|(x, y)| x != y)?;
    let count = a.iter().zip(b).filter(|(x, y)| x != y).count();
    Some((first, count as u64))
}

/// The first byte of a fence that was written, and how many were.
pub fn broken(fence: &[u8]) -> Option<(usize, u64)> {
    let first = fence.iter().position(|b| *b != FENCE)?;
    Some((first, fence.iter().filter(|b| **b != FENCE).count() as u64))
}

/// Faults of a buffer's fences. `before` ends where the buffer of `bytes` starts.
pub fn outside(buffer: usize, before: &[u8], after: &[u8], bytes: usize) -> Vec<Fault> {
    let mut out = vec![];
    let mut add = |first: i64, count| {
        let kind = FaultKind::Outside;
        out.push(Fault { buffer, kind, first, count, after: None });
    };
    if let Some((at, n)) = broken(before) {
        add(at as i64 - before.len() as i64, n);
    }
    if let Some((at, n)) = broken(after) {
        add((bytes + at) as i64, n);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever a kernel writes, exactly the elements that it leaves are found.
        #[test]
        fn what_is_left_is_found(
            width in prop::sample::select(vec![1usize, 2, 4, 8]),
            n in 1usize..40,
            left in prop::collection::vec(any::<bool>(), 40),
            bytes in prop::collection::vec(any::<u8>(), 320),
        ) {
            let run = |poison: u8| -> Vec<u8> {
                (0..n * width)
                    .map(|i| if left[i / width] { poison } else { bytes[i] })
                    .collect()
            };
            let found = unwritten(&run(POISON[0]), &run(POISON[1]), width);
            let want: Vec<usize> = (0..n).filter(|i| left[*i]).collect();
            match (found, want.first()) {
                (None, None) => {}
                (Some((at, count)), Some(first)) => {
                    prop_assert_eq!(at, first * width);
                    prop_assert_eq!(count, (want.len() * width) as u64);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn a_write_outside_is_found(at in -64i64..64, bytes in 1usize..32, value in any::<u8>()) {
            let (mut before, mut after) = (vec![FENCE; 64], vec![FENCE; 64]);
            let slot = if at < 0 { &mut before[(64 + at) as usize] } else { &mut after[at as usize] };
            *slot = value;
            let want = if at < 0 { at } else { bytes as i64 + at };
            let found = outside(3, &before, &after, bytes);
            if value == FENCE {
                prop_assert!(found.is_empty());
            } else {
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!((found[0].first, found[0].count), (want, 1));
            }
        }
    }
}

//! Loops over elements: under the processor's widest instructions, and on several threads.

use std::cell::{Cell, RefCell};

use rayon::prelude::*;

/// From this many elements on, work is spread over threads.
pub const PARALLEL: usize = 1 << 16;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Puts the mark back as it was, also when the work panics.
struct Mark(bool);

impl Drop for Mark {
    fn drop(&mut self) {
        ALONE.set(self.0);
    }
}

/// Runs `f` with this thread marked: no loop over elements inside leaves the thread. For callers
/// that have spread the work themselves.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    let _mark = Mark(ALONE.replace(true));
    f()
}

/// Whether a loop over `len` elements goes to several threads.
pub fn spread(len: usize) -> bool {
    len >= PARALLEL && !ALONE.get()
}

/// Elements that a loop makes at a time, so that its buffers stay in the nearest cache.
pub const CHUNK: usize = 1024;

/// Runs `f`, which must be inlined, compiled for the widest vectors of the processor at hand.
/// Each lane does what the scalar code says, and no product and sum are fused, so that the bits
/// are the same on every machine.
#[inline(always)]
pub fn wide<R>(f: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(f)
}

/// A vector of `len` elements. `f(start, part)` writes all of `part`, whose elements before are
/// any; a part has at most [`CHUNK`] elements.
pub fn fill<T: Copy + Default + Send>(len: usize, f: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
    if len <= CHUNK {
        let mut out = vec![T::default(); len];
        f(0, &mut out);
        return out;
    }
    let size = |start: usize| CHUNK.min(len - start);
    if spread(len) {
        // whole arrays, for these are collected without a pass that writes zeros
        let chunk = |i: usize| {
            let mut part = [T::default(); CHUNK];
            f(i * CHUNK, &mut part[..size(i * CHUNK)]);
            part
        };
        let chunks = (0..len.div_ceil(CHUNK)).into_par_iter().with_min_len(PARALLEL / CHUNK / 4);
        let mut out = chunks.map(chunk).collect::<Vec<_>>().into_flattened();
        out.truncate(len);
        return out;
    }
    let mut out = Vec::with_capacity(len);
    for start in (0..len).step_by(CHUNK) {
        // what is cleared here is in the nearest cache when it is written
        out.resize(start + size(start), T::default());
        f(start, &mut out[start..]);
    }
    out
}

/// Gives `f` a buffer of [`CHUNK`] elements, whatever they are, that this thread keeps for later.
pub fn scratch<T: bytemuck::Pod, R>(f: impl FnOnce(&mut [T]) -> R) -> R {
    thread_local! {
        static FREE: RefCell<Vec<Vec<u64>>> = const { RefCell::new(Vec::new()) };
    }
    const { assert!(size_of::<T>() > 0 && size_of::<T>() <= 8 && align_of::<T>() <= 8) };
    let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    buffer.resize(CHUNK, 0);
    let made = f(&mut bytemuck::cast_slice_mut(&mut buffer)[..CHUNK]);
    FREE.with_borrow_mut(|free| free.push(buffer));
    made
}

/// `f` of each element, which must be inlined.
#[inline(always)]
pub fn map<S: Copy, D>(x: &[S], o: &mut [D], f: impl Fn(S) -> D) {
    wide(
        #[inline(always)]
        move || {
            for (o, &x) in o.iter_mut().zip(x) {
                *o = f(x);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_written_once_on_one_thread_and_on_many() {
        for len in [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK, PARALLEL, 2 * PARALLEL + 5] {
            let count = || {
                fill(len, |start, part| {
                    part.iter_mut().enumerate().for_each(|(i, p)| *p = start + i + 1)
                })
            };
            let want: Vec<usize> = (1..=len).collect();
            assert_eq!(count(), want);
            assert_eq!(alone(count), want);
        }
    }

    #[test]
    fn the_mark_lasts_as_long_as_the_call() {
        assert!(spread(PARALLEL) && !spread(PARALLEL - 1));
        alone(|| {
            assert!(!spread(PARALLEL));
            alone(|| assert!(!spread(PARALLEL)));
            assert!(!spread(PARALLEL));
            assert!(std::thread::spawn(|| spread(PARALLEL)).join().unwrap());
        });
        assert!(spread(PARALLEL));
        let caught = std::panic::catch_unwind(|| alone(|| panic!("the work fails")));
        assert!(caught.is_err() && spread(PARALLEL));
    }
}

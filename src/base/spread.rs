//! Whether a loop over elements may use several threads.

use std::cell::Cell;

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

#[cfg(test)]
mod tests {
    use super::*;

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

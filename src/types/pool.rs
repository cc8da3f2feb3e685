//! Large buffers of tensors that are gone, kept for the next ones.
//!
//! The system clears each page that it gives, which for a result that is only written once takes
//! longer than the writing. What is kept is bounded, so that the memory of a process is that of
//! its values and little more.

use std::sync::Mutex;

use super::dtype::DType;
use super::value::Data;

/// Buffers of fewer bytes are the allocator's business.
const LARGE: usize = 1 << 20;
/// Bytes that are kept at most.
const KEPT: usize = 128 << 20;

static FREE: Mutex<Vec<Data>> = Mutex::new(Vec::new());

/// Bytes of memory that a buffer holds, which may be more than its elements take.
fn size(d: &Data) -> usize {
    d.capacity().saturating_mul(d.width())
}

/// Keeps the buffer if it is large; the oldest ones go where there are too many.
pub(super) fn give(data: Data) {
    let bytes = size(&data);
    if !(LARGE..=KEPT).contains(&bytes) {
        return;
    }
    let mut gone = vec![];
    if let Ok(mut free) = FREE.try_lock() {
        let mut held: usize = free.iter().map(size).sum();
        while held + bytes > KEPT && !free.is_empty() {
            let old = free.remove(0);
            held -= size(&old);
            gone.push(old);
        }
        free.push(data);
    }
}

/// A buffer of `n` elements for `dtype`, whatever they are. None is much larger than asked for.
pub(super) fn take(dtype: DType, n: usize) -> Option<Data> {
    let mut free = FREE.try_lock().ok()?;
    let fits = |d: &Data| d.holds(dtype) && d.len() >= n && d.capacity() / 4 * 3 <= n;
    let at = free.iter().position(|d| fits(d) && size(d) >= LARGE)?;
    let mut data = free.remove(at);
    drop(free);
    data.truncate(n);
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::value::Tensor;

    #[test]
    fn a_buffer_comes_back_only_where_it_fits() {
        // a length that no other test has
        let n = (1 << 20) + 12_347;
        drop(Tensor::zeros(DType::I16, vec![n]));
        // other threads may hold the lock or have taken it; what is given must fit
        for (dtype, n) in [(DType::I16, n - 5), (DType::I16, n + 1), (DType::F16, n)] {
            if let Some(d) = take(dtype, n) {
                assert!(d.holds(dtype) && d.len() == n);
            }
        }
        // what was cut short is still as large as it was
        let mut cut = Data::U8(vec![0; 4 * LARGE + 97]);
        cut.truncate(3 * LARGE + 97);
        assert_eq!(size(&cut), 4 * LARGE + 97);
        give(Data::U8(vec![0; 16]));
        assert!(take(DType::U8, 16).is_none());
    }
}

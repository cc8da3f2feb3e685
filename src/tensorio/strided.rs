//! Elements that lie in a buffer by strides, gathered into row-major order.

use super::error::ReadError;
use crate::types::value::elements;

/// The most axes a tensor of a file may have, as in numpy.
pub(super) const MAX_RANK: usize = 64;

/// A view of a buffer; `offset` and `strides` count elements of `size` bytes.
pub(super) struct View<'a> {
    pub bytes: &'a [u8],
    pub size: usize,
    pub offset: usize,
    pub shape: &'a [usize],
    pub strides: &'a [usize],
}

impl View<'_> {
    /// The number of bytes that the gathered elements take.
    pub(super) fn gathered_len(&self) -> Result<usize, ReadError> {
        elements(self.shape)
            .and_then(|n| n.checked_mul(self.size))
            .ok_or_else(|| ReadError::new(format!("shape {:?} is too large", self.shape)))
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// When the view reaches outside the buffer.
    pub(super) fn gather(&self) -> Result<Vec<u8>, ReadError> {
        let len = self.gathered_len()?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let last = self.shape.iter().zip(self.strides).try_fold(self.offset, |at, (&d, &s)| {
            // No extent is zero here.
            at.checked_add((d - 1).checked_mul(s)?)
        });
        let end = last.and_then(|l| l.checked_add(1)?.checked_mul(self.size));
        let outside = || {
            ReadError::new(format!(
                "expected a view inside the storage's {} bytes, found shape {:?}, strides {:?}, \
                 offset {} of {}-byte elements",
                self.bytes.len(),
                self.shape,
                self.strides,
                self.offset,
                self.size
            ))
        };
        if end.is_none_or(|end| end > self.bytes.len()) {
            return Err(outside());
        }
        // Trailing axes that lie as row-major order wants them make one run.
        let mut outer = self.shape.len();
        let mut run = 1;
        while outer > 0 && (self.strides[outer - 1] == run || self.shape[outer - 1] == 1) {
            run *= self.shape[outer - 1];
            outer -= 1;
        }
        let mut out = Vec::with_capacity(len);
        let mut index = vec![0; outer];
        let mut at = self.offset;
        loop {
            let start = at * self.size;
            let row = self.bytes.get(start..start + run * self.size).ok_or_else(outside)?;
            out.extend_from_slice(row);
            let mut axis = outer;
            loop {
                if axis == 0 {
                    return Ok(out);
                }
                axis -= 1;
                index[axis] += 1;
                at += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                at -= index[axis] * self.strides[axis];
                index[axis] = 0;
            }
        }
    }
}

/// Reverses the bytes of each element of `size` bytes.
pub(super) fn swap_bytes(bytes: &mut [u8], size: usize) {
    if size > 1 {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

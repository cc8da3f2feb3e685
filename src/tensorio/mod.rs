//! Tensors in files: safetensors, numpy's npy and npz, PyTorch's zip format, and checkpoints.
//!
//! In: bytes that nobody vouches for. Out: tensors, or an error that says which file, entry and
//! byte, what was expected and what was found. Nothing in a file is executed, and what reading
//! allocates is bounded by the file's size (see [`Budget`]).

mod checkpoint;
mod error;
mod mmap;
mod npy;
mod pickle;
mod pt;
mod safetensors;
mod strided;
mod zipped;

pub use checkpoint::Checkpoint;
pub use error::ReadError;
pub use npy::write_npy;
pub use safetensors::write_safetensors;

use crate::types::value::Tensor;
use std::path::Path;

/// A tensor of a file, with the name it has there.
///
/// safetensors, npz and dicts name their tensors. Elements of a tuple or list are named by
/// place: `[0]`, and `k[0].x` inside dicts. A lone npy or pt tensor has no name.
#[derive(Clone, Debug)]
pub struct NamedTensor {
    pub name: Option<String>,
    pub tensor: Tensor,
}

/// The formats that [`read`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Safetensors,
    Npy,
    Npz,
    /// PyTorch's zip format.
    Pt,
}

impl Kind {
    /// By the file's extension, else by its first bytes.
    fn of(path: &Path, bytes: &[u8]) -> Option<Kind> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("safetensors") => return Some(Kind::Safetensors),
            Some("npy") => return Some(Kind::Npy),
            Some("npz") => return Some(Kind::Npz),
            Some("pt" | "pth") => return Some(Kind::Pt),
            _ => {}
        }
        if bytes.starts_with(npy::MAGIC) {
            return Some(Kind::Npy);
        }
        if bytes.starts_with(b"PK\x03\x04") {
            let pickled = bytes.windows(9).any(|w| w == b"/data.pkl");
            return Some(if pickled { Kind::Pt } else { Kind::Npz });
        }
        (bytes.get(8) == Some(&b'{')).then_some(Kind::Safetensors)
    }
}

/// Reads every tensor of a file, in the file's order.
///
/// # Errors
/// When the file cannot be read, is of no known format, or is not well formed.
pub fn read(path: &Path) -> Result<Vec<NamedTensor>, ReadError> {
    let bytes = std::fs::read(path)
        .map_err(|e| ReadError::new(format!("cannot be read: {e}")).in_file(path))?;
    let Some(kind) = Kind::of(path, &bytes) else {
        let what = "expected a safetensors, npy, npz or pt file, found none of them by \
                    extension or first bytes";
        return Err(ReadError::new(what).in_file(path));
    };
    read_bytes(kind, &bytes).map_err(|e| e.in_file(path))
}

/// Reads every tensor of a file's bytes.
///
/// # Errors
/// When the bytes are not a well-formed file of this kind, or hold a dtype that the language
/// does not have.
pub fn read_bytes(kind: Kind, bytes: &[u8]) -> Result<Vec<NamedTensor>, ReadError> {
    match kind {
        Kind::Safetensors => safetensors::read(bytes),
        Kind::Npy => npy::read(bytes).map(|tensor| vec![NamedTensor { name: None, tensor }]),
        Kind::Npz => npy::read_npz(bytes),
        Kind::Pt => pt::read(bytes),
    }
}

/// How many bytes a compressed file, or views that share a storage, may grow to: 64 times the
/// file and 16 MiB. Honest files stay far below it.
struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    fn of_file(bytes: &[u8]) -> Budget {
        let limit = (bytes.len() as u64).saturating_mul(64).saturating_add(16 << 20);
        Budget { limit, left: limit }
    }

    fn charge(&mut self, bytes: u64) -> Result<(), ReadError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(ReadError::new(format!(
                "expected at most {} bytes of content for a file of this size, found more",
                self.limit
            ))),
        }
    }
}

#[cfg(test)]
mod tests;

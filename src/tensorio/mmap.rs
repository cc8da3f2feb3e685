//! Files mapped into memory, read-only.

use super::error::ReadError;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// A file's bytes, paged in as they are read.
#[derive(Debug)]
pub(super) struct Mapped(memmap2::Mmap);

impl Mapped {
    pub(super) fn open(path: &Path) -> Result<Mapped, ReadError> {
        let failed = |e| ReadError::new(format!("cannot be read: {e}")).in_file(path);
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the map is private and read-only, and lives in this struct for as long as any
        // slice of it. Another process that truncates the file meanwhile ends this one with a
        // signal, as for every program that maps its weights. A tensor lent from it holds it.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(Mapped(map))
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

//! Entries of a zip archive, read within a budget.

use super::Budget;
use super::error::{ReadError, brief};
use std::io::{Cursor, Read};
use zip::ZipArchive;
use zip::result::ZipError;

pub(super) struct Zipped<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    names: Vec<String>,
    pub budget: Budget,
}

impl<'a> Zipped<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Zipped<'a>, ReadError> {
        if !bytes.starts_with(b"PK") {
            let found = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect::<String>();
            let what = format!("expected a zip archive (bytes 504b0304), found {found:?}");
            return Err(ReadError::new(what).at(0));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(wrong)?;
        let mut names = Vec::with_capacity(archive.len());
        for name in archive.file_names() {
            names.push(name.map_err(wrong)?.into_owned());
        }
        Ok(Zipped { archive, names, budget: Budget::of_file(bytes) })
    }

    /// The entries' names, in the archive's order.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// An entry's content, its checksum verified.
    pub(super) fn entry(&mut self, name: &str) -> Result<Vec<u8>, ReadError> {
        let Some(index) = self.archive.index_for_name(name) else {
            return Err(
                ReadError::new("expected this entry in the archive, found none").in_entry(name)
            );
        };
        self.read_at(index).map_err(|e| e.in_entry(name))
    }

    fn read_at(&mut self, index: usize) -> Result<Vec<u8>, ReadError> {
        let file = self.archive.by_index(index).map_err(wrong)?;
        let left = self.budget.left;
        // The declared size may lie either way: it only sizes the first allocation.
        let mut out =
            Vec::with_capacity(file.size().min(file.compressed_size()).min(left) as usize);
        file.take(left.saturating_add(1))
            .read_to_end(&mut out)
            .map_err(|e| ReadError::new(format!("damaged: {}", brief(&e.to_string()))))?;
        self.budget.charge(out.len() as u64)?;
        Ok(out)
    }
}

fn wrong(e: ZipError) -> ReadError {
    let text = e.to_string();
    ReadError::new(format!("not a usable zip archive: {}", brief(text.trim_end_matches('.'))))
}

//! Weights on disk: one safetensors file or a directory of shards, mapped and read by name.

use super::error::{ReadError, brief};
use super::mmap::Mapped;
use super::safetensors::{self, Entry};
use crate::types::value::{Bytes, Tensor};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

struct Shard {
    path: PathBuf,
    bytes: Arc<Bytes>,
}

/// The tensors of a model. Opening reads only headers; [`Checkpoint::get`] lends one
/// tensor from the mapped file.
pub struct Checkpoint {
    shards: Vec<Shard>,
    /// The shard and the place of every tensor.
    entries: BTreeMap<String, (usize, Entry)>,
}

/// The index file: which shard holds which tensor.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens a safetensors file, or a directory that holds `model.safetensors.index.json` and
    /// its shards, or a single `model.safetensors`.
    ///
    /// # Errors
    /// When neither is there, a header is not well formed, or the index names a shard or a
    /// tensor that is not there.
    pub fn open(path: &Path) -> Result<Checkpoint, ReadError> {
        let mut out = Checkpoint { shards: Vec::new(), entries: BTreeMap::new() };
        if !path.is_dir() {
            out.add(path.to_path_buf(), None)?;
            return Ok(out);
        }
        let index = path.join(INDEX);
        if !index.is_file() {
            let single = path.join(SINGLE);
            if !single.is_file() {
                let what =
                    format!("expected `{INDEX}` or `{SINGLE}` in the directory, found neither");
                return Err(ReadError::new(what).in_file(path));
            }
            out.add(single, None)?;
            return Ok(out);
        }
        let wrong = |what: String| ReadError::new(what).in_file(&index);
        let text = std::fs::read(&index).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let stated: Index = serde_json::from_slice(&text)
            .map_err(|e| wrong(format!("not as expected: {}", brief(&e.to_string()))))?;
        let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, shard) in &stated.weight_map {
            shards.entry(shard).or_default().push(name);
        }
        for (shard, names) in shards {
            // A shard lies beside its index: a path out of the directory is not followed.
            if shard.contains(['/', '\\']) || matches!(shard, "" | "." | "..") {
                let what = format!("expected a file's name, found `{}`", brief(shard));
                return Err(wrong(what));
            }
            out.add(path.join(shard), Some(&names))?;
        }
        Ok(out)
    }

    /// Adds a file's tensors: all of them, or those that the index says are there.
    fn add(&mut self, path: PathBuf, names: Option<&[&str]>) -> Result<(), ReadError> {
        let bytes = Mapped::open(&path)?;
        let list = safetensors::entries(&bytes).map_err(|e| e.in_file(&path))?;
        let shard = self.shards.len();
        match names {
            None => {
                self.entries.extend(list.into_iter().map(|e| (e.name.clone(), (shard, e))));
            }
            Some(names) => {
                let mut there: HashMap<String, Entry> =
                    list.into_iter().map(|e| (e.name.clone(), e)).collect();
                for &name in names {
                    let Some(entry) = there.remove(name) else {
                        let what = "expected this tensor, as the index says, found none";
                        return Err(ReadError::new(what).in_entry(name).in_file(&path));
                    };
                    self.entries.insert(name.to_string(), (shard, entry));
                }
            }
        }
        self.shards.push(Shard { path, bytes: Arc::new(bytes) });
        Ok(())
    }

    /// The tensors' names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The shape of a tensor, without reading it.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|(_, entry)| entry.shape.as_slice())
    }

    /// Reads a tensor; `None` when the checkpoint has none of this name.
    ///
    /// # Errors
    /// When its dtype is not of the language, or its size is not its shape's.
    pub fn get(&self, name: &str) -> Result<Option<Tensor>, ReadError> {
        let Some((shard, entry)) = self.entries.get(name) else {
            return Ok(None);
        };
        let Some(Shard { path, bytes }) = self.shards.get(*shard) else {
            return Ok(None);
        };
        safetensors::lent(bytes, entry).map(Some).map_err(|e| e.in_file(path))
    }
}

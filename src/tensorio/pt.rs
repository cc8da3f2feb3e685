//! PyTorch's zip format: a pickle of the structure, and one entry of raw bytes per storage.
//!
//! Source: torch/serialization.py. The older format (a bare pickle) is refused. Numbers, strings
//! and `None` beside the tensors are passed over.

use super::NamedTensor;
use super::error::{ReadError, brief};
use super::pickle::{Pickle, TensorRef, Value};
use super::strided::{MAX_RANK, View, swap_bytes};
use super::zipped::Zipped;
use crate::types::dtype::DType;
use crate::types::value::Tensor;
use std::collections::HashMap;

/// How deep tuples, lists and dicts may nest.
const MAX_DEPTH: usize = 32;

/// The dtype of PyTorch's name; `None` for those the language does not have.
fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "float64" => DType::F64,
        "float32" => DType::F32,
        "float16" => DType::F16,
        "bfloat16" => DType::Bf16,
        "float8_e4m3fn" => DType::F8e4m3,
        "float8_e5m2" => DType::F8e5m2,
        "float8_e8m0fnu" => DType::F8e8m0,
        "float4_e2m1fn_x2" => DType::F4e2m1,
        "int64" => DType::I64,
        "int32" => DType::I32,
        "int16" => DType::I16,
        "int8" => DType::I8,
        "uint64" => DType::U64,
        "uint32" => DType::U32,
        "uint8" => DType::U8,
        "bool" => DType::Bool,
        _ => return None,
    })
}

pub(super) fn read(bytes: &[u8]) -> Result<Vec<NamedTensor>, ReadError> {
    let mut archive = Zipped::open(bytes).map_err(|e| match e.offset {
        Some(0) => ReadError::new(format!(
            "{}; files of PyTorch before 1.6 are not zip archives: save them again",
            e.what
        ))
        .at(0),
        _ => e,
    })?;
    // Everything lies in one folder, named as the file once was.
    let pickle = archive.names().iter().find_map(|n| n.strip_suffix("data.pkl"));
    let Some(folder) = pickle.map(str::to_string) else {
        return Err(ReadError::new("expected an entry `data.pkl` in the archive, found none"));
    };
    let order = format!("{folder}byteorder");
    let big = archive.names().contains(&order) && archive.entry(&order)?.starts_with(b"big");
    let pickle = format!("{folder}data.pkl");
    let content = archive.entry(&pickle)?;
    let (tree, root) = Pickle::read(&content).map_err(|e| e.in_entry(&pickle))?;
    let mut reader = Reader {
        tree: &tree,
        archive,
        folder,
        big,
        storages: HashMap::new(),
        tensors: HashMap::new(),
        out: Vec::new(),
    };
    reader.walk(root, &mut String::new(), 0).map_err(|e| e.in_entry(&pickle))?;
    Ok(reader.out)
}

struct Reader<'a> {
    tree: &'a Pickle<'a>,
    archive: Zipped<'a>,
    folder: String,
    big: bool,
    /// The bytes of storages, by key, and tensors, by place in the pickle: each is read once,
    /// however often it is referred to.
    storages: HashMap<&'a str, Vec<u8>>,
    tensors: HashMap<usize, Tensor>,
    out: Vec<NamedTensor>,
}

impl<'a> Reader<'a> {
    /// Collects the tensors under a value whose name so far is `path`.
    fn walk(&mut self, value: Value, path: &mut String, depth: usize) -> Result<(), ReadError> {
        if depth > MAX_DEPTH {
            let what = format!("expected at most {MAX_DEPTH} levels of nesting, found more");
            return Err(ReadError::new(what));
        }
        // A list that holds another twice, and so on, has more paths than bytes.
        self.archive.budget.charge(64 + path.len() as u64)?;
        let length = path.len();
        match value {
            Value::Tensor(index) => {
                let tensor = match self.tensors.get(&index) {
                    Some(tensor) => tensor.clone(),
                    None => {
                        let tensor = self.tensor(index)?;
                        self.tensors.insert(index, tensor.clone());
                        tensor
                    }
                };
                let name = (depth > 0).then(|| path.clone());
                self.out.push(NamedTensor { name, tensor });
            }
            Value::Tuple(_) | Value::List(_) => {
                let items = self.tree.items(value).unwrap_or_default();
                for (i, &item) in items.iter().enumerate() {
                    path.push_str(&format!("[{i}]"));
                    self.walk(item, path, depth + 1)?;
                    path.truncate(length);
                }
            }
            Value::Dict(index) => {
                let items = self.tree.dicts.get(index).map(Vec::as_slice).unwrap_or_default();
                for &(key, item) in items {
                    match (self.tree.text(key), key) {
                        (Some(text), _) => {
                            if !path.is_empty() {
                                path.push('.');
                            }
                            path.push_str(text);
                        }
                        (None, Value::Int(i)) => path.push_str(&format!("[{i}]")),
                        _ => {
                            let what = "expected a dict's key to be a string or an int, found \
                                        another";
                            return Err(ReadError::new(what));
                        }
                    }
                    self.walk(item, path, depth + 1)?;
                    path.truncate(length);
                }
            }
            Value::Storage(_) => {
                return Err(ReadError::new("expected tensors, found a bare storage"));
            }
            // Numbers, strings, `None`, and a dtype such as a configuration names.
            _ => {}
        }
        Ok(())
    }

    /// The numbers of a tuple: extents or strides.
    fn numbers(&self, tuple: usize) -> Result<Vec<usize>, ReadError> {
        let items = self.tree.tuples.get(tuple).map(Vec::as_slice).unwrap_or_default();
        if items.len() > MAX_RANK {
            let found = items.len();
            return Err(ReadError::new(format!("expected at most {MAX_RANK} axes, found {found}")));
        }
        let number = |v: &Value| match *v {
            Value::Int(i) => usize::try_from(i).ok(),
            _ => None,
        };
        items.iter().map(number).collect::<Option<_>>().ok_or_else(|| {
            ReadError::new("expected extents and strides that are not negative, found others")
        })
    }

    fn tensor(&mut self, index: usize) -> Result<Tensor, ReadError> {
        let tree = self.tree;
        let Some(TensorRef { storage, elem, offset, shape, strides }) = tree.tensors.get(index)
        else {
            return Err(ReadError::new("expected a tensor, found none"));
        };
        let Some(dtype) = dtype(elem.dtype) else {
            let name = elem.dtype;
            return Err(ReadError::new(format!(
                "expected a dtype of the language, found `{}`",
                brief(name)
            )));
        };
        let (mut shape, strides) = (self.numbers(*shape)?, self.numbers(*strides)?);
        if shape.len() != strides.len() {
            let what = format!("expected a stride for each of {shape:?}, found {strides:?}");
            return Err(ReadError::new(what));
        }
        let Some(storage) = tree.storages.get(*storage) else {
            return Err(ReadError::new("expected a storage, found none"));
        };
        let entry = format!("{}data/{}", self.folder, storage.key);
        if !self.storages.contains_key(storage.key) {
            let content = self.archive.entry(&entry)?;
            self.storages.insert(storage.key, content);
        }
        let bytes = self.storages.get(storage.key).map(Vec::as_slice).unwrap_or_default();
        let expected = storage.count.checked_mul(storage.elem.map_or(1, |e| e.size));
        if expected != Some(bytes.len()) {
            let expected = expected.map_or("more".to_string(), |n| n.to_string());
            let what = format!("expected {expected} bytes of storage, found {}", bytes.len());
            return Err(ReadError::new(what).in_entry(&entry));
        }
        let size = elem.size;
        let view = View { bytes, size, offset: *offset, shape: &shape, strides: &strides };
        self.archive.budget.charge(view.gathered_len()? as u64)?;
        let mut gathered = view.gather().map_err(|e| e.in_entry(&entry))?;
        if self.big {
            swap_bytes(&mut gathered, size);
        }
        if dtype == DType::F4e2m1 {
            // PyTorch counts pairs; the language counts elements.
            match shape.last_mut() {
                Some(last) => *last = last.saturating_mul(2),
                None => shape.push(2),
            }
        }
        Tensor::from_bytes(dtype, shape, &gathered)
            .map_err(|e| ReadError::new(e.to_string()).in_entry(&entry))
    }
}

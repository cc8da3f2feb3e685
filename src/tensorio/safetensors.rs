//! safetensors: eight bytes of header length, a JSON header, and the tensors end to end.
//!
//! Source: the format's own description, github.com/huggingface/safetensors. Read here rather
//! than with its crate so that an error names the tensor, the byte, and both values.

use super::NamedTensor;
use super::error::{ReadError, brief};
use super::strided::MAX_RANK;
use crate::types::dtype::DType;
use crate::types::value::{Tensor, elements};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The longest header that is read, as in the format's own reader.
const MAX_HEADER: usize = 100_000_000;

/// A tensor as the header states it; the range is checked against the file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    /// Bytes from the file's start.
    pub begin: usize,
    pub end: usize,
}

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

struct Header(Vec<(String, Info)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Header, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut out = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<HashMap<String, String>>()?;
                    } else {
                        out.push((name, map.next_value()?));
                    }
                }
                Ok(Header(out))
            }
        }
        d.deserialize_map(InOrder)
    }
}

/// The dtype of a header's name; `None` for those the language does not have.
fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "F64" => DType::F64,
        "F32" => DType::F32,
        "F16" => DType::F16,
        "BF16" => DType::Bf16,
        "F8_E4M3" => DType::F8e4m3,
        "F8_E5M2" => DType::F8e5m2,
        "F8_E8M0" => DType::F8e8m0,
        "F4" => DType::F4e2m1,
        "I64" => DType::I64,
        "I32" => DType::I32,
        "I16" => DType::I16,
        "I8" => DType::I8,
        "U64" => DType::U64,
        "U32" => DType::U32,
        "U8" => DType::U8,
        "BOOL" => DType::Bool,
        _ => return None,
    })
}

fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "F64",
        // tf32 is an f32 of fewer bits; the format has no name for it.
        DType::F32 | DType::Tf32 => "F32",
        DType::F16 => "F16",
        DType::Bf16 => "BF16",
        DType::F8e4m3 => "F8_E4M3",
        DType::F8e5m2 => "F8_E5M2",
        DType::F8e8m0 => "F8_E8M0",
        DType::F4e2m1 => "F4",
        DType::I64 => "I64",
        DType::I32 => "I32",
        DType::I16 => "I16",
        DType::I8 => "I8",
        DType::U64 => "U64",
        DType::U32 => "U32",
        DType::U8 => "U8",
        DType::Bool => "BOOL",
    }
}

/// The tensors that the header lists, in its order. Their ranges tile the rest of the file:
/// none overlap, so that what they hold together is no more than the file.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, ReadError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        let found = bytes.len();
        return Err(ReadError::new(format!(
            "expected 8 bytes of header length, found {found} bytes in all"
        ))
        .at(0));
    };
    let length = u64::from_le_bytes(*length);
    let header = usize::try_from(length).ok().filter(|&n| n <= MAX_HEADER);
    let Some((header, data)) = header.and_then(|n| rest.split_at_checked(n)) else {
        return Err(ReadError::new(format!(
            "expected a header inside the {} bytes that follow, found a length of {length}",
            rest.len()
        ))
        .at(0));
    };
    let Header(list) = serde_json::from_slice(header).map_err(|e| {
        // The header is one line as a rule; then the column is the byte.
        let at = if e.line() <= 1 { 8 + e.column().saturating_sub(1) } else { 8 };
        ReadError::new(format!("header is not as expected: {}", brief(&e.to_string()))).at(at)
    })?;
    let start = bytes.len() - data.len();
    let mut names = HashSet::new();
    let mut out = Vec::with_capacity(list.len());
    for (name, info) in &list {
        let wrong = |what: String| Err(ReadError::new(what).in_entry(name));
        if !names.insert(name.as_str()) {
            return wrong("expected each name once, found it twice".into());
        }
        let (begin, end) = info.data_offsets;
        if begin > end || end > data.len() {
            return wrong(format!(
                "expected offsets within the {} bytes of data, found {begin} to {end}",
                data.len()
            ));
        }
        if info.shape.len() > MAX_RANK {
            let found = info.shape.len();
            return wrong(format!("expected at most {MAX_RANK} axes, found {found}"));
        }
        out.push((begin, end, name, info));
    }
    // The data is tiled: in the order of offsets each tensor starts where the last one ended.
    let mut tiled: Vec<_> = out.iter().map(|&(begin, end, name, _)| (begin, end, name)).collect();
    tiled.sort();
    let mut at = 0;
    for (begin, end, name) in tiled {
        if begin != at {
            let what = format!("expected data from offset {at} on, found {begin}");
            return Err(ReadError::new(what).in_entry(name));
        }
        at = end;
    }
    if at != data.len() {
        let found = data.len();
        let what = format!("expected {at} bytes of data after the header, found {found}");
        return Err(ReadError::new(what).at(start));
    }
    Ok(list
        .into_iter()
        .map(|(name, info)| Entry {
            name,
            dtype: info.dtype,
            shape: info.shape,
            begin: start + info.data_offsets.0,
            end: start + info.data_offsets.1,
        })
        .collect())
}

/// The tensor of an entry of these bytes.
pub(super) fn tensor(bytes: &[u8], entry: &Entry) -> Result<Tensor, ReadError> {
    let wrong = |what: String| ReadError::new(what).in_entry(&entry.name).at(entry.begin);
    let Some(dtype) = dtype(&entry.dtype) else {
        return Err(wrong(format!(
            "expected a dtype of the language, found `{}`",
            brief(&entry.dtype)
        )));
    };
    whole_bytes(dtype, &entry.shape).map_err(wrong)?;
    let content = bytes.get(entry.begin..entry.end).unwrap_or_default();
    Tensor::from_bytes(dtype, entry.shape.clone(), content).map_err(|e| wrong(e.to_string()))
}

/// Two f4e2m1 elements share a byte, over the ends of rows too; the format has no half of one.
fn whole_bytes(dtype: DType, shape: &[usize]) -> Result<(), String> {
    match elements(shape) {
        Some(n) if dtype == DType::F4e2m1 && n % 2 == 1 => {
            Err(format!("expected an even number of f4e2m1 elements, found {n} of shape {shape:?}"))
        }
        _ => Ok(()),
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Vec<NamedTensor>, ReadError> {
    let entries = entries(bytes)?;
    let mut out = Vec::with_capacity(entries.len());
    for entry in entries {
        let tensor = tensor(bytes, &entry)?;
        out.push(NamedTensor { name: Some(entry.name), tensor });
    }
    Ok(out)
}

/// A safetensors file of these tensors. The header keeps their order; the data is ordered by
/// width, so that every tensor is aligned. tf32 is written as F32.
///
/// # Errors
/// When two have one name, a name is `__metadata__`, or an f4e2m1 tensor has an odd number of
/// elements, which the format cannot hold.
pub fn write_safetensors(tensors: &[(String, Tensor)]) -> Result<Vec<u8>, ReadError> {
    let mut names = HashSet::new();
    for (name, tensor) in tensors {
        let wrong = |what: &str| Err(ReadError::new(what).in_entry(name));
        if name == "__metadata__" {
            return wrong("expected a tensor's name, found the format's own");
        }
        if !names.insert(name) {
            return wrong("expected each name once, found it twice");
        }
        if let Err(e) = whole_bytes(tensor.dtype(), tensor.shape()) {
            return wrong(&e);
        }
    }
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(tensors[i].1.dtype().bits()));
    let mut data = Vec::new();
    let mut offsets = vec![(0, 0); tensors.len()];
    for i in order {
        let begin = data.len();
        data.extend_from_slice(&tensors[i].1.to_bytes());
        offsets[i] = (begin, data.len());
    }
    let mut header = serde_json::Map::new();
    for ((name, tensor), (begin, end)) in tensors.iter().zip(offsets) {
        let info = serde_json::json!({
            "dtype": dtype_name(tensor.dtype()),
            "shape": tensor.shape(),
            "data_offsets": [begin, end],
        });
        header.insert(name.clone(), info);
    }
    let mut text = serde_json::Value::Object(header).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    let mut out = Vec::with_capacity(8 + text.len() + data.len());
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(&data);
    Ok(out)
}

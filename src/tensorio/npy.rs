//! numpy's npy (versions 1 to 3) and npz (a zip of them).
//!
//! Source: numpy.lib.format. The header is a Python dict literal of `descr`, `fortran_order` and
//! `shape`; object and structured arrays are refused.

use super::NamedTensor;
use super::error::{ReadError, brief};
use super::strided::{MAX_RANK, View, swap_bytes};
use super::zipped::Zipped;
use crate::types::dtype::DType;
use crate::types::value::{Tensor, elements};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

#[derive(Default)]
struct Header {
    descr: Option<String>,
    fortran: Option<bool>,
    shape: Option<Vec<usize>>,
}

/// Reads the dict literal; `at` counts from `base` in the file.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
    base: usize,
}

impl Literal<'_> {
    fn wrong<T>(&self, expected: &str) -> Result<T, ReadError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = String::from_utf8_lossy(&rest[..rest.len().min(20)]).into_owned();
        let what = format!("expected {expected} in the header, found `{}`", brief(&found));
        Err(ReadError::new(what).at(self.base + self.at))
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, c: u8) -> bool {
        let eaten = self.peek() == Some(c);
        self.at += eaten as usize;
        eaten
    }

    fn string(&mut self) -> Result<String, ReadError> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return self.wrong("a string");
        };
        let rest = &self.text[self.at + 1..];
        let Some(length) = rest.iter().position(|&c| c == quote) else {
            return self.wrong("a closed string");
        };
        self.at += length + 2;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn boolean(&mut self) -> Result<bool, ReadError> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.wrong("True or False")
    }

    fn integer(&mut self) -> Result<usize, ReadError> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let value = std::str::from_utf8(&rest[..digits]).ok().and_then(|s| s.parse().ok());
        let Some(value) = value else {
            return self.wrong("an extent");
        };
        self.at += digits;
        // Python 2 wrote long integers with a suffix.
        self.eat(b'L');
        Ok(value)
    }

    fn shape(&mut self) -> Result<Vec<usize>, ReadError> {
        if !self.eat(b'(') {
            return self.wrong("a tuple of extents");
        }
        let mut out = Vec::new();
        while !self.eat(b')') {
            if out.len() == MAX_RANK {
                return self.wrong("at most 64 axes");
            }
            out.push(self.integer()?);
            if !self.eat(b',') && self.peek() != Some(b')') {
                return self.wrong("`,` or `)`");
            }
        }
        Ok(out)
    }

    fn dict(&mut self) -> Result<Header, ReadError> {
        let mut out = Header::default();
        if !self.eat(b'{') {
            return self.wrong("`{`");
        }
        while !self.eat(b'}') {
            let key = self.string()?;
            if !self.eat(b':') {
                return self.wrong("`:`");
            }
            match key.as_str() {
                "descr" => out.descr = Some(self.string()?),
                "fortran_order" => out.fortran = Some(self.boolean()?),
                "shape" => out.shape = Some(self.shape()?),
                _ => return self.wrong("`descr`, `fortran_order` or `shape`"),
            }
            if !self.eat(b',') && self.peek() != Some(b'}') {
                return self.wrong("`,` or `}`");
            }
        }
        Ok(out)
    }
}

/// The dtype of a `descr`, and whether its bytes are swapped.
fn dtype(descr: &str) -> Result<(DType, bool), String> {
    let mut chars = descr.chars();
    let order = chars.next();
    let dtype = match chars.as_str() {
        "f8" => DType::F64,
        "f4" => DType::F32,
        "f2" => DType::F16,
        "i8" => DType::I64,
        "i4" => DType::I32,
        "i2" => DType::I16,
        "i1" => DType::I8,
        "u8" => DType::U64,
        "u4" => DType::U32,
        "u1" => DType::U8,
        "b1" => DType::Bool,
        "V1" | "V2" => {
            return Err(format!(
                "expected a dtype of numpy's, found raw bytes (`{descr}`), as bf16 and f8 arrays \
                 are saved: save them as safetensors"
            ));
        }
        _ => return Err(format!("expected a dtype of the language, found `{}`", brief(descr))),
    };
    match order {
        Some('<' | '=') => Ok((dtype, false)),
        Some('>') => Ok((dtype, true)),
        Some('|') if dtype.bits() == 8 => Ok((dtype, false)),
        _ => Err(format!("expected a byte order of `<`, `>` or `|`, found `{}`", brief(descr))),
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Tensor, ReadError> {
    let wrong = |what: String, at| Err(ReadError::new(what).at(at));
    let short = |expected: usize| {
        wrong(format!("expected {expected} bytes of header, found {}", bytes.len()), 0)
    };
    if !bytes.starts_with(MAGIC) {
        return wrong("expected an npy file (it starts with `\\x93NUMPY`), found none".into(), 0);
    }
    let (Some(&major), Some(length)) = (bytes.get(6), bytes.get(8..)) else {
        return short(10);
    };
    let (header, length) = match (major, length) {
        (1, &[a, b, ..]) => (10, u16::from_le_bytes([a, b]) as usize),
        (2 | 3, &[a, b, c, d, ..]) => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        (1..=3, _) => return short(12),
        _ => return wrong(format!("expected version 1, 2 or 3, found {major}"), 6),
    };
    let text = bytes.get(header..).and_then(|rest| rest.split_at_checked(length));
    let Some((text, data)) = text else {
        return short(header + length);
    };
    let stated = Literal { text, at: 0, base: header }.dict()?;
    let (Some(descr), Some(fortran), Some(shape)) = (stated.descr, stated.fortran, stated.shape)
    else {
        let what = "expected `descr`, `fortran_order` and `shape`, found not all of them";
        return wrong(what.into(), header);
    };
    let (dtype, swapped) = dtype(&descr).map_err(|what| ReadError::new(what).at(header))?;
    let size = dtype.bits() as usize / 8;
    let start = header + length;
    let expected = elements(&shape).and_then(|n| n.checked_mul(size));
    if expected != Some(data.len()) {
        let expected = expected.map_or("more than memory has".to_string(), |n| n.to_string());
        let found = data.len();
        return wrong(
            format!("expected {expected} bytes of {dtype} data for shape {shape:?}, found {found}"),
            start,
        );
    }
    let value = |shape, data: &[u8]| {
        Tensor::from_bytes(dtype, shape, data).map_err(|e| ReadError::new(e.to_string()).at(start))
    };
    let ordered = !fortran || shape.len() <= 1;
    if ordered && !swapped {
        return value(shape, data);
    }
    let mut strides = vec![0; shape.len()];
    let mut stride = 1usize;
    let mut set = |axis: usize| {
        strides[axis] = stride;
        // A shape with an empty axis may overflow here; it has no elements to find.
        stride = stride.saturating_mul(shape[axis]);
    };
    if fortran {
        (0..shape.len()).for_each(&mut set);
    } else {
        (0..shape.len()).rev().for_each(&mut set);
    }
    let view = View { bytes: data, size, offset: 0, shape: &shape, strides: &strides };
    let mut ordered = view.gather()?;
    if swapped {
        swap_bytes(&mut ordered, size);
    }
    value(shape, &ordered)
}

/// The arrays of an npz, named without their `.npy`.
pub(super) fn read_npz(bytes: &[u8]) -> Result<Vec<NamedTensor>, ReadError> {
    let mut archive = Zipped::open(bytes)?;
    let mut out = Vec::new();
    for entry in archive.names().to_vec() {
        let content = archive.entry(&entry)?;
        let tensor = read(&content).map_err(|e| e.in_entry(&entry))?;
        let name = entry.strip_suffix(".npy").unwrap_or(&entry).to_string();
        out.push(NamedTensor { name: Some(name), tensor });
    }
    Ok(out)
}

/// An npy file, version 1, little-endian, in row-major order. tf32 is written as f4. The types
/// numpy does not have are written as raw bytes (`V1`, `V2`; f4e2m1 one to a byte), which say
/// nothing of their meaning: use safetensors for them.
pub fn write_npy(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype() {
        DType::F64 => "<f8",
        DType::F32 | DType::Tf32 => "<f4",
        DType::F16 => "<f2",
        DType::Bf16 => "<V2",
        DType::F8e4m3 | DType::F8e5m2 | DType::F8e8m0 | DType::F4e2m1 => "|V1",
        DType::I64 => "<i8",
        DType::I32 => "<i4",
        DType::I16 => "<i2",
        DType::I8 => "|i1",
        DType::U64 => "<u8",
        DType::U32 => "<u4",
        DType::U8 => "|u1",
        DType::Bool => "|b1",
    };
    // As Python writes a tuple: `()`, `(2,)`, `(2, 3)`.
    let extents: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
    let extents = extents.join(", ") + if tensor.rank() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    if tensor.dtype() == DType::F4e2m1 {
        out.extend((0..tensor.len()).map(|i| tensor.bits(i) as u8));
    } else {
        out.extend_from_slice(&tensor.to_bytes());
    }
    out
}

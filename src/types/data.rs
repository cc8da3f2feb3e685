//! The elements of tensors: vectors of one type each, and slices of them.

use super::dtype::DType;
use half::{bf16, f16};
use std::ops::Range;

/// The elements of a tensor, one variant for each width and kind of storage.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    F64(Vec<f64>),
    /// f32, and tf32 with its 13 low bits zero.
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    /// Codes of f8e4m3, f8e5m2, f8e8m0, f4e2m1 (one a byte, in the low four bits) and bool (0, 1).
    Bits8(Vec<u8>),
    I64(Vec<i64>),
    I32(Vec<i32>),
    I16(Vec<i16>),
    I8(Vec<i8>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    U8(Vec<u8>),
}

/// Elements of a tensor where they lie, in the variant that [`Data`] would hold them in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slice<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    F16(&'a [f16]),
    Bf16(&'a [bf16]),
    Bits8(&'a [u8]),
    I64(&'a [i64]),
    I32(&'a [i32]),
    I16(&'a [i16]),
    I8(&'a [i8]),
    U64(&'a [u64]),
    U32(&'a [u32]),
    U8(&'a [u8]),
}

/// Evaluates an expression with the vector inside, whatever its type.
macro_rules! each {
    ($data:expr, $v:ident => $e:expr) => {
        match $data {
            Data::F64($v) => $e,
            Data::F32($v) => $e,
            Data::F16($v) => $e,
            Data::Bf16($v) => $e,
            Data::Bits8($v) => $e,
            Data::I64($v) => $e,
            Data::I32($v) => $e,
            Data::I16($v) => $e,
            Data::I8($v) => $e,
            Data::U64($v) => $e,
            Data::U32($v) => $e,
            Data::U8($v) => $e,
        }
    };
}

/// The same expression on the elements inside, whatever their type; it gives a vector of that type.
macro_rules! same {
    ($slice:expr, $v:ident => $e:expr) => {
        match $slice {
            Slice::F64($v) => Data::F64($e),
            Slice::F32($v) => Data::F32($e),
            Slice::F16($v) => Data::F16($e),
            Slice::Bf16($v) => Data::Bf16($e),
            Slice::Bits8($v) => Data::Bits8($e),
            Slice::I64($v) => Data::I64($e),
            Slice::I32($v) => Data::I32($e),
            Slice::I16($v) => Data::I16($e),
            Slice::I8($v) => Data::I8($e),
            Slice::U64($v) => Data::U64($e),
            Slice::U32($v) => Data::U32($e),
            Slice::U8($v) => Data::U8($e),
        }
    };
}

/// Evaluates an expression with both vectors when they are of one type, `$other` otherwise.
macro_rules! pair {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $e:expr, _ => $other:expr) => {
        match ($a, $b) {
            (Data::F64($x), Slice::F64($y)) => $e,
            (Data::F32($x), Slice::F32($y)) => $e,
            (Data::F16($x), Slice::F16($y)) => $e,
            (Data::Bf16($x), Slice::Bf16($y)) => $e,
            (Data::Bits8($x), Slice::Bits8($y)) => $e,
            (Data::I64($x), Slice::I64($y)) => $e,
            (Data::I32($x), Slice::I32($y)) => $e,
            (Data::I16($x), Slice::I16($y)) => $e,
            (Data::I8($x), Slice::I8($y)) => $e,
            (Data::U64($x), Slice::U64($y)) => $e,
            (Data::U32($x), Slice::U32($y)) => $e,
            (Data::U8($x), Slice::U8($y)) => $e,
            _ => $other,
        }
    };
}

impl Data {
    /// The number of elements.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements that its memory has room for.
    pub(super) fn capacity(&self) -> usize {
        each!(self, v => v.capacity())
    }

    /// Bytes of an element as it is held.
    pub(super) fn width(&self) -> usize {
        match self {
            Data::F64(_) | Data::I64(_) | Data::U64(_) => 8,
            Data::F32(_) | Data::I32(_) | Data::U32(_) => 4,
            Data::F16(_) | Data::Bf16(_) | Data::I16(_) => 2,
            Data::Bits8(_) | Data::I8(_) | Data::U8(_) => 1,
        }
    }

    /// Drops the elements from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        each!(self, v => v.truncate(len));
    }

    /// Some of the elements.
    pub(super) fn slice(&self, part: Range<usize>) -> Slice<'_> {
        match self {
            Data::F64(v) => Slice::F64(&v[part]),
            Data::F32(v) => Slice::F32(&v[part]),
            Data::F16(v) => Slice::F16(&v[part]),
            Data::Bf16(v) => Slice::Bf16(&v[part]),
            Data::Bits8(v) => Slice::Bits8(&v[part]),
            Data::I64(v) => Slice::I64(&v[part]),
            Data::I32(v) => Slice::I32(&v[part]),
            Data::I16(v) => Slice::I16(&v[part]),
            Data::I8(v) => Slice::I8(&v[part]),
            Data::U64(v) => Slice::U64(&v[part]),
            Data::U32(v) => Slice::U32(&v[part]),
            Data::U8(v) => Slice::U8(&v[part]),
        }
    }

    /// Whether elements of `dtype` are held by this variant.
    pub fn holds(&self, dtype: DType) -> bool {
        match self {
            Data::F64(_) => dtype == DType::F64,
            Data::F32(_) => matches!(dtype, DType::F32 | DType::Tf32),
            Data::F16(_) => dtype == DType::F16,
            Data::Bf16(_) => dtype == DType::Bf16,
            Data::Bits8(_) => matches!(
                dtype,
                DType::F8e4m3 | DType::F8e5m2 | DType::F8e8m0 | DType::F4e2m1 | DType::Bool
            ),
            Data::I64(_) => dtype == DType::I64,
            Data::I32(_) => dtype == DType::I32,
            Data::I16(_) => dtype == DType::I16,
            Data::I8(_) => dtype == DType::I8,
            Data::U64(_) => dtype == DType::U64,
            Data::U32(_) => dtype == DType::U32,
            Data::U8(_) => dtype == DType::U8,
        }
    }
}

pub(crate) use {pair, same};

/// Bytes as elements of `dtype`; `None` where they are not aligned for it.
pub(super) fn view(dtype: DType, bytes: &[u8]) -> Option<Slice<'_>> {
    use bytemuck::try_cast_slice as cast;
    Some(match dtype {
        DType::F64 => Slice::F64(cast(bytes).ok()?),
        DType::F32 | DType::Tf32 => Slice::F32(cast(bytes).ok()?),
        DType::F16 => Slice::F16(cast(bytes).ok()?),
        DType::Bf16 => Slice::Bf16(cast(bytes).ok()?),
        DType::F8e4m3 | DType::F8e5m2 | DType::F8e8m0 | DType::F4e2m1 | DType::Bool => {
            Slice::Bits8(bytes)
        }
        DType::I64 => Slice::I64(cast(bytes).ok()?),
        DType::I32 => Slice::I32(cast(bytes).ok()?),
        DType::I16 => Slice::I16(cast(bytes).ok()?),
        DType::I8 => Slice::I8(cast(bytes).ok()?),
        DType::U64 => Slice::U64(cast(bytes).ok()?),
        DType::U32 => Slice::U32(cast(bytes).ok()?),
        DType::U8 => Slice::U8(bytes),
    })
}

//! Tensors: the values of the evaluator and of the file readers.
//!
//! A tensor is a dtype, a shape and its elements in row-major order, contiguous. Elements
//! are shared until written, so `clone` and `reshape` cost nothing.

use super::block::{put, rows, take};
use super::cast::{float_data, integer_data, single_data};
use super::convert as cv;
use super::dtype::DType;
use half::{bf16, f16};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

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

/// Evaluates an expression with both vectors when they are of one type, `$other` otherwise.
macro_rules! pair {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $e:expr, _ => $other:expr) => {
        match ($a, $b) {
            (Data::F64($x), Data::F64($y)) => $e,
            (Data::F32($x), Data::F32($y)) => $e,
            (Data::F16($x), Data::F16($y)) => $e,
            (Data::Bf16($x), Data::Bf16($y)) => $e,
            (Data::Bits8($x), Data::Bits8($y)) => $e,
            (Data::I64($x), Data::I64($y)) => $e,
            (Data::I32($x), Data::I32($y)) => $e,
            (Data::I16($x), Data::I16($y)) => $e,
            (Data::I8($x), Data::I8($y)) => $e,
            (Data::U64($x), Data::U64($y)) => $e,
            (Data::U32($x), Data::U32($y)) => $e,
            (Data::U8($x), Data::U8($y)) => $e,
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

/// Why a tensor cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// The shape has more elements than memory can address.
    TooLarge { shape: Vec<usize> },
    /// The data's length is not the shape's.
    Length { dtype: DType, shape: Vec<usize>, expected: usize, found: usize, unit: &'static str },
    /// The data's variant does not hold the dtype.
    Variant { dtype: DType },
    /// A code that the dtype does not have.
    Code { dtype: DType, index: usize, code: u8 },
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::TooLarge { shape } => write!(f, "shape {shape:?} has too many elements"),
            ValueError::Length { dtype, shape, expected, found, unit } => {
                write!(f, "{dtype} of shape {shape:?} takes {expected} {unit}, found {found}")
            }
            ValueError::Variant { dtype } => {
                write!(f, "the elements given are not stored as {dtype} is")
            }
            ValueError::Code { dtype, index, code } => {
                write!(f, "element {index} is {code:#04x}, which no {dtype} is")
            }
        }
    }
}

impl std::error::Error for ValueError {}

/// The number of elements of a shape; `None` when it overflows.
pub fn elements(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// A tensor: row-major, contiguous, its elements shared until written.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    data: Arc<Data>,
}

impl Tensor {
    /// A tensor of these elements. f32 elements given for tf32 are rounded to it.
    ///
    /// # Errors
    /// When the length is not the shape's, the variant does not hold `dtype`, or a code is out
    /// of range (f4e2m1 above 15, bool above 1).
    pub fn new(dtype: DType, shape: Vec<usize>, mut data: Data) -> Result<Tensor, ValueError> {
        let Some(expected) = elements(&shape) else {
            return Err(ValueError::TooLarge { shape });
        };
        if !data.holds(dtype) {
            return Err(ValueError::Variant { dtype });
        }
        let found = data.len();
        if found != expected {
            return Err(ValueError::Length { dtype, shape, expected, found, unit: "elements" });
        }
        match &mut data {
            Data::F32(v) if dtype == DType::Tf32 => {
                v.iter_mut().for_each(|x| *x = cv::tf32_of_f32(*x));
            }
            Data::Bits8(v) if matches!(dtype, DType::F4e2m1 | DType::Bool) => {
                let top = if dtype == DType::Bool { 1 } else { 15 };
                if let Some(index) = v.iter().position(|&c| c > top) {
                    return Err(ValueError::Code { dtype, index, code: v[index] });
                }
            }
            _ => {}
        }
        Ok(Tensor { dtype, shape, data: Arc::new(data) })
    }

    /// What the crate's own code builds: it gives as many elements as the shape has.
    fn build(dtype: DType, shape: Vec<usize>, data: Data) -> Tensor {
        assert_eq!(Some(data.len()), elements(&shape), "{dtype} elements for shape {shape:?}");
        debug_assert!(data.holds(dtype));
        Tensor { dtype, shape, data: Arc::new(data) }
    }

    /// Zero everywhere. f8e8m0 has no zero: there it is NaN, as a cast of 0 gives.
    pub fn zeros(dtype: DType, shape: Vec<usize>) -> Tensor {
        Tensor::full(dtype, shape, 0.0)
    }

    /// `value`, cast to `dtype`, everywhere.
    ///
    /// # Panics
    /// When the shape has more elements than memory can address.
    pub fn full(dtype: DType, shape: Vec<usize>, value: f64) -> Tensor {
        let n = elements(&shape);
        assert!(n.is_some(), "shape {shape:?} has too many elements");
        let n = n.unwrap_or(0);
        let one = float_data(dtype, &[value]);
        let data = match one {
            Data::F64(v) => Data::F64(vec![v[0]; n]),
            Data::F32(v) => Data::F32(vec![v[0]; n]),
            Data::F16(v) => Data::F16(vec![v[0]; n]),
            Data::Bf16(v) => Data::Bf16(vec![v[0]; n]),
            Data::Bits8(v) => Data::Bits8(vec![v[0]; n]),
            Data::I64(v) => Data::I64(vec![v[0]; n]),
            Data::I32(v) => Data::I32(vec![v[0]; n]),
            Data::I16(v) => Data::I16(vec![v[0]; n]),
            Data::I8(v) => Data::I8(vec![v[0]; n]),
            Data::U64(v) => Data::U64(vec![v[0]; n]),
            Data::U32(v) => Data::U32(vec![v[0]; n]),
            Data::U8(v) => Data::U8(vec![v[0]; n]),
        };
        Tensor::build(dtype, shape, data)
    }

    /// A rank-0 tensor of `value` cast to `dtype`.
    pub fn scalar(dtype: DType, value: f64) -> Tensor {
        Tensor::full(dtype, Vec::new(), value)
    }

    /// A rank-0 tensor of an integer cast to `dtype`.
    pub fn scalar_i64(dtype: DType, value: i64) -> Tensor {
        Tensor::from_i64s(dtype, Vec::new(), vec![value])
    }

    /// Elements in row-major order, each rounded once to `dtype`.
    ///
    /// # Panics
    /// When the count is not the shape's.
    pub fn from_f64_iter(
        dtype: DType,
        shape: Vec<usize>,
        values: impl IntoIterator<Item = f64>,
    ) -> Tensor {
        Tensor::from_f64s(dtype, shape, values.into_iter().collect())
    }

    /// As [`Tensor::from_f64_iter`].
    pub fn from_f64s(dtype: DType, shape: Vec<usize>, values: Vec<f64>) -> Tensor {
        let data = match dtype {
            DType::F64 => Data::F64(values),
            _ => float_data(dtype, &values),
        };
        Tensor::build(dtype, shape, data)
    }

    /// As [`Tensor::from_f64_iter`].
    pub fn from_f32s(dtype: DType, shape: Vec<usize>, values: Vec<f32>) -> Tensor {
        let data = match dtype {
            DType::F32 => Data::F32(values),
            _ => single_data(dtype, &values),
        };
        Tensor::build(dtype, shape, data)
    }

    /// Integers in row-major order, cast to `dtype`.
    ///
    /// # Panics
    /// When the count is not the shape's.
    pub fn from_i64s(dtype: DType, shape: Vec<usize>, values: Vec<i64>) -> Tensor {
        Tensor::build(DType::I64, shape, Data::I64(values)).cast(dtype)
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The same elements under another shape, shared.
    ///
    /// # Panics
    /// When the shapes differ in their number of elements.
    pub fn reshape(&self, shape: Vec<usize>) -> Tensor {
        assert_eq!(Some(self.len()), elements(&shape), "reshape {:?} to {shape:?}", self.shape);
        Tensor { dtype: self.dtype, shape, data: Arc::clone(&self.data) }
    }

    /// The table of an 8-bit float type's values; bool has none.
    fn table(&self) -> Option<&'static [f32; 256]> {
        match self.dtype {
            DType::F8e4m3 => Some(&cv::E4M3_VALUES),
            DType::F8e5m2 => Some(&cv::E5M2_VALUES),
            DType::F8e8m0 => Some(&cv::E8M0_VALUES),
            DType::F4e2m1 => Some(&cv::E2M1_VALUES),
            _ => None,
        }
    }

    /// The elements as f32: exact for types that f32 holds, rounded once for f64 and wide
    /// integers; bools are 0 and 1.
    pub fn to_f32s(&self) -> Cow<'_, [f32]> {
        Cow::Owned(match &*self.data {
            Data::F32(v) => return Cow::Borrowed(v),
            Data::F64(v) => cv::map(v, |x| x as f32),
            Data::F16(v) => cv::f32s_of_f16s(v),
            Data::Bf16(v) => cv::map(v, |x| f32::from_bits((x.to_bits() as u32) << 16)),
            Data::Bits8(v) => match self.table() {
                Some(table) => cv::map(v, |c| table[c as usize]),
                None => cv::map(v, |c| c as f32),
            },
            Data::I64(v) => cv::map(v, |x| x as f32),
            Data::I32(v) => cv::map(v, |x| x as f32),
            Data::I16(v) => cv::map(v, |x| x as f32),
            Data::I8(v) => cv::map(v, |x| x as f32),
            Data::U64(v) => cv::map(v, |x| x as f32),
            Data::U32(v) => cv::map(v, |x| x as f32),
            Data::U8(v) => cv::map(v, |x| x as f32),
        })
    }

    /// The elements as f64: exact except for integers beyond 2^53; bools are 0 and 1.
    pub fn to_f64s(&self) -> Cow<'_, [f64]> {
        Cow::Owned(match &*self.data {
            Data::F64(v) => return Cow::Borrowed(v),
            Data::I64(v) => cv::map(v, |x| x as f64),
            Data::I32(v) => cv::map(v, |x| x as f64),
            Data::U64(v) => cv::map(v, |x| x as f64),
            Data::U32(v) => cv::map(v, |x| x as f64),
            _ => cv::map(&self.to_f32s(), |x| x as f64),
        })
    }

    /// The elements as i64. u64 wraps; floats truncate, saturate, and NaN is 0.
    pub fn to_i64s(&self) -> Cow<'_, [i64]> {
        Cow::Owned(match &*self.data {
            Data::I64(v) => return Cow::Borrowed(v),
            Data::I32(v) => cv::map(v, |x| x as i64),
            Data::I16(v) => cv::map(v, |x| x as i64),
            Data::I8(v) => cv::map(v, |x| x as i64),
            Data::U64(v) => cv::map(v, |x| x as i64),
            Data::U32(v) => cv::map(v, |x| x as i64),
            Data::U8(v) => cv::map(v, |x| x as i64),
            Data::F64(v) => cv::map(v, |x| x as i64),
            _ => cv::map(&self.to_f32s(), |x| x as i64),
        })
    }

    /// Element `i` in row-major order, as [`Tensor::to_f64s`] gives it.
    ///
    /// # Panics
    /// When `i` is not below `len()`; so do `get_i64` and `bits`.
    pub fn get_f64(&self, i: usize) -> f64 {
        match &*self.data {
            Data::F64(v) => v[i],
            Data::F32(v) => v[i] as f64,
            Data::F16(v) => v[i].to_f64(),
            Data::Bf16(v) => v[i].to_f64(),
            Data::Bits8(v) => match self.table() {
                Some(table) => table[v[i] as usize] as f64,
                None => v[i] as f64,
            },
            Data::I64(v) => v[i] as f64,
            Data::U64(v) => v[i] as f64,
            _ => self.get_i64(i) as f64,
        }
    }

    /// Element `i` in row-major order, as [`Tensor::to_i64s`] gives it.
    pub fn get_i64(&self, i: usize) -> i64 {
        match &*self.data {
            Data::I64(v) => v[i],
            Data::I32(v) => v[i] as i64,
            Data::I16(v) => v[i] as i64,
            Data::I8(v) => v[i] as i64,
            Data::U64(v) => v[i] as i64,
            Data::U32(v) => v[i] as i64,
            Data::U8(v) => v[i] as i64,
            _ => self.get_f64(i) as i64,
        }
    }

    /// The bit pattern of element `i`, zero-extended: 4 bits of f4e2m1, 32 of tf32.
    pub fn bits(&self, i: usize) -> u64 {
        match &*self.data {
            Data::F64(v) => v[i].to_bits(),
            Data::F32(v) => v[i].to_bits() as u64,
            Data::F16(v) => v[i].to_bits() as u64,
            Data::Bf16(v) => v[i].to_bits() as u64,
            Data::Bits8(v) => v[i] as u64,
            Data::I64(v) => v[i] as u64,
            Data::I32(v) => v[i] as u32 as u64,
            Data::I16(v) => v[i] as u16 as u64,
            Data::I8(v) => v[i] as u8 as u64,
            Data::U64(v) => v[i],
            Data::U32(v) => v[i] as u64,
            Data::U8(v) => v[i] as u64,
        }
    }

    /// The elements converted to `dtype`.
    ///
    /// To a float: rounded once, to nearest even; overflow and NaN as the module [`cv`] lists
    /// them. Float to integer truncates, saturates, and NaN is 0. Integer to integer wraps. To
    /// bool: whether the element is not zero (NaN is true).
    ///
    /// [`cv`]: super::convert
    pub fn cast(&self, dtype: DType) -> Tensor {
        if dtype == self.dtype {
            return self.clone();
        }
        if self.dtype == DType::Tf32 && dtype == DType::F32 {
            return Tensor { dtype, shape: self.shape.clone(), data: Arc::clone(&self.data) };
        }
        let data = match &*self.data {
            Data::F64(v) => float_data(dtype, v),
            Data::F32(v) => single_data(dtype, v),
            Data::F16(_) | Data::Bf16(_) | Data::Bits8(_) => single_data(dtype, &self.to_f32s()),
            Data::U64(v) if dtype.is_float() => match dtype {
                DType::F64 => Data::F64(self.to_f64s().into_owned()),
                _ => float_data(dtype, &cv::map(v, cv::odd_f64_of_u64)),
            },
            Data::I64(v) if dtype.is_float() => match dtype {
                DType::F64 => Data::F64(self.to_f64s().into_owned()),
                _ => float_data(dtype, &cv::map(v, cv::odd_f64_of_i64)),
            },
            // Exact in f64, for all that is left is 32 bits or fewer.
            _ if dtype.is_float() => float_data(dtype, &self.to_f64s()),
            _ => integer_data(dtype, &self.to_i64s()),
        };
        Tensor { dtype, shape: self.shape.clone(), data: Arc::new(data) }
    }

    /// The elements as files hold them: little-endian, row-major; f4e2m1 two to a byte, the
    /// first in the low nibble.
    pub fn to_bytes(&self) -> Vec<u8> {
        fn le<T: Copy, const N: usize>(v: &[T], f: impl Fn(T) -> [u8; N]) -> Vec<u8> {
            let mut out = vec![0; v.len() * N];
            for (out, &x) in out.as_chunks_mut::<N>().0.iter_mut().zip(v) {
                *out = f(x);
            }
            out
        }
        match &*self.data {
            Data::F64(v) => le(v, f64::to_le_bytes),
            Data::F32(v) => le(v, f32::to_le_bytes),
            Data::F16(v) => le(v, f16::to_le_bytes),
            Data::Bf16(v) => le(v, bf16::to_le_bytes),
            Data::Bits8(v) if self.dtype == DType::F4e2m1 => {
                v.chunks(2).map(|c| c[0] | (c.get(1).copied().unwrap_or(0) << 4)).collect()
            }
            Data::Bits8(v) | Data::U8(v) => v.clone(),
            Data::I64(v) => le(v, i64::to_le_bytes),
            Data::I32(v) => le(v, i32::to_le_bytes),
            Data::I16(v) => le(v, i16::to_le_bytes),
            Data::I8(v) => le(v, i8::to_le_bytes),
            Data::U64(v) => le(v, u64::to_le_bytes),
            Data::U32(v) => le(v, u32::to_le_bytes),
        }
    }

    /// The inverse of [`Tensor::to_bytes`]; a bool byte that is not zero is true.
    ///
    /// # Errors
    /// When the bytes are not exactly as many as the shape takes.
    pub fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: &[u8]) -> Result<Tensor, ValueError> {
        fn le<T, const N: usize>(bytes: &[u8], f: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|&c| f(c)).collect()
        }
        let count = elements(&shape).filter(|&n| n.checked_mul(64).is_some());
        let Some(count) = count else {
            return Err(ValueError::TooLarge { shape });
        };
        let expected = dtype.bytes(count as u64) as usize;
        if bytes.len() != expected {
            let found = bytes.len();
            return Err(ValueError::Length { dtype, shape, expected, found, unit: "bytes" });
        }
        let data = match dtype {
            DType::F64 => Data::F64(le(bytes, f64::from_le_bytes)),
            DType::F32 => Data::F32(le(bytes, f32::from_le_bytes)),
            DType::Tf32 => Data::F32(le(bytes, |b| cv::tf32_of_f32(f32::from_le_bytes(b)))),
            DType::F16 => Data::F16(le(bytes, f16::from_le_bytes)),
            DType::Bf16 => Data::Bf16(le(bytes, bf16::from_le_bytes)),
            DType::F8e4m3 | DType::F8e5m2 | DType::F8e8m0 => Data::Bits8(bytes.to_vec()),
            DType::F4e2m1 => {
                Data::Bits8(bytes.iter().flat_map(|b| [b & 15, b >> 4]).take(count).collect())
            }
            DType::Bool => Data::Bits8(bytes.iter().map(|&b| (b != 0) as u8).collect()),
            DType::I64 => Data::I64(le(bytes, i64::from_le_bytes)),
            DType::I32 => Data::I32(le(bytes, i32::from_le_bytes)),
            DType::I16 => Data::I16(le(bytes, i16::from_le_bytes)),
            DType::I8 => Data::I8(le(bytes, i8::from_le_bytes)),
            DType::U64 => Data::U64(le(bytes, u64::from_le_bytes)),
            DType::U32 => Data::U32(le(bytes, u32::from_le_bytes)),
            DType::U8 => Data::U8(bytes.to_vec()),
        };
        Ok(Tensor { dtype, shape, data: Arc::new(data) })
    }

    /// The block that starts at `starts` and has extents `lens`, one of each per axis.
    ///
    /// # Panics
    /// When the block is not inside the tensor.
    pub fn slice_block(&self, starts: &[usize], lens: &[usize]) -> Tensor {
        let rows = rows(&self.shape, starts, lens);
        let data = match &*self.data {
            Data::F64(v) => Data::F64(take(v, &rows)),
            Data::F32(v) => Data::F32(take(v, &rows)),
            Data::F16(v) => Data::F16(take(v, &rows)),
            Data::Bf16(v) => Data::Bf16(take(v, &rows)),
            Data::Bits8(v) => Data::Bits8(take(v, &rows)),
            Data::I64(v) => Data::I64(take(v, &rows)),
            Data::I32(v) => Data::I32(take(v, &rows)),
            Data::I16(v) => Data::I16(take(v, &rows)),
            Data::I8(v) => Data::I8(take(v, &rows)),
            Data::U64(v) => Data::U64(take(v, &rows)),
            Data::U32(v) => Data::U32(take(v, &rows)),
            Data::U8(v) => Data::U8(take(v, &rows)),
        };
        Tensor { dtype: self.dtype, shape: lens.to_vec(), data: Arc::new(data) }
    }

    /// Writes `block` over the elements that start at `starts`; a block of another dtype is
    /// cast. Elements shared with other tensors are copied first.
    ///
    /// # Panics
    /// When the block is not inside the tensor.
    pub fn write_block(&mut self, starts: &[usize], block: &Tensor) {
        let block = block.cast(self.dtype);
        let rows = rows(&self.shape, starts, &block.shape);
        pair!(Arc::make_mut(&mut self.data), &*block.data, (to, from) => put(to, from, &rows),
            _ => unreachable!("a cast gives the dtype's variant"));
    }

    /// Whether dtype, shape and every bit are the same; NaNs equal only in the same pattern.
    pub fn bit_equal(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && match (&*self.data, &*other.data) {
                (Data::F64(a), Data::F64(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Data::F32(a), Data::F32(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Data::F16(a), Data::F16(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Data::Bf16(a), Data::Bf16(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (a, b) => pair!(a, b, (_x, _y) => a == b, _ => false),
            }
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;

//! Tensors: the values of the evaluator and of the file readers.
//!
//! A tensor is a dtype, a shape and its elements in row-major order, contiguous. Elements are
//! shared until written, so `clone`, `reshape` and blocks without gaps cost nothing; they may lie
//! in memory of somebody else, such as a file mapped into memory.

use super::block::{put, rows, take};
use super::cast::{float_data, integer_data, single_data};
use super::convert as cv;
pub use super::data::{Data, Slice};
use super::data::{pair, same, view};
use super::dtype::DType;
use super::pool;
use half::{bf16, f16};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

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

/// As `vec!`, which knows only of the primitive types that their zeros are pages that the system
/// gives as they are, and takes no memory for before they are written.
fn repeated<T: bytemuck::Zeroable + bytemuck::NoUninit>(x: T, n: usize) -> Vec<T> {
    match bytemuck::bytes_of(&x).iter().all(|b| *b == 0) {
        true => bytemuck::zeroed_vec(n),
        false => vec![x; n],
    }
}

/// Bytes that somebody else owns, such as a mapped file. They never change.
pub type Bytes = dyn AsRef<[u8]> + Send + Sync;

/// Elements of a tensor of our own; a large buffer is kept for others when nobody holds it.
#[derive(Clone)]
struct Owned(Data);

impl Drop for Owned {
    fn drop(&mut self) {
        pool::give(std::mem::replace(&mut self.0, Data::U8(Vec::new())));
    }
}

#[derive(Clone)]
enum Store {
    Owned(Arc<Owned>),
    /// Elements from this byte on, little-endian as in files, aligned for their type.
    Lent(Arc<Bytes>, usize),
    /// Tensors of one dtype and length, one after the other.
    Parts(Arc<Parts>),
}

struct Parts {
    parts: Vec<Tensor>,
    /// All elements in one piece, made when somebody asks for them.
    whole: OnceLock<Data>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Owned(data) => data.0.fmt(f),
            Store::Lent(_, at) => write!(f, "lent from byte {at}"),
            Store::Parts(p) => p.parts.fmt(f),
        }
    }
}

/// A tensor: row-major, contiguous, its elements shared until written.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    /// The number of elements.
    len: usize,
    store: Store,
    /// Where in the store the first element is.
    at: usize,
}

/// A block smaller than this is copied rather than shared: sharing holds all of the tensor that
/// it is from, and makes a later write to that copy.
const SHARED: usize = 1 << 12;

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
                // the largest first, for that loop vectorises
                if v.iter().fold(0, |m, &c| m.max(c)) > top
                    && let Some(index) = v.iter().position(|&c| c > top)
                {
                    return Err(ValueError::Code { dtype, index, code: v[index] });
                }
            }
            _ => {}
        }
        Ok(Tensor::build(dtype, shape, data))
    }

    /// What the crate's own code builds: it gives as many elements as the shape has.
    pub(super) fn build(dtype: DType, shape: Vec<usize>, data: Data) -> Tensor {
        assert_eq!(Some(data.len()), elements(&shape), "{dtype} elements for shape {shape:?}");
        debug_assert!(data.holds(dtype));
        Tensor { dtype, shape, len: data.len(), store: Store::Owned(Arc::new(Owned(data))), at: 0 }
    }

    /// The same dtype and elements under another shape, from another place of the store.
    fn part(&self, shape: Vec<usize>, len: usize, at: usize) -> Tensor {
        Tensor { dtype: self.dtype, shape, len, store: self.store.clone(), at }
    }

    /// A tensor of elements in bytes that somebody else owns, from byte `at` on; they are copied
    /// only where they cannot be read in place: f4e2m1, bool and tf32, or a place that is not
    /// aligned.
    ///
    /// # Errors
    /// When the bytes do not hold as many elements as the shape has.
    pub fn lent(
        dtype: DType,
        shape: Vec<usize>,
        bytes: &Arc<Bytes>,
        at: Range<usize>,
    ) -> Result<Tensor, ValueError> {
        let given = (**bytes).as_ref().get(at.clone()).unwrap_or(&[]);
        let plain = !matches!(dtype, DType::F4e2m1 | DType::Bool | DType::Tf32);
        let len = elements(&shape).filter(|n| n.checked_mul(64).is_some()).unwrap_or(0);
        let fits = dtype.bytes(len as u64) == given.len() as u64 && !given.is_empty();
        if !(plain && fits && cfg!(target_endian = "little") && view(dtype, given).is_some()) {
            return Tensor::from_bytes(dtype, shape, given);
        }
        Ok(Tensor { dtype, shape, len, store: Store::Lent(bytes.clone(), at.start), at: 0 })
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
            Data::F16(v) => Data::F16(repeated(v[0], n)),
            Data::Bf16(v) => Data::Bf16(repeated(v[0], n)),
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

    /// Tensors of one dtype and shape under new leading axes, one for each index in row-major
    /// order. Nothing is copied until elements of several are asked for at once.
    ///
    /// # Errors
    /// When there are not as many as the leading axes have indices, or they are not alike.
    pub fn stacked(lead: &[usize], parts: Vec<Tensor>) -> Result<Tensor, ValueError> {
        let Some(first) = parts.first() else {
            let (expected, found, unit) = (elements(lead).unwrap_or(0), 0, "tensors");
            let (dtype, shape) = (DType::F32, lead.to_vec());
            return Err(ValueError::Length { dtype, shape, expected, found, unit });
        };
        let dtype = first.dtype;
        let shape: Vec<usize> = lead.iter().chain(&first.shape).copied().collect();
        let Some(len) = elements(&shape) else { return Err(ValueError::TooLarge { shape }) };
        let alike = parts.iter().filter(|p| p.dtype == dtype && p.shape == first.shape).count();
        let expected = elements(lead).unwrap_or(0);
        if alike != expected || alike != parts.len() {
            let unit = "tensors of one shape";
            return Err(ValueError::Length { dtype, shape, expected, found: alike, unit });
        }
        let store = Store::Parts(Arc::new(Parts { parts, whole: OnceLock::new() }));
        Ok(Tensor { dtype, shape, len, store, at: 0 })
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
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    pub fn data(&self) -> Slice<'_> {
        match &self.store {
            Store::Owned(data) => data.0.slice(self.at..self.at + self.len),
            Store::Lent(bytes, start) => {
                let size = self.dtype.bytes(1) as usize;
                let from = start + self.at * size;
                let bytes = (**bytes).as_ref().get(from..from + self.len * size);
                // `lent` looked at the same bytes before
                bytes.and_then(|b| view(self.dtype, b)).unwrap_or(Slice::U8(&[]))
            }
            Store::Parts(p) => {
                p.whole.get_or_init(|| join(&p.parts)).slice(self.at..self.at + self.len)
            }
        }
    }

    /// The elements for writing; copied first where they are shared or lent.
    fn data_mut(&mut self) -> &mut Data {
        let whole = matches!(&self.store, Store::Owned(d) if self.at == 0 && d.0.len() == self.len);
        if !whole {
            let copy = same!(self.data(), v => v.to_vec());
            (self.store, self.at) = (Store::Owned(Arc::new(Owned(copy))), 0);
        }
        match &mut self.store {
            Store::Owned(data) => &mut Arc::make_mut(data).0,
            _ => unreachable!("owned since it was copied"),
        }
    }

    /// The same elements under another shape, shared.
    ///
    /// # Panics
    /// When the shapes differ in their number of elements.
    pub fn reshape(&self, shape: Vec<usize>) -> Tensor {
        assert_eq!(Some(self.len()), elements(&shape), "reshape {:?} to {shape:?}", self.shape);
        self.part(shape, self.len, self.at)
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
        Cow::Owned(match self.data() {
            Slice::F32(v) => return Cow::Borrowed(v),
            Slice::F64(v) => cv::map(v, |x| x as f32),
            Slice::F16(v) => cv::f32s_of_f16s(v),
            Slice::Bf16(v) => cv::map(v, |x| f32::from_bits((x.to_bits() as u32) << 16)),
            Slice::Bits8(v) => match self.table() {
                Some(table) => cv::map(v, |c| table[c as usize]),
                None => cv::map(v, |c| c as f32),
            },
            Slice::I64(v) => cv::map(v, |x| x as f32),
            Slice::I32(v) => cv::map(v, |x| x as f32),
            Slice::I16(v) => cv::map(v, |x| x as f32),
            Slice::I8(v) => cv::map(v, |x| x as f32),
            Slice::U64(v) => cv::map(v, |x| x as f32),
            Slice::U32(v) => cv::map(v, |x| x as f32),
            Slice::U8(v) => cv::map(v, |x| x as f32),
        })
    }

    /// The elements as f64: exact except for integers beyond 2^53; bools are 0 and 1.
    pub fn to_f64s(&self) -> Cow<'_, [f64]> {
        Cow::Owned(match self.data() {
            Slice::F64(v) => return Cow::Borrowed(v),
            Slice::I64(v) => cv::map(v, |x| x as f64),
            Slice::I32(v) => cv::map(v, |x| x as f64),
            Slice::U64(v) => cv::map(v, |x| x as f64),
            Slice::U32(v) => cv::map(v, |x| x as f64),
            _ => cv::map(&self.to_f32s(), |x| x as f64),
        })
    }

    /// The elements as i64. u64 wraps; floats truncate, saturate, and NaN is 0.
    pub fn to_i64s(&self) -> Cow<'_, [i64]> {
        Cow::Owned(match self.data() {
            Slice::I64(v) => return Cow::Borrowed(v),
            Slice::I32(v) => cv::map(v, |x| x as i64),
            Slice::I16(v) => cv::map(v, |x| x as i64),
            Slice::I8(v) => cv::map(v, |x| x as i64),
            Slice::U64(v) => cv::map(v, |x| x as i64),
            Slice::U32(v) => cv::map(v, |x| x as i64),
            Slice::U8(v) => cv::map(v, |x| x as i64),
            Slice::F64(v) => cv::map(v, |x| x as i64),
            _ => cv::map(&self.to_f32s(), |x| x as i64),
        })
    }

    /// Element `i` in row-major order, as [`Tensor::to_f64s`] gives it.
    ///
    /// # Panics
    /// When `i` is not below `len()`; so do `get_i64` and `bits`.
    pub fn get_f64(&self, i: usize) -> f64 {
        match self.data() {
            Slice::F64(v) => v[i],
            Slice::F32(v) => v[i] as f64,
            Slice::F16(v) => v[i].to_f64(),
            Slice::Bf16(v) => v[i].to_f64(),
            Slice::Bits8(v) => match self.table() {
                Some(table) => table[v[i] as usize] as f64,
                None => v[i] as f64,
            },
            Slice::I64(v) => v[i] as f64,
            Slice::U64(v) => v[i] as f64,
            _ => self.get_i64(i) as f64,
        }
    }

    /// Element `i` in row-major order, as [`Tensor::to_i64s`] gives it.
    pub fn get_i64(&self, i: usize) -> i64 {
        match self.data() {
            Slice::I64(v) => v[i],
            Slice::I32(v) => v[i] as i64,
            Slice::I16(v) => v[i] as i64,
            Slice::I8(v) => v[i] as i64,
            Slice::U64(v) => v[i] as i64,
            Slice::U32(v) => v[i] as i64,
            Slice::U8(v) => v[i] as i64,
            _ => self.get_f64(i) as i64,
        }
    }

    /// The bit pattern of element `i`, zero-extended: 4 bits of f4e2m1, 32 of tf32.
    pub fn bits(&self, i: usize) -> u64 {
        match self.data() {
            Slice::F64(v) => v[i].to_bits(),
            Slice::F32(v) => v[i].to_bits() as u64,
            Slice::F16(v) => v[i].to_bits() as u64,
            Slice::Bf16(v) => v[i].to_bits() as u64,
            Slice::Bits8(v) => v[i] as u64,
            Slice::I64(v) => v[i] as u64,
            Slice::I32(v) => v[i] as u32 as u64,
            Slice::I16(v) => v[i] as u16 as u64,
            Slice::I8(v) => v[i] as u8 as u64,
            Slice::U64(v) => v[i],
            Slice::U32(v) => v[i] as u64,
            Slice::U8(v) => v[i] as u64,
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
            return Tensor { dtype, ..self.clone() };
        }
        let data = match self.data() {
            Slice::F64(v) => float_data(dtype, v),
            Slice::F32(v) => single_data(dtype, v),
            Slice::F16(_) | Slice::Bf16(_) | Slice::Bits8(_) => single_data(dtype, &self.to_f32s()),
            Slice::U64(v) if dtype.is_float() => match dtype {
                DType::F64 => Data::F64(self.to_f64s().into_owned()),
                _ => float_data(dtype, &cv::map(v, cv::odd_f64_of_u64)),
            },
            Slice::I64(v) if dtype.is_float() => match dtype {
                DType::F64 => Data::F64(self.to_f64s().into_owned()),
                _ => float_data(dtype, &cv::map(v, cv::odd_f64_of_i64)),
            },
            // Exact in f64, for all that is left is 32 bits or fewer.
            _ if dtype.is_float() => float_data(dtype, &self.to_f64s()),
            _ => integer_data(dtype, &self.to_i64s()),
        };
        Tensor::build(dtype, self.shape.clone(), data)
    }

    /// How far the two largest elements are apart. There is no answer where one is NaN, where there
    /// are no two, or where the distance is not finite.
    pub fn margin(&self) -> Option<f64> {
        fn of(values: impl Iterator<Item = f64>) -> Option<f64> {
            let (mut best, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for x in values {
                if x.is_nan() {
                    return None;
                }
                if x > best {
                    (best, second) = (x, best);
                } else if x > second {
                    second = x;
                }
            }
            Some(best - second).filter(|m| m.is_finite())
        }
        match self.data() {
            Slice::F32(v) => of(v.iter().map(|x| f64::from(*x))),
            _ => of(self.to_f64s().iter().copied()),
        }
    }

    /// Writes what [`Tensor::to_bytes`] gives, some of it at a time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, w: &mut impl std::io::Write) -> std::io::Result<()> {
        const SOME: usize = 1 << 22;
        if let Store::Parts(p) = &self.store
            && self.len == p.parts.iter().map(Tensor::len).sum::<usize>()
            && p.parts.iter().all(|t| (t.len as u64 * t.dtype.bits()).is_multiple_of(8))
        {
            return p.parts.iter().try_for_each(|t| t.write_to(w));
        }
        let mut at = 0;
        while at < self.len {
            let n = SOME.min(self.len - at);
            w.write_all(&self.part(vec![n], n, self.at + at).to_bytes())?;
            at += n;
        }
        Ok(())
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
        match self.data() {
            Slice::F64(v) => le(v, f64::to_le_bytes),
            Slice::F32(v) => le(v, f32::to_le_bytes),
            Slice::F16(v) => le(v, f16::to_le_bytes),
            Slice::Bf16(v) => le(v, bf16::to_le_bytes),
            Slice::Bits8(v) if self.dtype == DType::F4e2m1 => {
                v.chunks(2).map(|c| c[0] | (c.get(1).copied().unwrap_or(0) << 4)).collect()
            }
            Slice::Bits8(v) | Slice::U8(v) => v.to_vec(),
            Slice::I64(v) => le(v, i64::to_le_bytes),
            Slice::I32(v) => le(v, i32::to_le_bytes),
            Slice::I16(v) => le(v, i16::to_le_bytes),
            Slice::I8(v) => le(v, i8::to_le_bytes),
            Slice::U64(v) => le(v, u64::to_le_bytes),
            Slice::U32(v) => le(v, u32::to_le_bytes),
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
        Ok(Tensor::build(dtype, shape, data))
    }

    /// The block that starts at `starts` and has extents `lens`, one of each per axis.
    ///
    /// # Panics
    /// When the block is not inside the tensor.
    pub fn slice_block(&self, starts: &[usize], lens: &[usize]) -> Tensor {
        let rows = rows(&self.shape, starts, lens);
        if let Some(at) = rows.run() {
            let at = self.at + at;
            if let Store::Parts(p) = &self.store
                && let Some(size) = p.parts.first().map(Tensor::len)
                && let Some(one) = p.parts.get(at / size)
                && at % size + rows.len <= size
            {
                return one.part(lens.to_vec(), rows.len, one.at + at % size);
            }
            if rows.len >= SHARED {
                return self.part(lens.to_vec(), rows.len, at);
            }
        }
        let data = same!(self.data(), v => take(v, &rows));
        Tensor::build(self.dtype, lens.to_vec(), data)
    }

    /// Writes `block` over the elements that start at `starts`; a block of another dtype is
    /// cast. Elements shared with other tensors are copied first.
    ///
    /// # Panics
    /// When the block is not inside the tensor.
    pub fn write_block(&mut self, starts: &[usize], block: &Tensor) {
        let block = block.cast(self.dtype);
        let rows = rows(&self.shape, starts, &block.shape);
        pair!(self.data_mut(), block.data(), (to, from) => put(to, from, &rows),
            _ => unreachable!("a cast gives the dtype's variant"));
    }

    /// Whether dtype, shape and every bit are the same; NaNs equal only in the same pattern.
    pub fn bit_equal(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && match (self.data(), other.data()) {
                (Slice::F64(a), Slice::F64(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Slice::F32(a), Slice::F32(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Slice::F16(a), Slice::F16(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (Slice::Bf16(a), Slice::Bf16(b)) => {
                    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (a, b) => a == b,
            }
    }
}

/// The elements of tensors of one dtype in one piece.
fn join(parts: &[Tensor]) -> Data {
    let mut data = match parts.first() {
        Some(first) => same!(first.data(), v => {
            let mut all = Vec::with_capacity(v.len() * parts.len());
            all.extend_from_slice(v);
            all
        }),
        None => Data::U8(vec![]),
    };
    for p in parts.iter().skip(1) {
        pair!(&mut data, p.data(), (to, from) => to.extend_from_slice(from),
            _ => unreachable!("parts of one dtype"));
    }
    data
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;

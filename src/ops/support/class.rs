//! The arithmetic that an op uses: f32, f64 or 64-bit integers.

use std::borrow::Cow;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::gemm::Factor;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// In what an op computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every float but f64.
    F32,
    F64,
    /// Integers and bools.
    Int,
}

impl Class {
    /// f64 if any of the dtypes is.
    pub fn of(dtypes: impl IntoIterator<Item = DType>) -> Class {
        let mut class = Class::Int;
        for d in dtypes {
            match d {
                DType::F64 => return Class::F64,
                _ if d.is_float() => class = Class::F32,
                _ => {}
            }
        }
        class
    }
}

/// A float that kernels compute in.
pub trait Real:
    Factor<Sum = Self>
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ZERO: Self;
    const ONE: Self;
    const INF: Self;

    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    /// A tensor's elements, exact except that f64 and wide integers round.
    fn load(t: &Tensor) -> Cow<'_, [Self]>;
    /// A tensor of these elements, each rounded once.
    fn store(dtype: DType, shape: Vec<usize>, values: Vec<Self>) -> Tensor;

    fn nan(self) -> bool {
        self.partial_cmp(&self).is_none()
    }

    /// Through f64: rounded almost always to the nearest f32, and the same on every machine.
    fn exp(self) -> Self {
        Self::of(libm::exp(self.wide()))
    }

    fn ln(self) -> Self {
        Self::of(libm::log(self.wide()))
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const INF: f32 = f32::INFINITY;

    fn of(x: f64) -> f32 {
        x as f32
    }

    fn wide(self) -> f64 {
        self as f64
    }

    fn load(t: &Tensor) -> Cow<'_, [f32]> {
        t.to_f32s()
    }

    fn store(dtype: DType, shape: Vec<usize>, values: Vec<f32>) -> Tensor {
        Tensor::from_f32s(dtype, shape, values)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const INF: f64 = f64::INFINITY;

    fn of(x: f64) -> f64 {
        x
    }

    fn wide(self) -> f64 {
        self
    }

    fn load(t: &Tensor) -> Cow<'_, [f64]> {
        t.to_f64s()
    }

    fn store(dtype: DType, shape: Vec<usize>, values: Vec<f64>) -> Tensor {
        Tensor::from_f64s(dtype, shape, values)
    }
}

/// Turns u64 into i64 of the same order, and back.
pub fn flip(v: &[i64]) -> Vec<i64> {
    v.iter().map(|x| x ^ i64::MIN).collect()
}

/// Integers whose order as i64 is that of the values: u64 has its top bit flipped.
pub fn load_ordered(t: &Tensor) -> Cow<'_, [i64]> {
    match t.dtype() {
        DType::U64 => Cow::Owned(flip(&t.to_i64s())),
        _ => t.to_i64s(),
    }
}

/// The inverse of [`load_ordered`].
pub fn store_ordered(dtype: DType, shape: Vec<usize>, values: Vec<i64>) -> Tensor {
    match dtype {
        DType::U64 => Tensor::from_i64s(dtype, shape, flip(&values)),
        _ => Tensor::from_i64s(dtype, shape, values),
    }
}

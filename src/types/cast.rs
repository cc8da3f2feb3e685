//! Slices of one wide type cast to the elements of any dtype.

use super::convert as cv;
use super::dtype::DType;
use super::value::Data;

/// `values` cast to `dtype`.
pub(super) fn float_data(dtype: DType, values: &[f64]) -> Data {
    match dtype {
        DType::F64 => Data::F64(values.to_vec()),
        DType::F32 => Data::F32(cv::map(values, |x| x as f32)),
        DType::Tf32 => Data::F32(cv::map(values, cv::tf32_of_f64)),
        DType::F16 => Data::F16(cv::map(values, cv::f16_of_f64)),
        DType::Bf16 => Data::Bf16(cv::map(values, cv::bf16_of_f64)),
        DType::F8e4m3 => Data::Bits8(cv::map(values, cv::e4m3_of_f64)),
        DType::F8e5m2 => Data::Bits8(cv::map(values, cv::e5m2_of_f64)),
        DType::F8e8m0 => Data::Bits8(cv::map(values, cv::e8m0_of_f64)),
        DType::F4e2m1 => Data::Bits8(cv::map(values, cv::e2m1_of_f64)),
        DType::I64 => Data::I64(cv::map(values, |x| x as i64)),
        DType::I32 => Data::I32(cv::map(values, |x| x as i32)),
        DType::I16 => Data::I16(cv::map(values, |x| x as i16)),
        DType::I8 => Data::I8(cv::map(values, |x| x as i8)),
        DType::U64 => Data::U64(cv::map(values, |x| x as u64)),
        DType::U32 => Data::U32(cv::map(values, |x| x as u32)),
        DType::U8 => Data::U8(cv::map(values, |x| x as u8)),
        DType::Bool => Data::Bits8(cv::map(values, |x| (x != 0.0) as u8)),
    }
}

/// `values` cast to `dtype`.
pub(super) fn single_data(dtype: DType, values: &[f32]) -> Data {
    match dtype {
        DType::F64 => Data::F64(cv::map(values, |x| x as f64)),
        DType::F32 => Data::F32(values.to_vec()),
        DType::Tf32 => Data::F32(cv::map(values, cv::tf32_of_f32)),
        DType::F16 => Data::F16(cv::f16s_of_f32s(values)),
        DType::Bf16 => Data::Bf16(cv::map(values, cv::bf16_of_f32)),
        DType::F8e4m3 => Data::Bits8(cv::map(values, cv::e4m3_of_f32)),
        DType::F8e5m2 => Data::Bits8(cv::map(values, cv::e5m2_of_f32)),
        DType::F8e8m0 => Data::Bits8(cv::map(values, cv::e8m0_of_f32)),
        DType::F4e2m1 => Data::Bits8(cv::map(values, cv::e2m1_of_f32)),
        DType::I64 => Data::I64(cv::map(values, |x| x as i64)),
        DType::I32 => Data::I32(cv::map(values, |x| x as i32)),
        DType::I16 => Data::I16(cv::map(values, |x| x as i16)),
        DType::I8 => Data::I8(cv::map(values, |x| x as i8)),
        DType::U64 => Data::U64(cv::map(values, |x| x as u64)),
        DType::U32 => Data::U32(cv::map(values, |x| x as u32)),
        DType::U8 => Data::U8(cv::map(values, |x| x as u8)),
        DType::Bool => Data::Bits8(cv::map(values, |x| (x != 0.0) as u8)),
    }
}

/// `values` cast to an integer type or bool.
pub(super) fn integer_data(dtype: DType, values: &[i64]) -> Data {
    match dtype {
        DType::I64 => Data::I64(values.to_vec()),
        DType::I32 => Data::I32(cv::map(values, |x| x as i32)),
        DType::I16 => Data::I16(cv::map(values, |x| x as i16)),
        DType::I8 => Data::I8(cv::map(values, |x| x as i8)),
        DType::U64 => Data::U64(cv::map(values, |x| x as u64)),
        DType::U32 => Data::U32(cv::map(values, |x| x as u32)),
        DType::U8 => Data::U8(cv::map(values, |x| x as u8)),
        DType::Bool => Data::Bits8(cv::map(values, |x| (x != 0) as u8)),
        _ => float_data(dtype, &cv::map(values, cv::odd_f64_of_i64)),
    }
}

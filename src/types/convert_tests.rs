//! Against tables from numpy, ml_dtypes and exact rationals: `tests/data/make_dtype_tables.py`.

use crate::types::dtype::DType;
use crate::types::value::{Data, Tensor};
use std::path::Path;

fn table(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dtypes").join(name);
    std::fs::read(path).unwrap()
}

/// The codes of `dtype` in a table file.
fn codes(name: &str, dtype: DType) -> Vec<u64> {
    let bytes = table(name);
    let size = dtype.bits().div_ceil(8) as usize;
    let read = |c: &[u8]| c.iter().rev().fold(0, |n, &b| n << 8 | b as u64);
    bytes.chunks_exact(size).map(read).collect()
}

/// NaN codes of the wide types compare as the quiet NaN without a sign.
fn quiet(dtype: DType, code: u64) -> u64 {
    let (over, sign, nan) = match dtype {
        DType::F32 => (0xff << 23, 31, 0x7fc0_0000),
        DType::Tf32 => (0xff << 10, 18, 0xff << 10 | 0x200),
        DType::F16 => (0x7c00, 15, 0x7e00),
        DType::Bf16 => (0x7f80, 15, 0x7fc0),
        _ => return code,
    };
    if code & ((1 << sign) - 1) > over { nan } else { code }
}

fn code(t: &Tensor, i: usize) -> u64 {
    // A tf32 code of the table is its 19 bits.
    let bits = t.bits(i);
    quiet(t.dtype(), if t.dtype() == DType::Tf32 { bits >> 13 } else { bits })
}

const NARROW: [DType; 7] = [
    DType::Tf32,
    DType::F16,
    DType::Bf16,
    DType::F8e4m3,
    DType::F8e5m2,
    DType::F8e8m0,
    DType::F4e2m1,
];

#[test]
fn every_code_of_the_8_bit_types_decodes_as_in_ml_dtypes() {
    for (dtype, count) in
        [(DType::F8e4m3, 256), (DType::F8e5m2, 256), (DType::F8e8m0, 256), (DType::F4e2m1, 16)]
    {
        let want = codes(&format!("decode_{dtype}.bin"), DType::F32);
        assert_eq!(want.len(), count);
        let all = Data::Bits8((0..count).map(|c| c as u8).collect());
        let t = Tensor::new(dtype, vec![count], all).unwrap();
        for (i, (value, &want)) in t.to_f32s().iter().zip(&want).enumerate() {
            assert!(
                value.to_bits() as u64 == want
                    || value.is_nan() && f32::from_bits(want as u32).is_nan(),
                "{dtype} {i:#x}: {value} for {}",
                f32::from_bits(want as u32)
            );
            assert!(t.get_f64(i) == *value as f64 || value.is_nan());
        }
    }
}

#[test]
fn every_code_of_the_16_bit_types_decodes_as_in_numpy() {
    let lines = String::from_utf8(table("decode_crc.txt")).unwrap();
    for (dtype, line) in [DType::F16, DType::Bf16].into_iter().zip(lines.lines()) {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let t = Tensor::from_bytes(dtype, vec![1 << 16], &bytes).unwrap();
        let mut crc = !0u32;
        for value in t.to_f32s().iter() {
            let sign = value.to_bits() & 0x8000_0000;
            let bits = if value.is_nan() { 0x7fc0_0000 | sign } else { value.to_bits() };
            for byte in bits.to_le_bytes() {
                crc ^= byte as u32;
                for _ in 0..8 {
                    crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
                }
            }
        }
        assert_eq!(format!("{dtype} {:08x}", !crc), line);
    }
}

#[test]
fn every_code_survives_a_trip_through_f32_and_f64() {
    for dtype in NARROW {
        let count = match dtype {
            DType::F4e2m1 => 16,
            DType::F16 | DType::Bf16 => 1 << 16,
            DType::Tf32 => continue,
            _ => 256,
        };
        let size = dtype.bits().div_ceil(8) as usize;
        let bytes: Vec<u8> = if dtype == DType::F4e2m1 {
            (0..8).map(|i| (2 * i) | ((2 * i + 1) << 4)).collect()
        } else {
            (0..count).flat_map(|c: u32| c.to_le_bytes().into_iter().take(size)).collect()
        };
        let t = Tensor::from_bytes(dtype, vec![count as usize], &bytes).unwrap();
        for through in [DType::F32, DType::F64] {
            let back = t.cast(through).cast(dtype);
            for i in 0..t.len() {
                let nan = t.get_f64(i).is_nan();
                assert!(
                    back.bits(i) == t.bits(i) || nan && back.get_f64(i).is_nan(),
                    "{dtype} {i:#x}"
                );
            }
        }
    }
}

#[test]
fn f32_encodes_as_in_numpy_and_ml_dtypes() {
    let inputs = table("encode_f32.bin");
    let n = inputs.len() / 4;
    let t = Tensor::from_bytes(DType::F32, vec![n], &inputs).unwrap();
    for dtype in NARROW {
        let want = codes(&format!("encode_f32_{dtype}.bin"), dtype);
        let got = t.cast(dtype);
        let wide = t.cast(DType::F64).cast(dtype);
        for i in 0..n {
            let want = quiet(dtype, want[i]);
            let x = t.get_f64(i);
            assert_eq!(code(&got, i), want, "{dtype} of {x:e}");
            assert_eq!(code(&wide, i), want, "{dtype} of {x:e} through f64");
        }
    }
}

#[test]
fn f64_encodes_as_exact_rationals_do() {
    let inputs = table("encode_f64.bin");
    let n = inputs.len() / 8;
    let t = Tensor::from_bytes(DType::F64, vec![n], &inputs).unwrap();
    let mut twice = 0;
    for dtype in NARROW.into_iter().chain([DType::F32]) {
        let want = codes(&format!("encode_f64_{dtype}.bin"), dtype);
        let got = t.cast(dtype);
        let through = t.cast(DType::F32).cast(dtype);
        for (i, want) in want.into_iter().enumerate() {
            assert_eq!(code(&got, i), quiet(dtype, want), "{dtype} of {:e}", t.get_f64(i));
            twice += (code(&through, i) != code(&got, i)) as usize;
        }
    }
    // The inputs do tell one rounding from two.
    assert!(twice > 1000, "{twice}");
}

#[test]
fn integers_round_once() {
    // Just above halfway between two bf16; f64 and f32 both lose the one that decides.
    let x = (1i64 << 62) + (1 << 54) + 1;
    assert_eq!(Tensor::scalar_i64(DType::Bf16, x).bits(0), 0x5e81);
    assert_eq!(Tensor::scalar_i64(DType::Bf16, x - 1).bits(0), 0x5e80);
    assert_eq!(Tensor::scalar_i64(DType::Bf16, -x).bits(0), 0xde81);
    for k in [x, -x, i64::MAX, i64::MIN, (1 << 53) + 1, (1 << 24) + 1, 3] {
        assert_eq!(Tensor::scalar_i64(DType::F32, k).bits(0), (k as f32).to_bits() as u64);
        assert_eq!(Tensor::scalar_i64(DType::F64, k).bits(0), (k as f64).to_bits());
    }
    let u = Tensor::new(DType::U64, vec![1], Data::U64(vec![u64::MAX])).unwrap();
    assert_eq!(u.cast(DType::F32).get_f64(0), 2f64.powi(64));
    assert_eq!(u.cast(DType::F16).get_f64(0), f64::INFINITY);
}

#[test]
fn large_conversions_equal_small_ones() {
    let n = (1 << 20) + 12_345;
    let values: Vec<f32> = (0..n).map(|i| (i as f32 - 5e5) * 1.37e-3).collect();
    let t = Tensor::from_f32s(DType::F32, vec![n], values);
    for dtype in NARROW {
        let all = t.cast(dtype);
        for at in [0, 65_530, n - 100] {
            let part = t.slice_block(&[at], &[100]).cast(dtype);
            assert!(all.slice_block(&[at], &[100]).bit_equal(&part), "{dtype}");
        }
        let last = all.slice_block(&[n - 1], &[1]).to_f32s()[0];
        assert_eq!(all.to_f32s()[n - 1].to_bits(), last.to_bits());
    }
}

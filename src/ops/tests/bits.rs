//! Bit operations, shifts and bitcasts; the values are PyTorch's.

use super::run::{Case, f32s, op, tensor};
use crate::types::dtype::DType;
use crate::types::value::{Data, Tensor};

fn ints(d: DType, shape: &[usize], v: &[i64]) -> Tensor {
    Tensor::from_i64s(d, shape.to_vec(), v.to_vec())
}

fn cast(x: &Tensor, d: DType) -> Case {
    op("bitcast", &[x]).dtype("dtype", d)
}

#[test]
fn bits_of_every_width() {
    // a, then shl, shr, and, or, xor with 0, 1, 3, 7
    let rows: [(DType, [[i64; 4]; 6]); 4] = [
        (
            DType::I8,
            [
                [77, -77, 1, 127],
                [77, 102, 8, -128],
                [77, -39, 0, 0],
                [0, 1, 1, 7],
                [77, -77, 3, 127],
                [77, -78, 2, 120],
            ],
        ),
        (
            DType::U8,
            [
                [77, 200, 1, 127],
                [77, 144, 8, 128],
                [77, 100, 0, 0],
                [0, 0, 1, 7],
                [77, 201, 3, 127],
                [77, 201, 2, 120],
            ],
        ),
        (
            DType::I32,
            [
                [77, -77, 1, 127],
                [77, -154, 8, 16256],
                [77, -39, 0, 0],
                [0, 1, 1, 7],
                [77, -77, 3, 127],
                [77, -78, 2, 120],
            ],
        ),
        (
            DType::I64,
            [
                [77, -77, 1, 127],
                [77, -154, 8, 16256],
                [77, -39, 0, 0],
                [0, 1, 1, 7],
                [77, -77, 3, 127],
                [77, -78, 2, 120],
            ],
        ),
    ];
    for (d, [a, want @ ..]) in rows {
        let (a, b) = (ints(d, &[4], &a), ints(d, &[4], &[0, 1, 3, 7]));
        for (name, want) in ["shl", "shr", "bit_and", "bit_or", "bit_xor"].into_iter().zip(want) {
            let got = op(name, &[&a, &b]).get();
            assert_eq!((got.dtype(), &got.to_i64s()[..]), (d, &want[..]), "{name} {d}");
        }
    }
    // the top bit of an unsigned integer is no sign
    let top = Tensor::new(DType::U64, vec![1], Data::U64(vec![u64::MAX])).unwrap();
    let by = ints(DType::U64, &[1], &[63]);
    assert_eq!(op("shr", &[&top, &by]).get().bits(0), 1);
    assert_eq!(op("shl", &[&top, &by]).get().bits(0), 1 << 63);
    let w = ints(DType::U32, &[1], &[0xffff_ffff]);
    assert_eq!(op("shr", &[&w, &ints(DType::U32, &[1], &[31])]).get().bits(0), 1);
}

#[test]
fn an_amount_outside_the_dtype_is_named() {
    let a = ints(DType::I16, &[2, 3], &[1; 6]);
    for (v, shown) in [(16, "16"), (-1, "-1"), (300, "300")] {
        let b = ints(DType::I16, &[2, 3], &[0, 1, 2, 3, v, 5]);
        for name in ["shl", "shr"] {
            let e = op(name, &[&a, &b]).error();
            let want = format!("`{name}` of i16: the amount {shown} at [1, 1] is outside 0..16");
            assert_eq!(e, want);
        }
    }
    let huge = Tensor::new(DType::U64, vec![], Data::U64(vec![u64::MAX])).unwrap();
    let e = op("shl", &[&ints(DType::U64, &[1], &[1]), &huge]).error();
    assert!(e.contains("the amount 18446744073709551615 is outside 0..64"), "{e}");
    // nothing is shifted, so nothing is wrong
    let none = op("shl", &[&ints(DType::U64, &[0], &[]), &huge]).get();
    assert_eq!(none.shape(), [0]);
}

#[test]
fn bits_read_as_another_dtype() {
    let v = f32s(&[4], &[1.5, -0.0, f64::INFINITY, 3.140625]);
    let got = cast(&v, DType::I32).get();
    assert_eq!(got.to_i64s()[..], [1069547520, -2147483648, 2139095040, 1078525952]);
    assert!(cast(&got, DType::F32).get().bit_equal(&v));
    let bytes = cast(&v, DType::U8).get();
    assert_eq!(bytes.shape(), [16]);
    assert_eq!(bytes.to_i64s()[..], [0, 0, 192, 63, 0, 0, 0, 128, 0, 0, 128, 127, 0, 0, 73, 64]);
    let wide = cast(&v, DType::I64).get();
    assert_eq!(wide.to_i64s()[..], [-9223372035785228288, 4632233693866360832]);
    assert!(cast(&wide, DType::F32).get().bit_equal(&v));
    let halves = cast(&v, DType::Bf16).get();
    assert_eq!(halves.to_f64s()[..], [0.0, 1.5, 0.0, -0.0, 0.0, f64::INFINITY, 0.0, 3.140625]);
    let u = ints(DType::U8, &[1, 6], &[0x3c, 0xc0, 0x7e, 0x01, 0x80, 0xff]);
    let as_f8 = |d| cast(&u, d).get().to_f64s().into_owned();
    assert_eq!(as_f8(DType::F8e4m3)[..4], [1.5, -2.0, 448.0, 0.001953125]);
    assert_eq!(as_f8(DType::F8e5m2)[..2], [1.0, -2.0]);
    assert!(as_f8(DType::F8e5m2)[2].is_nan() && as_f8(DType::F8e8m0)[5].is_nan());
    assert_eq!(as_f8(DType::F8e8m0)[2], 0.5);
    assert_eq!(cast(&u, DType::I16).get().to_i64s()[..], [-16324, 382, -128]);
}

/// Every pair of dtypes: there and back gives every bit, and the shapes are as many bytes.
#[test]
fn bits_survive_a_trip_through_every_dtype() {
    let free = |d: &&DType| !matches!(d, DType::Bool | DType::Tf32);
    let bytes: Vec<u8> = (0..64u32).map(|i| (i * 89 + 13) as u8).collect();
    for from in DType::ALL.iter().filter(free) {
        let n = bytes.len() * 8 / from.bits() as usize;
        let x = Tensor::from_bytes(*from, vec![2, n / 2], &bytes).unwrap();
        for to in DType::ALL.iter().filter(free) {
            let c = cast(&x, *to);
            let there = c.get();
            assert_eq!(there.to_bytes(), bytes, "{from} as {to}");
            assert!(cast(&there, *from).get().bit_equal(&x), "{from} as {to}");
            super::domains::check(&c);
        }
    }
}

#[test]
fn bitcasts_that_do_not_fit() {
    let odd = f32s(&[2, 3], &[0.0; 6]);
    let e = cast(&odd, DType::F64).error();
    assert!(e.contains("one f64 of 2 f32, and the last axis of `x` has 3"), "{e}");
    let e = cast(&tensor(DType::F4e2m1, &[3], &[1.0; 3]), DType::U8).error();
    assert!(e.contains("one u8 of 2 f4e2m1"), "{e}");
    let e = cast(&Tensor::scalar(DType::F32, 1.0), DType::I16).error();
    assert!(e.contains("rank 0 has none"), "{e}");
    assert_eq!(cast(&Tensor::scalar(DType::F32, 1.0), DType::I32).values(), [1065353216.0]);
    assert!(cast(&odd, DType::Bool).error().contains("takes no bool"));
    assert!(cast(&odd, DType::Tf32).error().contains("takes no tf32"));
}

/// `--precision f64` holds a float in f64; its bits are those of its declared dtype.
#[test]
fn wide_floats_are_rounded_before_their_bits_are_taken() {
    let x = tensor(DType::Bf16, &[2], &[1.0, -3.0]);
    let mut c = cast(&x, DType::I16);
    c.wide = true;
    assert_eq!(c.get().to_i64s()[..], [0x3f80, 0xc040u16 as i16 as i64]);
}

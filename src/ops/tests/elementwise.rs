//! Elementwise ops: rounding, NaN, integers, broadcasting.

use proptest::prelude::*;

use super::run::{close, f32s, i32s, noise, op, tensor};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn sixteen_bit_floats_are_computed_in_f32_and_rounded_once() {
    // 0.1 and 0.2 in bf16 are 0.10009765625 and 0.2001953125, their sum 0.30029296875, a tie
    // between 0.2998046875 and 0.30078125 is not near: spacing there is 2^-9
    let a = tensor(DType::Bf16, &[1], &[0.1]);
    let b = tensor(DType::Bf16, &[1], &[0.2]);
    assert_eq!(op("add", &[&a, &b]).values(), [0.30078125]);
    // 1/3 + 2/3 style double rounding: 65504 + 16 = 65520 is a tie, and rounds to infinity
    let a = tensor(DType::F16, &[2], &[65504.0, 65504.0]);
    let b = tensor(DType::F16, &[2], &[16.0, 15.9921875]);
    assert_eq!(op("add", &[&a, &b]).values(), [INF, 65504.0]);
}

#[test]
fn an_f8_result_rounds_from_f32() {
    let a = tensor(DType::F8e4m3, &[3], &[448.0, 1.0, 0.0625]);
    let b = tensor(DType::F8e4m3, &[3], &[32.0, 0.0625, 0.001953125]);
    // 480 is past 464: NaN. 1.0625 is a tie between 1 and 1.125. 0.064453125 is below the tie
    let got = op("add", &[&a, &b]).values();
    assert!(got[0].is_nan());
    assert_eq!(got[1..], [1.0, 0.0625]);
}

#[test]
fn nan_is_kept_by_min_max_relu_and_clamp() {
    let x = f32s(&[3], &[NAN, -1.0, 1.0]);
    let y = f32s(&[3], &[0.0, NAN, 2.0]);
    for (name, last) in [("maximum", 2.0), ("minimum", 1.0)] {
        let got = op(name, &[&x, &y]).values();
        assert!(got[0].is_nan() && got[1].is_nan(), "{name}");
        assert_eq!(got[2], last);
    }
    assert!(op("relu", &[&x]).values()[0].is_nan());
    assert!(op("clamp", &[&x]).num("min", 0.0).num("max", 0.5).values()[0].is_nan());
    assert_eq!(op("sign", &[&x]).values(), [0.0, -1.0, 1.0]);
}

#[test]
fn integers_wrap_and_unsigned_order_is_kept() {
    let big = i32s(&[2], &[i32::MAX as i64, i32::MIN as i64]);
    let one = i32s(&[2], &[1, -1]);
    assert_eq!(op("add", &[&big, &one]).values(), [i32::MIN as f64, i32::MAX as f64]);
    assert_eq!(op("neg", &[&big]).values()[1], i32::MIN as f64);
    assert_eq!(op("abs", &[&big]).values()[1], i32::MIN as f64);
    let u = Tensor::from_i64s(DType::U64, vec![2], vec![-1, 1]);
    let v = Tensor::from_i64s(DType::U64, vec![2], vec![2, 2]);
    // -1 is the largest u64
    assert_eq!(op("gt", &[&u, &v]).values(), [1.0, 0.0]);
    assert_eq!(op("maximum", &[&u, &v]).get().to_i64s()[..], [-1, 2]);
    assert_eq!(op("floor_div", &[&u, &v]).get().to_i64s()[..], [i64::MAX, 0]);
    assert_eq!(op("rem", &[&u, &v]).get().to_i64s()[..], [1, 1]);
    assert_eq!(op("clamp", &[&u]).attr("max", int_attr(7)).get().to_i64s()[..], [7, 1]);
    let least = Tensor::from_i64s(DType::I64, vec![1], vec![i64::MIN]);
    let minus = Tensor::from_i64s(DType::I64, vec![1], vec![-1]);
    assert_eq!(op("floor_div", &[&least, &minus]).get().to_i64s()[..], [i64::MIN]);
    assert_eq!(op("rem", &[&least, &minus]).get().to_i64s()[..], [0]);
}

fn int_attr(v: i64) -> crate::ops::Attr {
    crate::ops::Attr::Num(crate::types::num::Num::Int(v.into()))
}

#[test]
fn integer_division_floors_and_names_a_zero() {
    let a = i32s(&[4], &[7, -7, 7, -7]);
    let b = i32s(&[4], &[2, 2, -2, -2]);
    assert_eq!(op("floor_div", &[&a, &b]).values(), [3.0, -4.0, -4.0, 3.0]);
    assert_eq!(op("rem", &[&a, &b]).values(), [1.0, 1.0, -1.0, -1.0]);
    let z = i32s(&[4], &[1, 1, 0, 1]);
    let e = op("floor_div", &[&a, &z]).error();
    assert!(e.contains("division by zero") && e.contains("`b` is 0 at [2]"), "{e}");
    let none = i32s(&[0], &[]);
    assert!(op("rem", &[&none, &i32s(&[1], &[0])]).results().is_ok());
}

#[test]
fn casts_follow_the_language() {
    let x = f32s(&[5], &[1.5, -1.5, 1e10, NAN, -INF]);
    let to = |d| op("cast", &[&x]).dtype("dtype", d).values();
    assert_eq!(to(DType::I32), [1.0, -1.0, i32::MAX as f64, 0.0, i32::MIN as f64]);
    assert_eq!(to(DType::Bool), [1.0; 5]);
    let big = f32s(&[2], &[464.0, 465.0]);
    let q = op("cast", &[&big]).dtype("dtype", DType::F8e4m3).values();
    assert!(q[0] == 448.0 && q[1].is_nan());
}

/// Limits that formulas written plainly get wrong.
#[test]
fn activations_hold_at_their_ends() {
    let x = f32s(&[4], &[-1000.0, 1000.0, 20.5, -20.5]);
    assert_eq!(op("sigmoid", &[&x]).values()[..2], [0.0, 1.0]);
    assert_eq!(op("silu", &[&x]).values()[1], 1000.0);
    assert_eq!(op("softplus", &[&x]).values()[..2], [0.0, 1000.0]);
    assert_eq!(op("gelu", &[&x]).values()[..2], [0.0, 1000.0]);
    assert_eq!(op("tanh", &[&x]).values()[..2], [-1.0, 1.0]);
    assert!(op("softplus", &[&f32s(&[1], &[NAN])]).values()[0].is_nan());
    // log1p(1e-10) and expm1(1e-10) are 1e-10 to f32
    let tiny = f32s(&[1], &[1e-10]);
    close(&op("log1p", &[&tiny]).values(), &[1e-10], 1e-17);
    close(&op("expm1", &[&tiny]).values(), &[1e-10], 1e-17);
}

#[test]
fn every_shape_of_broadcast_agrees_with_indexing() {
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[2, 3], &[2, 3]),
        (&[2, 3], &[3]),
        (&[2, 3], &[2, 1]),
        (&[2, 1, 4], &[3, 1]),
        (&[], &[2, 2]),
        (&[5, 1], &[1, 6]),
        (&[1], &[]),
    ];
    for (sa, sb) in shapes {
        let (a, b) = (noise(DType::F32, sa, 1), noise(DType::F32, sb, 2));
        check_broadcast(&a, &b);
        check_broadcast(&b, &a);
    }
    // long enough to be cut over threads, in the middle of a row
    let (a, b) = (noise(DType::F32, &[3, 50_000], 3), noise(DType::F32, &[3, 1], 4));
    check_broadcast(&a, &b);
}

fn check_broadcast(a: &Tensor, b: &Tensor) {
    let got = op("sub", &[a, b]).get();
    let shape = got.shape().to_vec();
    let at = |t: &Tensor, mut flat: usize| {
        let mut pos = 0;
        let mut step = 1;
        for (k, n) in shape.iter().enumerate().rev() {
            let i = flat % n;
            flat /= n;
            let back = shape.len() - k;
            if let Some(m) = t.rank().checked_sub(back).and_then(|k| t.shape().get(k)) {
                pos += if *m == 1 { 0 } else { i } * step;
                step *= m;
            }
        }
        t.get_f64(pos)
    };
    for i in 0..got.len() {
        assert_eq!(got.get_f64(i), (at(a, i) - at(b, i)) as f32 as f64);
    }
}

#[test]
fn empty_tensors_stay_empty() {
    let e = f32s(&[0, 3], &[]);
    assert_eq!(op("add", &[&e, &f32s(&[3], &[1.0; 3])]).get().shape(), [0, 3]);
    assert_eq!(op("exp", &[&e]).get().shape(), [0, 3]);
    assert_eq!(op("where", &[&op("eq", &[&e, &e]).get(), &e, &e]).get().shape(), [0, 3]);
}

#[test]
fn wide_mode_does_not_round() {
    let a = tensor(DType::Bf16, &[1], &[256.0]);
    let b = tensor(DType::Bf16, &[1], &[0.5]);
    let mut c = op("add", &[&a, &b]);
    assert_eq!(c.values(), [256.0]);
    c.wide = true;
    assert_eq!(c.values(), [256.5]);
    let mut c = op("cast", &[&a]).dtype("dtype", DType::F8e5m2);
    c.wide = true;
    assert_eq!(c.get().dtype(), DType::F64);
}

proptest! {
    /// Elementwise f16 equals f64 rounded twice, through f32 as the language says.
    #[test]
    fn f16_sums_and_products_round_through_f32(x in any::<u16>(), y in any::<u16>()) {
        let t = |bits: u16| Tensor::from_bytes(DType::F16, vec![1], &bits.to_le_bytes()).unwrap();
        let (a, b) = (t(x), t(y));
        let (p, q) = (a.get_f64(0) as f32, b.get_f64(0) as f32);
        for (name, want) in [("add", p + q), ("mul", p * q), ("div", p / q), ("sub", p - q)] {
            let got = op(name, &[&a, &b]).get();
            let want = Tensor::from_f32s(DType::F16, vec![1], vec![want]);
            let same = got.bit_equal(&want) || (got.get_f64(0).is_nan() && want.get_f64(0).is_nan());
            prop_assert!(same, "{name} {:?} {:?}", got, want);
        }
    }
}

/// What a narrow op is: the f32 op on the same values, rounded once; for every way that operands
/// broadcast, in parts and on one thread.
#[test]
fn narrow_ops_are_f32_ops_rounded_once() {
    let shapes: [(&[usize], &[usize]); 6] = [
        (&[70_000], &[70_000]),
        (&[33, 2500], &[2500]),
        (&[33, 2500], &[33, 1]),
        (&[2500], &[]),
        (&[7, 1, 90], &[1, 30, 90]),
        (&[3, 5, 7], &[5, 1]),
    ];
    for dtype in [DType::F16, DType::Bf16, DType::F8e5m2, DType::I32, DType::U64] {
        for (a, b) in shapes {
            let (a, b) = (noise(DType::F32, a, 3), noise(DType::F32, b, 4));
            let ten = Tensor::scalar(DType::F32, 10.0);
            let [a, b] = [a, b].map(|t| op("mul", &[&t, &ten]).get().cast(dtype));
            let via = if dtype.is_float() { DType::F32 } else { DType::I64 };
            let [wide_a, wide_b] = [&a, &b].map(|t| t.cast(via));
            for name in ["add", "mul", "sub", "maximum", "lt", "ge"] {
                let unsigned = dtype == DType::U64;
                if unsigned && ["maximum", "lt", "ge"].contains(&name) {
                    continue;
                }
                let got = op(name, &[&a, &b]).get();
                let want = op(name, &[&wide_a, &wide_b]).get().cast(got.dtype());
                let shapes = format!("{name} of {dtype}{:?} and {:?}", a.shape(), b.shape());
                assert!(got.bit_equal(&want), "{shapes}");
                assert!(
                    crate::ops::alone(|| op(name, &[&a, &b]).get()).bit_equal(&got),
                    "{shapes}"
                );
            }
            if dtype.is_float() {
                for name in ["silu", "sqrt", "neg", "exp"] {
                    let want = op(name, &[&wide_a]).get().cast(dtype);
                    assert!(op(name, &[&a]).get().bit_equal(&want), "{name} of {dtype}");
                }
            }
            // each element is that of `a` or of `b`
            let c = op("lt", &[&a, &b]).get();
            let chosen = op("where", &[&c, &a, &b]).get().cast(via);
            let want = op("where", &[&c, &wide_a, &wide_b]).get();
            assert!(chosen.bit_equal(&want), "where of {dtype}");
            if dtype.is_float() {
                let least = op("minimum", &[&wide_a, &wide_b]).get();
                assert_eq!(chosen.to_f64s(), least.to_f64s(), "where of {dtype}");
            }
        }
    }
}

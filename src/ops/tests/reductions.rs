//! Reductions: order, accuracy, NaN, empty rows.

use proptest::prelude::*;

use super::run::{close, f32s, i32s, noise, op, same, tensor};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

const NAN: f64 = f64::NAN;

/// The order of sums, from its description: lanes of 16 in blocks of 512, then trees.
fn sum_by_the_book(x: &[f32]) -> f32 {
    let block = |b: &[f32]| {
        let mut lanes = [0.0f32; 16];
        for (i, v) in b.iter().enumerate() {
            lanes[i % 16] += v;
        }
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                lanes[i] += lanes[i + half];
            }
        }
        lanes[0]
    };
    let mut totals: Vec<f32> = x.chunks(512).map(block).collect();
    while totals.len() > 1 {
        totals =
            totals.chunks(2).map(|p| p.iter().copied().reduce(|a, b| a + b).unwrap()).collect();
    }
    totals.first().copied().unwrap_or(0.0)
}

#[test]
fn sums_follow_the_documented_order_in_any_layout() {
    for n in [0usize, 1, 15, 16, 17, 512, 513, 2049, 5000, 200_000] {
        let x = noise(DType::F32, &[n], 7);
        let want = sum_by_the_book(&x.to_f32s());
        assert_eq!(op("sum", &[&x]).get().to_f32s()[0].to_bits(), want.to_bits(), "{n}");
        if n <= 5000 {
            // the same elements down a column give the same bits
            let two: Vec<f64> = x.to_f64s().iter().flat_map(|v| [*v, 0.5]).collect();
            let c = f32s(&[n, 2], &two);
            let got = op("sum", &[&c]).dims(&[0]).get();
            assert_eq!(got.to_f32s()[0].to_bits(), want.to_bits(), "{n}");
        }
    }
}

/// Columns are reduced where they lie; moved to the end by hand, they are rows.
#[test]
fn columns_have_the_bits_of_rows() {
    let shapes: [(&[usize], &[i64], &[usize]); 6] = [
        (&[3, 200], &[0], &[1, 0]),
        (&[1030, 130], &[0], &[1, 0]),
        (&[3, 600, 33], &[1], &[0, 2, 1]),
        (&[5, 7, 40], &[0, 1], &[2, 0, 1]),
        (&[2, 1, 17, 300], &[1, 2], &[0, 3, 1, 2]),
        (&[600, 256], &[0], &[1, 0]),
    ];
    for dtype in [DType::F32, DType::F16, DType::Bf16, DType::F8e4m3, DType::F64, DType::I32] {
        for (shape, dims, perm) in shapes {
            let x = noise(DType::F32, shape, 5).cast(dtype);
            let moved = crate::ops::support::data::permute(&x, perm).unwrap();
            let last: Vec<i64> =
                (shape.len() - dims.len()..shape.len()).map(|d| d as i64).collect();
            for name in ["sum", "prod", "max", "min", "abs_max"] {
                let here = |x: &Tensor, dims: &[i64]| {
                    let call = op(name, &[x]).dims(dims);
                    match matches!(name, "sum" | "prod") && dtype == DType::F8e4m3 {
                        true => call.dtype("out", DType::F32).get(),
                        false => call.get(),
                    }
                };
                let (a, b) = (here(&x, dims), here(&moved, &last));
                assert!(a.bit_equal(&b), "{name} of {dtype}{shape:?} over {dims:?}");
                let alone = crate::ops::alone(|| here(&x, dims));
                assert!(a.bit_equal(&alone), "{name} of {dtype}{shape:?} on one thread");
            }
        }
    }
}

#[test]
fn a_sum_does_not_depend_on_threads() {
    let x = noise(DType::F32, &[40, 5000], 9);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| op("sum", &[&x]).dims(&[1]).get())
    };
    let one = run(1);
    assert!((2..5).all(|t| run(t).bit_equal(&one)));
}

#[test]
fn a_million_sums_stay_accurate() {
    // added one by one in f32, a million times 0.1 is off by about 1 in 100; here each element is
    // rounded at most 32 + 4 + 11 times, and mostly far less
    let n = 1 << 20;
    let x = Tensor::full(DType::F32, vec![n], 0.1);
    let want = 0.1f32 as f64 * n as f64;
    close(&op("sum", &[&x]).values(), &[want], 5e-7);
    close(&op("mean", &[&x]).values(), &[0.1f32 as f64], 5e-7);
}

#[test]
fn sixteen_bit_sums_accumulate_in_f32() {
    let x = Tensor::full(DType::F16, vec![4096], 1.0);
    // in f16 it would stick at 2048
    assert_eq!(op("sum", &[&x]).values(), [4096.0]);
    let x = Tensor::full(DType::F16, vec![70_000], 1.0);
    assert_eq!(op("sum", &[&x]).values(), [f64::INFINITY]);
    assert_eq!(op("sum", &[&x]).dtype("out", DType::F32).values(), [70_000.0]);
    assert_eq!(op("mean", &[&x]).values(), [1.0]);
}

#[test]
fn narrow_integers_need_out_and_wide_ones_wrap() {
    let x = Tensor::full(DType::I8, vec![4], 100.0);
    assert_eq!(op("sum", &[&x]).dtype("out", DType::I32).values(), [400.0]);
    let x = i32s(&[2], &[i32::MAX as i64, 1]);
    assert_eq!(op("sum", &[&x]).values(), [i32::MIN as f64]);
    let b = tensor(DType::Bool, &[3], &[1.0, 0.0, 1.0]);
    assert_eq!(op("sum", &[&b]).dtype("out", DType::I32).values(), [2.0]);
}

#[test]
fn nan_wins_and_order_of_unsigned_holds() {
    let x = f32s(&[2, 2], &[1.0, NAN, 3.0, 2.0]);
    for name in ["max", "min", "abs_max", "sum"] {
        assert!(op(name, &[&x]).dims(&[1]).values()[0].is_nan(), "{name}");
    }
    assert_eq!(op("argmax", &[&x]).dims(&[1]).values(), [1.0, 0.0]);
    assert_eq!(op("argmin", &[&x]).dims(&[1]).values(), [1.0, 1.0]);
    let u = Tensor::from_i64s(DType::U64, vec![3], vec![5, -1, 7]);
    assert_eq!(op("max", &[&u]).get().to_i64s()[0], -1);
    assert_eq!(op("min", &[&u]).get().to_i64s()[0], 5);
    assert_eq!(op("argmax", &[&u]).values(), [1.0]);
}

#[test]
fn rows_without_elements() {
    let x = f32s(&[2, 0], &[]);
    assert_eq!(op("sum", &[&x]).dims(&[1]).values(), [0.0, 0.0]);
    assert_eq!(op("prod", &[&x]).dims(&[1]).values(), [1.0, 1.0]);
    assert!(op("mean", &[&x]).dims(&[1]).values()[0].is_nan());
    assert_eq!(op("logsumexp", &[&x]).dims(&[1]).values(), [f64::NEG_INFINITY; 2]);
    for name in ["max", "min", "argmax"] {
        assert!(op(name, &[&x]).dims(&[1]).error().contains("no elements"), "{name}");
        // no rows: nothing is asked
        assert_eq!(op(name, &[&f32s(&[0, 0], &[])]).dims(&[1]).get().shape(), [0]);
    }
    let b = tensor(DType::Bool, &[0], &[]);
    assert_eq!((op("any", &[&b]).values()[0], op("all", &[&b]).values()[0]), (0.0, 1.0));
}

#[test]
fn logsumexp_does_not_overflow() {
    let x = f32s(&[3, 2], &[1e4, 1e4, f64::NEG_INFINITY, -3.0, f64::INFINITY, 1.0]);
    let want = [1e4 + std::f64::consts::LN_2, -3.0, f64::INFINITY];
    close(&op("logsumexp", &[&x]).dims(&[1]).values(), &want, 1e-7);
    assert!(op("logsumexp", &[&f32s(&[2], &[NAN, 1.0])]).values()[0].is_nan());
}

#[test]
fn cumsum_along_each_axis() {
    let x = i32s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(op("cumsum", &[&x]).dims(&[1]).values(), [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    assert_eq!(op("cumsum", &[&x]).dims(&[0]).values(), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    // carried in f32, rounded at each element: bf16 would stick at 256
    let b = Tensor::full(DType::Bf16, vec![300], 1.0);
    assert_eq!(op("cumsum", &[&b]).dims(&[0]).values()[299], 300.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every reduction over every set of axes agrees with a plain loop over the elements.
    #[test]
    fn reductions_agree_with_plain_loops(
        shape in prop::collection::vec(1usize..5, 1..4),
        set in any::<u8>(),
        keepdim in any::<bool>(),
    ) {
        let x = noise(DType::F32, &shape, u64::from(set) + 1);
        let dims: Vec<i64> =
            (0..shape.len()).filter(|i| (set >> i) & 1 == 1).map(|i| i as i64).collect();
        if dims.is_empty() { return Ok(()); }
        let key = |mut flat: usize| {
            let mut k = vec![];
            for (i, n) in shape.iter().enumerate().rev() {
                if !dims.contains(&(i as i64)) { k.push(flat % n); }
                flat /= n;
            }
            k.reverse();
            k
        };
        let mut groups: std::collections::BTreeMap<Vec<usize>, Vec<f64>> = Default::default();
        for i in 0..x.len() {
            groups.entry(key(i)).or_default().push(x.get_f64(i));
        }
        type Fold = fn(&[f64]) -> f64;
        let folds: [(&str, Fold); 6] = [
            ("sum", |v| v.iter().sum()),
            ("mean", |v| v.iter().sum::<f64>() / v.len() as f64),
            ("prod", |v| v.iter().product()),
            ("max", |v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            ("min", |v| v.iter().copied().fold(f64::INFINITY, f64::min)),
            ("abs_max", |v| v.iter().map(|x| x.abs()).fold(0.0, f64::max)),
        ];
        for (name, fold) in folds {
            let mut c = op(name, &[&x]).dims(&dims);
            if keepdim { c = c.flag("keepdim"); }
            let got = c.get();
            prop_assert_eq!(got.rank(), if keepdim { shape.len() } else { shape.len() - dims.len() });
            for (g, v) in got.to_f64s().iter().zip(groups.values()) {
                let want = fold(v);
                prop_assert!(same(*g, want) || (g - want).abs() < 1e-5, "{name} {g} {want}");
            }
        }
    }
}

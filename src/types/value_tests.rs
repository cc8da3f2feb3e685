use super::*;

fn ints(shape: &[usize]) -> Tensor {
    let n = elements(shape).unwrap() as i64;
    Tensor::from_i64s(DType::I32, shape.to_vec(), (0..n).collect())
}

#[test]
fn a_cast_to_an_integer_truncates_saturates_and_wraps() {
    let f = Tensor::from_f64s(
        DType::F32,
        vec![7],
        vec![1.9, -1.9, 300.0, -300.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
    );
    assert_eq!(*f.cast(DType::I8).to_i64s(), [1, -1, 127, -128, 0, 127, -128]);
    assert_eq!(*f.cast(DType::U8).to_i64s(), [1, 0, 255, 0, 0, 255, 0]);
    assert_eq!(*f.cast(DType::Bool).to_i64s(), [1; 7]);
    assert_eq!(f.cast(DType::I64).get_i64(5), i64::MAX);
    assert_eq!(f.cast(DType::U64).bits(5), u64::MAX);
    let i = Tensor::from_i64s(DType::I64, vec![3], vec![300, -1, 1 << 40]);
    assert_eq!(*i.cast(DType::U8).to_i64s(), [44, 255, 0]);
    assert_eq!(*i.cast(DType::I16).to_i64s(), [300, -1, 0]);
    assert_eq!(*i.cast(DType::U64).to_i64s(), [300, -1, 1 << 40]);
    assert_eq!(*i.cast(DType::Bool).cast(DType::F16).to_f32s(), [1.0; 3]);
}

#[test]
fn f8e4m3_is_nan_above_464() {
    let t = Tensor::from_f64s(DType::F8e4m3, vec![4], vec![448.0, 464.0, 464.0001, -1e9]);
    let codes: Vec<u64> = (0..4).map(|i| t.bits(i)).collect();
    assert_eq!(codes, [0x7e, 0x7e, 0x7f, 0xff]);
}

#[test]
fn the_zero_of_f8e8m0_is_nan() {
    assert_eq!(Tensor::zeros(DType::F8e8m0, vec![2]).bits(1), 0xff);
    assert_eq!(Tensor::zeros(DType::F4e2m1, vec![2]).bits(1), 0);
    assert_eq!(Tensor::full(DType::F16, vec![3], 0.1).bits(2), 0x2e66);
}

#[test]
fn bytes_round_trip_for_every_dtype() {
    for dtype in DType::ALL {
        let t = Tensor::from_f64_iter(dtype, vec![3, 5], (0..15).map(|i| (i % 7) as f64));
        let bytes = t.to_bytes();
        assert_eq!(bytes.len() as u64, dtype.bytes(15));
        let back = Tensor::from_bytes(dtype, vec![3, 5], &bytes).unwrap();
        assert!(back.bit_equal(&t), "{dtype}");
        for i in 0..15 {
            assert_eq!(t.bits(i), back.bits(i));
            let value = t.get_f64(i);
            assert!(value == t.to_f64s()[i] || value.is_nan(), "{dtype}");
        }
        assert!(Tensor::from_bytes(dtype, vec![3, 4], &bytes).is_err());
        assert!(Tensor::from_bytes(dtype, vec![usize::MAX, 4], &bytes).is_err());
        assert!(Tensor::from_bytes(dtype, vec![1 << 60, 1], &bytes).is_err());
        assert_eq!(Tensor::from_bytes(dtype, vec![usize::MAX, 4, 0], &[]).unwrap().len(), 0);
    }
    let f4 = Tensor::from_f64s(DType::F4e2m1, vec![3], vec![0.5, -6.0, 1.0]);
    assert_eq!(f4.to_bytes(), [0xf1, 0x02]);
}

/// What is written some at a time is what is given at once, longer than a piece of it too, and of
/// tensors that stand on each other.
#[test]
fn bytes_are_written_piece_by_piece() {
    let written = |t: &Tensor| {
        let mut out = vec![];
        t.write_to(&mut out).unwrap();
        out
    };
    for dtype in DType::ALL {
        let one = |n: i32| {
            Tensor::from_f64_iter(dtype, vec![3, 5], (0..15).map(|i| f64::from((i + n) % 7)))
        };
        for t in [one(0), one(1).slice_block(&[1, 0], &[2, 5]), Tensor::zeros(dtype, vec![0])] {
            assert_eq!(written(&t), t.to_bytes(), "{dtype}");
        }
        let stacked = Tensor::stacked(&[2], vec![one(0), one(3)]).unwrap();
        assert_eq!(written(&stacked), stacked.to_bytes(), "{dtype}");
    }
    let long = (1 << 22) + 3;
    let t = Tensor::from_i64s(DType::I8, vec![long], (0..long as i64).map(|i| i % 101).collect());
    assert_eq!(written(&t), t.to_bytes());
}

#[test]
fn new_checks_what_it_is_given() {
    let error = |d, shape: &[usize], data| Tensor::new(d, shape.to_vec(), data).unwrap_err();
    assert_eq!(
        error(DType::F32, &[2], Data::F32(vec![1.0])).to_string(),
        "f32 of shape [2] takes 2 elements, found 1"
    );
    assert_eq!(
        error(DType::F16, &[1], Data::F32(vec![1.0])),
        ValueError::Variant { dtype: DType::F16 }
    );
    assert_eq!(
        error(DType::Bool, &[2], Data::Bits8(vec![1, 2])).to_string(),
        "element 1 is 0x02, which no bool is"
    );
    let t = Tensor::new(DType::Tf32, vec![1], Data::F32(vec![1.0 + 2f32.powi(-20)])).unwrap();
    assert_eq!(t.get_f64(0), 1.0);
}

#[test]
fn blocks_are_cut_and_written() {
    let t = ints(&[3, 4, 5]);
    assert!(t.slice_block(&[0, 0, 0], &[3, 4, 5]).bit_equal(&t));
    let b = t.slice_block(&[1, 2, 1], &[2, 2, 3]);
    assert_eq!(b.shape(), [2, 2, 3]);
    assert_eq!(*b.to_i64s(), [31, 32, 33, 36, 37, 38, 51, 52, 53, 56, 57, 58]);
    let whole = t.slice_block(&[1, 0, 0], &[2, 4, 5]);
    assert_eq!(*whole.to_i64s(), (20..60).collect::<Vec<i64>>());
    assert_eq!(*t.slice_block(&[2, 1, 0], &[1, 2, 5]).to_i64s(), (45..55).collect::<Vec<i64>>());
    assert_eq!(t.slice_block(&[3, 0, 5], &[0, 4, 0]).len(), 0);

    let mut copy = t.clone();
    copy.write_block(&[1, 2, 1], &Tensor::full(DType::F32, vec![2, 2, 3], -1.5));
    assert_eq!(t.get_i64(31), 31, "the original keeps its elements");
    assert!(copy.slice_block(&[1, 2, 1], &[2, 2, 3]).to_i64s().iter().all(|&x| x == -1));
    copy.write_block(&[1, 2, 1], &b);
    assert!(copy.bit_equal(&t));
    let mut scalar = Tensor::scalar(DType::F32, 1.0);
    scalar.write_block(&[], &Tensor::scalar(DType::F64, 2.0));
    assert_eq!(scalar.get_f64(0), 2.0);
}

#[test]
#[should_panic(expected = "block at [2] of [2] in [3]")]
fn a_block_outside_panics() {
    ints(&[3]).slice_block(&[2], &[2]);
}

#[test]
fn bit_equality_is_of_patterns() {
    let nan = Tensor::scalar(DType::F32, f64::NAN);
    assert!(nan.bit_equal(&nan.clone()));
    assert!(!Tensor::scalar(DType::F32, 0.0).bit_equal(&Tensor::scalar(DType::F32, -0.0)));
    assert!(!Tensor::scalar(DType::F32, 1.0).bit_equal(&Tensor::scalar(DType::Tf32, 1.0)));
    assert!(!ints(&[2, 3]).bit_equal(&ints(&[3, 2])));
    assert!(ints(&[2, 3]).reshape(vec![3, 2]).bit_equal(&ints(&[3, 2])));
}

#[test]
fn a_shape_that_is_too_large_is_not_lent() {
    // its number of bits is 64 more than 2^64
    let bytes: Arc<Bytes> = Arc::new(vec![0u8; 8]);
    let made = Tensor::lent(DType::F64, vec![(1 << 58) + 1], &bytes, 0..8);
    assert!(matches!(made, Err(ValueError::TooLarge { .. })));
}

#[test]
fn lent_elements_are_read_where_they_lie() {
    // 4,100 f32 from the fourth byte on
    let v: Vec<f32> = (0..4100).map(|i| i as f32 / 3.0).collect();
    let mut raw = vec![9u8; 4];
    raw.extend(v.iter().flat_map(|x| x.to_le_bytes()));
    let whole = Tensor::from_f32s(DType::F32, vec![2, 2050], v);
    for start in [4, 5] {
        // from the fifth byte on nothing is aligned, so it is copied
        let mut moved = raw.clone();
        moved.splice(0..0, vec![0; start - 4]);
        let bytes: Arc<Bytes> = Arc::new(moved);
        let at = start..start + 16400;
        let t = Tensor::lent(DType::F32, vec![2, 2050], &bytes, at).unwrap();
        assert!(t.bit_equal(&whole));
        assert!(
            t.reshape(vec![4100])
                .slice_block(&[7], &[5])
                .bit_equal(&whole.reshape(vec![4100]).slice_block(&[7], &[5]))
        );
        let mut changed = t.clone();
        changed.write_block(&[1, 3], &Tensor::full(DType::F32, vec![1, 2], -1.0));
        assert_eq!(changed.get_f64(2050 + 4), -1.0);
        assert!(t.bit_equal(&whole));
    }
    let bytes: Arc<Bytes> = Arc::new(raw);
    assert!(Tensor::lent(DType::F32, vec![2], &bytes, 0..4).is_err());
    assert!(Tensor::lent(DType::F32, vec![2], &bytes, 16400..16408).is_err());
}

#[test]
fn blocks_share_and_writes_do_not() {
    let v: Vec<f64> = (0..3 * 5000).map(f64::from).collect();
    let t = Tensor::from_f64s(DType::F16, vec![3, 5000], v);
    let mut row = t.slice_block(&[1, 0], &[1, 5000]);
    let part = row.reshape(vec![5000]).slice_block(&[10], &[4500]);
    assert_eq!(part.get_f64(0), t.get_f64(5010));
    row.write_block(&[0, 10], &Tensor::full(DType::F16, vec![1, 1], -1.0));
    assert_eq!((row.get_f64(10), part.get_f64(0)), (-1.0, t.get_f64(5010)));
}

#[test]
fn stacked_tensors_are_one() {
    let part = |k: i32| Tensor::from_f64s(DType::Bf16, vec![2, 3], vec![f64::from(k); 6]);
    let parts: Vec<Tensor> = (0..4).map(part).collect();
    let t = Tensor::stacked(&[2, 2], parts.clone()).unwrap();
    assert_eq!(t.shape(), [2, 2, 2, 3]);
    for (i, p) in parts.iter().enumerate() {
        let one = t.slice_block(&[i / 2, i % 2, 0, 0], &[1, 1, 2, 3]);
        assert!(one.reshape(vec![2, 3]).bit_equal(p));
    }
    let row = t.slice_block(&[1, 0, 1, 0], &[1, 1, 1, 2]);
    assert_eq!(row.to_f64s()[..], [2.0, 2.0]);
    let two = t.slice_block(&[0, 1, 0, 0], &[1, 1, 2, 3]).reshape(vec![6]);
    let all: Vec<f64> = (0..24).map(|i| f64::from(i / 6)).collect();
    assert_eq!(t.to_f64s()[..], all[..]);
    assert_eq!(two.to_f64s()[..], all[6..12]);
    assert!(Tensor::stacked(&[3], parts.clone()).is_err());
    assert!(Tensor::stacked(&[2], vec![part(0), Tensor::zeros(DType::Bf16, vec![3, 2])]).is_err());
}

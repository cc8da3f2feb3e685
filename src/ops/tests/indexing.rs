//! Reads, writes and orders through indices.

use super::run::{f32s, i32s, op, tensor};
use crate::types::dtype::DType;
use crate::types::value::Tensor;

const NAN: f64 = f64::NAN;

#[test]
fn selections_along_any_axis() {
    let x = i32s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let at = i32s(&[4], &[2, 0, 0, 1]);
    let got = op("index_select", &[&x, &at]).dims(&[1]).values();
    assert_eq!(got, [3.0, 1.0, 1.0, 2.0, 6.0, 4.0, 4.0, 5.0]);
    let rows = op("index_select", &[&x, &i32s(&[1], &[1])]).values();
    assert_eq!(rows, [4.0, 5.0, 6.0]);
    let e = op("index_select", &[&x, &i32s(&[3], &[0, 1, 2])]).error();
    assert!(e.contains("index 2 at [2] is outside 0..2"), "{e}");
    let e = op("embedding", &[&i32s(&[1], &[-1]), &x]).error();
    assert!(e.contains("index -1 at [0] is outside 0..2"), "{e}");
    let filled = op("index_select", &[&x, &i32s(&[2], &[-1, 9])]).num("fill", 7.0).values();
    assert_eq!(filled, [7.0; 6]);
}

#[test]
fn gather_takes_an_index_for_each_element() {
    let x = i32s(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    let idx = i32s(&[2, 2], &[0, 2, 1, 0]);
    // out[i][j] = x[idx[i][j]][j]
    assert_eq!(op("gather", &[&x, &idx]).dims(&[0]).values(), [1.0, 6.0, 3.0, 2.0]);
    let idx = i32s(&[2, 3], &[0, 1, 1, 1, 1, 0]);
    // out[i][j] = x[i][idx[i][j]]
    let got = op("gather", &[&x, &idx]).dims(&[1]).values();
    assert_eq!(got, [1.0, 2.0, 2.0, 4.0, 4.0, 3.0]);
    let e = op("gather", &[&x, &i32s(&[4, 1], &[0; 4])]).dims(&[1]).error();
    assert!(e.contains("axis 0 of `idx` is 4"), "{e}");
}

#[test]
fn additions_are_in_order_and_rounded_once() {
    // 2048 + 1 + 1 in f16: one by one it would stay 2048
    let z = tensor(DType::F16, &[1], &[2048.0]);
    let s = tensor(DType::F16, &[2], &[1.0, 1.0]);
    let at = i32s(&[2], &[0, 0]);
    assert_eq!(op("index_add", &[&z, &at, &s]).values(), [2050.0]);
    assert_eq!(op("scatter_add", &[&z, &at, &s]).dims(&[0]).values(), [2050.0]);
    let z = i32s(&[2, 3], &[0; 6]);
    let s = i32s(&[2, 2], &[1, 2, 3, 4]);
    let got = op("index_add", &[&z, &i32s(&[2], &[2, 0]), &s]).dims(&[1]).values();
    assert_eq!(got, [2.0, 0.0, 1.0, 4.0, 0.0, 3.0]);
    // z[i][idx[i][j]] += src[i][j], with an idx narrower than src
    let got = op("scatter_add", &[&z, &i32s(&[2, 1], &[1, 2]), &s]).dims(&[1]).values();
    assert_eq!(got, [0.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
    let e = op("index_add", &[&z, &i32s(&[2], &[0, 3]), &s]).dims(&[1]).error();
    assert!(e.contains("index 3"), "{e}");
}

#[test]
fn orders_are_stable_and_nan_is_largest() {
    let x = f32s(&[6], &[2.0, NAN, 1.0, 2.0, NAN, -0.0]);
    let sorted = op("sort", &[&x]).results().unwrap();
    assert_eq!(sorted[1].to_i64s()[..], [5, 2, 0, 3, 1, 4]);
    assert_eq!(sorted[0].to_f64s()[..4], [-0.0, 1.0, 2.0, 2.0]);
    let down = op("sort", &[&x]).flag("descending").results().unwrap();
    assert_eq!(down[1].to_i64s()[..], [1, 4, 0, 3, 2, 5]);
    let top = op("topk", &[&x]).int("k", 3).dtype("dtype", DType::I32).results().unwrap();
    assert_eq!((top[1].dtype(), &top[1].to_i64s()[..]), (DType::I32, &[1, 4, 0][..]));
    let m = i32s(&[3, 2], &[3, 1, 1, 2, 2, 3]);
    let s = op("sort", &[&m]).dims(&[0]).results().unwrap();
    assert_eq!(s[0].to_f64s()[..], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(s[1].to_f64s()[..], [1.0, 0.0, 2.0, 1.0, 0.0, 2.0]);
    let none = op("topk", &[&x]).int("k", 0).results().unwrap();
    assert_eq!(none[0].shape(), [0]);
    let u = Tensor::from_i64s(DType::U64, vec![2], vec![-1, 0]);
    assert_eq!(op("sort", &[&u]).get().to_i64s()[..], [0, -1]);
}

#[test]
fn pairs_of_a_mixture_of_experts_are_grouped() {
    // the route of a mixture of experts: count, offsets, stable order
    let expert = i32s(&[6], &[2, 0, 2, 1, 0, 2]);
    let counts = op("bincount", &[&expert]).int("n", 4).get();
    assert_eq!(counts.to_f64s()[..], [2.0, 1.0, 3.0, 0.0]);
    let ends = op("cumsum", &[&counts]).dims(&[0]).dtype("out", DType::I32).values();
    assert_eq!(ends, [2.0, 3.0, 6.0, 6.0]);
    let order = op("sort", &[&expert]).dims(&[0]).results().unwrap();
    assert_eq!(order[1].to_f64s()[..], [1.0, 4.0, 3.0, 0.0, 2.0, 5.0]);
    let e = op("bincount", &[&expert]).int("n", 2).error();
    assert!(e.contains("index 2 at [0] is outside 0..2"), "{e}");
}

#[test]
fn caches_take_new_parts() {
    let c = f32s(&[3, 2], &[0.0; 6]);
    let n = f32s(&[1, 2], &[1.0, 2.0]);
    assert_eq!(op("cache_update", &[&c, &n]).int("pos", 2).values()[4..], [1.0, 2.0]);
    let e = op("cache_update", &[&c, &n]).int("pos", 3).error();
    assert!(e.contains("3..4 of an axis of 3"), "{e}");
}

#[test]
fn one_hot_rows() {
    let x = i32s(&[1, 2], &[1, 0]);
    let t = op("one_hot", &[&x]).int("n", 2).dtype("dtype", DType::Bool).get();
    assert_eq!((t.shape(), &t.to_f64s()[..]), (&[1, 2, 2][..], &[0.0, 1.0, 1.0, 0.0][..]));
}

#[test]
fn the_last_write_stays() {
    let z = i32s(&[3, 4], &[0; 12]);
    let src = i32s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    // as in PyTorch, which leaves open only which of two writes stays
    let got = op("scatter", &[&z, &i32s(&[2, 2], &[1, 3, 0, 2]), &src]).dims(&[1]).values();
    assert_eq!(got, [0.0, 1.0, 0.0, 2.0, 4.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let got = op("scatter", &[&z, &i32s(&[1, 3], &[1, 2, 0]), &src]).dims(&[0]).values();
    assert_eq!(got, [0.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let twice = op("scatter", &[&z, &i32s(&[2, 3], &[3, 3, 3, 0, 3, 0]), &src]).dims(&[1]).values();
    assert_eq!(twice[..8], [0.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0, 5.0]);
    let src = i32s(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    let got = op("index_copy", &[&z, &i32s(&[2], &[3, 0]), &src]).dims(&[1]).values();
    assert_eq!(got, [2.0, 0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 3.0, 6.0, 0.0, 0.0, 5.0]);
    let twice = op("index_copy", &[&z, &i32s(&[2], &[1, 1]), &src]).dims(&[1]).values();
    assert_eq!(twice[..4], [0.0, 2.0, 0.0, 0.0]);
    // no arithmetic: every dtype moves as it is
    let (z, s) = (tensor(DType::Bool, &[2], &[0.0, 0.0]), tensor(DType::Bool, &[1], &[1.0]));
    assert_eq!(op("index_copy", &[&z, &i32s(&[1], &[1]), &s]).values(), [0.0, 1.0]);
}

#[test]
fn an_index_outside_is_named_with_its_place() {
    let (x, z) = (f32s(&[5, 2], &[0.0; 10]), f32s(&[5, 3], &[0.0; 15]));
    let idx = i32s(&[2, 3], &[0, 1, 2, 3, 4, 7]);
    let flat = i32s(&[3], &[0, -2, 9]);
    let src = f32s(&[2, 3], &[0.0; 6]);
    let rows = f32s(&[3, 2], &[0.0; 6]);
    for (c, want) in [
        (op("gather", &[&z, &idx]).dims(&[0]), "index 7 at [1, 2] is outside 0..5"),
        (op("scatter", &[&z, &idx, &src]).dims(&[0]), "index 7 at [1, 2] is outside 0..5"),
        (op("scatter_add", &[&z, &idx, &src]).dims(&[0]), "index 7 at [1, 2] is outside 0..5"),
        (op("embedding", &[&idx, &x]), "index 7 at [1, 2] is outside 0..5"),
        (op("one_hot", &[&idx]).int("n", 5), "index 7 at [1, 2] is outside 0..5"),
        (op("bincount", &[&idx]).int("n", 5), "index 7 at [1, 2] is outside 0..5"),
        (op("index_select", &[&x, &flat]), "index -2 at [1] is outside 0..5"),
        (op("index_add", &[&x, &flat, &rows]), "index -2 at [1] is outside 0..5"),
        (op("index_copy", &[&x, &flat, &rows]), "index -2 at [1] is outside 0..5"),
        (op("embedding", &[&i32s(&[], &[5]), &x]), "index 5 is outside 0..5"),
    ] {
        let e = c.error();
        assert_eq!(e, format!("`{}`: {want}", c.op.name()));
    }
}

/// A mesh axis may not split what only indices place: no position would have all of it.
#[test]
fn an_axis_placed_by_indices_stays_whole() {
    let (z, idx, src) =
        (f32s(&[5, 2], &[0.0; 10]), i32s(&[3], &[0, 1, 2]), f32s(&[3, 2], &[0.0; 6]));
    let two = i32s(&[3, 2], &[0; 6]);
    for c in [
        op("index_add", &[&z, &idx, &src]),
        op("index_copy", &[&z, &idx, &src]),
        op("scatter", &[&z, &two, &src]).dims(&[0]),
        op("scatter_add", &[&z, &two, &src]).dims(&[0]),
        op("cache_update", &[&z, &src]).int("pos", 1),
    ] {
        let (inputs, vars) = (c.types(), crate::types::dim::VarTable::default());
        let call = crate::ops::Call { inputs: &inputs, attrs: &c.attrs, vars: &vars };
        let d = c.op.domain(&call, &c.infer().unwrap());
        let split: Vec<bool> = d.dims.iter().map(|d| d.splittable).collect();
        assert_eq!(split, [false, true], "{}", c.op.name());
        super::domains::check(&c);
    }
}

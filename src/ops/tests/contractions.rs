//! Matrix products and einsums, against sums written out in f64.

use super::run::{close, f32s, i32s, noise, op, tensor};
use crate::ops::Attr;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

fn naive(a: &Tensor, b: &Tensor, m: usize, k: usize, n: usize) -> Vec<f64> {
    let batches = a.len() / (m * k);
    let mut out = vec![];
    for t in 0..batches {
        for i in 0..m {
            for j in 0..n {
                let sum = (0..k)
                    .map(|l| a.get_f64((t * m + i) * k + l) * b.get_f64((t * k + l) * n + j))
                    .sum();
                out.push(sum);
            }
        }
    }
    out
}

#[test]
fn products_of_every_shape_and_order() {
    for (m, k, n) in [(1, 1, 1), (1, 64, 33), (17, 5, 1), (9, 130, 70), (64, 64, 64)] {
        for d in [DType::F32, DType::F64, DType::Bf16] {
            let (a, b) = (noise(d, &[m, k], 1), noise(d, &[k, n], 2));
            let want = naive(&a, &b, m, k, n);
            let tolerance = match d {
                DType::F64 => 1e-12,
                DType::F32 => 1e-5,
                _ => 2e-2,
            };
            let at = op("transpose", &[&a]).attr("perm", Attr::Ints(vec![1, 0])).get();
            let bt = op("transpose", &[&b]).attr("perm", Attr::Ints(vec![1, 0])).get();
            for exact in [false, true] {
                let mut cases = vec![
                    op("matmul", &[&a, &b]),
                    op("matmul", &[&at, &b]).flag("transpose_a"),
                    op("matmul", &[&a, &bt]).flag("transpose_b"),
                    op("matmul", &[&at, &bt]).flag("transpose_a").flag("transpose_b"),
                ];
                for c in &mut cases {
                    c.exact_order = exact;
                    close(&c.values(), &want, tolerance);
                }
            }
        }
    }
}

#[test]
fn exact_order_adds_in_index_order() {
    let (m, k, n) = (3, 300, 5);
    let (a, b) = (noise(DType::F32, &[m, k], 1), noise(DType::F32, &[k, n], 2));
    let mut c = op("matmul", &[&a, &b]);
    c.exact_order = true;
    let got = c.get();
    let (x, y) = (a.to_f32s(), b.to_f32s());
    for i in 0..m {
        for j in 0..n {
            let want = (0..k).fold(0.0f32, |s, l| s + x[i * k + l] * y[l * n + j]);
            assert_eq!(got.to_f32s()[i * n + j].to_bits(), want.to_bits());
        }
    }
}

#[test]
fn batches_broadcast() {
    let a = noise(DType::F32, &[2, 1, 3, 4], 1);
    let b = noise(DType::F32, &[5, 4, 6], 2);
    let got = op("matmul", &[&a, &b]).get();
    assert_eq!(got.shape(), [2, 5, 3, 6]);
    for t in 0..2 {
        for s in 0..5 {
            let x = a.slice_block(&[t, 0, 0, 0], &[1, 1, 3, 4]);
            let y = b.slice_block(&[s, 0, 0], &[1, 4, 6]);
            let g = got.slice_block(&[t, s, 0, 0], &[1, 1, 3, 6]);
            close(&g.to_f64s(), &naive(&x, &y, 3, 4, 6), 1e-6);
        }
    }
    // many small products run side by side
    let (a, b) = (noise(DType::F32, &[64, 16, 16], 3), noise(DType::F32, &[64, 16, 16], 4));
    close(&op("matmul", &[&a, &b]).values(), &naive(&a, &b, 16, 16, 16), 1e-5);
}

#[test]
fn empty_extents() {
    let zero = op("matmul", &[&f32s(&[2, 0], &[]), &f32s(&[0, 3], &[])]).get();
    assert_eq!((zero.shape(), zero.to_f64s().to_vec()), (&[2, 3][..], vec![0.0; 6]));
    assert_eq!(
        op("matmul", &[&f32s(&[0, 2], &[]), &f32s(&[2, 3], &[0.0; 6])]).get().shape(),
        [0, 3]
    );
    let spec = Attr::Str("ij,jk->ik".into());
    let c = op("einsum", &[&f32s(&[2, 0], &[]), &f32s(&[0, 3], &[])]).attr("spec", spec);
    assert_eq!(c.values(), [0.0; 6]);
}

#[test]
fn narrow_operands_accumulate_wide() {
    // 4096 ones: bf16 accumulation would stick at 256
    let a = Tensor::full(DType::Bf16, vec![1, 4096], 1.0);
    let b = Tensor::full(DType::Bf16, vec![4096, 1], 1.0);
    assert_eq!(op("matmul", &[&a, &b]).values(), [4096.0]);
    let a = Tensor::full(DType::F8e4m3, vec![1, 3], 448.0);
    let b = Tensor::full(DType::F8e5m2, vec![3, 1], 57344.0);
    let c = op("matmul", &[&a, &b]).dtype("out", DType::F32);
    assert_eq!(c.values(), [3.0 * 448.0 * 57344.0]);
    let i = tensor(DType::I8, &[1, 2], &[127.0, -128.0]);
    let j = tensor(DType::I8, &[2, 1], &[127.0, -128.0]);
    let c = op("matmul", &[&i, &j]).dtype("out", DType::I32);
    assert_eq!(c.values(), [127.0 * 127.0 + 128.0 * 128.0]);
    let i = i32s(&[1, 1], &[1 << 20]);
    assert_eq!(op("matmul", &[&i, &i]).values(), [0.0]);
}

#[test]
fn tf32_rounds_the_operands() {
    // 1 + 2^-11 is a tie between 1 and 1 + 2^-10, and 1 is even
    let a = f32s(&[1, 1], &[1.0 + 2f64.powi(-11)]);
    let b = f32s(&[1, 1], &[1.0]);
    assert_eq!(op("matmul", &[&a, &b]).dtype("precision", DType::Tf32).values(), [1.0]);
    assert_eq!(op("matmul", &[&a, &b]).values(), [1.0 + 2f64.powi(-11)]);
}

/// An einsum summed over all its labels at once, in f64.
fn reference(spec: &str, inputs: &[&Tensor]) -> Vec<f64> {
    let (left, out) = spec.split_once("->").unwrap();
    let terms: Vec<&str> = left.split(',').collect();
    let mut labels: Vec<(char, usize)> = vec![];
    for (t, x) in terms.iter().zip(inputs) {
        for (c, n) in t.chars().zip(x.shape()) {
            if !labels.iter().any(|l| l.0 == c) {
                labels.push((c, *n));
            }
        }
    }
    let extent = |c: char| labels.iter().find(|l| l.0 == c).unwrap().1;
    let size: usize = out.chars().map(extent).product();
    let mut result = vec![0.0; size];
    let total: usize = labels.iter().map(|l| l.1).product();
    for flat in 0..total {
        let mut rest = flat;
        let mut at = std::collections::BTreeMap::new();
        for (c, n) in &labels {
            at.insert(*c, rest % n);
            rest /= n;
        }
        let pos = |t: &str| t.chars().fold(0, |p, c| p * extent(c) + at[&c]);
        let product: f64 = terms.iter().zip(inputs).map(|(t, x)| x.get_f64(pos(t))).product();
        result[pos(out)] += product;
    }
    result
}

#[test]
fn einsums_agree_with_sums_written_out() {
    let sizes = |c: char| match c {
        'a' => 2,
        'b' => 3,
        'c' => 4,
        'd' => 5,
        _ => 2,
    };
    for spec in [
        "ab,bc->ac",
        "ab,bc->ca",
        "ab,cb->ac",
        "ba,bc->ac",
        "ab,ab->ab",
        "ab,ab->",
        "a,b->ab",
        "ab->ba",
        "ab->",
        "abc->b",
        "abc,cd->abd",
        "abc,abd->acd",
        "ab,cd->ac",
        "ab,bc,cd->ad",
        "ab,abc,ad->abcd",
        "abcd,bd->ac",
        "a,a,a->a",
        "dabe,ebad->ab",
    ] {
        let (left, _) = spec.split_once("->").unwrap();
        let inputs: Vec<Tensor> = left
            .split(',')
            .enumerate()
            .map(|(i, t)| {
                noise(DType::F32, &t.chars().map(sizes).collect::<Vec<_>>(), i as u64 + 1)
            })
            .collect();
        let refs: Vec<&Tensor> = inputs.iter().collect();
        let want = reference(spec, &refs);
        for exact in [false, true] {
            let mut c = op("einsum", &refs).attr("spec", Attr::Str(spec.into()));
            c.exact_order = exact;
            close(&c.values(), &want, 1e-5);
        }
    }
}

#[test]
fn an_ellipsis_stands_for_leading_axes() {
    let q = noise(DType::F32, &[2, 3, 4, 5], 1);
    let k = noise(DType::F32, &[2, 3, 6, 5], 2);
    let dots = op("einsum", &[&q, &k]).attr("spec", Attr::Str("...qd,...kd->...qk".into()));
    let plain = op("einsum", &[&q, &k]).attr("spec", Attr::Str("abqd,abkd->abqk".into()));
    assert!(dots.get().bit_equal(&plain.get()));
}

#[test]
fn what_is_between_three_operands_is_not_rounded() {
    // 256 * 257 / 256: the first product, 65792, is no bf16
    let a = tensor(DType::Bf16, &[1], &[256.0]);
    let b = tensor(DType::Bf16, &[1], &[1.0078125]);
    let c = tensor(DType::Bf16, &[1], &[1.0078125]);
    let spec = || Attr::Str("a,a,a->a".into());
    let case = op("einsum", &[&a, &b, &c]).attr("spec", spec()).dtype("out", DType::F32);
    assert_eq!(case.values(), [256.0 * 1.0078125 * 1.0078125]);
}

//! Matrix products, einsums and convolutions, against sums written out in f64.

use super::run::{Case, close, f32s, i32s, noise, op, tensor};
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
        "aab->ba",
        "aa->",
        "aa,bb->ab",
        "aab,bb,a->a",
        "aba,ab->b",
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

/// The values are PyTorch's.
#[test]
fn a_label_twice_is_a_diagonal() {
    let count = |shape: &[usize]| {
        f32s(shape, &(0..shape.iter().product()).map(|i: usize| i as f64).collect::<Vec<_>>())
    };
    let (a, b, c) = (count(&[2, 2, 3]), count(&[2, 2]), count(&[3, 3]));
    let einsum = |spec: &str, x: &[&Tensor]| op("einsum", x).attr("spec", Attr::Str(spec.into()));
    assert_eq!(einsum("iij->ji", &[&a]).values(), [0.0, 9.0, 1.0, 10.0, 2.0, 11.0]);
    assert_eq!(einsum("ii,jj->ij", &[&b, &c]).values(), [0.0, 0.0, 0.0, 0.0, 12.0, 24.0]);
    let d = f32s(&[2], &[1.0, 10.0]);
    assert_eq!(einsum("iij,jj,i->i", &[&a, &c, &d]).values(), [20.0, 1280.0]);
    assert_eq!(einsum("ii->", &[&c]).values(), [12.0]);
    let e = einsum("ii->", &[&f32s(&[2, 3], &[0.0; 6])]).error();
    assert!(e.contains("axis `i` of operand 0") && e.contains("found 2 and 3"), "{e}");
    // 65 axes of extent 1 are more than a text may name
    let wide = f32s(&[1; 65], &[1.0]);
    let e = einsum("...->...", &[&wide]).error();
    assert!(e.contains("names 65 axes"), "{e}");
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

/// A convolution with its options: stride, padding, dilation, groups, causal.
type Options = (i64, i64, i64, i64, bool);

fn conv(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: Options) -> Case {
    let operands: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
    let mut c = op("conv1d", &operands)
        .int("stride", o.0)
        .int("padding", o.1)
        .int("dilation", o.2)
        .int("groups", o.3)
        .attr("causal", Attr::Bool(o.4));
    if bias.is_some() {
        c = c.attr("bias", Attr::Operand(2));
    }
    c
}

/// The sum of the definition, from a copy of `x` with its padding written out.
fn convolution(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: Options) -> Vec<f64> {
    let (stride, padding, dilation, groups, causal) = o;
    let [n, c, l] = x.shape() else { panic!() };
    let [out, part, taps] = w.shape() else { panic!() };
    let reach = (taps - 1) * dilation as usize;
    let (left, right) = if causal { (reach, 0) } else { (padding as usize, padding as usize) };
    let line = |b: usize, ch: usize| -> Vec<f64> {
        let mut v = vec![0.0; left];
        v.extend((0..*l).map(|i| x.get_f64((b * c + ch) * l + i)));
        v.extend(vec![0.0; right]);
        v
    };
    let mut all = vec![];
    for b in 0..*n {
        for ch in 0..*out {
            let group = ch / (out / groups as usize);
            let lines: Vec<Vec<f64>> = (0..*part).map(|i| line(b, group * part + i)).collect();
            let mut at = 0;
            while at + reach < left + l + right {
                let mut sum = bias.map_or(0.0, |v| v.get_f64(ch));
                for (i, v) in lines.iter().enumerate() {
                    for k in 0..*taps {
                        let weight = w.get_f64((ch * part + i) * taps + k);
                        sum += weight * v[at + k * dilation as usize];
                    }
                }
                all.push(sum);
                at += stride as usize;
            }
        }
    }
    all
}

#[test]
fn convolutions_of_every_option() {
    let mut seen = 0;
    for stride in [1, 2, 3] {
        for padding in [0, 1, 4] {
            for dilation in [1, 2] {
                for (groups, out, part) in [(1, 3, 4), (2, 6, 2), (4, 4, 1), (4, 8, 1)] {
                    for taps in [1, 2, 3] {
                        for causal in [false, true] {
                            if causal && padding != 0 {
                                continue;
                            }
                            let x = noise(DType::F32, &[2, 4, 7], 1);
                            let w = noise(DType::F32, &[out, part, taps], 2);
                            let b = noise(DType::F32, &[out], 3);
                            let bias = (seen % 2 == 0).then_some(&b);
                            let o = (stride, padding, dilation, groups, causal);
                            let c = conv(&x, &w, bias, o);
                            close(&c.values(), &convolution(&x, &w, bias, o), 1e-6);
                            super::domains::check(&c);
                            seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 3 * 4 * 2 * 4 * 3);
}

#[test]
fn a_convolution_by_hand() {
    // y[l] = x[l - 2] + 2 x[l - 1] + 4 x[l], at every second l: before the first position is none
    let x = f32s(&[1, 1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let w = f32s(&[1, 1, 3], &[1.0, 2.0, 4.0]);
    assert_eq!(conv(&x, &w, None, (2, 0, 1, 1, true)).values(), [4.0, 17.0, 31.0]);
    // two positions between the taps: x[l - 4] + 2 x[l - 2] + 4 x[l]
    let got = conv(&x, &w, None, (1, 0, 2, 1, true)).values();
    assert_eq!(got, [4.0, 8.0, 14.0, 20.0, 27.0]);
    // and as many positions as windows reach over: one result
    assert_eq!(conv(&x, &w, None, (1, 0, 2, 1, false)).values(), [27.0]);
    // two groups of two channels; the second has only the second two
    let x = f32s(&[1, 4, 1], &[1.0, 10.0, 100.0, 1000.0]);
    let w = f32s(&[4, 2, 1], &[1.0, 1.0, 2.0, 0.0, 1.0, 1.0, 0.0, 3.0]);
    let got = conv(&x, &w, None, (1, 0, 1, 2, false)).values();
    assert_eq!(got, [11.0, 2.0, 1100.0, 3000.0]);
    // padding so wide that a window sees nothing
    let (x, w, b) = (f32s(&[1, 1, 1], &[5.0]), f32s(&[1, 1, 1], &[2.0]), f32s(&[1], &[0.5]));
    assert_eq!(conv(&x, &w, Some(&b), (1, 2, 1, 1, false)).values(), [0.5, 0.5, 10.5, 0.5, 0.5]);
    // a causal one keeps an axis without positions, and a batch may be empty
    let none = conv(&f32s(&[1, 1, 0], &[]), &f32s(&[1, 1, 4], &[0.0; 4]), None, (1, 0, 1, 1, true));
    assert_eq!(none.get().shape(), [1, 1, 0]);
    let none =
        conv(&f32s(&[0, 1, 4], &[]), &f32s(&[1, 1, 4], &[0.0; 4]), None, (1, 0, 1, 1, false));
    assert_eq!(none.get().shape(), [0, 1, 1]);
}

#[test]
fn a_convolution_rounds_once() {
    // 256 + 1 + 1 is no bf16 in between; 258 is
    let x = tensor(DType::Bf16, &[1, 3, 1], &[256.0, 1.0, 1.0]);
    let w = tensor(DType::Bf16, &[1, 3, 1], &[1.0, 1.0, 1.0]);
    assert_eq!(conv(&x, &w, None, (1, 0, 1, 1, false)).values(), [258.0]);
    // the bias comes before the rounding: 257 alone would be 256
    let b = tensor(DType::Bf16, &[1], &[1.0]);
    let w = tensor(DType::Bf16, &[1, 3, 1], &[1.0, 1.0, 0.0]);
    assert_eq!(conv(&x, &w, Some(&b), (1, 0, 1, 1, false)).values(), [258.0]);
    let (x, w) = (Tensor::full(DType::F64, vec![1, 1, 2], 1.0 / 3.0), f32s(&[1, 1, 2], &[1.0; 2]));
    assert_eq!(conv(&x, &w.cast(DType::F64), None, (1, 0, 1, 1, false)).values(), [2.0 / 3.0]);
}

#[test]
fn threads_change_no_bit_of_a_convolution() {
    let (x, w) = (noise(DType::F32, &[2, 16, 300], 1), noise(DType::F32, &[8, 16, 5], 2));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| conv(&x, &w, None, (1, 2, 1, 1, false)).get())
    };
    let one = run(1);
    assert!(one.bit_equal(&run(3)));
    close(&one.to_f64s(), &convolution(&x, &w, None, (1, 2, 1, 1, false)), 1e-5);
}

fn grouped(x: &Tensor, w: &Tensor, ends: &Tensor) -> Case {
    op("grouped_matmul", &[x, w, ends])
}

#[test]
fn groups_of_rows_meet_their_matrices() {
    let (p, k, n) = (9, 5, 4);
    for (d, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-12), (DType::Bf16, 2e-2)] {
        let (x, w) = (noise(d, &[p, k], 1), noise(d, &[4, k, n], 2));
        let wt = op("transpose", &[&w]).attr("perm", Attr::Ints(vec![0, 2, 1])).get();
        for ends in [[2, 2, 7, 9], [0, 0, 0, 9], [9, 9, 9, 9], [1, 4, 8, 9]] {
            let mut want = vec![];
            let mut from = 0;
            for (e, to) in ends.iter().enumerate() {
                let rows = *to as usize - from;
                if rows > 0 {
                    let part = x.slice_block(&[from, 0], &[rows, k]);
                    let matrix = w.slice_block(&[e, 0, 0], &[1, k, n]);
                    want.extend(naive(&part, &matrix, rows, k, n));
                }
                from = *to as usize;
            }
            let ends = i32s(&[4], &ends);
            for exact in [false, true] {
                for mut c in [grouped(&x, &w, &ends), grouped(&x, &wt, &ends).flag("transpose_b")] {
                    c.exact_order = exact;
                    close(&c.values(), &want, tolerance);
                    super::domains::check(&c);
                }
            }
        }
    }
}

#[test]
fn grouped_products_of_integers_and_of_nothing() {
    let x = tensor(DType::I8, &[2, 2], &[127.0, -128.0, 1.0, 2.0]);
    let w = tensor(DType::I8, &[2, 2, 1], &[127.0, -128.0, 3.0, 4.0]);
    let c = grouped(&x, &w, &i32s(&[2], &[1, 2])).dtype("out", DType::I32);
    assert_eq!(c.values(), [32513.0, 11.0]);
    let w = tensor(
        DType::I8,
        &[2, 3, 2],
        &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    );
    let c = grouped(&x, &w, &i32s(&[2], &[1, 2])).dtype("out", DType::I32).flag("transpose_b");
    assert_eq!(c.values(), [-129.0, -131.0, -133.0, 1.0, 2.0, 3.0]);
    // no rows, no inner axis, no experts
    let ends = i32s(&[2], &[0, 0]);
    assert_eq!(grouped(&f32s(&[0, 2], &[]), &f32s(&[2, 2, 3], &[0.0; 12]), &ends).get().len(), 0);
    let ends = i32s(&[2], &[1, 2]);
    assert_eq!(grouped(&f32s(&[2, 0], &[]), &f32s(&[2, 0, 3], &[]), &ends).values(), [0.0; 6]);
    let none = grouped(&f32s(&[0, 2], &[]), &f32s(&[0, 2, 3], &[]), &i32s(&[0], &[]));
    assert_eq!(none.get().shape(), [0, 3]);
}

#[test]
fn wrong_ends_are_named() {
    let (x, w) = (f32s(&[6, 1], &[0.0; 6]), f32s(&[3, 1, 1], &[0.0; 3]));
    for (ends, want) in [
        ([4, 2, 6], "`ends[1]` is 2, below `ends[0]`, which is 4"),
        ([-1, 2, 6], "`ends[0]` is -1, outside the 6 rows of `x`"),
        ([2, 7, 6], "`ends[1]` is 7, outside the 6 rows of `x`"),
        ([2, 4, 5], "`ends[2]`, the last, is 5, and `x` has 6 rows"),
    ] {
        let e = grouped(&x, &w, &i32s(&[3], &ends)).error();
        assert!(e.contains(want), "{e}");
    }
    let e = grouped(&x, &f32s(&[0, 1, 1], &[]), &i32s(&[0], &[])).error();
    assert!(e.contains("6 rows, and no expert"), "{e}");
}

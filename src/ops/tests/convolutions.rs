//! Convolutions over two axes, against sums written out in f64 and against PyTorch.

use super::run::{Case, close, exprs, f32s, noise, op, tensor};
use crate::ops::Attr;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// Stride, padding and dilation of rows and of columns, and groups.
type Options = ([usize; 2], [usize; 2], [usize; 2], i64);

fn conv(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: Options) -> Case {
    let operands: Vec<&Tensor> = [x, w].into_iter().chain(bias).collect();
    let list = |v: [usize; 2]| Attr::Shape(exprs(&v));
    let mut c = op("conv2d", &operands)
        .attr("stride", list(o.0))
        .attr("padding", list(o.1))
        .attr("dilation", list(o.2))
        .int("groups", o.3);
    if bias.is_some() {
        c = c.attr("bias", Attr::Operand(2));
    }
    c
}

/// The sum of the definition.
fn naive(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: Options) -> Vec<f64> {
    let (stride, padding, dilation, groups) = o;
    let (&[n, c, h, l], &[out, part, kh, kw]) = (x.shape(), w.shape()) else { panic!() };
    let windows = |len: usize, k: usize, i: usize| {
        (len + 2 * padding[i] - (k - 1) * dilation[i] - 1) / stride[i] + 1
    };
    let at = |b: usize, ch: usize, y: usize, z: usize| {
        let (y, z) = (y.checked_sub(padding[0]), z.checked_sub(padding[1]));
        match (y.filter(|y| *y < h), z.filter(|z| *z < l)) {
            (Some(y), Some(z)) => x.get_f64(((b * c + ch) * h + y) * l + z),
            _ => 0.0,
        }
    };
    let mut all = vec![];
    for b in 0..n {
        for ch in 0..out {
            let first = ch / (out / groups as usize) * part;
            for r in 0..windows(h, kh, 0) {
                for q in 0..windows(l, kw, 1) {
                    let mut sum = bias.map_or(0.0, |v| v.get_f64(ch));
                    for i in 0..part {
                        for (ky, kx) in (0..kh).flat_map(|a| (0..kw).map(move |b| (a, b))) {
                            let weight = w.get_f64(((ch * part + i) * kh + ky) * kw + kx);
                            let y = r * stride[0] + ky * dilation[0];
                            let z = q * stride[1] + kx * dilation[1];
                            sum += weight * at(b, first + i, y, z);
                        }
                    }
                    all.push(sum);
                }
            }
        }
    }
    all
}

#[test]
fn every_option_is_the_sum_of_the_definition() {
    let mut seen = 0;
    for stride in [[1, 1], [2, 3], [1, 2]] {
        for padding in [[0, 0], [1, 0], [2, 3]] {
            for dilation in [[1, 1], [2, 1], [1, 2]] {
                for (groups, out, part) in [(1, 3, 4), (2, 6, 2), (4, 4, 1)] {
                    for (kh, kw) in [(1, 1), (3, 2), (2, 3)] {
                        let x = noise(DType::F32, &[2, 4, 6, 7], 1);
                        let w = noise(DType::F32, &[out, part, kh, kw], 2);
                        let b = noise(DType::F32, &[out], 3);
                        let bias = (seen % 2 == 0).then_some(&b);
                        let o = (stride, padding, dilation, groups);
                        let mut c = conv(&x, &w, bias, o);
                        let want = naive(&x, &w, bias, o);
                        close(&c.values(), &want, 1e-6);
                        c.exact_order = true;
                        close(&c.values(), &want, 1e-6);
                        if seen % 7 == 0 {
                            super::domains::check(&c);
                        }
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 3 * 3 * 3 * 3 * 3);
}

#[test]
fn as_in_pytorch() {
    let whole = |n: usize, m: i64, low: i64| -> Vec<f64> {
        (0..n as i64).map(|i| (i % m - low) as f64).collect()
    };
    let x = f32s(&[2, 4, 5, 6], &whole(240, 7, 3));
    let w = f32s(&[6, 2, 3, 2], &whole(72, 5, 2));
    let b = f32s(&[6], &whole(6, 7, 0));
    let y = conv(&x, &w, Some(&b), ([2, 1], [1, 2], [1, 2], 2)).get();
    assert_eq!(y.shape(), [2, 6, 3, 8]);
    let first = [
        -9, 5, 14, 1, 2, -11, -1, -7, -12, 1, -18, 21, 18, 1, -5, -7, 3, 5, -10, 4, -10, 4, 3, 1,
        6, 4, -5, -1, -4, 0, -3, 10, 2, -11, 11, 12, -1, 7, 1, 1,
    ];
    let y = y.to_i64s();
    assert_eq!(y[..40], first);
    assert_eq!(y.iter().sum::<i64>(), 700);
    assert_eq!(y.iter().enumerate().map(|(i, v)| i as i64 * v).sum::<i64>(), 120440);
}

#[test]
fn threads_change_no_bit_and_exact_order_is_that_of_the_index() {
    let (x, w) = (noise(DType::F32, &[2, 16, 20, 30], 1), noise(DType::F32, &[8, 16, 3, 3], 2));
    let o = ([1, 1], [1, 1], [1, 1], 1);
    let run = |threads, exact| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut c = conv(&x, &w, None, o);
        c.exact_order = exact;
        pool.install(|| c.get())
    };
    let one = run(1, false);
    assert!(one.bit_equal(&run(3, false)) && run(1, true).bit_equal(&run(3, true)));
    close(&one.to_f64s(), &naive(&x, &w, None, o), 1e-5);
    // channel by channel, row by row of the window, each product added to the sum so far
    let (xs, ws) = (x.to_f32s(), w.to_f32s());
    let (r, q, ch) = (7, 11, 5);
    let mut sum = 0f32;
    for i in 0..16 {
        for (ky, kx) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let at = (i * 20 + r + ky - 1) * 30 + q + kx - 1;
            sum += ws[((ch * 16 + i) * 3 + ky) * 3 + kx] * xs[at];
        }
    }
    assert_eq!(run(1, true).to_f32s()[(ch * 20 + r) * 30 + q].to_bits(), sum.to_bits());
}

#[test]
fn narrow_floats_round_once_and_an_empty_batch_is_empty() {
    // 256 + 1 + 1 is no bf16 in between; 258 is
    let x = tensor(DType::Bf16, &[1, 3, 1, 1], &[256.0, 1.0, 1.0]);
    let w = tensor(DType::Bf16, &[1, 3, 1, 1], &[1.0; 3]);
    let o = ([1, 1], [0, 0], [1, 1], 1);
    assert_eq!(conv(&x, &w, None, o).values(), [258.0]);
    let none = tensor(DType::Bf16, &[0, 3, 1, 1], &[]);
    assert_eq!(conv(&none, &w, None, o).get().shape(), [0, 1, 1, 1]);
}

#[test]
fn what_does_not_fit_is_named() {
    let (x, w) = (f32s(&[1, 2, 4, 4], &[0.0; 32]), f32s(&[2, 2, 3, 5], &[0.0; 60]));
    let ones = ([1, 1], [0, 0], [1, 1], 1);
    let e = conv(&x, &w, None, ones).error();
    assert!(e.contains("windows over 5 positions along axis 3, and `x` has 4"), "{e}");
    let e = op("conv2d", &[&x, &w]).attr("stride", Attr::Shape(exprs(&[1, 1, 1]))).error();
    assert!(e.contains("one `stride` for each of 2 axes, found 3"), "{e}");
    let e = conv(&x, &w, None, ([1, 1], [0, 1], [0, 1], 1)).error();
    assert!(e.contains("a positive `dilation`, found 0"), "{e}");
    let e = conv(&f32s(&[2, 4, 4], &[0.0; 32]), &w, None, ones).error();
    assert!(e.contains("rank 4 as `x`"), "{e}");
}

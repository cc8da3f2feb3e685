//! Tests of the engine on graphs built by hand, with ops of their own.

mod blocks;
mod build;
mod graphs;
mod meshes;

use build::*;

use super::Options;
use crate::diag::Code;
use crate::types::dim::Env;
use crate::types::dtype::DType;

#[test]
fn loop_accumulates_and_carries() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4, 3]));
    let acc = b.op(&ZEROS, &[], f32s(&[3]));
    let out = b.each((0.into(), 4.into(), 1), &[acc, acc], |b, i, p| {
        let row = b.slice(x, vec![at(i)], f32s(&[3]));
        let sum = b.op(&ADD, &[p[0], row], f32s(&[3]));
        // the second carried value is the first one of the trip before
        vec![sum, p[0]]
    });
    b.output("output[0]", out[0]);
    b.output("output[1]", out[1]);
    let t = iota(&[4, 3], 1.0);
    let v = t.to_f64s();
    let got = b.run(std::slice::from_ref(&t)).unwrap();
    let sum = |n: usize, j: usize| (0..n).map(|i| v[i * 3 + j]).sum::<f64>();
    for j in 0..3 {
        assert_eq!(got.outputs[0].get_f64(j), sum(4, j));
        assert_eq!(got.outputs[1].get_f64(j), sum(3, j));
    }
}

#[test]
fn wide_mode_keeps_f64() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[2]));
    let y = b.op(&MUL, &[x, x], f32s(&[2]));
    b.output("output", y);
    let t = crate::types::value::Tensor::from_f64s(DType::F32, vec![2], vec![1e-30, 3.0]);
    let opts = Options { wide: true, keep: vec![y], ..Options::default() };
    let got = b.run_with(&Env::default(), std::slice::from_ref(&t), &opts).unwrap();
    assert_eq!(got.outputs[0].dtype(), DType::F64);
    assert!(got.outputs[0].get_f64(0) > 0.0);
    assert_eq!(got.kept.len(), 1);
    assert_eq!(only(b.run(&[t]))[0], 1e-60f32 as f64);
}

#[test]
fn windows_written_in_a_loop_fill_a_buffer() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[7]));
    let e = b.op(&EMPTY, &[], f32s(&[7]));
    let out = b.each((0.into(), 7.into(), 2), &[e], |b, i, p| {
        let t = b.slice(x, vec![padded(i.clone(), 2, None, 0.0)], f32s(&[2]));
        let t = b.op(&ADD, &[t, t], f32s(&[2]));
        vec![b.write(p[0], vec![padded(i, 2, None, 0.0)], t)]
    });
    b.output("output", out[0]);
    let t = iota(&[7], 1.0);
    let want: Vec<f64> = t.to_f64s().iter().map(|v| v * 2.0).collect();
    assert_eq!(only(b.run(&[t])), want);
}

#[test]
fn unwritten_elements_are_refused_wherever_they_are_used() {
    // as an output, through a view and a window
    let mut b = Build::new();
    let x = b.param("x", f32s(&[2, 2]));
    let e = b.op(&EMPTY, &[], f32s(&[2, 3]));
    let e = b.named(e, "buf");
    let w = b.write(e, vec![win(0, 2), win(0, 2)], x);
    let good = b.slice(w, vec![win(0, 2), win(1, 1)], f32s(&[2, 1]));
    let flat = b.op(&RESHAPE, &[w], f32s(&[6]));
    b.output("output[0]", good);
    let t = iota(&[2, 2], 1.0);
    assert!(b.run(std::slice::from_ref(&t)).is_ok());
    let mut c = b;
    c.output("output[1]", flat);
    let d = c.run(std::slice::from_ref(&t)).unwrap_err();
    assert_eq!(d.code, Code::UninitRead);
    assert!(d.message.contains("[2]") && d.labels[1].text.contains("`buf`"), "{d:#?}");
    // by an op, which names its own place
    c.g.outputs.pop();
    let part = c.slice(flat, vec![win(4, 2)], f32s(&[2]));
    let s = c.op(&ADD, &[part, part], f32s(&[2]));
    c.output("output[1]", s);
    let d = c.run(std::slice::from_ref(&t)).unwrap_err();
    let reader = c.g.value(s).span;
    assert_eq!((d.code, d.span()), (Code::UninitRead, Some(reader)));
    assert!(d.message.contains("element [1]"), "{}", d.message);
}

#[test]
fn bounds_and_failures_name_the_place() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[4]));
    let n = b.dim("n", 9);
    let out = b.op(&ZEROS, &[], f32s(&[]));
    let out = b.each((0.into(), n, 1), &[out], |b, i, p| {
        let v = b.slice(x, vec![at(i)], f32s(&[]));
        vec![b.op(&ADD, &[p[0], v], f32s(&[]))]
    });
    b.output("output", out[0]);
    let t = iota(&[4], 1.0);
    let mut env = Env::default();
    let d = b.run_with(&env, std::slice::from_ref(&t), &Options::default()).unwrap_err();
    assert_eq!(d.code, Code::UnboundDim);
    env.set(b.g.dims[0], 4);
    let opts = Options::default();
    let got = b.run_with(&env, std::slice::from_ref(&t), &opts).unwrap();
    assert_eq!(got.outputs[0].get_f64(0), t.to_f64s().iter().sum::<f64>());
    env.set(b.g.dims[0], 6);
    let d = b.run_with(&env, std::slice::from_ref(&t), &opts).unwrap_err();
    assert_eq!(d.code, Code::WindowOutOfBounds);
    assert!(d.message.contains("index 4") && d.message.contains("extent 4"), "{}", d.message);
    assert_eq!(d.notes, ["at i=4"]);
    let d = b.run_with(&env, &[iota(&[5], 1.0)], &opts).unwrap_err();
    assert_eq!(d.code, Code::BadInput);
    assert!(d.message.contains("f32[5]") && d.message.contains("f32[4]"));
}

#[test]
fn an_op_that_fails_says_its_operands() {
    let mut b = Build::new();
    let x = b.param("x", f32s(&[2]));
    let y = b.op(&FAILS, &[x], f32s(&[2]));
    b.output("output", y);
    let d = b.run(&[iota(&[2], 1.0)]).unwrap_err();
    assert_eq!(d.code, Code::EvalFailed);
    assert_eq!(d.message, "`fails`: division by zero");
    assert_eq!(d.labels[1].text, "`x` is f32[2]");
}

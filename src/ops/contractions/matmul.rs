//! The op `matmul`.

use crate::ops::support::check::Side;
use crate::ops::support::contract::{Batch, batched, batched_bf16, operand_dtype, resource};
use crate::ops::support::gemm::Factor;
use crate::ops::support::prelude::*;
use crate::ops::support::walk::{Walk, broadcast_strides};

struct MatMul;

pub static OP: &dyn Op = &MatMul;

/// The two matrix axes of each operand as the product sees them: `m x k` and `k x n`.
struct Parts<'a> {
    batch: [&'a [Expr]; 2],
    m: &'a Expr,
    k: [&'a Expr; 2],
    n: &'a Expr,
}

fn parts<'a>(call: &Call<'a>) -> Option<Parts<'a>> {
    let matrix = |i: usize, flag: &str| -> Option<(&'a [Expr], &'a Expr, &'a Expr)> {
        let [batch @ .., r, c] = call.inputs.get(i)?.shape.as_slice() else { return None };
        Some(if call.attrs.flag(flag) { (batch, c, r) } else { (batch, r, c) })
    };
    let (ba, m, ka) = matrix(0, "transpose_a")?;
    let (bb, kb, n) = matrix(1, "transpose_b")?;
    Some(Parts { batch: [ba, bb], m, k: [ka, kb], n })
}

fn check_precision(call: &Call, d: DType) -> Result<(), OpError> {
    match call.attrs.dtype("precision") {
        None => Ok(()),
        Some(DType::Tf32) if d == DType::F32 => Ok(()),
        Some(p) => {
            Err(OpError::new(Code::BadAttr, format!("`matmul` of {d} takes no `precision = {p}`"))
                .at("precision", format!("{p} here"))
                .help(
                    "only `precision = tf32` on f32 operands exists; `cast` the operands otherwise",
                ))
        }
    }
}

impl Op for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn group(&self) -> &'static str {
        "contractions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The matrix product over the last two axes.",
                details: "Leading axes are batches and broadcast. Accumulates in f32 (f64 for \
                          f64) and rounds once to `out`, or to the operands' dtype; f8, f4 and \
                          8-bit integers need `out`. `precision = tf32` rounds f32 operands to \
                          tf32 first. Both operands have at least two axes. Two operations for \
                          each of M N K points.",
                examples: &[
                    example(
                        "matmul(a, b)",
                        &[
                            ("a", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                            ("b", "f32[2, 1]", &[1.0, 10.0]),
                        ],
                        ("f32[2, 1]", &[21.0, 43.0]),
                    ),
                    example(
                        "matmul(a, b, transpose_b = true, out = f32)",
                        &[
                            ("a", "bf16[1, 2]", &[256.0, 1.0]),
                            ("b", "bf16[2, 2]", &[1.0, 1.0, 2.0, 3.0]),
                        ],
                        ("f32[1, 2]", &[257.0, 515.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("a"),
                Param::tensor("b"),
                Param::named("transpose_a", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("transpose_b", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
                Param::named("precision", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Multilinear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = operand_dtype("matmul", call, ["a", "b"])?;
        for (i, name) in [(0, "a"), (1, "b")] {
            if call.input(i)?.rank() < 2 {
                return Err(OpError::new(
                    Code::RankMismatch,
                    format!(
                        "`matmul` takes tensors of at least two axes, found `{name}` {}",
                        check::show(call, i)
                    ),
                )
                .at(name, "too few axes")
                .help(format!("`unsqueeze({name}, dim = 0)` makes a row, `dim = 1` a column")));
            }
        }
        check_precision(call, d)?;
        let out = check::out_dtype("matmul", call, d, "a")?;
        let Some(p) = parts(call) else {
            return Err(OpError::new(Code::Internal, "`matmul` lost its axes"));
        };
        let inner = |flag: &str, normal: &str, turned: &str| {
            if call.attrs.flag(flag) { turned.to_string() } else { normal.to_string() }
        };
        let ka = inner("transpose_a", "the last axis of `a`", "axis -2 of `a` (transposed)");
        let kb = inner("transpose_b", "axis -2 of `b`", "the last axis of `b` (transposed)");
        let help = format!(
            "`a` is {} and `b` is {}: `transpose_a = true` or `transpose_b = true` exchanges the \
             last two axes",
            check::show(call, 0),
            check::show(call, 1)
        );
        check::equal("matmul", call, (&ka, p.k[0]), (&kb, p.k[1]), &help)
            .map_err(|e| check::with_types(e, call, &[(0, "a"), (1, "b")]))?;
        let sides = [
            Side { operand: 0, name: "a", shape: p.batch[0] },
            Side { operand: 1, name: "b", shape: p.batch[1] },
        ];
        let mut shape = check::broadcast_shapes("matmul", call, &sides, 2)?;
        shape.extend([p.m.clone(), p.n.clone()]);
        Ok(vec![TensorTy::new(out, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(p), Some(out)) = (parts(call), outs.first()) else { return access::create(outs) };
        let mut dims = access::parallel(&out.shape);
        let rank = out.rank();
        let batch = out.shape.get(..rank.saturating_sub(2)).unwrap_or(&[]);
        let (m, n, k) = (batch.len(), batch.len() + 1, batch.len() + 2);
        dims.push(DomDim::reduce(p.k[0].clone(), Reduction::Sum));
        let read = |shape: &[Expr], flag: &str, row: usize, col: usize| {
            let mut a = access::broadcast(shape, batch);
            let (x, y) = if call.attrs.flag(flag) { (col, row) } else { (row, col) };
            a.axes.extend([AxisAccess::Dims(vec![x]), AxisAccess::Dims(vec![y])]);
            a
        };
        Domain {
            dims,
            reads: vec![
                read(p.batch[0], "transpose_a", m, k),
                read(p.batch[1], "transpose_b", k, n),
            ],
            writes: vec![Access::direct(0..rank)],
            exact: true,
        }
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(a) = call.inputs.first() else { return vec![] };
        vec![Work::point(resource(a.dtype, call.attrs.dtype("precision")), 2)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (mut a, mut b, out) = (cx.input(0)?.clone(), cx.input(1)?.clone(), cx.out(0)?);
        if let (Some(p), false) = (cx.attrs.dtype("precision"), cx.wide) {
            (a, b) = (a.cast(p), b.cast(p));
        }
        let shape = out.shape.clone();
        data::count(&shape)?;
        if let (Slice::Bf16(x), Slice::Bf16(y), DType::Bf16) = (a.data(), b.data(), out.dtype) {
            let (ma, mb) = sides(cx, (&a, x), (&b, y));
            let v = batched_bf16(&ma, &mb, &pairs(cx, &a, &b), cx.exact_order);
            return Ok(vec![data::tensor(out.dtype, shape, Data::Bf16(v))?]);
        }
        Ok(vec![match Class::of([a.dtype(), b.dtype(), out.dtype]) {
            Class::F32 => f32::store(
                out.dtype,
                shape,
                match (a.data(), b.data()) {
                    (Slice::Bf16(x), Slice::Bf16(y)) => product(cx, (&a, x), (&b, y)),
                    _ => product(cx, (&a, &f32::load(&a)), (&b, &f32::load(&b))),
                },
            ),
            Class::F64 => {
                let (x, y) = (f64::load(&a), f64::load(&b));
                f64::store(out.dtype, shape, product(cx, (&a, &x), (&b, &y)))
            }
            Class::Int => Tensor::from_i64s(out.dtype, shape, integers(cx, &a, &b)),
        }])
    }

    fn contraction(&self) -> bool {
        true
    }
}

/// Rows and columns of one matrix of an operand, and whether it is stored transposed.
fn matrix(cx: &EvalCx, t: &Tensor, flag: &str) -> (usize, usize, bool) {
    let (r, c) = match t.shape() {
        [.., r, c] => (*r, *c),
        _ => (0, 0),
    };
    if cx.attrs.flag(flag) { (c, r, true) } else { (r, c, false) }
}

/// Which matrix of each operand every matrix of the result comes from.
fn pairs(cx: &EvalCx, a: &Tensor, b: &Tensor) -> Vec<(usize, usize)> {
    let batch = |s: &[usize]| s[..s.len().saturating_sub(2)].to_vec();
    let out = cx.outs.first().map_or(vec![], |o| batch(&o.shape));
    let (sa, sb) =
        (broadcast_strides(&batch(a.shape()), &out), broadcast_strides(&batch(b.shape()), &out));
    let walk = Walk::new(&out, [&sa, &sb]);
    let [da, db] = walk.steps().map(|s| s as usize);
    let mut pairs = vec![];
    walk.runs(0, out.iter().product(), |_, n, [i, j]| {
        pairs.extend((0..n).map(|k| (i + k * da, j + k * db)));
    });
    pairs
}

/// The products of tensors with their elements.
fn product<T: Factor>(
    cx: &EvalCx,
    (a, va): (&Tensor, &[T]),
    (b, vb): (&Tensor, &[T]),
) -> Vec<T::Sum> {
    let (ma, mb) = sides(cx, (a, va), (b, vb));
    batched(&ma, &mb, &pairs(cx, a, b), cx.exact_order)
}

/// The matrices of two tensors with their elements.
fn sides<'v, T>(
    cx: &EvalCx,
    (a, va): (&Tensor, &'v [T]),
    (b, vb): (&Tensor, &'v [T]),
) -> (Batch<'v, T>, Batch<'v, T>) {
    let (rows, cols, transposed) = matrix(cx, a, "transpose_a");
    let ma = Batch { data: va, rows, cols, transposed };
    let (rows, cols, transposed) = matrix(cx, b, "transpose_b");
    (ma, Batch { data: vb, rows, cols, transposed })
}

fn integers(cx: &EvalCx, a: &Tensor, b: &Tensor) -> Vec<i64> {
    let (va, vb) = (a.to_i64s(), b.to_i64s());
    let (m, k, ta) = matrix(cx, a, "transpose_a");
    let (_, n, tb) = matrix(cx, b, "transpose_b");
    let mut out = vec![];
    for (i, j) in pairs(cx, a, b) {
        let (pa, pb) = (&va[i * m * k..], &vb[j * k * n..]);
        for r in 0..m {
            for c in 0..n {
                out.push((0..k).fold(0i64, |sum, l| {
                    let x = pa[if ta { l * m + r } else { r * k + l }];
                    let y = pb[if tb { c * k + l } else { l * n + c }];
                    sum.wrapping_add(x.wrapping_mul(y))
                }));
            }
        }
    }
    out
}

//! The op `grouped_matmul`.

use std::ops::Range;

use crate::ops::support::contract::{Batch, batched, operand_dtype, resource};
use crate::ops::support::gemm::Factor;
use crate::ops::support::prelude::*;

struct GroupedMatMul;

pub static OP: &dyn Op = &GroupedMatMul;

const NAME: &str = "grouped_matmul";

/// The extents of the product: `rows x inner` with `inner x cols` of one expert.
struct Parts<'a> {
    rows: &'a Expr,
    inner: [&'a Expr; 2],
    experts: [&'a Expr; 2],
    cols: &'a Expr,
}

fn parts<'a>(call: &Call<'a>) -> Option<Parts<'a>> {
    let shape = |i: usize| call.inputs.get(i).map(|t| t.shape.as_slice());
    let ([rows, k], [experts, r, c], [ends]) = (shape(0)?, shape(1)?, shape(2)?) else {
        return None;
    };
    let (inner, cols) = if call.attrs.flag("transpose_b") { (c, r) } else { (r, c) };
    Some(Parts { rows, inner: [k, inner], experts: [experts, ends], cols })
}

impl Op for GroupedMatMul {
    fn name(&self) -> &'static str {
        NAME
    }

    fn group(&self) -> &'static str {
        "contractions"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Matrix products of groups of rows, each group with a matrix of its own.",
                details: "x is [rows, inner], w is [experts, inner, columns], or [experts, \
                          columns, inner] with `transpose_b`. Rows `ends[e - 1]..ends[e]` of x \
                          meet `w[e]`; the first group starts at row 0, and the last ends with \
                          the last row. `ends` never decreases, and an expert without rows costs \
                          nothing: `cumsum(bincount(expert, E), dim = 0)` of sorted rows makes \
                          it. Where it decreases, or ends elsewhere, the evaluation stops and \
                          names the element. Sums accumulate in f32 (f64 for f64; integers \
                          wrap) and are rounded once to `out`, or to the operands' dtype. Two \
                          operations for each row, column and inner index. Of the experts, as \
                          many are counted as read as can have a row, which is an upper bound.",
                examples: &[
                    example(
                        "grouped_matmul(x, w, ends)",
                        &[
                            ("x", "f32[3, 1]", &[1.0, 2.0, 3.0]),
                            ("w", "f32[2, 1, 2]", &[1.0, 10.0, 100.0, 1000.0]),
                            ("ends", "i32[2]", &[1.0, 3.0]),
                        ],
                        ("f32[3, 2]", &[1.0, 10.0, 200.0, 2000.0, 300.0, 3000.0]),
                    ),
                    example(
                        "grouped_matmul(x, w, ends, transpose_b = true, out = f32)",
                        &[
                            ("x", "bf16[2, 2]", &[256.0, 1.0, 1.0, 2.0]),
                            ("w", "bf16[3, 1, 2]", &[1.0, 1.0, 7.0, 7.0, 3.0, 4.0]),
                            ("ends", "i32[3]", &[1.0, 1.0, 2.0]),
                        ],
                        ("f32[2, 1]", &[257.0, 11.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::tensor("w"),
                Param::tensor("ends"),
                Param::named("transpose_b", ParamKind::Bool, DefaultValue::Bool(false)),
                Param::named("out", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = operand_dtype(NAME, call, ["x", "w"])?;
        check::takes(NAME, call, 2, "ends", Takes::Ints)?;
        let turned = call.attrs.flag("transpose_b");
        let matrix = match turned {
            true => "[experts, columns, inner] with `transpose_b`",
            false => "[experts, inner, columns]",
        };
        for (i, name, rank, axes) in
            [(0, "x", 2, "[rows, inner]"), (1, "w", 3, matrix), (2, "ends", 1, "[experts]")]
        {
            check::rank(NAME, call, i, name, rank)
                .map_err(|e| e.help(format!("the axes of `{name}` are {axes}")))?;
        }
        let out = check::out_dtype(NAME, call, d, "x")?;
        let Some(p) = parts(call) else {
            return Err(OpError::new(Code::Internal, "`grouped_matmul` lost its axes"));
        };
        let of_w = match turned {
            true => "the last axis of `w` (transposed)",
            false => "axis 1 of `w`",
        };
        let help = format!(
            "`x` is {} and `w` is {}: `transpose_b = true` exchanges the last two axes of `w`",
            check::show(call, 0),
            check::show(call, 1)
        );
        check::equal(NAME, call, ("axis 1 of `x`", p.inner[0]), (of_w, p.inner[1]), &help)
            .map_err(|e| check::with_types(e, call, &[(0, "x"), (1, "w")]))?;
        let help = format!(
            "`w` is {} and `ends` is {}: each expert has the end of its rows there",
            check::show(call, 1),
            check::show(call, 2)
        );
        let experts = (("axis 0 of `w`", p.experts[0]), ("the axis of `ends`", p.experts[1]));
        check::equal(NAME, call, experts.0, experts.1, &help)
            .map_err(|e| check::with_types(e, call, &[(1, "w"), (2, "ends")]))?;
        Ok(vec![TensorTy::new(out, vec![p.rows.clone(), p.cols.clone()])])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Some(p) = parts(call) else { return access::create(outs) };
        let (rows, cols, inner) = (0, 1, 2);
        let dim = |d: usize| AxisAccess::Dims(vec![d]);
        let matrix = match call.attrs.flag("transpose_b") {
            true => [dim(cols), dim(inner)],
            false => [dim(inner), dim(cols)],
        };
        let [experts, ends] = p.experts;
        Domain {
            dims: vec![
                DomDim::parallel(p.rows.clone()),
                DomDim::parallel(p.cols.clone()),
                DomDim::reduce(p.inner[0].clone(), Reduction::Sum),
            ],
            reads: vec![
                Access::direct([rows, inner]),
                Access {
                    axes: [access::some(experts, p.rows)].into_iter().chain(matrix).collect(),
                },
                Access { axes: vec![AxisAccess::Any { touched: ends.clone() }] },
            ],
            writes: vec![Access::direct([rows, cols])],
            exact: false,
        }
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |x| vec![Work::point(resource(x.dtype, None), 2)])
    }

    /// False: `ends` tells rows of the whole operand.
    fn blockwise(&self) -> bool {
        false
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, w, out) = (cx.input(0)?, cx.input(1)?, cx.out(0)?);
        data::count(&out.shape)?;
        let shape = out.shape.clone();
        Ok(vec![match Class::of([x.dtype(), w.dtype(), out.dtype]) {
            Class::F32 => f32::store(
                out.dtype,
                shape,
                product(cx, |p| match (p.x.data(), p.w.data()) {
                    (Slice::Bf16(x), Slice::Bf16(w)) => floats(&p, x, w),
                    _ => floats(&p, &f32::load(p.x), &f32::load(p.w)),
                })?,
            ),
            Class::F64 => f64::store(
                out.dtype,
                shape,
                product(cx, |p| floats(&p, &f64::load(p.x), &f64::load(p.w)))?,
            ),
            Class::Int => Tensor::from_i64s(out.dtype, shape, product(cx, integers)?),
        }])
    }

    fn contraction(&self) -> bool {
        true
    }
}

/// The rows of each expert.
fn groups(ends: &Tensor, rows: usize) -> Result<Vec<Range<usize>>, EvalError> {
    let v = ends.to_i64s();
    let shown = |k: i64| match ends.dtype() {
        DType::U64 => (k as u64).to_string(),
        _ => k.to_string(),
    };
    let mut from = 0;
    let mut out = vec![];
    for (i, &k) in v.iter().enumerate() {
        let to = usize::try_from(k).ok().filter(|k| *k <= rows).ok_or_else(|| {
            EvalError::new(format!(
                "`{NAME}`: `ends[{i}]` is {}, outside the {rows} rows of `x`",
                shown(k)
            ))
        })?;
        if to < from {
            return Err(EvalError::new(format!(
                "`{NAME}`: `ends[{i}]` is {to}, below `ends[{}]`, which is {from}",
                i - 1
            )));
        }
        out.push(from..to);
        from = to;
    }
    match v.len().checked_sub(1) {
        _ if from == rows => Ok(out),
        Some(last) => Err(EvalError::new(format!(
            "`{NAME}`: `ends[{last}]`, the last, is {from}, and `x` has {rows} rows"
        ))),
        None => Err(EvalError::new(format!("`{NAME}`: `x` has {rows} rows, and no expert"))),
    }
}

/// The product of some rows with one matrix.
struct One<'a> {
    x: &'a Tensor,
    w: &'a Tensor,
    rows: usize,
    inner: usize,
    cols: usize,
    transposed: bool,
    exact_order: bool,
}

/// The products of all groups, one after the other: the rows are in their order.
fn product<T>(cx: &EvalCx, one: impl Fn(One) -> Vec<T>) -> Result<Vec<T>, EvalError> {
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    let transposed = cx.attrs.flag("transpose_b");
    let (&[rows, inner], &[_, r, c]) = (x.shape(), w.shape()) else {
        return Err(EvalError::new(format!("`{NAME}` takes rows and a matrix for each expert")));
    };
    let cols = if transposed { r } else { c };
    let mut out = vec![];
    for (e, part) in groups(cx.input(2)?, rows)?.into_iter().enumerate() {
        if part.is_empty() {
            continue;
        }
        let x = data::block(x, &[part.start, 0], &[part.len(), inner])?;
        let w = data::block(w, &[e, 0, 0], &[1, r, c])?;
        out.extend(one(One {
            x: &x,
            w: &w,
            rows: part.len(),
            inner,
            cols,
            transposed,
            exact_order: cx.exact_order,
        }));
    }
    Ok(out)
}

/// The product of elements as they are, or as f32.
fn floats<T: Factor>(p: &One, x: &[T], w: &[T]) -> Vec<T::Sum> {
    let a = Batch { data: x, rows: p.rows, cols: p.inner, transposed: false };
    let b = Batch { data: w, rows: p.inner, cols: p.cols, transposed: p.transposed };
    batched(&a, &b, &[(0, 0)], p.exact_order)
}

fn integers(p: One) -> Vec<i64> {
    let (x, w) = (p.x.to_i64s(), p.w.to_i64s());
    // strides of the matrix along the inner axis and along the columns
    let (inner, col) = if p.transposed { (1, p.inner) } else { (p.cols, 1) };
    let mut out = vec![];
    for row in x.chunks(p.inner.max(1)).take(p.rows) {
        for c in 0..p.cols {
            let column = w.iter().skip(c * col).step_by(inner.max(1));
            let terms = row.iter().zip(column);
            out.push(terms.fold(0i64, |sum, (x, w)| sum.wrapping_add(x.wrapping_mul(*w))));
        }
    }
    out.resize(p.rows * p.cols, 0);
    out
}

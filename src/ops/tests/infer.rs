//! Types of results, and the messages of refusals, with symbolic extents.

use super::run::{f32s, i32s, op, tensor};
use crate::base::{FileId, Span};
use crate::diag::Code;
use crate::ops::registry::find;
use crate::ops::{Attr, Attrs, Call, OpError};
use crate::types::dim::{Expr, VarInfo, VarKind, VarTable};
use crate::types::dtype::DType;
use crate::types::ty::TensorTy;

/// A table with one dim.
pub fn dim(name: &str, lo: i64, hi: i64) -> (VarTable, Expr) {
    let mut vars = VarTable::default();
    let v = add(&mut vars, name, lo, hi);
    (vars, v)
}

fn add(vars: &mut VarTable, name: &str, lo: i64, hi: i64) -> Expr {
    Expr::var(vars.add(VarInfo {
        name: name.into(),
        kind: VarKind::Dim,
        lo: lo.into(),
        hi: hi.into(),
        span: Span::new(FileId(0), 0, 0),
    }))
}

fn f(shape: &[&Expr]) -> TensorTy {
    TensorTy::new(DType::F32, shape.iter().map(|e| (*e).clone()).collect())
}

fn infer(
    name: &str,
    inputs: &[TensorTy],
    attrs: &[(&'static str, Attr)],
    vars: &VarTable,
) -> Result<Vec<TensorTy>, OpError> {
    let attrs = Attrs(attrs.to_vec());
    find(name).unwrap().infer(&Call { inputs, attrs: &attrs, vars })
}

fn shown(r: Result<Vec<TensorTy>, OpError>, vars: &VarTable) -> String {
    match r {
        Ok(v) => v.iter().map(|t| t.show(vars)).collect::<Vec<_>>().join(" "),
        Err(e) => format!("{}: {}", e.code.id(), e.message),
    }
}

#[test]
fn extents_stay_symbolic() {
    let (vars, t) = dim("T", 1, 4096);
    let (h, one, eight) = (Expr::int(128), Expr::one(), Expr::int(8));
    let x = f(&[&t, &h]);
    let i = |n: i64| Attr::Int(Expr::int(n));
    let cases = [
        (infer("add", &[x.clone(), f(&[&one, &h])], &[], &vars), "f32[T, 128]"),
        (
            infer("sum", std::slice::from_ref(&x), &[("dim", Attr::Ints(vec![0]))], &vars),
            "f32[128]",
        ),
        (
            infer(
                "reshape",
                &[f(&[&t, &eight])],
                &[("shape", Attr::Shape(vec![t.scale(8)]))],
                &vars,
            ),
            "f32[8 * T]",
        ),
        (
            infer("concat", &[x.clone(), f(&[&one, &h])], &[("dim", Attr::Ints(vec![0]))], &vars),
            "f32[T + 1, 128]",
        ),
        (
            infer("matmul", &[x.clone(), x.clone()], &[("transpose_b", Attr::Bool(true))], &vars),
            "f32[T, T]",
        ),
        (
            infer(
                "repeat_interleave",
                std::slice::from_ref(&x),
                &[("repeats", i(4)), ("dim", Attr::Ints(vec![0]))],
                &vars,
            ),
            "f32[4 * T, 128]",
        ),
        (
            infer(
                "unflatten",
                &[f(&[&t.scale(8), &h])],
                &[
                    ("sizes", Attr::Shape(vec![t.clone(), eight.clone()])),
                    ("dim", Attr::Ints(vec![0])),
                ],
                &vars,
            ),
            "f32[T, 8, 128]",
        ),
        (infer("arange", &[], &[("n", Attr::Int(t.clone()))], &vars), "i64[T]"),
    ];
    for (got, want) in cases {
        assert_eq!(shown(got, &vars), want);
    }
}

#[test]
fn what_cannot_be_decided_is_an_error_with_both_expressions() {
    let (mut vars, t) = dim("T", 1, 4096);
    let u = add(&mut vars, "U", 1, 4096);
    let e = infer("add", &[f(&[&t]), f(&[&u])], &[], &vars).unwrap_err();
    assert_eq!(e.code, Code::Undecided);
    assert!(e.message.contains("`T`") && e.message.contains("`U`"), "{}", e.message);
    assert_eq!(e.at.len(), 2);
    let e = infer("reshape", &[f(&[&t])], &[("shape", Attr::Shape(vec![u.clone()]))], &vars);
    assert_eq!(e.unwrap_err().code, Code::Undecided);
    let e = infer("topk", &[f(&[&t])], &[("k", Attr::Int(8.into()))], &vars).unwrap_err();
    assert_eq!(e.code, Code::Undecided);
    let e = infer("matmul", &[f(&[&t, &u]), f(&[&t, &u])], &[], &vars).unwrap_err();
    assert_eq!(e.code, Code::Undecided);
    assert!(e.help.unwrap().contains("f32[T, U]"));
}

#[test]
fn windows_and_groups_stay_symbolic() {
    let (mut vars, t) = dim("T", 1, 4096);
    let u = add(&mut vars, "U", 8, 64);
    let int = |n: i64| Attr::Int(Expr::int(n));
    let at = |stride: i64, padding: &Expr, groups: &Expr, causal: bool| {
        vec![
            ("stride", int(stride)),
            ("padding", Attr::Int(padding.clone())),
            ("dilation", int(1)),
            ("groups", Attr::Int(groups.clone())),
            ("causal", Attr::Bool(causal)),
        ]
    };
    let (zero, one, four) = (Expr::zero(), Expr::one(), Expr::int(4));
    let (x, w) = (f(&[&one, &u, &t]), f(&[&u, &one, &four]));
    let wide = f(&[&u.scale(2), &one, &four]);
    for (inputs, attrs, want) in [
        ([&x, &w], at(1, &zero, &u, true), "f32[1, U, T]"),
        ([&x, &wide], at(1, &four, &u, false), "f32[1, 2 * U, T + 5]"),
        ([&f(&[&t, &u, &u]), &w], at(1, &zero, &u, false), "f32[T, U, U - 3]"),
    ] {
        let inputs = inputs.map(Clone::clone);
        assert_eq!(shown(infer("conv1d", &inputs, &attrs, &vars), &vars), want);
    }
    // a window may be longer than the positions, and groups may leave a rest
    let e = infer("conv1d", &[x.clone(), w.clone()], &at(1, &zero, &u, false), &vars).unwrap_err();
    assert_eq!(e.code, Code::Undecided);
    assert!(
        e.message.contains("windows over 4 positions, and whether `x` with T"),
        "{}",
        e.message
    );
    let odd = f(&[&u.add(&one), &one, &four]);
    let e = infer("conv1d", &[x, odd], &at(1, &zero, &u, true), &vars).unwrap_err();
    assert_eq!(e.code, Code::Undecided);
    assert!(e.message.contains("whether `U + 1` is a multiple of `U`"), "{}", e.message);

    let (rows, experts) = (f(&[&t.scale(8), &four]), f(&[&u, &four, &u.scale(2)]));
    let ends = TensorTy::new(DType::I32, vec![u.clone()]);
    let got = infer("grouped_matmul", &[rows, experts, ends], &[], &vars);
    assert_eq!(shown(got, &vars), "f32[8 * T, 2 * U]");
}

#[test]
fn ranges_of_values_follow_moved_integers() {
    let (vars, t) = dim("T", 1, 4096);
    let mut ids = TensorTy::new(DType::I32, vec![t.clone(), 4.into()]);
    ids.range = Some((Expr::zero(), 127.into()));
    let at = |name: &str, attrs: &[(&'static str, Attr)]| {
        infer(name, std::slice::from_ref(&ids), attrs, &vars).unwrap().remove(0).range
    };
    assert_eq!(at("reshape", &[("shape", Attr::Shape(vec![t.scale(4)]))]), ids.range);
    assert_eq!(at("cast", &[("dtype", Attr::DType(DType::I64))]), ids.range);
    assert_eq!(at("cast", &[("dtype", Attr::DType(DType::F32))]), None);
    assert_eq!(
        at("argmax", &[("dim", Attr::Ints(vec![0]))]),
        Some((Expr::zero(), t.sub(&Expr::one())))
    );
}

/// (the call, code, what the message says)
#[test]
fn refusals_name_the_argument_and_the_shapes() {
    let (a, b) = (f32s(&[2, 3], &[0.0; 6]), f32s(&[4], &[0.0; 4]));
    let h = tensor(DType::F16, &[3], &[0.0; 3]);
    let i = i32s(&[2], &[0, 1]);
    let q = tensor(DType::F8e4m3, &[2, 2], &[0.0; 4]);
    let spec = |s: &str| Attr::Str(s.into());
    let (x, w) = (f32s(&[1, 4, 5], &[0.0; 20]), f32s(&[4, 2, 3], &[0.0; 24]));
    let grouped_conv = || op("conv1d", &[&x, &w]).int("groups", 2);
    let e = f32s(&[2, 3, 5], &[0.0; 30]);
    let cases = [
        (
            op("add", &[&a, &b]),
            Code::ShapeMismatch,
            "`a` f32[2, 3] with `b` f32[4]: at axis -1 3 is not 4",
        ),
        (op("mul", &[&a, &h]), Code::DTypeMismatch, "found `a` f32[2, 3] and `b` f16[3]"),
        (op("exp", &[&i]), Code::BadDType, "`exp` takes a float as `x`, found i32[2]"),
        (op("div", &[&i, &i]), Code::BadDType, "takes a float"),
        (op("rem", &[&a, &a]), Code::BadDType, "takes an integer"),
        (op("not", &[&a]), Code::BadDType, "takes bool"),
        (op("sum", &[&a]).dims(&[2]), Code::BadAxis, "no axis 2 in f32[2, 3]"),
        (op("sum", &[&a]).dims(&[0, 0]), Code::BadAxis, "twice"),
        (op("sum", &[&q]), Code::BadArgs, "`sum` of f8e4m3 needs `out`"),
        (op("mean", &[&i]), Code::BadDType, "`mean` takes a float"),
        (op("matmul", &[&q, &q]), Code::BadArgs, "needs `out`"),
        (
            op("matmul", &[&a, &a]),
            Code::ShapeMismatch,
            "the last axis of `a` and axis -2 of `b` to agree, found 3 and 2",
        ),
        (op("matmul", &[&a, &b]), Code::RankMismatch, "found `b` f32[4]"),
        (op("matmul", &[&a, &a]).dtype("precision", DType::F16), Code::BadAttr, "precision = f16"),
        (
            op("einsum", &[&a, &a]).attr("spec", spec("ij,jk->ik")),
            Code::ShapeMismatch,
            "axis `j` of operand 0",
        ),
        (op("einsum", &[&a]).attr("spec", spec("ijk->i")), Code::BadAttr, "operand 0 has 2 axes"),
        (
            op("reshape", &[&a]).shape("shape", &[5]),
            Code::ReshapeSize,
            "6 elements, to [5], which has 5",
        ),
        (
            op("transpose", &[&a]).attr("perm", Attr::Ints(vec![0, 0])),
            Code::BadAttr,
            "each of its axes once",
        ),
        (op("squeeze", &[&a]).dims(&[0]), Code::ShapeMismatch, "axis 0 of `x`"),
        (op("concat", &[&a, &b]), Code::RankMismatch, "operand 1 is f32[4]"),
        (op("cast", &[&a]), Code::BadArgs, "needs `dtype`"),
        (op("clamp", &[&a]), Code::BadArgs, "`min` or `max`"),
        (op("clamp", &[&i]).num("min", 0.5), Code::BadAttr, "takes an integer as `min`"),
        (op("argmax", &[&a]).dims(&[0, 1]), Code::BadAttr, "one axis"),
        (op("index_select", &[&a, &a]), Code::BadDType, "takes an integer as `idx`"),
        (op("topk", &[&a]).int("k", 4), Code::BadAttr, "4 elements from an axis of 3"),
        (op("unsqueeze", &[&a]).int("dim", 4), Code::BadAxis, "at 4"),
        (op("tril_mask", &[]).shape("shape", &[3]), Code::RankMismatch, "two extents"),
        (op("sort", &[&a]).dtype("dtype", DType::F32), Code::BadDType, "i64 or i32"),
        (op("conv1d", &[&a, &w]), Code::RankMismatch, "rank 3 as `x`, found f32[2, 3]"),
        (
            op("conv1d", &[&x, &tensor(DType::F16, &[4, 2, 3], &[0.0; 24])]),
            Code::DTypeMismatch,
            "f16[4, 2, 3]",
        ),
        (
            op("conv1d", &[&x, &w]),
            Code::ShapeMismatch,
            "the channels of `x` and axis 1 of `w` to agree, found 4 and 2",
        ),
        (
            op("conv1d", &[&x, &w]).int("groups", 4),
            Code::ShapeMismatch,
            "`groups` times axis 1 of `w`, 2, to agree, found 4 and 8",
        ),
        (
            op("conv1d", &[&x, &f32s(&[3, 2, 3], &[0.0; 18])]).int("groups", 2),
            Code::ShapeMismatch,
            "cannot divide 3 channels of `w` into 2 groups",
        ),
        (op("conv1d", &[&x, &w]).int("groups", 0), Code::BadAttr, "positive `groups`, found 0"),
        (grouped_conv().int("stride", 0), Code::BadAttr, "positive `stride`, found 0"),
        (grouped_conv().int("dilation", -1), Code::BadAttr, "positive `dilation`, found -1"),
        (grouped_conv().int("padding", -1), Code::BadAttr, "at least 0, found -1"),
        (
            grouped_conv().int("padding", 1).flag("causal"),
            Code::BadAttr,
            "where it is causal, found 1",
        ),
        (
            grouped_conv().int("dilation", 4).int("padding", 1),
            Code::ShapeMismatch,
            "windows over 9 positions, and `x` has 5, padded 7",
        ),
        (
            op("conv1d", &[&x, &w, &h]).int("groups", 2).attr("bias", Attr::Operand(2)),
            Code::DTypeMismatch,
            "`conv1d` of f32 takes a `bias` of f32, found f16[3]",
        ),
        (
            op("conv1d", &[&x, &w, &f32s(&[3], &[0.0; 3])])
                .int("groups", 2)
                .attr("bias", Attr::Operand(2)),
            Code::ShapeMismatch,
            "the axis of `bias` and axis 0 of `w` to agree, found 3 and 4",
        ),
        (
            op("full_like", &[&i]).num("value", 0.5),
            Code::BadAttr,
            "`full_like` of i32 takes an integer, found 0.5",
        ),
        (
            op("full_like", &[&q]).num("value", 500.0),
            Code::BadAttr,
            "takes a value of f8e4m3, found 500",
        ),
        (
            op("pad", &[&tensor(DType::F8e8m0, &[1], &[1.0])]).dims(&[0]),
            Code::BadAttr,
            "takes a value of f8e8m0, found 0",
        ),
        (
            op("index_select", &[&i, &i]).num("fill", 1.5),
            Code::BadAttr,
            "`index_select` of i32 takes an integer, found 1.5",
        ),
        (op("grouped_matmul", &[&a, &a, &i]), Code::RankMismatch, "rank 3 as `w`, found f32[2, 3]"),
        (op("grouped_matmul", &[&a, &e, &b]), Code::BadDType, "an integer as `ends`, found f32[4]"),
        (
            op("grouped_matmul", &[&a, &e, &i]).flag("transpose_b"),
            Code::ShapeMismatch,
            "axis 1 of `x` and the last axis of `w` (transposed) to agree, found 3 and 5",
        ),
        (
            op("grouped_matmul", &[&a, &e, &i32s(&[3], &[0; 3])]),
            Code::ShapeMismatch,
            "axis 0 of `w` and the axis of `ends` to agree, found 2 and 3",
        ),
        (
            op("grouped_matmul", &[&q, &tensor(DType::F8e5m2, &[2, 2, 2], &[0.0; 8]), &i]),
            Code::BadArgs,
            "needs `out`",
        ),
    ];
    for (case, code, want) in cases {
        let e = case.infer().unwrap_err();
        assert!(e.code == code && e.message.contains(want), "{}: {}", e.code.id(), e.message);
        assert!(!e.message.ends_with('.'), "{}", e.message);
        let first = e.message.chars().next().unwrap();
        assert!(!first.is_uppercase(), "{}", e.message);
    }
}

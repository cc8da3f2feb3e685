//! Checks of operands and attributes, with the messages they give.

use crate::diag::Code;
use crate::ops::{Attr, Attrs, Call, OpError};
use crate::types::dim::{Decision, Expr};
use crate::types::dtype::DType;
use crate::types::ty::TensorTy;

/// The dtypes that an operand may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Floats,
    Ints,
    /// Floats and integers.
    Numbers,
    Bools,
    All,
}

impl Takes {
    pub fn admits(self, d: DType) -> bool {
        match self {
            Takes::Floats => d.is_float(),
            Takes::Ints => d.is_int(),
            Takes::Numbers => d != DType::Bool,
            Takes::Bools => d == DType::Bool,
            Takes::All => true,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Takes::Floats => "a float",
            Takes::Ints => "an integer",
            Takes::Numbers => "a float or an integer",
            Takes::Bools => "bool",
            Takes::All => "any dtype",
        }
    }

    fn remedy(self, name: &str) -> String {
        match self {
            Takes::Floats | Takes::Numbers => format!("`cast({name}, f32)` converts first"),
            Takes::Ints => format!("`cast({name}, i32)` converts first"),
            Takes::Bools => format!("a comparison gives a bool, such as `{name} != 0`"),
            Takes::All => String::new(),
        }
    }
}

/// The dtype of operand `i`, which must be one of those admitted.
pub fn takes(op: &str, call: &Call, i: usize, name: &str, t: Takes) -> Result<DType, OpError> {
    let ty = call.input(i)?;
    if t.admits(ty.dtype) {
        return Ok(ty.dtype);
    }
    let shown = ty.show(call.vars);
    Err(OpError::new(
        Code::BadDType,
        format!("`{op}` takes {} as `{name}`, found {shown}", t.words()),
    )
    .at(name, format!("{shown} here"))
    .help(t.remedy(name)))
}

/// Operands `i` and `j` must have one dtype.
pub fn same_dtype(
    op: &str,
    call: &Call,
    (i, a): (usize, &str),
    (j, b): (usize, &str),
) -> Result<DType, OpError> {
    let (x, y) = (call.input(i)?, call.input(j)?);
    if x.dtype == y.dtype {
        return Ok(x.dtype);
    }
    let (sx, sy) = (x.show(call.vars), y.show(call.vars));
    Err(OpError::new(
        Code::DTypeMismatch,
        format!("`{op}` takes operands of one dtype, found `{a}` {sx} and `{b}` {sy}"),
    )
    .at(a, format!("{sx} here"))
    .at(b, format!("{sy} here"))
    .help(format!("`cast({b}, {})` converts, or cast `{a}` to {}", x.dtype, y.dtype)))
}

/// The shape as it is written, with its dtype.
pub fn show(call: &Call, i: usize) -> String {
    call.inputs.get(i).map_or_else(String::new, |t| t.show(call.vars))
}

/// `[2, n]`
pub fn show_dims(call: &Call, shape: &[Expr]) -> String {
    let dims: Vec<String> = shape.iter().map(|e| call.vars.show(e)).collect();
    format!("[{}]", dims.join(", "))
}

/// Two extents that must agree; `what` names where they come from.
pub fn equal(
    op: &str,
    call: &Call,
    (a, ea): (&str, &Expr),
    (b, eb): (&str, &Expr),
    help: &str,
) -> Result<(), OpError> {
    let (sa, sb) = (call.vars.show(ea), call.vars.show(eb));
    let err = match call.vars.equal(ea, eb) {
        Decision::Yes => return Ok(()),
        Decision::No => OpError::new(
            Code::ShapeMismatch,
            format!("`{op}` needs {a} and {b} to agree, found {sa} and {sb}"),
        ),
        Decision::Unknown => OpError::new(
            Code::Undecided,
            format!(
                "`{op}` needs {a} and {b} to agree, and whether `{sa}` equals `{sb}` is undecided"
            ),
        ),
    };
    Err(err.help(help))
}

/// Adds both operands' types to an error.
pub fn with_types(err: OpError, call: &Call, operands: &[(usize, &str)]) -> OpError {
    operands.iter().fold(err, |e, (i, name)| e.at(*name, format!("{} here", show(call, *i))))
}

/// The shape of operands broadcast together, aligned at the last axis.
pub fn broadcast(op: &str, call: &Call, names: &[&'static str]) -> Result<Vec<Expr>, OpError> {
    let sides: Vec<Side> = call
        .inputs
        .iter()
        .enumerate()
        .map(|(i, t)| Side {
            operand: i,
            name: names.get(i).copied().unwrap_or("operand"),
            shape: &t.shape,
        })
        .collect();
    broadcast_shapes(op, call, &sides, 0)
}

/// Axes of an operand that are broadcast with those of others.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub operand: usize,
    pub name: &'static str,
    pub shape: &'a [Expr],
}

/// As [`broadcast`], on some axes of the operands; `after` axes follow them.
pub fn broadcast_shapes(
    op: &str,
    call: &Call,
    sides: &[Side],
    after: usize,
) -> Result<Vec<Expr>, OpError> {
    // each extent, from the last, with the operand that gave it
    let mut out: Vec<(Expr, Side)> = vec![];
    for side in sides {
        for (k, e) in side.shape.iter().rev().enumerate() {
            let Some((have, who)) = out.get_mut(k) else {
                out.push((e.clone(), *side));
                continue;
            };
            if e.is_one() || have == e {
                continue;
            }
            if have.is_one() {
                (*have, *who) = (e.clone(), *side);
                continue;
            }
            let d = call.vars.equal(have, e);
            if d != Decision::Yes {
                return Err(broadcast_error(op, call, [*who, *side], k + after, (have, e), d));
            }
        }
    }
    Ok(out.into_iter().rev().map(|(e, _)| e).collect())
}

fn broadcast_error(
    op: &str,
    call: &Call,
    [a, b]: [Side; 2],
    back: usize,
    (x, y): (&Expr, &Expr),
    d: Decision,
) -> OpError {
    let (ta, tb) = (show(call, a.operand), show(call, b.operand));
    let (sx, sy) = (call.vars.show(x), call.vars.show(y));
    let (code, why) = match d {
        Decision::Unknown => {
            (Code::Undecided, format!("whether `{sx}` equals `{sy}` is undecided"))
        }
        _ => (Code::ShapeMismatch, format!("{sx} is not {sy}")),
    };
    let err = OpError::new(
        code,
        format!(
            "`{op}` cannot broadcast `{}` {ta} with `{}` {tb}: at axis -{} {why}",
            a.name,
            b.name,
            back + 1
        ),
    );
    with_types(err, call, &[(a.operand, a.name), (b.operand, b.name)]).help(
        "shapes align at the last axis, and extents must be equal or 1: `unsqueeze` adds an axis",
    )
}

/// The axes an attribute names, without a check; `None` where it is absent.
pub fn axes_of(attrs: &Attrs, name: &str, rank: usize) -> Option<Vec<usize>> {
    let fix = |d: i64| (if d < 0 { d + rank as i64 } else { d }) as usize;
    match attrs.get(name)? {
        Attr::Ints(v) => Some(v.iter().map(|d| fix(*d)).collect()),
        Attr::Int(e) => e.as_int().map(|d| vec![fix(d)]),
        _ => None,
    }
}

/// The axes of operand `i` that an attribute names: in range, each once.
pub fn axes(op: &str, call: &Call, i: usize, name: &str) -> Result<Option<Vec<usize>>, OpError> {
    let rank = call.input(i)?.rank();
    let Some(dims) = axes_of(call.attrs, name, rank) else { return Ok(None) };
    for (k, d) in dims.iter().enumerate() {
        if *d >= rank {
            let shown = show(call, i);
            return Err(OpError::new(
                Code::BadAxis,
                format!("`{op}` has no axis {} in {shown}, which has {rank}", *d as i64),
            )
            .at(name, format!("the operand is {shown}"))
            .help(if rank == 0 {
                "a tensor of rank 0 has no axes".to_string()
            } else {
                format!("axes run from 0 to {}, or from -{rank} to -1", rank - 1)
            }));
        }
        if dims.iter().take(k).any(|e| e == d) {
            return Err(OpError::new(Code::BadAxis, format!("`{op}` names axis {d} twice"))
                .at(name, "each axis once"));
        }
    }
    Ok(Some(dims))
}

/// The one axis of operand `i` that an attribute names.
pub fn axis(op: &str, call: &Call, i: usize, name: &str) -> Result<usize, OpError> {
    match axes(op, call, i, name)?.as_deref() {
        Some([d]) => Ok(*d),
        Some(_) => Err(OpError::new(Code::BadAttr, format!("`{op}` takes one axis as `{name}`"))
            .at(name, "one axis here")),
        None => Err(OpError::new(Code::BadArgs, format!("`{op}` needs `{name}`"))
            .help(format!("write `{name} = -1` for the last axis"))),
    }
}

/// A plain integer attribute.
pub fn plain_int(op: &str, call: &Call, name: &str) -> Result<i64, OpError> {
    let Some(e) = call.attrs.int(name) else { return Err(missing(op, name)) };
    e.as_int().ok_or_else(|| {
        OpError::new(
            Code::BadAttr,
            format!("`{op}` takes a plain integer as `{name}`, found `{}`", call.vars.show(e)),
        )
        .at(name, "this is symbolic")
    })
}

/// One integer for each of `n` axes, from a list of as many or from one for all.
pub fn per_axis(op: &str, call: &Call, name: &str, n: usize) -> Result<Vec<Expr>, OpError> {
    let given = match call.attrs.get(name) {
        Some(Attr::Int(e)) => std::slice::from_ref(e),
        Some(Attr::Shape(v)) => v,
        _ => return Err(missing(op, name)),
    };
    match given {
        [one] => Ok(vec![one.clone(); n]),
        all if all.len() == n => Ok(all.to_vec()),
        all => Err(OpError::new(
            Code::BadAttr,
            format!("`{op}` takes one `{name}` for each of {n} axes, found {}", all.len()),
        )
        .at(name, show_dims(call, all))
        .help(format!("a lone number stands for all axes: `{name} = 1`"))),
    }
}

/// A required attribute that is not there.
pub fn missing(op: &str, name: &str) -> OpError {
    OpError::new(Code::BadArgs, format!("`{op}` needs `{name}`"))
}

/// Operand `i` must have `rank` axes.
pub fn rank(op: &str, call: &Call, i: usize, name: &str, rank: usize) -> Result<(), OpError> {
    let t = call.input(i)?;
    if t.rank() == rank {
        return Ok(());
    }
    let shown = t.show(call.vars);
    Err(OpError::new(
        Code::RankMismatch,
        format!("`{op}` takes a tensor of rank {rank} as `{name}`, found {shown}"),
    )
    .at(name, format!("rank {} here", t.rank()))
    .help("`unsqueeze`, `squeeze` and `reshape` change a rank"))
}

/// Whether results of a dtype too narrow to accumulate in must be named by `out`.
pub fn needs_out(d: DType) -> bool {
    matches!(
        d,
        DType::F8e4m3
            | DType::F8e5m2
            | DType::F8e8m0
            | DType::F4e2m1
            | DType::I8
            | DType::U8
            | DType::Bool
    )
}

/// The result dtype of an accumulating op on operands of dtype `d`.
pub fn out_dtype(op: &str, call: &Call, d: DType, operand: &str) -> Result<DType, OpError> {
    let (suggest, class) = match d {
        _ if d.is_float() => ("f32", "a float"),
        _ => ("i32", "an integer"),
    };
    let Some(out) = call.attrs.dtype("out") else {
        if !needs_out(d) {
            return Ok(d);
        }
        return Err(OpError::new(
            Code::BadArgs,
            format!("`{op}` of {d} needs `out`: the result does not fit {d}"),
        )
        .at(operand, format!("{d} here"))
        .help(format!("write `out = {suggest}`")));
    };
    if out.is_float() == d.is_float() && out != DType::Bool {
        return Ok(out);
    }
    Err(OpError::new(Code::BadDType, format!("`{op}` of {d} gives {class}, found `out = {out}`"))
        .at("out", format!("{out} here"))
        .help(format!("write `out = {suggest}`, and `cast` the result")))
}

/// A result with the operand's range of values: for ops that only move elements.
pub fn moved(x: &TensorTy, shape: Vec<Expr>) -> TensorTy {
    let mut t = TensorTy::new(x.dtype, shape);
    t.range = x.range.clone();
    t
}

/// An integer result within `0..n`.
pub fn index_result(dtype: DType, shape: Vec<Expr>, n: &Expr) -> TensorTy {
    let mut t = TensorTy::new(dtype, shape);
    t.range = Some((Expr::zero(), n.sub(&Expr::one())));
    t
}

/// The dtype of a result that holds indices: i64 unless `dtype` says i32.
pub fn index_dtype(op: &str, call: &Call) -> Result<DType, OpError> {
    match call.attrs.dtype("dtype") {
        None => Ok(DType::I64),
        Some(d @ (DType::I32 | DType::I64)) => Ok(d),
        Some(d) => Err(OpError::new(
            Code::BadDType,
            format!("`{op}` gives indices in i64 or i32, found `dtype = {d}`"),
        )
        .at("dtype", format!("{d} here"))
        .help("write `dtype = i32`, and `cast` the result")),
    }
}

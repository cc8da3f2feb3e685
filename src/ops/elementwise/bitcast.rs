//! The op `bitcast`.

use crate::ops::support::prelude::*;

struct Bitcast;

pub static OP: &dyn Op = &Bitcast;

/// How the elements of two dtypes lie over each other.
#[derive(Clone, Copy)]
enum Fit {
    Same,
    /// Each element becomes this many.
    Narrow(i64),
    /// This many elements become one.
    Wide(i64),
}

fn fit(from: DType, to: DType) -> Fit {
    let (a, b) = (from.bits() as i64, to.bits() as i64);
    match (a / b, b / a) {
        (1, _) => Fit::Same,
        (0, n) => Fit::Wide(n),
        (n, _) => Fit::Narrow(n),
    }
}

/// A dtype of which every pattern of bits is one of its values.
fn check_bits(d: DType, at: &str) -> Result<(), OpError> {
    let help = match d {
        DType::Bool => "`cast` converts a bool, and `x != 0` gives one",
        DType::Tf32 => "`cast(.., f32)` keeps every tf32 as it is",
        _ => return Ok(()),
    };
    Err(OpError::new(Code::BadDType, format!("`bitcast` takes no {d}: not all its bits are free"))
        .at(at, format!("{d} here"))
        .help(help))
}

fn target(call: &Call) -> Result<DType, OpError> {
    call.attrs.dtype("dtype").ok_or_else(|| check::missing("bitcast", "dtype"))
}

/// The last axis of the result.
fn last_axis(call: &Call, last: &Expr, (from, to): (DType, DType)) -> Result<Expr, OpError> {
    let n = match fit(from, to) {
        Fit::Same => return Ok(last.clone()),
        Fit::Narrow(n) => return Ok(last.scale(n)),
        Fit::Wide(n) => n,
    };
    if let Some(e) = last.exact_div(&Expr::int(n)) {
        return Ok(e);
    }
    let shown = call.vars.show(last);
    Err(match last.as_int() {
        Some(_) => OpError::new(
            Code::ShapeMismatch,
            format!("`bitcast` makes one {to} of {n} {from}, and the last axis of `x` has {shown}"),
        ),
        None => OpError::new(
            Code::Undecided,
            format!(
                "`bitcast` makes one {to} of {n} {from}, and whether `{shown}` is a multiple of \
                 {n} is undecided"
            ),
        ),
    }
    .at("x", format!("{} here", check::show(call, 0)))
    .help(format!("the last axis of `x` is a multiple of {n}; `pad` makes it one")))
}

impl Op for Bitcast {
    fn name(&self) -> &'static str {
        "bitcast"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The same bits read as another dtype.",
                details: "As `Tensor.view(dtype)` in PyTorch. Between dtypes of one width the \
                          shape stays. To a narrower one each element becomes several along the \
                          last axis, the low bits first; to a wider one that many become one, so \
                          the last axis is a multiple of them. f4e2m1 counts elements here, so \
                          `u8[N, 4]` becomes `f4e2m1[N, 8]`, the low four bits first. bool and \
                          tf32 are refused, for they have patterns that are no value. Under \
                          `--precision f64` a float is rounded to its dtype before its bits are \
                          taken. A view: it moves nothing and counts nothing.",
                examples: &[
                    example(
                        "bitcast(x, i32)",
                        &[("x", "f32[3]", &[1.0, -2.0, 0.0])],
                        ("i32[3]", &[1065353216.0, -1073741824.0, 0.0]),
                    ),
                    example(
                        "bitcast(x, u8)",
                        &[("x", "i16[1, 2]", &[258.0, -1.0])],
                        ("u8[1, 4]", &[2.0, 1.0, 255.0, 255.0]),
                    ),
                    example(
                        "bitcast(x, f4e2m1)",
                        &[("x", "u8[2]", &[33.0, 247.0])],
                        ("f4e2m1[4]", &[0.5, 1.0, 6.0, -6.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("dtype", ParamKind::DType)] }
    }

    fn role(&self) -> Role {
        Role::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let (x, to) = (call.input(0)?, target(call)?);
        check_bits(x.dtype, "x")?;
        check_bits(to, "dtype")?;
        let mut shape = x.shape.clone();
        match shape.last_mut() {
            Some(last) => *last = last_axis(call, last, (x.dtype, to))?,
            None if x.dtype.bits() != to.bits() => {
                return Err(OpError::new(
                    Code::RankMismatch,
                    format!(
                        "`bitcast` of {} to {to}, of another width, changes the last axis, and \
                         rank 0 has none",
                        check::show(call, 0)
                    ),
                )
                .at("x", "rank 0 here")
                .help("`unsqueeze(x, dim = 0)` adds an axis"));
            }
            None => {}
        }
        Ok(vec![TensorTy::new(to, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut domain = access::elementwise(call.inputs, outs);
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else { return domain };
        let n = match fit(x.dtype, out.dtype) {
            Fit::Same => return domain,
            Fit::Narrow(n) | Fit::Wide(n) => Expr::int(n),
        };
        // the last dimension runs over the parts of a wide element
        let last = x.rank().saturating_sub(1);
        let wide = if x.dtype.bits() > out.dtype.bits() { x } else { out };
        domain.dims = access::parallel(&wide.shape);
        domain.dims.push(DomDim { splittable: false, ..DomDim::parallel(n) });
        let whole = Access::direct(0..x.rank());
        let mut parts = whole.clone();
        if let Some(a) = parts.axes.get_mut(last) {
            *a = AxisAccess::Dims(vec![last, last + 1]);
        }
        let (read, write) = match fit(x.dtype, out.dtype) {
            Fit::Narrow(_) => (whole, parts),
            _ => (parts, whole),
        };
        (domain.reads, domain.writes) = (vec![read], vec![write]);
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        data::count(&out.shape)?;
        if let (Data::Bits8(v), DType::Bool) = (x.data(), x.dtype()) {
            return Ok(vec![mask(v, out.shape.clone())?]);
        }
        let to = cx.attrs.dtype("dtype").unwrap_or(out.dtype);
        let bytes = x.cast(cx.declared(0)?).to_bytes();
        let t = Tensor::from_bytes(to, out.shape.clone(), &bytes)
            .map_err(|e| EvalError::new(e.to_string()))?;
        Ok(vec![t.cast(out.dtype)])
    }
}

/// Which elements are there, where it is known of each element of the operand.
fn mask(there: &[u8], shape: Vec<usize>) -> Result<Tensor, EvalError> {
    let n = data::count(&shape)?;
    let v = match (n / there.len().max(1), there.len() / n.max(1)) {
        (0, parts) => there.chunks(parts.max(1)).map(|c| c.iter().all(|b| *b != 0) as u8).collect(),
        (parts, _) => there.iter().flat_map(|b| std::iter::repeat_n(*b, parts)).collect(),
    };
    data::tensor(DType::Bool, shape, Data::Bits8(v))
}

//! The op `clamp`.

use crate::ops::support::prelude::*;

struct Clamp;

pub static OP: &dyn Op = &Clamp;

impl Op for Clamp {
    fn name(&self) -> &'static str {
        "clamp"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Each element, held between `min` and `max`.",
                details: "Either bound may be left out. NaN stays NaN; where `min > max` the \
                          result is `max`, as in PyTorch. One operation an element.",
                examples: &[
                    example(
                        "clamp(x, min = -1.0, max = 1.0)",
                        &[("x", "f32[4]", &[-3.0, -0.5, 0.5, 3.0])],
                        ("f32[4]", &[-1.0, -0.5, 0.5, 1.0]),
                    ),
                    example(
                        "clamp(x, min = 0)",
                        &[("x", "i32[2]", &[-3.0, 3.0])],
                        ("i32[2]", &[0.0, 3.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("min", ParamKind::Number, DefaultValue::Absent),
                Param::named("max", ParamKind::Number, DefaultValue::Absent),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("clamp", call, 0, "x", Takes::Numbers)?;
        if call.attrs.num("min").is_none() && call.attrs.num("max").is_none() {
            return Err(OpError::new(Code::BadArgs, "`clamp` needs `min` or `max`")
                .help("write `clamp(x, min = 0.0)`"));
        }
        for name in ["min", "max"] {
            let real = call.attrs.num(name).is_some_and(|n| n.as_int().is_none());
            if d.is_int() && real {
                return Err(OpError::new(
                    Code::BadAttr,
                    format!("`clamp` of {d} takes an integer as `{name}`"),
                )
                .at(name, "a real number here"));
            }
        }
        Ok(vec![TensorTy::new(d, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let (lo, hi) = (cx.num("min")?, cx.num("max")?);
        let shape = x.shape().to_vec();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F32 => chunks::map_f32s(x, out.dtype, |x, o| floats(x, o, lo, hi))?,
            Class::F64 => {
                let x = x.to_f64s();
                let f = |at: usize, part: &mut [f64]| floats(&x[at..], part, lo, hi);
                f64::store(out.dtype, shape, fill(x.len(), f))
            }
            Class::Int => ints(cx, x, out.dtype)?,
        }])
    }

    fn in_place(&self) -> bool {
        true
    }
}

fn floats<T: Real>(x: &[T], o: &mut [T], lo: Option<f64>, hi: Option<f64>) {
    let lo = T::of(lo.unwrap_or(f64::NEG_INFINITY));
    let hi = T::of(hi.unwrap_or(f64::INFINITY));
    map(x, o, move |v| {
        let v = if v < lo { lo } else { v };
        if v > hi { hi } else { v }
    });
}

fn ints(cx: &EvalCx, x: &Tensor, out: DType) -> Result<Tensor, EvalError> {
    let bound = |name: &str| match cx.attrs.num(name).and_then(|n| n.as_int()) {
        Some(e) => cx.expr(e).map(|v| Some(i128::from(v))),
        None => Ok(None),
    };
    let (lo, hi) = (bound("min")?, bound("max")?);
    let unsigned = x.dtype() == DType::U64;
    let clamp = |v: i64| {
        let mut w = if unsigned { i128::from(v as u64) } else { i128::from(v) };
        w = lo.map_or(w, |lo| w.max(lo));
        hi.map_or(w, |hi| w.min(hi)) as i64
    };
    let v = x.to_i64s().iter().map(|v| clamp(*v)).collect();
    Ok(Tensor::from_i64s(out, x.shape().to_vec(), v))
}

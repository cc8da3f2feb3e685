//! The op `gelu`.

use crate::ops::support::prelude::*;

struct Gelu;

pub static OP: &dyn Op = &Gelu;

const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// By `erfc`, for `1 + erf` cancels where x is negative.
fn exact(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * ROOT_HALF)
}

/// `(1 + tanh(y)) / 2` is `1 / (1 + exp(-2 y))`, which does not cancel where x is negative.
fn by_tanh(x: f64) -> f64 {
    const K: f64 = std::f64::consts::FRAC_2_SQRT_PI * ROOT_HALF;
    x / (1.0 + libm::exp(-2.0 * K * (x + 0.044715 * x * x * x)))
}

fn is_tanh(attrs: &Attrs) -> bool {
    attrs.str("approximate") == Some("tanh")
}

impl Op for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The Gaussian error linear unit, x times the normal distribution of x.",
                details: "`approximate = \"none\"`: x / 2 (1 + erf(x / sqrt(2))). `\"tanh\"`: x \
                          / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Rounded once at the \
                          end; counted as it is composed.",
                examples: &[
                    example(
                        "gelu(x)",
                        &[("x", "f32[2]", &[0.0, 1.0])],
                        ("f32[2]", &[0.0, 0.8413447460685429]),
                    ),
                    example(
                        "gelu(x, approximate = \"tanh\")",
                        &[("x", "f32[1]", &[1.0])],
                        ("f32[1]", &[0.8411919906082768]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::named("approximate", ParamKind::Str, DefaultValue::Str("none")),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let d = check::takes("gelu", call, 0, "x", Takes::Floats)?;
        if let Some(s) = call.attrs.str("approximate").filter(|s| !["none", "tanh"].contains(s)) {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`gelu` takes \"none\" or \"tanh\" as `approximate`, found \"{s}\""),
            )
            .at("approximate", "no such approximation"));
        }
        Ok(vec![TensorTy::new(d, call.input(0)?.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        let Some(x) = call.inputs.first() else { return vec![] };
        match is_tanh(call.attrs) {
            // x * x, * x, * 0.044715, + x, * K, 1 +, * x, * 0.5
            true => Cost { arith: 8, sfu: 1 }.work(x.dtype),
            // * sqrt(1/2), 1 +, * x, * 0.5, and erf
            false => Cost { arith: 14, sfu: 1 }.work(x.dtype),
        }
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let f = if is_tanh(cx.attrs) { by_tanh } else { exact };
        let shape = x.shape().to_vec();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F64 => f64::store(out.dtype, shape, apply(&x.to_f64s(), f)),
            _ => f32::store(out.dtype, shape, apply(&x.to_f32s(), f)),
        }])
    }

    fn in_place(&self) -> bool {
        true
    }
}

fn apply<T: Real>(x: &[T], f: fn(f64) -> f64) -> Vec<T> {
    fill(x.len(), |at, part| map(&x[at..], part, |v: T| T::of(f(v.wide()))))
}

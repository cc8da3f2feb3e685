//! The op `cast`.

use crate::ops::support::prelude::*;

struct Cast;

pub static OP: &dyn Op = &Cast;

impl Op for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The same values in another dtype.",
                details: "To a float: to nearest, ties to even; what is too large gives an infinity. \
                          f8e4m3 has none: above 464 it gives NaN, as ml_dtypes does, where \
                          PyTorch 2.15 saturates, so clamp first. f4e2m1 saturates to 6, and NaN \
                          gives -0. f8e8m0 gives NaN for what is not above 0 or too large. Float to integer: truncates, saturates, NaN gives 0. \
                          Integer to integer wraps. To bool: whether it is not zero. One \
                          conversion an element, no flop; a cast to the same dtype is free.",
                examples: &[
                    example(
                        "cast(x, i32)",
                        &[("x", "f32[3]", &[1.9, -1.9, 3e9])],
                        ("i32[3]", &[1.0, -1.0, 2147483647.0]),
                    ),
                    example(
                        "cast(x, bf16)",
                        &[("x", "f32[2]", &[1.00390625, 0.1])],
                        ("bf16[2]", &[1.0, 0.10009765625]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("dtype", ParamKind::DType)] }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        let to = call.attrs.dtype("dtype").ok_or_else(|| check::missing("cast", "dtype"))?;
        let mut out = TensorTy::new(to, x.shape.clone());
        // bounds hold on where no value can wrap
        let grows = x.dtype.is_int() && to.is_int() && to.bits() >= x.dtype.bits();
        let small = x.range.as_ref().is_some_and(|(lo, hi)| {
            call.vars.lower(lo).is_some_and(|l| l >= 0)
                && call.vars.upper(hi).is_some_and(|h| h <= i64::from(i8::MAX))
        });
        if to.is_int()
            && x.dtype.is_int()
            && (small || (grows && to.is_signed() == x.dtype.is_signed()))
        {
            out.range = x.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, call: &Call, outs: &[TensorTy]) -> Vec<Work> {
        match (call.inputs.first(), outs.first()) {
            (Some(x), Some(y)) if x.dtype != y.dtype => vec![Work::point(Resource::Cvt, 1)],
            _ => vec![],
        }
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![chunks::cast(cx.input(0)?, cx.out(0)?.dtype)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

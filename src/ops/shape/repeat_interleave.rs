//! The op `repeat_interleave`.

use crate::ops::support::prelude::*;
use crate::ops::support::walk::strides;

struct RepeatInterleave;

pub static OP: &dyn Op = &RepeatInterleave;

impl Op for RepeatInterleave {
    fn name(&self) -> &'static str {
        "repeat_interleave"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Each index of an axis repeated, one after the other.",
                details: "As in PyTorch: `a b` repeated twice is `a a b b`. A copy of the \
                          repeated elements; no flop.",
                examples: &[
                    example(
                        "repeat_interleave(x, 2, dim = 0)",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[4]", &[1.0, 1.0, 2.0, 2.0]),
                    ),
                    example(
                        "repeat_interleave(x, 2, dim = 0)",
                        &[("x", "f32[1, 2]", &[1.0, 2.0])],
                        ("f32[2, 2]", &[1.0, 2.0, 1.0, 2.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::attr("repeats", ParamKind::Int),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let r = call
            .attrs
            .int("repeats")
            .ok_or_else(|| check::missing("repeat_interleave", "repeats"))?;
        let d = check::axis("repeat_interleave", call, 0, "dim")?;
        if call.vars.upper(r).is_some_and(|u| u < 0) {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`repeat_interleave` repeats {} times", call.vars.show(r)),
            )
            .at("repeats", "below 0"));
        }
        let x = call.input(0)?;
        let mut shape = x.shape.clone();
        if let Some(e) = shape.get_mut(d) {
            *e = e.mul(r);
        }
        Ok(vec![check::moved(x, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let d = check::axes_of(call.attrs, "dim", x.rank())
            .and_then(|d| d.first().copied())
            .unwrap_or(0);
        // the dimension after the axis runs over the repeats
        let mut dims = access::parallel(&x.shape);
        dims.insert(
            d + 1,
            DomDim::parallel(call.attrs.int("repeats").cloned().unwrap_or_else(Expr::one)),
        );
        let place = |i: usize| if i > d { i + 1 } else { i };
        let mut write = Access::direct((0..out.rank()).map(place));
        if let Some(a) = write.axes.get_mut(d) {
            *a = AxisAccess::Dims(vec![d, d + 1]);
        }
        Domain {
            dims,
            reads: vec![Access::direct((0..x.rank()).map(place))],
            writes: vec![write],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    /// False: `repeats` tells a part of the result.
    fn blockwise(&self) -> bool {
        false
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let d =
            check::axes_of(cx.attrs, "dim", x.rank()).and_then(|d| d.first().copied()).unwrap_or(0);
        let r = cx.int("repeats")?.unwrap_or(1);
        let r = usize::try_from(r)
            .map_err(|_| EvalError::new(format!("`repeat_interleave` repeats {r} times")))?;
        let (mut shape, mut st) = (x.shape().to_vec(), strides(x.shape()));
        shape.insert((d + 1).min(x.rank()), r);
        st.insert((d + 1).min(x.rank()), 0);
        Ok(vec![data::reshaped(&data::restride(x, shape, &st, 0)?, &out.shape)?])
    }
}

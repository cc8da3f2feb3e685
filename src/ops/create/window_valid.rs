//! The op `window_valid`, behind `w.valid`.

use crate::ops::support::prelude::*;

struct WindowValid;

pub static OP: &dyn Op = &WindowValid;

impl Op for WindowValid {
    fn name(&self) -> &'static str {
        "window_valid"
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        Doc {
            summary: "Which elements of a window exist: what `w.valid` of a tile window means.",
            details: "Element i is true where `start + i < end`. One comparison an element.",
            examples: const {
                &[
                    example(
                        "window_valid(4, start = 6, end = 8)",
                        &[],
                        ("bool[4]", &[1.0, 1.0, 0.0, 0.0]),
                    ),
                    example("window_valid(2, start = 0, end = 8)", &[], ("bool[2]", &[1.0, 1.0])),
                ]
            },
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::attr("n", ParamKind::Int),
                Param::named("start", ParamKind::Int, DefaultValue::Required),
                Param::named("end", ParamKind::Int, DefaultValue::Required),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::Create
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let n = call.attrs.int("n").ok_or_else(|| check::missing("window_valid", "n"))?;
        if call.vars.upper(n).is_some_and(|u| u < 0) {
            let msg = format!("a window of {} elements", call.vars.show(n));
            return Err(OpError::new(Code::BadAttr, msg).at("n", "below 0"));
        }
        Ok(vec![TensorTy::new(DType::Bool, vec![n.clone()])])
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::create(outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let n = data::count(&out.shape)? as i64;
        let start = cx.int("start")?.unwrap_or(0);
        let end = cx.int("end")?.unwrap_or(0);
        let v = (0..n).map(|i| i64::from(start.wrapping_add(i) < end)).collect();
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

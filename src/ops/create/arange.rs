//! The op `arange`.

use crate::ops::support::prelude::*;

struct Arange;

pub static OP: &dyn Op = &Arange;

impl Op for Arange {
    fn name(&self) -> &'static str {
        "arange"
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The n integers from `start` on.",
                details: "i64 unless `dtype` says otherwise; in a float each is rounded once. \
                          One integer operation an element.",
                examples: &[
                    example("arange(3)", &[], ("i64[3]", &[0.0, 1.0, 2.0])),
                    example("arange(2, start = 5, dtype = i32)", &[], ("i32[2]", &[5.0, 6.0])),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::attr("n", ParamKind::Int),
                Param::named("start", ParamKind::Int, DefaultValue::Int(0)),
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::Create
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let n = call.attrs.int("n").ok_or_else(|| check::missing("arange", "n"))?;
        if call.vars.upper(n).is_some_and(|u| u < 0) {
            return Err(OpError::new(
                Code::BadAttr,
                format!("`arange` of {} elements", call.vars.show(n)),
            )
            .at("n", "below 0"));
        }
        let d = call.attrs.dtype("dtype").unwrap_or(DType::I64);
        if d == DType::Bool {
            return Err(OpError::new(
                Code::BadDType,
                "`arange` gives numbers, found `dtype = bool`",
            )
            .at("dtype", "bool here"));
        }
        let mut t = TensorTy::new(d, vec![n.clone()]);
        let start = call.attrs.int("start").cloned().unwrap_or_default();
        if d.is_int() {
            t.range = Some((start.clone(), start.add(n).sub(&Expr::one())));
        }
        Ok(vec![t])
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
        let v = (0..n).map(|i| start.wrapping_add(i)).collect();
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

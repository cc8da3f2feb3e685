//! The op `eye`.

use crate::ops::support::prelude::*;

struct Eye;

pub static OP: &dyn Op = &Eye;

impl Op for Eye {
    fn name(&self) -> &'static str {
        "eye"
    }

    fn group(&self) -> &'static str {
        "create"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Ones on the diagonal of an n x m matrix, zeros elsewhere.",
                details: "Square unless `m` is given; f32 unless `dtype` says otherwise. One \
                          integer operation an element.",
                examples: &[
                    example("eye(2)", &[], ("f32[2, 2]", &[1.0, 0.0, 0.0, 1.0])),
                    example(
                        "eye(2, m = 3, dtype = i32)",
                        &[],
                        ("i32[2, 3]", &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::attr("n", ParamKind::Int),
                Param::named("m", ParamKind::Int, DefaultValue::Absent),
                Param::named("dtype", ParamKind::DType, DefaultValue::Absent),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::Create
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let n = call.attrs.int("n").ok_or_else(|| check::missing("eye", "n"))?;
        let m = call.attrs.int("m").unwrap_or(n);
        let d = call.attrs.dtype("dtype").unwrap_or(DType::F32);
        Ok(vec![TensorTy::new(d, vec![n.clone(), m.clone()])])
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::create(outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![Work::point(Resource::Int, 1)]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let out = cx.out(0)?;
        let n = data::count(&out.shape)?;
        let m = out.shape.last().copied().unwrap_or(1).max(1);
        let v = (0..n).map(|i| (i / m == i % m) as i64).collect();
        Ok(vec![Tensor::from_i64s(out.dtype, out.shape.clone(), v)])
    }
}

//! The op `collect`.

use crate::ops::support::prelude::*;

struct Collect;

pub static OP: &dyn Op = &Collect;

impl Op for Collect {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn group(&self) -> &'static str {
        "placement"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The pieces that the positions of some mesh axes hold, as one value.",
                details: "`collect(v, g.a, g.b)` of v of shape `[..]` has shape `[A, B, ..]`, \
                          its new axes split over `g.a` and `g.b`. Reducing over them is the \
                          usual reduction, finished by `complete`. Costs nothing.",
                examples: &[
                    example(
                        "mesh g = cta[r: 2] { reshard(collect(x[g.r], g.r), gmem) }",
                        &[("x", "f32[2]", &[1.0, 2.0])],
                        ("f32[2]", &[1.0, 2.0]),
                    ),
                    example(
                        "mesh g = cta[r: 2] { let p = local(reshard(x, smem[2 @ g.r, 2])); \
                         reshard(collect(p, g.r), gmem) }",
                        &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 1, 2]", &[1.0, 2.0, 3.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::attr("axes", ParamKind::Axes),
                Param::named("extents", ParamKind::Shape, DefaultValue::Absent),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::Collect
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        let extents = call.attrs.shape("extents").ok_or_else(|| {
            check::missing("collect", "axes")
                .help("write `collect(v, g.a)`: the axes that v varies over")
        })?;
        Ok(vec![check::moved(x, extents.iter().chain(&x.shape).cloned().collect())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let new = out.rank().saturating_sub(x.rank());
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![Access::direct(new..out.rank())],
            writes: vec![Access::direct(0..out.rank())],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, _: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Err(EvalError::new("`collect` has a value for all positions together only"))
    }
}

//! The op `local`.

use crate::ops::support::prelude::*;

struct Local;

pub static OP: &dyn Op = &Local;

impl Op for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn group(&self) -> &'static str {
        "placement"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The piece of a split value that the position holds.",
                details: "The result varies over the axes that split x; the factors of an axis \
                          that stay flatten to one. Costs nothing.",
                examples: &[
                    example(
                        "mesh g = cta[r: 2] { let p = local(reshard(x, smem[2 @ g.r, 2])); \
                         reshard(collect(p, g.r), gmem) }",
                        &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 1, 2]", &[1.0, 2.0, 3.0, 4.0]),
                    ),
                    example(
                        "mesh g = cta[r: 2] { let p = local(reshard(x, smem[4 @ g.r])); \
                         reshard(collect(p * p, g.r), gmem) }",
                        &[("x", "f32[4]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 2]", &[1.0, 4.0, 9.0, 16.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x")] }
    }

    fn role(&self) -> Role {
        Role::Local
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        Ok(vec![check::moved(x, x.place.local_shape(&x.shape))])
    }

    fn domain(&self, _: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(outs, outs)
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, _: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        Err(EvalError::new("`local` has a value in each position only"))
    }
}

//! The op `transpose`.

use crate::ops::support::prelude::*;

struct Transpose;

pub static OP: &dyn Op = &Transpose;

impl Op for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "The axes in another order.",
                details: "Axis i of the result is axis `perm[i]` of x, as in PyTorch's \
                          `permute`. A view: it moves nothing and counts nothing.",
                examples: &[
                    example(
                        "transpose(x, [1, 0])",
                        &[("x", "f32[2, 3]", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
                        ("f32[3, 2]", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
                    ),
                    example(
                        "transpose(x, [2, 0, 1])",
                        &[("x", "f32[1, 2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 1, 2]", &[1.0, 3.0, 2.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("x"), Param::attr("perm", ParamKind::Ints)] }
    }

    fn role(&self) -> Role {
        Role::View
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let x = call.input(0)?;
        let perm = perm(call.attrs, x.rank());
        let mut seen = perm.clone();
        seen.sort_unstable();
        if !seen.into_iter().eq(0..x.rank()) {
            return Err(OpError::new(
                Code::BadAttr,
                format!(
                    "`transpose` of {} takes each of its axes once as `perm`",
                    check::show(call, 0)
                ),
            )
            .at("perm", "not a permutation")
            .help("write `transpose(x, [1, 0])` for a matrix"));
        }
        let shape = perm.iter().filter_map(|p| x.shape.get(*p).cloned()).collect();
        Ok(vec![check::moved(x, shape)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(x), Some(out)) = (call.inputs.first(), outs.first()) else {
            return access::create(outs);
        };
        let perm = perm(call.attrs, x.rank());
        let read = (0..x.rank()).map(|i| perm.iter().position(|p| *p == i).unwrap_or(i));
        Domain {
            dims: access::parallel(&out.shape),
            reads: vec![Access::direct(read)],
            writes: vec![Access::direct(0..out.rank())],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        Ok(vec![data::permute(x, &perm(cx.attrs, x.rank()))?])
    }
}

fn perm(attrs: &Attrs, rank: usize) -> Vec<usize> {
    check::axes_of(attrs, "perm", rank).unwrap_or_default()
}

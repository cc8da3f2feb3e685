//! The op `index_add`.

use super::index_select::select_axis;
use crate::ops::support::data::around;
use crate::ops::support::gather::{add_at, index_list, positions};
use crate::ops::support::prelude::*;

struct IndexAdd;

pub static OP: &dyn Op = &IndexAdd;

impl Op for IndexAdd {
    fn name(&self) -> &'static str {
        "index_add"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "z with slices added at indices of an axis.",
                details: "As in PyTorch: slice i of `src` along `dim` is added to slice \
                          `idx[i]` of z, in index order, accumulated in f32 (f64 for f64) and \
                          rounded once; integers wrap. An index outside the axis stops the \
                          evaluation and is named. One addition an element of `src`.",
                examples: &[
                    example(
                        "index_add(z, i, s, dim = 0)",
                        &[
                            ("z", "f32[2]", &[1.0, 2.0]),
                            ("i", "i64[3]", &[0.0, 0.0, 1.0]),
                            ("s", "f32[3]", &[10.0, 20.0, 30.0]),
                        ],
                        ("f32[2]", &[31.0, 32.0]),
                    ),
                    example(
                        "index_add(z, i, s, dim = 1)",
                        &[
                            ("z", "f32[1, 2]", &[0.0, 0.0]),
                            ("i", "i32[2]", &[1.0, 1.0]),
                            ("s", "f32[1, 2]", &[5.0, 6.0]),
                        ],
                        ("f32[1, 2]", &[0.0, 11.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("z"),
                Param::tensor("idx"),
                Param::tensor("src"),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(0)),
            ]
        }
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("index_add", call, 0, "z", Takes::Numbers)?;
        check::same_dtype("index_add", call, (0, "z"), (2, "src"))?;
        index_list("index_add", call, 1, "idx")?;
        let d = select_axis("index_add", call)?;
        let (z, idx, src) = (call.input(0)?, call.input(1)?, call.input(2)?);
        check::rank("index_add", call, 2, "src", z.rank())?;
        let n = idx.shape.first().cloned().unwrap_or_default();
        for (i, (a, b)) in z.shape.iter().zip(&src.shape).enumerate() {
            let (name, want) = match i == d {
                true => ("the length of `idx`".to_string(), &n),
                false => (format!("axis {i} of `z`"), a),
            };
            check::equal(
                "index_add",
                call,
                (&format!("axis {i} of `src`"), b),
                (&name, want),
                "`src` is as long as `idx` in axis `dim`, and as `z` elsewhere",
            )
            .map_err(|e| check::with_types(e, call, &[(0, "z"), (1, "idx"), (2, "src")]))?;
        }
        Ok(vec![TensorTy::new(z.dtype, z.shape.clone())])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(z), Some(src)) = (call.inputs.first(), call.inputs.get(2)) else {
            return access::create(outs);
        };
        let d = select_axis("index_add", call).unwrap_or(0);
        let mut at = Access::direct(0..z.rank());
        if let (Some(a), Some(n), Some(reads)) =
            (at.axes.get_mut(d), z.shape.get(d), src.shape.get(d))
        {
            *a = access::some(n, reads);
        }
        Domain {
            dims: access::parallel(&src.shape),
            reads: vec![at.clone(), Access::direct([d]), Access::direct(0..src.rank())],
            writes: vec![at],
            exact: false,
        }
    }

    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |z| Cost::ONE.work(z.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (z, idx, src) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
        let d =
            check::axes_of(cx.attrs, "dim", z.rank()).and_then(|d| d.first().copied()).unwrap_or(0);
        let (_, n, inner) = around(z.shape(), d);
        let at = positions("index_add", idx, n)?;
        let m = at.len().max(1);
        let place = |i: usize| {
            let (row, col) = (i / inner, i % inner);
            ((row / m) * n + at[row % m]) * inner + col
        };
        Ok(vec![add_at(z, src, cx.out(0)?.dtype, place)])
    }

    fn in_place(&self) -> bool {
        true
    }
}

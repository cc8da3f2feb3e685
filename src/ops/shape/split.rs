//! The op `split`.

use crate::ops::support::prelude::*;

struct Split;

pub static OP: &dyn Op = &Split;

impl Op for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "Parts of these sizes along an axis, one after the other.",
                details: "Gives a tuple, one tensor for each size; the sizes add up to the \
                          extent. An axis taken apart here cannot be split over a mesh. A view: \
                          it moves nothing and counts nothing.",
                examples: &[
                    example(
                        "let (a, b) = split(x, [1, 2], dim = 0); b",
                        &[("x", "f32[3]", &[1.0, 2.0, 3.0])],
                        ("f32[2]", &[2.0, 3.0]),
                    ),
                    example(
                        "let (a, b) = split(x, [1, 1], dim = -1); a",
                        &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0])],
                        ("f32[2, 1]", &[1.0, 3.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("x"),
                Param::attr("sizes", ParamKind::Shape),
                Param::named("dim", ParamKind::Dims, DefaultValue::Required),
            ]
        }
    }

    fn role(&self) -> Role {
        Role::View
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::View
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let sizes = call.attrs.shape("sizes").ok_or_else(|| check::missing("split", "sizes"))?;
        let d = check::axis("split", call, 0, "dim")?;
        let x = call.input(0)?;
        if let Some(s) = sizes.iter().find(|s| call.vars.upper(s).is_some_and(|u| u < 0)) {
            let msg = format!("`split` takes sizes of at least 0, found {}", call.vars.show(s));
            return Err(OpError::new(Code::BadExtent, msg));
        }
        let sum = sizes.iter().fold(Expr::zero(), |s, e| s.add(e));
        let extent = x.shape.get(d).cloned().unwrap_or_default();
        check::equal(
            "split",
            call,
            ("the sum of `sizes`", &sum),
            (&format!("axis {d} of `x`"), &extent),
            "the sizes add up to the extent of the axis",
        )
        .map_err(|e| check::with_types(e, call, &[(0, "x")]))?;
        Ok(sizes
            .iter()
            .map(|s| {
                let mut shape = x.shape.clone();
                if let Some(e) = shape.get_mut(d) {
                    *e = s.clone();
                }
                check::moved(x, shape)
            })
            .collect())
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let mut domain = access::elementwise(call.inputs, call.inputs);
        let d = check::axes_of(call.attrs, "dim", domain.dims.len())
            .and_then(|d| d.first().copied())
            .unwrap_or(0);
        if let Some(dim) = domain.dims.get_mut(d) {
            dim.splittable = false;
        }
        let write = |t: &TensorTy| {
            let mut a = Access::direct(0..t.rank());
            if let (Some(axis), Some(e)) = (a.axes.get_mut(d), t.shape.get(d)) {
                *axis = AxisAccess::Any { touched: e.clone() };
            }
            a
        };
        domain.writes = outs.iter().map(write).collect();
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let x = cx.input(0)?;
        let d =
            check::axes_of(cx.attrs, "dim", x.rank()).and_then(|d| d.first().copied()).unwrap_or(0);
        let mut starts = vec![0; x.rank()];
        let mut parts = vec![];
        for out in cx.outs {
            parts.push(data::block(x, &starts, &out.shape)?);
            if let (Some(s), Some(n)) = (starts.get_mut(d), out.shape.get(d)) {
                *s += n;
            }
        }
        Ok(parts)
    }
}

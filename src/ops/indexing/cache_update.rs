//! The op `cache_update`.

use super::index_select::select_axis;
use crate::ops::support::prelude::*;

struct CacheUpdate;

pub static OP: &dyn Op = &CacheUpdate;

impl Op for CacheUpdate {
    fn name(&self) -> &'static str {
        "cache_update"
    }

    fn group(&self) -> &'static str {
        "indexing"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A cache with the part from `pos` on replaced, along one axis.",
                details: "`cache_update(cache, new, pos, dim = 0)` is the window write \
                          `cache[pos..pos + n] = new` as a value. All other extents agree. Only \
                          the window is written where the old cache is not used later; no flop.",
                examples: &[
                    example(
                        "cache_update(c, n, 1, dim = 0)",
                        &[("c", "f32[3]", &[1.0, 2.0, 3.0]), ("n", "f32[1]", &[9.0])],
                        ("f32[3]", &[1.0, 9.0, 3.0]),
                    ),
                    example(
                        "cache_update(c, n, 0, dim = 1)",
                        &[
                            ("c", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]),
                            ("n", "f32[2, 1]", &[8.0, 9.0]),
                        ],
                        ("f32[2, 2]", &[8.0, 2.0, 9.0, 4.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const {
            &[
                Param::tensor("cache"),
                Param::tensor("new"),
                Param::attr("pos", ParamKind::Int),
                Param::named("dim", ParamKind::Dims, DefaultValue::Int(0)),
            ]
        }
    }

    fn partial_rule(&self) -> PartialRule {
        PartialRule::Linear
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let pos = call.attrs.int("pos").ok_or_else(|| check::missing("cache_update", "pos"))?;
        check::same_dtype("cache_update", call, (0, "cache"), (1, "new"))?;
        let d = select_axis("cache_update", call)?;
        let (cache, new) = (call.input(0)?, call.input(1)?);
        check::rank("cache_update", call, 1, "new", cache.rank())?;
        let both = [(0, "cache"), (1, "new")];
        for (i, (a, b)) in cache.shape.iter().zip(&new.shape).enumerate() {
            if i != d {
                let (na, nb) = (format!("axis {i} of `cache`"), format!("axis {i} of `new`"));
                check::equal(
                    "cache_update",
                    call,
                    (&na, a),
                    (&nb, b),
                    "only the axis `dim` may be shorter in `new`",
                )
                .map_err(|e| check::with_types(e, call, &both))?;
                continue;
            }
            let end = pos.add(b);
            if call.vars.ge(a, &end) == Decision::No
                || call.vars.ge(pos, &Expr::zero()) == Decision::No
            {
                let err = OpError::new(
                    Code::ShapeMismatch,
                    format!(
                        "`cache_update` writes {}..{} of an axis of {}",
                        call.vars.show(pos),
                        call.vars.show(&end),
                        call.vars.show(a)
                    ),
                );
                return Err(check::with_types(err, call, &both)
                    .help("the window must lie inside the cache"));
            }
        }
        let mut out = TensorTy::new(cache.dtype, cache.shape.clone());
        if cache.range == new.range {
            out.range = cache.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(cache), Some(new)) = (call.inputs.first(), call.inputs.get(1)) else {
            return access::create(outs);
        };
        let d = select_axis("cache_update", call).unwrap_or(0);
        let mut write = Access::direct(0..cache.rank());
        let mut read = write.clone();
        if let Some(a) = read.axes.get_mut(d) {
            *a = AxisAccess::Any { touched: Expr::zero() };
        }
        if let (Some(a), Some(pos)) = (write.axes.get_mut(d), call.attrs.int("pos")) {
            *a = AxisAccess::Window { dim: d, start: pos.clone() };
        }
        let mut domain = Domain {
            dims: access::parallel(&new.shape),
            reads: vec![read, Access::direct(0..new.rank())],
            writes: vec![write],
            exact: true,
        };
        access::whole_unless_written(&mut domain);
        domain
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (cache, new) = (cx.input(0)?, cx.input(1)?);
        let d = check::axes_of(cx.attrs, "dim", cache.rank())
            .and_then(|d| d.first().copied())
            .unwrap_or(0);
        let pos = cx.int("pos")?.unwrap_or(0);
        let mut starts = vec![0; cache.rank()];
        if let Some(s) = starts.get_mut(d) {
            *s = usize::try_from(pos)
                .map_err(|_| EvalError::new(format!("`cache_update` writes at {pos}")))?;
        }
        let mut out = cache.clone();
        data::put(&mut out, &starts, new)?;
        Ok(vec![out])
    }

    fn in_place(&self) -> bool {
        true
    }
}

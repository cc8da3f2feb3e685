//! The op `where`.

use std::hint::select_unpredictable;

use crate::ops::support::compare::bools;
use crate::ops::support::data::pair_data;
use crate::ops::support::prelude::*;
use crate::ops::support::walk::{Walk, broadcast_strides, lane, wide};

struct Where;

pub static OP: &dyn Op = &Where;

impl Op for Where {
    fn name(&self) -> &'static str {
        "where"
    }

    fn group(&self) -> &'static str {
        "elementwise"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "`a` where the condition is true, `b` elsewhere.",
                details: "All three broadcast. Nothing is computed with the element that is not \
                          chosen, so its NaN does not spread. One selection an element.",
                examples: &[
                    example(
                        "where(c, a, b)",
                        &[
                            ("c", "bool[2]", &[1.0, 0.0]),
                            ("a", "f32[2]", &[1.0, 2.0]),
                            ("b", "f32[2]", &[10.0, 20.0]),
                        ],
                        ("f32[2]", &[1.0, 20.0]),
                    ),
                    example(
                        "where(c, a, 0.0)",
                        &[("c", "bool[2, 1]", &[1.0, 0.0]), ("a", "f32[2]", &[1.0, f64::NAN])],
                        ("f32[2, 2]", &[1.0, f64::NAN, 0.0, 0.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        const { &[Param::tensor("cond"), Param::tensor("a"), Param::tensor("b")] }
    }

    /// The condition is a bool whatever the others are.
    fn number_dtype(&self, operands: &[Option<DType>]) -> Option<DType> {
        operands.iter().skip(1).flatten().next().copied()
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        check::takes("where", call, 0, "cond", Takes::Bools)?;
        let d = check::same_dtype("where", call, (1, "a"), (2, "b"))?;
        Ok(vec![TensorTy::new(d, check::broadcast("where", call, &["cond", "a", "b"])?)])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        access::elementwise(call.inputs, outs)
    }

    fn work(&self, _: &Call, outs: &[TensorTy]) -> Vec<Work> {
        outs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (cond, a, b, out) = (cx.input(0)?, cx.input(1)?, cx.input(2)?, cx.out(0)?);
        let shape = &out.shape;
        let c = bools(cond)?;
        let [sc, sa, sb] = [cond, a, b].map(|t| broadcast_strides(t.shape(), shape));
        let walk = Walk::new(shape, [&sc, &sa, &sb]);
        let [dc, da, db] = walk.steps();
        let len = data::count(shape)?;
        let data = pair_data!(a.data(), b.data(), (a, b) => fill(len, |start, part| {
            walk.runs(start, start + part.len(), |pos, n, [ic, ia, ib]| {
                let o = &mut part[pos - start..pos - start + n];
                choose(lane(c, ic, dc, n), lane(a, ia, da, n), lane(b, ib, db, n), o);
            });
        }))?;
        Ok(vec![data::tensor(a.dtype(), shape.clone(), data)?])
    }

    fn in_place(&self) -> bool {
        true
    }
}

/// One run of the result.
fn choose<T: Copy>(c: Lane<u8>, a: Lane<T>, b: Lane<T>, o: &mut [T]) {
    let c = match c {
        Lane::Many(c) => c,
        Lane::One(c) => {
            return match if c != 0 { a } else { b } {
                Lane::Many(v) => o.copy_from_slice(v),
                Lane::One(v) => o.fill(v),
            };
        }
    };
    // both are loaded: a branch would keep the loop scalar
    let pick = |c: u8, a: T, b: T| select_unpredictable(c != 0, a, b);
    match (a, b) {
        (Lane::Many(a), Lane::Many(b)) => wide(
            #[inline(always)]
            move || {
                for (((o, &c), &a), &b) in o.iter_mut().zip(c).zip(a).zip(b) {
                    *o = pick(c, a, b);
                }
            },
        ),
        (Lane::One(a), Lane::Many(b)) => zip_with(c, b, o, move |c, b| pick(c, a, b)),
        (Lane::Many(a), Lane::One(b)) => zip_with(c, a, o, move |c, a| pick(c, a, b)),
        (Lane::One(a), Lane::One(b)) => map(c, o, move |c| pick(c, a, b)),
    }
}

#[inline(always)]
fn zip_with<T: Copy>(c: &[u8], v: &[T], o: &mut [T], f: impl Fn(u8, T) -> T) {
    wide(
        #[inline(always)]
        move || {
            for ((o, &c), &v) in o.iter_mut().zip(c).zip(v) {
                *o = f(c, v);
            }
        },
    );
}

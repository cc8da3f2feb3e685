//! The op `window_write`, which assignments to subscripts make.

use super::window;
use crate::ops::support::prelude::*;
use crate::types::dim::Env;

struct WindowWrite;

pub static OP: &dyn Op = &WindowWrite;

/// `base` with a window replaced by `tile`. Takes `base` by value: elements that no one else
/// holds are written in place.
pub fn write(
    mut base: Tensor,
    tile: &Tensor,
    subs: &[Sub],
    env: &Env,
) -> Result<Tensor, EvalError> {
    let p = window::place("window_write", subs, base.shape(), env)?;
    let mut block = data::reshaped(tile, &p.lens)?;
    if p.is_cut() {
        block = data::block(&block, &vec![0; p.lens.len()], &p.valid)?;
    }
    data::put(&mut base, &p.starts, &block)?;
    Ok(base)
}

const PARAMS: &[Param] =
    &[Param::tensor("base"), Param::tensor("tile"), Param::attr("subs", ParamKind::Subs)];

impl Op for WindowWrite {
    fn name(&self) -> &'static str {
        "window_write"
    }

    fn group(&self) -> &'static str {
        "shape"
    }

    fn doc(&self) -> Doc {
        const {
            Doc {
                summary: "A tensor with a window replaced: `x[a..b, i] = tile;`.",
                details: "The tile has the shape of the window, whose numbered axes are \
                          dropped. Where a `tile` window runs past its end or the tensor's, \
                          what lies past is dropped. In place unless the old value is used \
                          later; only the window is written.",
                examples: &[
                    example(
                        "let mut y = x; y[1..3] = t; y",
                        &[("x", "f32[4]", &[1.0, 2.0, 3.0, 4.0]), ("t", "f32[2]", &[8.0, 9.0])],
                        ("f32[4]", &[1.0, 8.0, 9.0, 4.0]),
                    ),
                    example(
                        "let mut y = x; y[.., 1] = t; y",
                        &[("x", "f32[2, 2]", &[1.0, 2.0, 3.0, 4.0]), ("t", "f32[2]", &[8.0, 9.0])],
                        ("f32[2, 2]", &[1.0, 8.0, 3.0, 9.0]),
                    ),
                ],
            }
        }
    }

    fn params(&self) -> &'static [Param] {
        PARAMS
    }

    fn role(&self) -> Role {
        Role::Write
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let subs = window::subs("window_write", call)?;
        window::check_bounds("window_write", call, subs)?;
        check::same_dtype("window_write", call, (0, "base"), (1, "tile"))?;
        let (base, tile) = (call.input(0)?, call.input(1)?);
        let want = window::shape(subs, &base.shape);
        let help = format!(
            "the window has shape {}, the tile {}",
            check::show_dims(call, &want),
            check::show_dims(call, &tile.shape)
        );
        if want.len() != tile.rank() {
            return Err(OpError::new(
                Code::RankMismatch,
                format!("a window of {} axes takes no tile of {}", want.len(), tile.rank()),
            )
            .at("tile", format!("{} here", check::show(call, 1)))
            .help(help));
        }
        for (i, (w, t)) in want.iter().zip(&tile.shape).enumerate() {
            let (a, b) = (format!("axis {i} of the window"), format!("axis {i} of the tile"));
            check::equal("window_write", call, (&a, w), (&b, t), &help)
                .map_err(|e| check::with_types(e, call, &[(0, "base"), (1, "tile")]))?;
        }
        let mut out = TensorTy::new(base.dtype, base.shape.clone());
        if base.range == tile.range {
            out.range = base.range.clone();
        }
        Ok(vec![out])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let (Some(base), Some(tile)) = (call.inputs.first(), call.inputs.get(1)) else {
            return access::create(outs);
        };
        Domain {
            dims: access::parallel(&tile.shape),
            reads: vec![access::untouched(base.rank()), Access::direct(0..tile.rank())],
            writes: vec![window::access(call.attrs.subs("subs").unwrap_or(&[]), &base.shape)],
            exact: true,
        }
    }

    fn work(&self, _: &Call, _: &[TensorTy]) -> Vec<Work> {
        vec![]
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let subs = cx.attrs.subs("subs").unwrap_or(&[]);
        Ok(vec![write(cx.input(0)?.clone(), cx.input(1)?, subs, cx.env)?])
    }
}

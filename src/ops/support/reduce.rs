//! Reductions over some axes.

use super::chunks::Source;
use super::class::store_ordered;
use super::order::Monoid;
use super::prelude::*;
use super::walk::strides;

/// A reduction with a partial form.
pub struct Reduce {
    pub name: &'static str,
    pub doc: Doc,
    pub takes: Takes,
    pub kind: Reduction,
    pub f32s: Option<Monoid<f32>>,
    pub f64s: Option<Monoid<f64>>,
    /// On integers and bools.
    pub ints: Option<Monoid<i64>>,
    /// Whether the result is divided by the number of elements.
    pub mean: bool,
    /// Whether the result accumulates, so that `out` names its dtype.
    pub out: bool,
    /// Whether a row without elements has a result.
    pub empty: bool,
    /// Whether elements are made absolute first.
    pub abs: bool,
    pub partial: PartialRule,
}

const X: Param = Param::tensor("x");
const DIM: Param = Param::named("dim", ParamKind::Dims, DefaultValue::Absent);
const KEEP: Param = Param::named("keepdim", ParamKind::Bool, DefaultValue::Bool(false));
const OUT: Param = Param::named("out", ParamKind::DType, DefaultValue::Absent);

/// The axes that a reduction takes away: those of `dim`, or all.
pub fn reduced(attrs: &Attrs, rank: usize) -> Vec<bool> {
    let dims = check::axes_of(attrs, "dim", rank);
    (0..rank).map(|i| dims.as_ref().is_none_or(|d| d.contains(&i))).collect()
}

/// The shape that is left.
pub fn left(shape: &[Expr], gone: &[bool], keepdim: bool) -> Vec<Expr> {
    let axes = shape.iter().zip(gone);
    axes.filter_map(|(e, g)| match (g, keepdim) {
        (false, _) => Some(e.clone()),
        (true, true) => Some(Expr::one()),
        (true, false) => None,
    })
    .collect()
}

/// The domain of a reduction: `dim(extent)` makes the dimension of a reduced axis.
pub fn domain(
    x: &TensorTy,
    gone: &[bool],
    keepdim: bool,
    results: usize,
    dim: impl Fn(Expr) -> DomDim,
) -> Domain {
    let axes = x.shape.iter().zip(gone);
    let dims =
        axes.map(|(e, g)| if *g { dim(e.clone()) } else { DomDim::parallel(e.clone()) }).collect();
    let write = gone
        .iter()
        .enumerate()
        .filter_map(|(i, g)| match (g, keepdim) {
            (false, _) => Some(AxisAccess::Dims(vec![i])),
            (true, true) => Some(AxisAccess::Dims(vec![])),
            (true, false) => None,
        })
        .collect();
    Domain {
        dims,
        reads: vec![Access::direct(0..x.rank())],
        writes: vec![Access { axes: write }; results],
        exact: true,
    }
}

/// The operand with its reduced axes last, the number of rows, and their length.
pub fn rows(x: &Tensor, gone: &[bool]) -> Result<(Tensor, usize, usize), EvalError> {
    let (kept, taken): (Vec<usize>, Vec<usize>) =
        (0..x.rank()).partition(|i| !gone.get(*i).copied().unwrap_or(false));
    let extent = |v: &[usize]| v.iter().map(|i| x.shape().get(*i).copied().unwrap_or(1)).product();
    let (rows, n) = (extent(&kept), extent(&taken));
    let perm: Vec<usize> = kept.into_iter().chain(taken).collect();
    debug_assert_eq!(strides(x.shape()).len(), perm.len());
    Ok((data::permute(x, &perm)?, rows, n))
}

/// Where the reduced axes are neighbours: the product of the extents before, of and after them.
fn columns(shape: &[usize], gone: &[bool]) -> Option<(usize, usize, usize)> {
    let axes: Vec<(usize, bool)> =
        shape.iter().copied().zip(gone.iter().copied()).filter(|(n, _)| *n != 1).collect();
    let first = axes.iter().position(|(_, g)| *g).unwrap_or(axes.len());
    let end = axes.iter().rposition(|(_, g)| *g).map_or(first, |e| e + 1);
    let (before, after) = (axes.get(..first)?, axes.get(end..)?);
    let within = axes.get(first..end)?;
    let extent = |v: &[(usize, bool)]| v.iter().map(|(n, _)| n).product::<usize>();
    within.iter().all(|(_, g)| *g).then(|| (extent(before), extent(within), extent(after)))
}

/// From this many columns on they are reduced where they lie.
const WIDE: usize = 16;

/// Combines over the axes that go; `load` reads a tensor.
fn fold<T: Copy + Default + Send + Sync>(
    m: &Monoid<T>,
    x: &Tensor,
    gone: &[bool],
    load: impl Fn(&Tensor) -> Source<'_, T>,
) -> Result<Vec<T>, EvalError> {
    match columns(x.shape(), gone) {
        Some((rows, n, 1)) => Ok(m.rows(&load(x), rows, n)),
        Some((outer, n, inner)) if n > 0 && inner >= WIDE => {
            Ok(m.columns(&load(x), outer, n, inner))
        }
        _ => {
            let (x, rows, n) = rows(x, gone)?;
            Ok(m.rows(&load(&x), rows, n))
        }
    }
}

impl Reduce {
    fn floats<T: Real>(
        &self,
        m: &Option<Monoid<T>>,
        x: &Tensor,
        gone: &[bool],
        load: impl Fn(&Tensor) -> Source<'_, T>,
    ) -> Result<Vec<T>, EvalError> {
        let m = m.as_ref().ok_or_else(|| self.refuse(x.dtype()))?;
        let mut v = fold(m, x, gone, load)?;
        if self.mean {
            // the count is exact in f32 up to 2^24, and rounds once above
            let taken = x.shape().iter().zip(gone).filter(|(_, g)| **g);
            let count = T::of(taken.map(|(n, _)| *n).product::<usize>() as f64);
            v.iter_mut().for_each(|s| *s = *s / count);
        }
        Ok(v)
    }

    fn refuse(&self, d: DType) -> EvalError {
        EvalError::new(format!("`{}` takes no {d}", self.name))
    }
}

/// The magnitudes of integers, in their own dtype: that of the least wraps to itself.
fn magnitudes(x: &Tensor) -> Tensor {
    if !x.dtype().is_signed() {
        return x.clone();
    }
    let v = x.to_i64s().iter().map(|v| v.wrapping_abs()).collect();
    Tensor::from_i64s(x.dtype(), x.shape().to_vec(), v)
}

/// Refuses rows that are known to have no elements, where an op asks for one.
pub fn has_elements(op: &str, call: &Call, gone: &[bool]) -> Result<(), OpError> {
    let x = call.input(0)?;
    let axes = || x.shape.iter().zip(gone);
    let empty = axes().any(|(n, g)| *g && n.as_int() == Some(0));
    let rows = axes().all(|(n, g)| *g || call.vars.lower(n).is_some_and(|k| k > 0));
    if !(empty && rows) {
        return Ok(());
    }
    let shown = check::show(call, 0);
    Err(OpError::new(Code::ShapeMismatch, format!("`{op}` of no elements has no value"))
        .at("x", format!("{shown} here"))
        .help("reduce over axes of at least 1 element"))
}

impl Op for Reduce {
    fn name(&self) -> &'static str {
        self.name
    }

    fn group(&self) -> &'static str {
        "reductions"
    }

    fn doc(&self) -> Doc {
        self.doc
    }

    fn params(&self) -> &'static [Param] {
        match self.out {
            true => const { &[X, DIM, KEEP, OUT] },
            false => const { &[X, DIM, KEEP] },
        }
    }

    fn partial_rule(&self) -> PartialRule {
        self.partial
    }

    fn infer(&self, call: &Call) -> Result<Vec<TensorTy>, OpError> {
        let sums_bools =
            self.out && self.takes == Takes::Numbers && call.input(0)?.dtype == DType::Bool;
        if !sums_bools {
            check::takes(self.name, call, 0, "x", self.takes)?;
        }
        check::axes(self.name, call, 0, "dim")?;
        let x = call.input(0)?;
        let dtype = match self.out {
            true => check::out_dtype(self.name, call, x.dtype, "x")?,
            false => x.dtype,
        };
        let gone = reduced(call.attrs, x.rank());
        if !self.empty {
            has_elements(self.name, call, &gone)?;
        }
        Ok(vec![TensorTy::new(dtype, left(&x.shape, &gone, call.attrs.flag("keepdim")))])
    }

    fn domain(&self, call: &Call, outs: &[TensorTy]) -> Domain {
        let Some(x) = call.inputs.first() else { return access::create(outs) };
        let gone = reduced(call.attrs, x.rank());
        domain(x, &gone, call.attrs.flag("keepdim"), 1, |e| DomDim::reduce(e, self.kind))
    }

    /// One operation an element: N elements are N flops, the first one's join with the identity
    /// included. The mean's division is by a number known beforehand, so it is a product with its
    /// reciprocal, and takes that first join's place: square, mean, `+ eps`, rsqrt and scaling
    /// of R rows of N f32 are 3 R N + R flops of f32 and R special functions.
    fn work(&self, call: &Call, _: &[TensorTy]) -> Vec<Work> {
        call.inputs.first().map_or(vec![], |t| Cost::ONE.work(t.dtype))
    }

    fn eval(&self, cx: &EvalCx) -> Result<Vec<Tensor>, EvalError> {
        let (x, out) = (cx.input(0)?, cx.out(0)?);
        let gone = reduced(cx.attrs, x.rank());
        let extent = |g: bool| -> usize {
            let axes = x.shape().iter().zip(&gone).filter(|(_, h)| **h == g);
            axes.map(|(n, _)| *n).product()
        };
        if extent(true) == 0 && extent(false) > 0 && !self.empty {
            return Err(EvalError::new(format!("`{}` of no elements has no value", self.name)));
        }
        let shape = out.shape.clone();
        Ok(vec![match Class::of([x.dtype(), out.dtype]) {
            Class::F32 => {
                let v = self.floats(&self.f32s, x, &gone, |x| match self.abs {
                    true => chunks::f32s(x).map(f32::abs),
                    false => chunks::f32s(x),
                })?;
                f32::store(out.dtype, shape, v)
            }
            Class::F64 => {
                let v = self.floats(&self.f64s, x, &gone, |x| match self.abs {
                    true => Source::Plain(x.to_f64s()).map(f64::abs),
                    false => Source::Plain(x.to_f64s()),
                })?;
                f64::store(out.dtype, shape, v)
            }
            Class::Int => {
                let m = self.ints.as_ref().ok_or_else(|| self.refuse(x.dtype()))?;
                if self.abs && extent(true) == 0 {
                    return Ok(vec![Tensor::zeros(out.dtype, shape)]);
                }
                let ordered = matches!(self.kind, Reduction::Max | Reduction::Min);
                let v = match self.abs {
                    true => fold(m, &magnitudes(x), &gone, |x| chunks::i64s(x, ordered))?,
                    false => fold(m, x, &gone, |x| chunks::i64s(x, ordered))?,
                };
                match ordered {
                    true => store_ordered(out.dtype, shape, v),
                    false => Tensor::from_i64s(out.dtype, shape, v),
                }
            }
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduced_axes_that_are_neighbours_are_columns() {
        let of = |shape: &[usize], gone: &[bool]| columns(shape, gone);
        assert_eq!(of(&[2, 3, 5], &[false, true, false]), Some((2, 3, 5)));
        assert_eq!(of(&[2, 3, 5], &[true, true, false]), Some((1, 6, 5)));
        assert_eq!(of(&[2, 1, 5], &[true, false, true]), Some((1, 10, 1)));
        assert_eq!(of(&[2, 3, 5], &[true, false, true]), None);
        assert_eq!(of(&[2, 3], &[false, false]), Some((6, 1, 1)));
        assert_eq!(of(&[2, 0], &[false, true]), Some((2, 0, 1)));
        assert_eq!(of(&[], &[]), Some((1, 1, 1)));
    }
}

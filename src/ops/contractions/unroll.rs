//! The evaluation of a convolution: the windows of a part of the positions are unrolled into the
//! columns of a matrix, so that the sums are a matrix product.

use rayon::prelude::*;

use super::conv::Conv;
use crate::ops::support::gemm::{Mat, Order, product};
use crate::ops::support::prelude::*;

/// One axis of an evaluation.
#[derive(Clone, Copy)]
struct Axis {
    stride: i64,
    dilation: i64,
    /// Positions of padding before the first.
    left: i64,
    len: usize,
    taps: usize,
    count: usize,
}

/// An axis that a convolution of fewer axes does not have.
const NO_AXIS: Axis = Axis { stride: 1, dilation: 1, left: 0, len: 1, taps: 1, count: 1 };

/// A convolution in numbers; one of a single axis has one row.
pub struct Sizes {
    batch: usize,
    groups: usize,
    /// Channels of `x` and of the result in each group.
    part: usize,
    each: usize,
    rows: Axis,
    cols: Axis,
}

impl Sizes {
    pub fn of(op: &Conv, cx: &EvalCx) -> Result<Sizes, EvalError> {
        let lost = || EvalError::new(format!("`{}` lost an axis or attribute", op.name));
        let (x, w, out) = (cx.input(0)?.shape(), cx.input(1)?.shape(), &cx.out(0)?.shape);
        let at = |s: &[usize], i: usize| s.get(i).copied().ok_or_else(lost);
        let attr = |name: &str, i: usize| -> Result<i64, EvalError> {
            match cx.attrs.get(name) {
                Some(Attr::Int(e)) => cx.expr(e),
                Some(Attr::Shape(v)) => cx.expr(v.get(i).or(v.first()).ok_or_else(lost)?),
                _ => Err(lost()),
            }
        };
        let axis = |i: usize| -> Result<Axis, EvalError> {
            let (taps, dilation) = (at(w, i + 2)?, attr("dilation", i)?);
            let left = match cx.attrs.flag("causal") {
                true => (taps as i64).saturating_sub(1).saturating_mul(dilation),
                false => attr("padding", i)?,
            };
            let (len, count) = (at(x, i + 2)?, at(out, i + 2)?);
            Ok(Axis { stride: attr("stride", i)?.max(1), dilation, left, len, taps, count })
        };
        let groups = usize::try_from(attr("groups", 0)?).map_err(|_| lost())?.max(1);
        let rows = if op.axes == 1 { NO_AXIS } else { axis(0)? };
        let each = at(w, 0)? / groups;
        Ok(Sizes {
            batch: at(x, 0)?,
            groups,
            part: at(w, 1)?,
            each,
            rows,
            cols: axis(op.axes - 1)?,
        })
    }

    /// Results of one channel, and terms of each.
    fn count(&self) -> usize {
        self.rows.count * self.cols.count
    }

    fn terms(&self) -> usize {
        self.part * self.rows.taps * self.cols.taps
    }
}

impl Axis {
    /// The position that tap `k` of window `j` reads, where there is one.
    fn position(&self, j: usize, k: usize) -> Option<usize> {
        let at = (j as i64).checked_mul(self.stride)?;
        let at = at.checked_add((k as i64).checked_mul(self.dilation)?)?.checked_sub(self.left)?;
        usize::try_from(at).ok().filter(|p| *p < self.len)
    }

    /// The windows whose tap `k` reads a position.
    fn inside(&self, k: usize) -> std::ops::Range<usize> {
        let at = (k as i64).saturating_mul(self.dilation).saturating_sub(self.left);
        let up = |n: i64| n.saturating_add(self.stride - 1).div_euclid(self.stride);
        let clip = |n: i64| usize::try_from(n).unwrap_or(0).min(self.count);
        let len = i64::try_from(self.len).unwrap_or(i64::MAX);
        let to = clip(up(len.saturating_sub(at)));
        clip(up(at.saturating_neg())).min(to)..to
    }
}

/// Elements of an unrolled matrix.
const BLOCK: usize = 1 << 18;
/// Below this many multiply-adds a convolution is not worth sharing.
const SMALL: usize = 1 << 17;

/// Results `from..to` of the channels of one group of one batch.
#[derive(Clone, Copy)]
struct Piece {
    batch: usize,
    group: usize,
    from: usize,
    to: usize,
}

/// The windows of a piece: a row for each term of a sum, a column for each result; 0 where a
/// window reads no position.
fn unroll<T: Real>(s: &Sizes, x: &[T], p: Piece) -> Vec<T> {
    let (width, n) = (s.cols.count, p.to - p.from);
    let mut out = vec![T::ZERO; s.terms() * n];
    let plane = s.rows.len * s.cols.len;
    let first = (p.batch * s.groups + p.group) * s.part;
    let taps = s.rows.taps * s.cols.taps;
    for (t, row) in out.chunks_mut(n).enumerate() {
        let (channel, ky, kx) = (first + t / taps, t % taps / s.cols.taps, t % s.cols.taps);
        let inside = s.cols.inside(kx);
        for line in p.from / width..=(p.to - 1) / width {
            let Some(y) = s.rows.position(line, ky) else { continue };
            // results of this line that belong to the piece and read a position
            let start = line * width;
            let a = inside.start.max(p.from.saturating_sub(start));
            let b = inside.end.min(p.to - start);
            let Some(from) = s.cols.position(a, kx).filter(|_| a < b) else { continue };
            let at = channel * plane + y * s.cols.len;
            let read = x.get(at + from..at + s.cols.len).unwrap_or(&[]);
            let to = row.get_mut(start + a - p.from..start + b - p.from).unwrap_or(&mut []);
            match s.cols.stride {
                1 => to.iter_mut().zip(read).for_each(|(o, v)| *o = *v),
                k => to.iter_mut().zip(read.iter().step_by(k as usize)).for_each(|(o, v)| *o = *v),
            }
        }
    }
    out
}

/// The sums of a convolution, with its bias added.
pub fn convolve<T: Real>(cx: &EvalCx, s: &Sizes) -> Result<Vec<T>, EvalError> {
    let size = data::count(&cx.out(0)?.shape)?;
    let (x, w) = (T::load(cx.input(0)?), T::load(cx.input(1)?));
    let bias = match cx.attrs.get("bias") {
        Some(Attr::Operand(i)) => Some(T::load(cx.input(*i)?)),
        _ => None,
    };
    let mut result = vec![T::ZERO; size];
    let (count, terms) = (s.count(), s.terms());
    if size == 0 {
        return Ok(result);
    }
    // pieces depend on the extents alone, so that threads change no bit
    let step = (BLOCK / terms.max(1)).clamp(64, count.max(64));
    let groups = (0..s.batch).flat_map(|b| (0..s.groups).map(move |g| (b, g)));
    let pieces: Vec<Piece> = groups
        .flat_map(|(batch, group)| {
            let starts = (0..count).step_by(step);
            starts.map(move |from| Piece { batch, group, from, to: (from + step).min(count) })
        })
        .collect();
    let shared = size.saturating_mul(terms) >= SMALL;
    let order = match (cx.exact_order || s.each == 1, shared && pieces.len() == 1) {
        // one channel a group: a sum of rows, as fast in index order
        (true, _) => Order::Index,
        (_, true) => Order::All,
        (_, false) => Order::One,
    };
    let one = |p: &Piece| {
        let n = p.to - p.from;
        let cols = unroll(s, &x, *p);
        let from = p.group * s.each * terms;
        let a = Mat {
            data: w.get(from..from + s.each * terms).unwrap_or(&[]),
            rows: s.each,
            cols: terms,
            row_stride: terms,
            col_stride: 1,
        };
        let b = Mat { data: &cols, rows: terms, cols: n, row_stride: n, col_stride: 1 };
        let mut out = vec![T::ZERO; s.each * n];
        product(a, b, &mut out, order);
        out
    };
    let done: Vec<Vec<T>> = match shared {
        true => pieces.par_iter().map(one).collect(),
        false => pieces.iter().map(one).collect(),
    };
    for (p, sums) in pieces.iter().zip(done) {
        for (o, row) in sums.chunks(p.to - p.from).enumerate() {
            let channel = p.group * s.each + o;
            let at = (p.batch * s.groups * s.each + channel) * count;
            let to = result.get_mut(at + p.from..at + p.to).unwrap_or(&mut []);
            match bias.as_ref().and_then(|b| b.get(channel)) {
                Some(b) => to.iter_mut().zip(row).for_each(|(o, v)| *o = *v + *b),
                None => to.copy_from_slice(row),
            }
        }
    }
    Ok(result)
}

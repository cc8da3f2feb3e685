//! Loops over the elements of tensors whose axes are broadcast, permuted or reversed.

pub use crate::base::spread::{CHUNK, PARALLEL, alone, fill, map, spread, wide};

/// Row-major strides.
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut out = vec![0; shape.len()];
    let mut s = 1isize;
    for (o, n) in out.iter_mut().zip(shape).rev() {
        *o = s;
        s *= *n as isize;
    }
    out
}

/// Strides of a tensor of shape `from` that is broadcast to `to`.
pub fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<isize> {
    let mut out = vec![0; to.len()];
    for ((o, s), (n, m)) in out
        .iter_mut()
        .rev()
        .zip(strides(from).iter().rev())
        .zip(from.iter().rev().zip(to.iter().rev()))
    {
        if *n != 1 || *m == 1 {
            *o = *s;
        }
    }
    out
}

/// The positions of `N` operands that each element of a result is made from.
pub struct Walk<const N: usize> {
    /// Extents with the operands' strides, neighbours joined where all operands allow it.
    axes: Vec<(usize, [isize; N])>,
    start: [isize; N],
}

impl<const N: usize> Walk<N> {
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Walk<N> {
        Walk::starting(shape, strides, [0; N])
    }

    pub fn starting(shape: &[usize], strides: [&[isize]; N], start: [isize; N]) -> Walk<N> {
        let mut axes: Vec<(usize, [isize; N])> = vec![];
        for (i, &n) in shape.iter().enumerate() {
            if n == 1 {
                continue;
            }
            let s = strides.map(|s| s.get(i).copied().unwrap_or(0));
            match axes.last_mut() {
                Some((m, t)) if t.iter().zip(&s).all(|(t, s)| *t == *s * n as isize) => {
                    *m *= n;
                    *t = s;
                }
                _ => axes.push((n, s)),
            }
        }
        if axes.is_empty() {
            axes.push((1, [0; N]));
        }
        Walk { axes, start }
    }

    /// Strides along a run.
    pub fn steps(&self) -> [isize; N] {
        self.axes.last().map_or([0; N], |a| a.1)
    }

    /// Calls `f(position, length, offsets)` for each run of the positions `from..to`: along a run
    /// operand `k` starts at `offsets[k]` and advances by `steps()[k]`.
    pub fn runs(&self, from: usize, to: usize, mut f: impl FnMut(usize, usize, [usize; N])) {
        let Some(((n, steps), outer)) = self.axes.split_last() else { return };
        let mut pos = from;
        while pos < to {
            let (mut row, col) = (pos / n, pos % n);
            let len = (n - col).min(to - pos);
            let mut off = self.start;
            add(&mut off, steps, col);
            for (m, s) in outer.iter().rev() {
                add(&mut off, s, row % m);
                row /= m;
            }
            f(pos, len, off.map(|o| o as usize));
            pos += len;
        }
    }
}

fn add<const N: usize>(off: &mut [isize; N], steps: &[isize; N], times: usize) {
    for (o, s) in off.iter_mut().zip(steps) {
        *o += s * times as isize;
    }
}

/// An operand along a run: its elements, or one for all.
#[derive(Clone, Copy)]
pub enum Lane<'a, T> {
    Many(&'a [T]),
    One(T),
}

/// `f` of each pair, which must be inlined.
#[inline(always)]
pub fn zip<T: Copy, O>(a: Lane<T>, b: Lane<T>, o: &mut [O], f: impl Fn(T, T) -> O) {
    match (a, b) {
        (Lane::Many(a), Lane::Many(b)) => wide(
            #[inline(always)]
            move || {
                for ((o, &x), &y) in o.iter_mut().zip(a).zip(b) {
                    *o = f(x, y);
                }
            },
        ),
        (Lane::Many(a), Lane::One(y)) => map(a, o, move |x| f(x, y)),
        (Lane::One(x), Lane::Many(b)) => map(b, o, move |y| f(x, y)),
        (Lane::One(x), Lane::One(y)) => o.iter_mut().for_each(|o| *o = f(x, y)),
    }
}

/// A run of a broadcast operand: its last stride is 1, or 0 where one element serves all.
pub fn lane<T: Copy + Default>(v: &[T], at: usize, step: isize, n: usize) -> Lane<'_, T> {
    if step == 0 {
        Lane::One(v.get(at).copied().unwrap_or_default())
    } else {
        Lane::Many(v.get(at..at + n).unwrap_or(&[]))
    }
}

//! Windows with concrete bounds: which elements a subscript touches.

use crate::ops::Sub;
use crate::types::dim::Env;
use crate::types::value::Tensor;

/// A block of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub starts: Vec<usize>,
    pub lens: Vec<usize>,
}

impl Rect {
    pub fn whole(shape: &[usize]) -> Rect {
        Rect { starts: vec![0; shape.len()], lens: shape.to_vec() }
    }

    pub fn is_empty(&self) -> bool {
        self.lens.contains(&0)
    }

    pub fn intersect(&self, other: &Rect) -> Option<Rect> {
        let mut out = Rect { starts: vec![], lens: vec![] };
        for i in 0..self.starts.len() {
            let lo = self.starts[i].max(other.starts[i]);
            let hi = (self.starts[i] + self.lens[i]).min(other.starts[i] + other.lens[i]);
            if lo >= hi {
                return None;
            }
            out.starts.push(lo);
            out.lens.push(hi - lo);
        }
        Some(out)
    }

    /// Its place in the block that starts at `origin`.
    pub fn within(&self, origin: &Rect) -> Vec<usize> {
        self.starts.iter().zip(&origin.starts).map(|(a, b)| a - b).collect()
    }

    /// Calls `f` with each contiguous run of row-major offsets, in order.
    pub fn runs(&self, shape: &[usize], mut f: impl FnMut(usize, usize)) {
        if self.is_empty() {
            return;
        }
        let rank = shape.len();
        let mut strides = vec![1usize; rank];
        for i in (1..rank).rev() {
            strides[i - 1] = strides[i] * shape[i];
        }
        let Some(last) = rank.checked_sub(1) else { return f(0, 1) };
        let mut at = self.starts.clone();
        loop {
            f(at.iter().zip(&strides).map(|(a, s)| a * s).sum(), self.lens[last]);
            let mut axis = last;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                at[axis] += 1;
                if at[axis] < self.starts[axis] + self.lens[axis] {
                    break;
                }
                at[axis] = self.starts[axis];
            }
        }
    }
}

/// The indices of a row-major offset.
pub(super) fn unravel(mut offset: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (i, d) in shape.iter().enumerate().rev() {
        let d = (*d).max(1);
        out[i] = offset % d;
        offset /= d;
    }
    out
}

/// A subscript with concrete bounds.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The elements that exist.
    pub rect: Rect,
    /// Extents with the padding, every axis kept.
    pub lens: Vec<usize>,
    /// Extents with the padding, without the axes that a single index drops.
    pub kept: Vec<usize>,
    /// What is read past the end.
    pub pad: Option<f64>,
}

/// What is wrong with a subscript.
#[derive(Debug)]
pub(super) enum WindowError {
    /// An expression has no value.
    Open,
    /// Indices `lo..hi` of an axis that has `extent`.
    Outside { axis: usize, lo: i64, hi: i64, extent: usize },
}

impl Window {
    /// Evaluates subscripts on a tensor of `shape`; axes without one are whole. A window may pass
    /// the end where it states an end or a padding.
    pub fn new(subs: &[Sub], shape: &[usize], env: &Env) -> Result<Window, WindowError> {
        let mut w = Window {
            rect: Rect { starts: vec![], lens: vec![] },
            lens: vec![],
            kept: vec![],
            pad: None,
        };
        for (axis, extent) in shape.iter().copied().enumerate() {
            let Some(sub) = subs.get(axis) else {
                w.push(0, extent, extent, true);
                continue;
            };
            match sub {
                Sub::At(e) => {
                    let i = e.eval(env).ok_or(WindowError::Open)?;
                    if i < 0 || i >= extent as i64 {
                        return Err(WindowError::Outside { axis, lo: i, hi: i + 1, extent });
                    }
                    w.push(i as usize, 1, 1, false);
                }
                Sub::Window { start, len, end, pad } => {
                    let start = start.eval(env).ok_or(WindowError::Open)?;
                    let len = len.eval(env).ok_or(WindowError::Open)?;
                    let end = end.as_ref().map(|e| e.eval(env).ok_or(WindowError::Open));
                    let end = end.transpose()?;
                    if let Some(p) = pad {
                        w.pad = Some(p.eval_f64(env).ok_or(WindowError::Open)?);
                    }
                    let limit = end.unwrap_or(extent as i64).min(extent as i64);
                    let inside = (limit - start).clamp(0, len.max(0));
                    let may_pass = end.is_some() || pad.is_some();
                    if start < 0 || len < 0 || (inside < len && !may_pass) {
                        let hi = start.saturating_add(len);
                        return Err(WindowError::Outside { axis, lo: start, hi, extent });
                    }
                    // a window wholly past the end touches nothing
                    let at = if inside == 0 { 0 } else { start as usize };
                    w.push(at, inside as usize, len as usize, true);
                }
            }
        }
        Ok(w)
    }

    fn push(&mut self, start: usize, inside: usize, len: usize, keep: bool) {
        self.rect.starts.push(start);
        self.rect.lens.push(inside);
        self.lens.push(len);
        if keep {
            self.kept.push(len);
        }
    }

    fn is_padded(&self) -> bool {
        self.rect.lens != self.lens
    }

    /// The window of a block that holds the elements of `rect`.
    pub fn finish(&self, block: &Tensor, pad: f64) -> Tensor {
        if !self.is_padded() {
            return block.reshape(self.kept.clone());
        }
        let mut out = Tensor::full(block.dtype(), self.lens.clone(), pad);
        if !self.rect.is_empty() {
            out.write_block(&vec![0; self.lens.len()], block);
        }
        out.reshape(self.kept.clone())
    }

    /// The part of a tile that has a place in the tensor, in the shape of `rect`. `None` where
    /// the tile's shape is not the window's.
    pub fn clip(&self, tile: &Tensor) -> Option<Tensor> {
        let tile = if tile.shape() == self.kept {
            tile.reshape(self.lens.clone())
        } else {
            broadcast(tile, &self.kept)?.reshape(self.lens.clone())
        };
        if !self.is_padded() {
            return Some(tile);
        }
        Some(tile.slice_block(&vec![0; self.lens.len()], &self.rect.lens))
    }
}

/// A tile repeated along axes where it has extent 1 or none; right-aligned.
fn broadcast(tile: &Tensor, shape: &[usize]) -> Option<Tensor> {
    let lead = shape.len().checked_sub(tile.rank())?;
    let mut padded = vec![1; lead];
    padded.extend(tile.shape());
    if padded.iter().zip(shape).any(|(a, b)| *a != *b && *a != 1) {
        return None;
    }
    let lists: Vec<Vec<usize>> = padded
        .iter()
        .zip(shape)
        .map(|(a, b)| if a == b { (0..*b).collect() } else { vec![0; *b] })
        .collect();
    Some(pick(&tile.reshape(padded), &lists))
}

/// The elements at every combination of the indices listed for each axis.
pub(super) fn pick(t: &Tensor, lists: &[Vec<usize>]) -> Tensor {
    let lens: Vec<usize> = lists.iter().map(Vec::len).collect();
    let contiguous = |l: &Vec<usize>| l.windows(2).all(|w| w[1] == w[0] + 1);
    if lists.iter().all(|l| !l.is_empty() && contiguous(l)) {
        let starts: Vec<usize> = lists.iter().map(|l| l[0]).collect();
        return t.slice_block(&starts, &lens);
    }
    // one axis at a time, blocks of whole slices
    let mut cur = t.clone();
    for (axis, list) in lists.iter().enumerate() {
        let mut shape = cur.shape().to_vec();
        if list.len() == shape[axis] && contiguous(list) && list.first() == Some(&0) {
            continue;
        }
        let mut block = shape.clone();
        block[axis] = 1;
        shape[axis] = list.len();
        let mut out = Tensor::full(cur.dtype(), shape.clone(), 1.0);
        let mut at = vec![0; shape.len()];
        let mut from = vec![0; shape.len()];
        for (to, i) in list.iter().enumerate() {
            (at[axis], from[axis]) = (to, *i);
            out.write_block(&at, &cur.slice_block(&from, &block));
        }
        cur = out;
    }
    cur
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::dim::Expr;
    use crate::types::dtype::DType;
    use crate::types::num::{Float, Num};

    fn iota(shape: &[usize]) -> Tensor {
        let n: usize = shape.iter().product();
        Tensor::from_f64_iter(DType::F32, shape.to_vec(), (0..n).map(|i| i as f64))
    }

    fn window(start: i64, len: i64, end: Option<i64>, pad: Option<f64>) -> Sub {
        Sub::Window {
            start: start.into(),
            len: len.into(),
            end: end.map(Expr::int),
            pad: pad.map(|p| Num::Float(Float::Const(p))),
        }
    }

    #[test]
    fn reads_pad_past_the_end_and_drop_indexed_axes() {
        let t = iota(&[3, 4]);
        let env = Env::default();
        let subs = [Sub::At(1.into()), window(2, 4, Some(3), Some(9.0))];
        let w = Window::new(&subs, t.shape(), &env).unwrap();
        let block = t.slice_block(&w.rect.starts, &w.rect.lens);
        let out = w.finish(&block, w.pad.unwrap());
        assert_eq!((out.shape(), out.to_f64s().as_ref()), (&[4][..], &[6.0, 9.0, 9.0, 9.0][..]));
        let past = Window::new(&[window(3, 2, None, Some(0.0))], t.shape(), &env).unwrap();
        assert!(past.rect.is_empty());
        for bad in [Sub::At(3.into()), Sub::At((-1).into()), window(2, 2, None, None)] {
            assert!(Window::new(&[bad], t.shape(), &env).is_err());
        }
    }

    #[test]
    fn runs_cover_a_block_in_order() {
        let r = Rect { starts: vec![1, 0, 1], lens: vec![2, 2, 2] };
        let mut seen = vec![];
        r.runs(&[3, 2, 4], |at, n| seen.extend(at..at + n));
        assert_eq!(seen, [9, 10, 13, 14, 17, 18, 21, 22]);
        assert_eq!(unravel(14, &[3, 2, 4]), [1, 1, 2]);
    }

    #[test]
    fn pick_gathers_and_broadcasts() {
        let t = iota(&[2, 3]);
        let got = pick(&t, &[vec![1, 1], vec![0, 2]]);
        assert_eq!(got.to_f64s().as_ref(), [3.0, 5.0, 3.0, 5.0]);
        let row = broadcast(&iota(&[3]), &[2, 3]).unwrap();
        assert_eq!(row.to_f64s().as_ref(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        assert!(broadcast(&iota(&[2]), &[2, 3]).is_none());
    }
}

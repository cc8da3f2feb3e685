//! What the evaluator keeps for a value: its elements, which of them nobody wrote yet, and, inside
//! a mesh, which position wrote what.

use std::sync::Arc;

use super::axes::Axes;
use super::window::Rect;
use crate::base::Span;
use crate::graph::ValueId;
use crate::types::dtype::DType;
use crate::types::value::Tensor;

/// One tensor with its bookkeeping. Clones share everything.
#[derive(Clone)]
pub(super) struct Val {
    pub tensor: Tensor,
    /// Elements that nobody wrote; `None`: all are written.
    pub gaps: Option<Arc<Gaps>>,
    /// Who writes the buffer, for buffers that positions share.
    pub trace: Option<Arc<Trace>>,
}

/// Which elements of a buffer have a value.
#[derive(Clone)]
pub(super) struct Gaps {
    /// A bool tensor of the buffer's shape.
    pub written: Tensor,
    /// How many are not.
    pub missing: usize,
    /// The `empty` it comes from.
    pub origin: Span,
    pub name: String,
}

/// The writes to a buffer that several positions share.
#[derive(Clone)]
pub(super) struct Trace {
    /// The buffer before any position wrote it.
    pub root: ValueId,
    /// Writes not yet in the tensor, in this position's order.
    pub recs: Vec<Rec>,
    /// Axes along which positions still share it.
    pub open: Axes,
    /// Writers of the elements that are in the tensor.
    pub owners: Option<Arc<Owners>>,
}

/// A position, by the coordinates on which its write depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub axes: Axes,
    pub coords: Vec<i64>,
}

/// One window write.
#[derive(Clone)]
pub(super) struct Rec {
    pub rect: Rect,
    /// In the shape of `rect`.
    pub tile: Tensor,
    pub gaps: Option<Arc<Gaps>>,
    pub owner: Arc<Owner>,
    pub span: Span,
    /// How many groups of positions were open when it was written.
    pub depth: u32,
}

/// For each element the number of its writer in `table`, from 1; 0 for none.
#[derive(Clone, Default)]
pub(super) struct Owners {
    pub ids: Vec<u32>,
    pub table: Vec<(Arc<Owner>, Span)>,
}

/// Two positions that write one element.
pub(super) struct Conflict {
    pub offset: usize,
    pub first: (Arc<Owner>, Span),
    pub second: (Arc<Owner>, Span),
}

impl Val {
    pub fn plain(tensor: Tensor) -> Val {
        Val { tensor, gaps: None, trace: None }
    }

    /// A buffer without values.
    pub fn empty(dtype: DType, shape: Vec<usize>, origin: Span, name: String) -> Val {
        let tensor = Tensor::zeros(dtype, shape.clone());
        let missing = tensor.len();
        let written = Tensor::zeros(DType::Bool, shape);
        let gaps = Gaps { written, missing, origin, name };
        Val { tensor, gaps: (missing > 0).then(|| Arc::new(gaps)), trace: None }
    }

    /// Replaces the elements of `rect`. In place where nobody else holds the tensor.
    pub fn write(&mut self, rect: &Rect, tile: &Tensor, gaps: Option<&Gaps>) {
        if rect.is_empty() {
            return;
        }
        self.tensor.write_block(&rect.starts, tile);
        if self.gaps.is_none() && gaps.is_none() {
            return;
        }
        let shape = self.tensor.shape().to_vec();
        let mut g = match self.gaps.take() {
            Some(g) => Arc::unwrap_or_clone(g),
            None => Gaps {
                written: Tensor::full(DType::Bool, shape, 1.0),
                missing: 0,
                origin: gaps.map_or(NOWHERE, |g| g.origin),
                name: gaps.map_or(String::new(), |g| g.name.clone()),
            },
        };
        let before = missing(&g.written.slice_block(&rect.starts, &rect.lens));
        let now = match gaps {
            Some(t) => t.written.clone(),
            None => Tensor::full(DType::Bool, rect.lens.clone(), 1.0),
        };
        g.missing = g.missing - before + missing(&now);
        g.written.write_block(&rect.starts, &now);
        self.gaps = (g.missing > 0).then(|| Arc::new(g));
    }

    /// Applies a write of a position and notes the writer of each element.
    pub fn apply(&mut self, rec: &Rec) -> Result<(), Conflict> {
        let shape = self.tensor.shape().to_vec();
        let trace = self.trace.get_or_insert_with(|| Arc::new(Trace::new(ValueId(0))));
        let trace = Arc::make_mut(trace);
        let owners = Arc::make_mut(trace.owners.get_or_insert_default());
        owners.claim(rec, &shape)?;
        self.write(&rec.rect, &rec.tile, rec.gaps.as_deref());
        Ok(())
    }

    /// Its elements of a block, with the writes that wait; the caller has checked who wrote them.
    pub fn block(&self, rect: &Rect) -> Val {
        let whole = rect.lens == self.tensor.shape();
        let mut out = Val::plain(if whole {
            self.tensor.clone()
        } else {
            self.tensor.slice_block(&rect.starts, &rect.lens)
        });
        if let Some(g) = &self.gaps {
            out.gaps = if whole { Some(g.clone()) } else { g.block(rect) };
        }
        let recs = self.trace.iter().flat_map(|t| &t.recs);
        for r in recs {
            let Some(common) = rect.intersect(&r.rect) else { continue };
            let tile = r.tile.slice_block(&common.within(&r.rect), &common.lens);
            let part = Rect { starts: common.within(&r.rect), lens: common.lens.clone() };
            let gaps = r.gaps.as_ref().and_then(|g| g.block(&part));
            let at = Rect { starts: common.within(rect), lens: common.lens };
            out.write(&at, &tile, gaps.as_deref());
        }
        out
    }
}

/// The span of a buffer whose `empty` is not known.
const NOWHERE: Span = Span { file: crate::base::FileId(0), start: 0, end: 0 };

fn missing(written: &Tensor) -> usize {
    match written.data() {
        crate::types::value::Slice::Bits8(v) => v.iter().filter(|x| **x == 0).count(),
        _ => 0,
    }
}

impl Gaps {
    /// As of a mask that an op gave; `None` where everything is written.
    pub fn of(&self, written: Tensor) -> Option<Arc<Gaps>> {
        let missing = missing(&written);
        let (origin, name) = (self.origin, self.name.clone());
        (missing > 0).then(|| Arc::new(Gaps { written, missing, origin, name }))
    }

    pub fn block(&self, rect: &Rect) -> Option<Arc<Gaps>> {
        self.of(self.written.slice_block(&rect.starts, &rect.lens))
    }

    /// The first element without a value.
    pub fn first(&self) -> usize {
        (0..self.written.len()).find(|i| self.written.get_i64(*i) == 0).unwrap_or(0)
    }
}

impl Trace {
    pub fn new(root: ValueId) -> Trace {
        Trace { root, recs: vec![], open: vec![], owners: None }
    }
}

impl Owner {
    /// Whether a position with all coordinates of `self` and perhaps more is this one.
    fn includes(&self, other: &Owner) -> bool {
        self.axes
            .iter()
            .zip(&self.coords)
            .all(|(a, c)| other.axes.binary_search(a).is_ok_and(|i| other.coords.get(i) == Some(c)))
    }

    /// Whether a reader at `coord` (its coordinate on an axis, if set) may read what this wrote.
    pub fn readable(&self, coord: impl Fn(crate::types::placement::AxisId) -> Option<i64>) -> bool {
        self.axes.iter().zip(&self.coords).all(|(a, c)| coord(*a) == Some(*c))
    }
}

impl Owners {
    fn id(&mut self, owner: &Arc<Owner>, span: Span) -> u32 {
        let same = |(o, s): &(Arc<Owner>, Span)| *s == span && o == owner;
        // writes come position by position, so the one wanted is most likely the last
        let recent = self.table.iter().rev().take(64).position(same);
        let at = match recent {
            Some(back) => self.table.len() - 1 - back,
            None => {
                self.table.push((owner.clone(), span));
                self.table.len() - 1
            }
        };
        at as u32 + 1
    }

    /// Makes a writer the owner of its window. A position may overwrite what it wrote itself, or
    /// what it wrote as one of several positions that did the same.
    fn claim(&mut self, rec: &Rec, shape: &[usize]) -> Result<(), Conflict> {
        let n = shape.iter().product();
        if self.ids.len() != n {
            self.ids = vec![0; n];
        }
        let id = self.id(&rec.owner, rec.span);
        let mut fine = id;
        let mut bad = None;
        let (ids, table) = (&mut self.ids, &self.table);
        rec.rect.runs(shape, |at, len| {
            for (k, x) in ids[at..at + len].iter_mut().enumerate() {
                if *x != 0 && *x != id && *x != fine && bad.is_none() {
                    let (first, _) = &table[*x as usize - 1];
                    if first.includes(&rec.owner) {
                        fine = *x;
                    } else {
                        bad = Some((at + k, *x));
                    }
                }
                *x = id;
            }
        });
        match bad {
            None => Ok(()),
            Some((offset, x)) => Err(Conflict {
                offset,
                first: self.table[x as usize - 1].clone(),
                second: (rec.owner.clone(), rec.span),
            }),
        }
    }

    /// The first element of a block whose writer fails a test.
    pub fn find(
        &self,
        rect: &Rect,
        shape: &[usize],
        ok: impl Fn(&Owner) -> bool,
    ) -> Option<(usize, &(Arc<Owner>, Span))> {
        if self.ids.is_empty() {
            return None;
        }
        let (mut found, mut last) = (None, 0);
        rect.runs(shape, |at, len| {
            for (k, x) in self.ids[at..at + len].iter().enumerate() {
                if *x == last || *x == 0 || found.is_some() {
                    continue;
                }
                let writer = &self.table[*x as usize - 1];
                if ok(&writer.0) {
                    last = *x;
                } else {
                    found = Some((at + k, writer));
                }
            }
        });
        found
    }
}

//! Which values are stored when, and how much their owners hold.
//!
//! A buffer lives from the definition of its value to its last use, counted in steps of the
//! program. A view is its source's buffer and a window write its base's (where the old value is
//! not used again). A value defined outside a loop and used inside lives to the loop's end. A
//! carried value lives from the loop's start to its last use, its next value from there on to the
//! end: the slot changes hands. What a loop starts from is the carried value's buffer, unless it
//! is used again; a loop's result is its last value's. The operands and results of an op are all live at it. An
//! elementwise result may take the place of an operand that dies there and is no smaller.

use super::cx::{Cx, OpNode};
use super::walk::{self, Birth};
use crate::base::{HashMap, Span};
use crate::diag::Diagnostic;
use crate::graph::{Def, ParamKind, ValueId};
use crate::ops::Role;
use crate::types::placement::{AxisId, AxisSplit, MeshId, Storage};

pub(super) struct Buffer {
    pub value: ValueId,
    pub birth: Birth,
    /// The last step at which it is live.
    pub end: usize,
    pub storage: Storage,
    /// A parameter or result: it takes no dying operand's place and gives none.
    pub persistent: bool,
    /// A contraction's result that an atom adds in place: nothing of it is stored in place.
    pub fused: bool,
    /// Takes the place of another buffer at its birth.
    pub in_place: bool,
    pub stored: Stored,
}

/// How a value is stored in one owner.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Elements of the value in one owner, each once, with its ring.
    pub live: u128,
    /// Bytes of one position.
    pub position: u128,
    /// Positions of one owner that each have a copy or a part.
    pub copies: u128,
    /// Threads over which a position in `rmem` is spread; none where not known.
    pub threads: Option<u128>,
    pub align: u128,
    pub ring: u64,
    /// Extents of one grid position.
    pub shape: Vec<u128>,
    pub part: Option<MeshId>,
}

impl Stored {
    /// Bytes in one owner where each position is split `k` times finer.
    pub fn allocated(&self, k: u128) -> u128 {
        match self.threads {
            Some(t) => self.thread(k).unwrap_or(0).saturating_mul(t).saturating_mul(self.copies),
            None => {
                let one = self.position.div_ceil(k.max(1)).next_multiple_of(self.align.max(1));
                one.saturating_mul(self.copies).saturating_mul(u128::from(self.ring))
            }
        }
    }

    /// Whether an axis of what one owner has can be split `k` times finer.
    pub fn divides(&self, k: u128) -> bool {
        self.shape.iter().any(|e| *e >= k && e.is_multiple_of(k.max(1)))
    }

    /// Bytes in one thread.
    pub fn thread(&self, k: u128) -> Option<u128> {
        let t = self.threads?.max(1);
        Some(self.position.div_ceil(k.max(1)).div_ceil(t).next_multiple_of(self.align.max(1)))
    }
}

pub(super) struct Liveness {
    pub buffers: Vec<Buffer>,
    of: HashMap<ValueId, usize>,
    /// The frame whose loops a use of the value must not leave: of its definition, or of that of
    /// the value it is a view of.
    home: HashMap<ValueId, walk::FrameId>,
}

impl Liveness {
    pub fn of(&self, cx: &Cx, v: ValueId) -> Option<&Buffer> {
        self.buffers.get(*self.of.get(&cx.walk.resolve(v))?)
    }
}

pub(super) fn analyze(cx: &Cx) -> Result<Liveness, Diagnostic> {
    let (mut uses, starts) = uses(cx);
    let mut l = Liveness { buffers: vec![], of: HashMap::default(), home: HashMap::default() };
    let params: Vec<ValueId> = cx.graph.params.iter().map(|p| p.value).collect();
    for v in params {
        l.define(cx, v)?;
    }
    // loops' carried values and results are defined between steps
    let mut between: Vec<(ValueId, ValueId)> = cx.walk.carried.clone();
    between.sort_by_key(|(v, _)| cx.walk.births.get(v).map(|b| b.step));
    let mut next = between.into_iter().peekable();
    for (i, step) in cx.walk.steps.iter().enumerate() {
        let due = |(v, _): &(ValueId, ValueId)| cx.walk.births.get(v).is_some_and(|b| b.step <= i);
        while let Some((v, from)) = next.next_if(due) {
            l.carry(cx, v, from, &uses)?;
        }
        if let Some(op) = OpNode::of(cx.graph.node(step.node)) {
            l.step(cx, &op, i, &uses)?;
        }
    }
    for (v, from) in next {
        l.carry(cx, v, from, &uses)?;
    }
    for (v, at) in starts {
        uses.entry(v).or_default().extend(at);
    }
    l.extend(cx, &uses);
    l.reuse(cx);
    Ok(l)
}

/// How many carried values, from a step on, start from values in a buffer.
fn starts_from(cx: &Cx, l: &Liveness, buffer: usize, step: usize) -> usize {
    let begins = |v: &ValueId| {
        matches!(cx.graph.value(*v).def, Def::RegionParam(..))
            && !l.of.contains_key(v)
            && cx.walk.births.get(v).is_some_and(|b| b.step >= step)
    };
    let starts = cx.walk.carried.iter().filter(|(v, _)| begins(v));
    starts.filter(|(_, s)| l.of.get(&cx.walk.resolve(*s)) == Some(&buffer)).count()
}

type Uses = HashMap<ValueId, Vec<(usize, walk::FrameId)>>;

/// The steps that use each value, region results under their own name; and the starts of loops.
fn uses(cx: &Cx) -> (Uses, Uses) {
    let mut out: Uses = HashMap::default();
    let mut starts: Uses = HashMap::default();
    let mut add = |v: ValueId, step, frame| {
        out.entry(cx.walk.resolve(v)).or_default().push((step, frame));
    };
    for (i, s) in cx.walk.steps.iter().enumerate() {
        let n = cx.graph.node(s.node);
        n.inputs.iter().chain(&n.uses).for_each(|v| add(*v, i, s.frame));
    }
    cx.walk.late_uses.iter().for_each(|(v, step, frame)| add(*v, *step, *frame));
    for (v, step, frame) in &cx.walk.starts {
        starts.entry(cx.walk.resolve(*v)).or_default().push((*step, *frame));
    }
    (out, starts)
}

impl Liveness {
    fn define(&mut self, cx: &Cx, v: ValueId) -> Result<(), Diagnostic> {
        let v = cx.walk.resolve(v);
        let Some(birth) = cx.walk.births.get(&v).copied() else { return Ok(()) };
        let value = cx.graph.value(v);
        let stored = stored(cx, v, birth)?;
        let persistent = match value.def {
            Def::Param(i) => {
                let kind = cx.graph.params.get(i).map(|p| &p.kind);
                !matches!(kind, Some(ParamKind::Inout))
            }
            _ => false,
        };
        let end = if persistent { cx.walk.steps.len() } else { birth.step };
        self.of.insert(v, self.buffers.len());
        self.home.insert(v, birth.frame);
        self.buffers.push(Buffer {
            value: v,
            birth,
            end,
            storage: value.ty.place.storage,
            persistent,
            fused: cx.is_fused(v),
            in_place: false,
            stored,
        });
        Ok(())
    }

    /// A carried value or a loop's result, with what it is taken from.
    fn carry(&mut self, cx: &Cx, v: ValueId, from: ValueId, uses: &Uses) -> Result<(), Diagnostic> {
        let source = self.of.get(&cx.walk.resolve(from)).copied();
        let shared = source.filter(|b| {
            let is_param = matches!(cx.graph.value(v).def, Def::RegionParam(..));
            !is_param || self.handed_over(cx, *b, (v, from), uses)
        });
        match shared {
            Some(b) => {
                let v = cx.walk.resolve(v);
                self.of.insert(v, b);
                self.home.extend(cx.walk.births.get(&v).map(|b| (v, b.frame)));
                Ok(())
            }
            None => self.define(cx, v),
        }
    }

    /// Whether a buffer's only use from the start of a loop on is that start.
    fn handed_over(
        &self,
        cx: &Cx,
        buffer: usize,
        (param, start): (ValueId, ValueId),
        uses: &Uses,
    ) -> bool {
        let (Some(b), Some(birth)) = (self.buffers.get(buffer), cx.walk.births.get(&param)) else {
            return false;
        };
        let depth = |f| cx.walk.frame(f).map_or(0, |f| f.loops.len());
        // one that an outer loop carries around anew is needed for each of its trips
        let home = self.home.get(&cx.walk.resolve(start)).map_or(0, |f| depth(*f));
        let here = home + 1 == depth(birth.frame);
        let later = self.of.iter().filter(|(_, i)| **i == buffer).any(|(v, _)| {
            let n = uses.get(v).map_or(0, |u| u.iter().filter(|(s, _)| *s >= birth.step).count());
            n > 0
        });
        !b.persistent && here && !later && starts_from(cx, self, buffer, birth.step) == 1
    }

    fn step(&mut self, cx: &Cx, op: &OpNode, at: usize, uses: &Uses) -> Result<(), Diagnostic> {
        let first = op.node.inputs.first().map(|v| cx.walk.resolve(*v));
        let started = |v: ValueId| {
            let mut starts = cx.walk.starts.iter();
            starts.any(|(s, step, _)| *step >= at && cx.walk.resolve(*s) == v)
        };
        let again =
            |v: ValueId| uses.get(&v).is_some_and(|u| u.iter().any(|(s, _)| *s > at)) || started(v);
        let shares =
            cx.is_free(op) || (op.op.role() == Role::Write && first.is_some_and(|v| !again(v)));
        for o in &op.node.outputs {
            let from = cx.updates(*o).map(|v| cx.walk.resolve(v)).or(first.filter(|_| shares));
            match from.and_then(|v| self.of.get(&v).copied().zip(self.home.get(&v).copied())) {
                Some((b, home)) => {
                    self.of.insert(*o, b);
                    self.home.insert(*o, home);
                }
                None => self.define(cx, *o)?,
            }
        }
        Ok(())
    }

    /// Extends every buffer to its last use.
    fn extend(&mut self, cx: &Cx, uses: &Uses) {
        let loops = |frame| cx.walk.frame(frame).map(|f| f.loops.clone()).unwrap_or_default();
        for (v, at) in uses {
            let Some(b) = self.of.get(v).and_then(|b| self.buffers.get_mut(*b)) else { continue };
            let outside = loops(self.home.get(v).copied().unwrap_or(b.birth.frame)).len();
            for (step, frame) in at {
                let over = loops(*frame).get(outside).and_then(|l| cx.walk.loops.get(*l));
                b.end = b.end.max(over.map_or(*step, |l| l.end.saturating_sub(1)));
            }
        }
        for o in &cx.graph.outputs {
            let v = cx.walk.resolve(o.value);
            if let Some(b) = self.of.get(&v).and_then(|b| self.buffers.get_mut(*b)) {
                b.end = cx.walk.steps.len();
                b.persistent |= !matches!(cx.graph.value(b.value).def, Def::Param(_));
            }
        }
    }

    /// Finds the results that may take a dying operand's place.
    fn reuse(&mut self, cx: &Cx) {
        for (i, step) in cx.walk.steps.iter().enumerate() {
            let Some(op) = OpNode::of(cx.graph.node(step.node)) else { continue };
            let Some(out) = op.node.outputs.first().filter(|_| op.op.in_place()) else { continue };
            let Some(new) = self.of.get(&cx.walk.resolve(*out)).copied() else { continue };
            let Some(b) = self.buffers.get(new) else { continue };
            let dies = |v: &ValueId| {
                self.of(cx, *v).is_some_and(|d| {
                    d.end == i
                        && d.value != b.value
                        && !d.persistent
                        && !d.fused
                        && d.storage == b.storage
                        && d.stored.part == b.stored.part
                        && d.stored.allocated(1) >= b.stored.allocated(1)
                        && d.stored.live >= b.stored.live
                })
            };
            let found = b.birth.step == i && op.node.inputs.iter().any(dies);
            if let Some(b) = self.buffers.get_mut(new) {
                b.in_place = found;
            }
        }
    }
}

/// How a value is stored in one owner of its storage (for `rmem`, in one grid position).
fn stored(cx: &Cx, v: ValueId, birth: Birth) -> Result<Stored, Diagnostic> {
    let value = cx.graph.value(v);
    let (ty, place) = (&value.ty, &value.ty.place);
    let frame = cx.walk.frame(birth.frame).cloned().unwrap_or_default();
    let names: Vec<AxisId> =
        place.split_axes().into_iter().chain(place.varying.iter().copied()).collect();
    let active = walk::active_axes(cx.graph, &frame, &names);
    let in_threads = place.storage == Storage::Rmem;
    let owner = if in_threads { Some(cx.machine.grid) } else { cx.machine.owner(place.storage) };
    let coarse = |a: AxisId| owner.is_some_and(|o| cx.rank(a) <= o);
    let bits = u128::from(ty.dtype.bits());
    let bytes = |keep: &dyn Fn(AxisId) -> bool| -> Result<u128, Diagnostic> {
        Ok(cx.elements(ty, value.span, keep)?.saturating_mul(bits).div_ceil(8))
    };
    let fine = |axes: &[AxisId]| cx.extent_of(axes.iter().filter(|a| !coarse(**a)));
    let partial: Vec<AxisId> = place.partial.iter().map(|(a, _)| *a).collect();
    let joined = cx.checked(bytes(&coarse)?, value.span)?;
    let (made, ring) = ring(cx, v);
    let live = joined.saturating_mul(fine(&place.varying)).saturating_mul(u128::from(ring));
    let (position, copies) = if in_threads {
        (bytes(&|_| true)?, fine(&active))
    } else {
        (joined, fine(&place.varying).saturating_mul(fine(&partial)))
    };
    cx.checked(position.saturating_mul(copies).saturating_mul(u128::from(ring)), value.span)?;
    cx.checked(live, value.span)?;
    let mut shape = vec![];
    for (i, e) in cx.shape(ty, value.span)?.into_iter().enumerate() {
        let part = |s: &AxisSplit| if s.padded { 1 } else { cx.axis_local(s, e, &coarse) };
        shape.push(place.axes.get(i).map_or(e, part));
    }
    let via = made.as_ref().and_then(OpNode::via);
    Ok(Stored {
        live,
        position,
        copies,
        threads: if in_threads { threads(cx, &frame, value.span)? } else { None },
        align: cx.machine.align(place.storage, place.swizzle.is_some(), via),
        ring,
        shape,
        part: frame.meshes.iter().find_map(|m| walk::part_of(cx.graph, &frame, *m, &names)),
    })
}

/// The copy that makes a value, and the depth of its ring.
fn ring<'a>(cx: &Cx<'a>, v: ValueId) -> (Option<OpNode<'a>>, u64) {
    let made = cx.op_of(v).filter(|o| o.op.role() == Role::Reshard);
    let n = made.as_ref().map_or(1, OpNode::buffers);
    (made, n)
}

/// Threads of one position of the finest open mesh: the topology's finer extents. None where the
/// topology does not say down to the finest level.
fn threads(cx: &Cx, frame: &walk::Frame, span: Span) -> Result<Option<u128>, Diagnostic> {
    let open = frame.meshes.iter().filter_map(|m| cx.mesh_rank(*m)).max();
    let finest = cx.machine.finest();
    if open == Some(finest) {
        return Ok(Some(1));
    }
    let mut n = 1u128;
    let mut last = None;
    for (level, extent) in &cx.graph.topology {
        let Some(r) = cx.machine.levels.iter().position(|l| l == level) else { continue };
        last = last.max(Some(r));
        if open.is_some_and(|o| r <= o) {
            continue;
        }
        match extent {
            Some(e) => n = n.saturating_mul(cx.size(e, span)?),
            None => return Ok(None),
        }
    }
    Ok((last == Some(finest) && open.is_some()).then_some(n))
}

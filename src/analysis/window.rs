//! The windows of buffers in `gmem` that ops touch, followed through views to the buffer.

use super::boxes::{self, Axis, Fuel, Inexact, Loop, Part, Set, Vars};
use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::footprint::{PIECES, Roots};
use super::record::Certainty;
use super::shape::{Shape, Touch};
use crate::graph::{NodeKind, ValueId};
use crate::ops::{Role, Sub};
use crate::types::dim::{Atom, Expr, VarId};
use crate::types::placement::{AxisId, AxisSplit, MeshAxis, Storage};

/// One axis of a box; none is the whole axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    start: Expr,
    len: i64,
    end: Option<Expr>,
    /// Strides and counts by which it is repeated besides.
    steps: Vec<(i64, i64)>,
}

/// The window of one use, as it is followed to its buffer.
struct Path {
    root: ValueId,
    /// One entry for each axis of `space`; none where the way to the buffer is not affine.
    axes: Option<Vec<Option<Range>>>,
    /// The value whose axes these are: the buffer, or a view that shows each of its elements once.
    space: ValueId,
    /// Whether it is such a view.
    through: bool,
}

/// A part of a buffer that one op touches.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// None where data decides, or where the way to the buffer is not affine.
    pub axes: Option<Vec<Option<Range>>>,
    pub space: ValueId,
    /// Whether its axes are those of a view and not the buffer's.
    pub through: bool,
    pub loops: Vec<usize>,
    /// Elements that all runs together touch at most.
    pub most: u128,
    pub is: Certainty,
}

impl Window {
    /// The range of the buffer's first axis that it lies in, where that is the same in all runs.
    pub fn lead(&self) -> Option<(i64, i64)> {
        let first = self.axes.as_ref()?.first()?.as_ref()?;
        let start = first.start.as_int().filter(|_| !self.through && first.steps.is_empty())?;
        Some((start, start.checked_add(first.len)?))
    }
}

/// One use of a buffer by an op.
pub(super) struct Use {
    pub root: ValueId,
    pub write: bool,
    pub window: Window,
    /// Bytes of all runs, repeats counted.
    pub bytes: u128,
}

/// The uses of `gmem` by an op: all that its positions touch together or, with its `shape`, what
/// each grid position touches, by its coordinates.
pub(super) fn uses(cx: &Cx, o: &OpCost, shape: Option<&Shape>) -> Vec<Use> {
    let loops = cx.walk.frame(o.run.frame).map(|f| f.loops.clone()).unwrap_or_default();
    let (node, role, subs) = (o.op.node, o.op.op.role(), o.op.attrs.subs("subs"));
    let elements = |bytes: u128, v: ValueId| {
        (bytes * 8).div_ceil(u128::from(cx.graph.ty(v).dtype.bits()).max(1))
    };
    let part = |t: Option<&Touch>, v: ValueId| match (shape, t) {
        (Some(s), Some(t)) => own(cx, s, t),
        _ => whole(cx, v),
    };
    let mut out = vec![];
    let mut add = |v: ValueId, e: &super::cost::Entry, axes, write| {
        let Path { root, axes, space, through } = trace(cx, cx.roots(), v, axes);
        // an op that reads by data touches a part of its operand that only its count bounds
        let axes = axes.filter(|_| !e.by_data);
        let is = if e.by_data { e.is } else { o.run.trips.is };
        let most = elements(e.grid, v);
        let window = Window { axes, space, through, loops: loops.clone(), most, is };
        out.push(Use { root, write, window, bytes: e.grid });
    };
    let mut writes = o.entries.iter().filter(|e| e.key == Key::Write(Storage::Gmem));
    if let (Some(e), Some(v)) = (writes.next().filter(|e| e.grid > 0), node.outputs.first()) {
        let t = shape.and_then(|s| s.writes.first());
        match (role, node.inputs.first(), subs) {
            (Role::Write, Some(base), Some(s)) => {
                let t = shape.and_then(|s| s.reads.first());
                let tile = node.inputs.get(1).copied().unwrap_or(*v);
                let axes = window(cx, *base, s).and_then(|w| compose(w, s, &part(t, tile)));
                add(*base, e, axes, true);
            }
            _ => add(*v, e, Some(part(t, *v)), true),
        }
    }
    let operands = node.inputs.iter().skip(usize::from(role == Role::Write));
    let reads = o.entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem));
    let stored =
        |v: &&ValueId| !cx.is_const(**v) && cx.graph.ty(**v).place.storage == Storage::Gmem;
    let touch = |v: ValueId| {
        let mut all = shape.iter().flat_map(|s| &s.reads);
        all.find(|t| t.value == v).or_else(|| shape.and_then(|s| s.reads.first()))
    };
    // an entry of nothing is one that a change of the program took away
    for (e, v) in reads.zip(operands.filter(stored)).filter(|(e, _)| e.grid > 0) {
        let axes = match (role, subs, node.outputs.first()) {
            (Role::Read, Some(s), Some(out)) => {
                window(cx, *v, s).and_then(|w| compose(w, s, &part(touch(*out), *out)))
            }
            _ => Some(part(touch(*v), *v)),
        };
        add(*v, e, axes, false);
    }
    out
}

/// What a grid position touches of a value, by its coordinates: a mesh axis that splits a dimension
/// of the op's domain splits the axis which that dimension indexes.
fn own(cx: &Cx, shape: &Shape, t: &Touch) -> Vec<Option<Range>> {
    let ty = cx.graph.ty(t.value);
    let splits = shape.splits(cx, t);
    ty.shape.iter().zip(splits).map(|(e, s)| s.and_then(|s| part_of(cx, e, s))).collect()
}

fn part_of(cx: &Cx, extent: &Expr, split: &AxisSplit) -> Option<Range> {
    let grid = |a: AxisId| cx.rank(a) <= cx.machine.grid;
    split.mesh_axes().find(|a| grid(*a))?;
    let mut stride = 1i64;
    let mut range = Range { start: Expr::zero(), len: 1, end: None, steps: vec![] };
    for f in split.factors.iter().rev() {
        let n = f.extent.eval(cx.env)?;
        match f.axis.filter(|a| grid(*a)).and_then(|a| cx.graph.meshes.axis(a)) {
            Some(a) => range.start = range.start.add(&Expr::var(a.var).scale(stride)),
            None => range.steps.push((stride, n)),
        }
        stride = stride.checked_mul(n)?;
    }
    range.end = split.padded.then(|| extent.bind(cx.env));
    Some(range)
}

fn whole(cx: &Cx, v: ValueId) -> Vec<Option<Range>> {
    vec![None; cx.graph.ty(v).rank()]
}

/// The box of subscripts on a value.
fn window(cx: &Cx, base: ValueId, subs: &[Sub]) -> Option<Vec<Option<Range>>> {
    let mut out = whole(cx, base);
    for (slot, s) in out.iter_mut().zip(subs) {
        let r = match s {
            Sub::At(e) => Range { start: e.bind(cx.env), len: 1, end: None, steps: vec![] },
            Sub::Window { start, len, end, .. } => Range {
                start: start.bind(cx.env),
                len: len.eval(cx.env)?,
                end: end.as_ref().map(|e| e.bind(cx.env)),
                steps: vec![],
            },
        };
        *slot = Some(r);
    }
    Some(out)
}

/// Follows a box through windows and other views to the buffer. A view that shows each element of
/// its source once keeps a window's size, so the window is counted there; a window of a window
/// seen through a view is no box any more.
fn trace(cx: &Cx, roots: &Roots, v: ValueId, axes: Option<Vec<Option<Range>>>) -> Path {
    let mut path = Path { root: roots.find(cx, v), axes, space: v, through: false };
    let mut seen_through = false;
    while let Some(op) = cx.op_of(path.root) {
        let Some(from) = op.node.inputs.first().copied().filter(|_| cx.is_free(&op)) else { break };
        let all = path.axes.as_ref().is_some_and(|a| a.iter().all(Option::is_none));
        let (axes, space) = match (op.op.role(), path.axes) {
            (Role::Read, Some(inner)) if !seen_through => {
                let outer = op.attrs.subs("subs").and_then(|s| Some((window(cx, from, s)?, s)));
                (outer.and_then(|(w, s)| compose(w, s, &inner)), from)
            }
            (Role::Read, Some(_)) if all => {
                seen_through = false;
                (op.attrs.subs("subs").and_then(|s| window(cx, from, s)), from)
            }
            (Role::Reshard, a) if !seen_through => (a, from),
            (Role::Reshard, a) => (a, path.space),
            (Role::Read, _) => (None, from),
            _ if all => (Some(whole(cx, from)), from),
            (_, a) if count(cx, from) == count(cx, path.root) => {
                seen_through = true;
                (a, path.space)
            }
            _ => (None, from),
        };
        path = Path { root: roots.find(cx, from), axes, space, through: seen_through };
    }
    path
}

/// Elements of a value.
fn count(cx: &Cx, v: ValueId) -> Option<u128> {
    let value = cx.graph.value(v);
    Some(cx.shape(&value.ty, value.span).ok()?.into_iter().fold(1, u128::saturating_mul))
}

/// A window of a window: starts add up; an axis that the outer one drops is not among the inner's.
fn compose(
    mut outer: Vec<Option<Range>>,
    subs: &[Sub],
    inner: &[Option<Range>],
) -> Option<Vec<Option<Range>>> {
    let mut rest = inner.iter();
    for (i, slot) in outer.iter_mut().enumerate() {
        if matches!(subs.get(i), Some(Sub::At(_))) {
            continue;
        }
        let Some(r) = rest.next()?.clone() else { continue };
        *slot = Some(match slot.take() {
            Some(o) => {
                // the inner window's end counts from the outer one's start
                let end = r.end.map(|e| o.start.add(&e));
                let end = match (o.end, end) {
                    (Some(a), Some(b)) => Some(a.min_of(&b)),
                    (a, b) => a.or(b),
                };
                Range { start: o.start.add(&r.start), len: r.len, end, steps: r.steps }
            }
            None => r,
        });
    }
    Some(outer)
}

/// Whether the positions of some axes surely read different elements of a value, wherever the other
/// coordinates and loops stand.
pub(super) fn disjoint(cx: &Cx, v: ValueId, over: &[AxisId]) -> bool {
    if over.is_empty() {
        return true;
    }
    let path = trace(cx, cx.roots(), v, Some(whole(cx, v)));
    let (Some(axes), false) = (path.axes, path.through) else { return false };
    let mut env = cx.env.clone();
    let over = |v: VarId| over.iter().any(|a| cx.graph.meshes.axis(*a).is_some_and(|x| x.var == v));
    for (v, _) in cx.vars.iter().filter(|(v, _)| !over(*v)) {
        env.set(v, cx.env.get(v).unwrap_or(0));
    }
    let mut moved = vec![];
    let mut each = 1u128;
    for r in axes.into_iter().flatten() {
        // moved apart only by sums: other variables then move all of them alike
        let sum = |(m, _): (&[Atom], i64)| match m {
            [Atom::Var(_)] => true,
            _ => !m.iter().flat_map(|a| a.expr().vars()).any(over),
        };
        if !r.start.terms().all(sum) {
            return false;
        }
        each = each.saturating_mul(u128::try_from(r.len).unwrap_or(0));
        // far from the ends, so that nothing is cut
        let (len, steps) = (r.len, vec![]);
        let start = r.start.add(&Expr::int(1 << 40));
        moved.push(Axis { start, len, end: None, steps, size: i64::MAX });
    }
    let own = |(id, a): (AxisId, &MeshAxis)| Some((a.var, 0, i64::try_from(cx.extent(id)).ok()?));
    let coords: Vec<(VarId, i64, i64)> =
        cx.graph.meshes.axes().filter(|(_, a)| over(a.var)).filter_map(own).collect();
    let positions = coords.iter().map(|(_, _, n)| n.unsigned_abs()).product::<u64>();
    let vars = Vars { coords, loops: vec![], table: &cx.vars };
    boxes::image(&moved, &vars, &env, &mut Fuel(PIECES))
        .is_ok_and(|p| boxes::size(&p) == each.saturating_mul(u128::from(positions)))
}

/// The runs that are looked at: all, or those of some positions in some trips.
#[derive(Clone, Default)]
pub(super) struct Over {
    /// First values and counts of coordinates; those that are not here take all.
    pub coords: Vec<(VarId, i64, i64)>,
    /// Loops that make one trip only, by its number.
    pub trips: Vec<(usize, i64)>,
}

/// What the runs of a window cover.
pub(super) fn parts(
    cx: &Cx,
    w: &Window,
    over: &Over,
    fuel: &mut Fuel,
) -> Result<Vec<Part>, Inexact> {
    let space = cx.graph.value(w.space);
    let shape = cx.shape(&space.ty, space.span).map_err(|_| Inexact)?;
    let size = |n: u128| i64::try_from(n).map_err(|_| Inexact);
    let mut axes = vec![];
    for (r, n) in w.axes.as_ref().ok_or(Inexact)?.iter().zip(shape) {
        let size = size(n)?;
        axes.push(match r {
            Some(r) => {
                let (start, end, steps) = (r.start.clone(), r.end.clone(), r.steps.clone());
                Axis { start, len: r.len, end, steps, size }
            }
            None => Axis { start: Expr::zero(), len: size, end: None, steps: vec![], size },
        });
    }
    let coord = |(id, a): (AxisId, &MeshAxis)| {
        let some = over.coords.iter().find(|(v, _, _)| *v == a.var).copied();
        some.or_else(|| Some((a.var, 0, size(cx.extent(id)).ok()?)))
    };
    let coords = cx.graph.meshes.axes().filter_map(coord).collect();
    let loops = w.loops.iter().filter_map(|l| nest(cx, *l, over)).collect();
    let vars = Vars { coords, loops, table: &cx.vars };
    boxes::image(&axes, &vars, cx.env, fuel)
}

/// A loop, or one trip of it.
fn nest(cx: &Cx, l: usize, over: &Over) -> Option<Loop> {
    let NodeKind::Loop { var, start, stop, step, .. } =
        &cx.graph.node(cx.walk.loops.get(l)?.node).kind
    else {
        return None;
    };
    let bind = |e: &Expr| e.bind(cx.env);
    let (mut start, mut stop, step) = (bind(start), bind(stop), bind(step));
    if let Some((_, t)) = over.trips.iter().find(|(x, _)| *x == l) {
        start = start.add(&step.scale(*t));
        stop = stop.min_of(&start.add(&step));
    }
    Some(Loop { var: *var, start, stop, step })
}

/// The elements that the runs of a window cover, as one set of its space.
pub(super) fn set(cx: &Cx, w: &Window, over: &Over, fuel: &mut Fuel) -> Result<Set, Inexact> {
    boxes::together(&parts(cx, w, over, fuel)?, fuel)
}

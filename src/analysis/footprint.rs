//! The distinct bytes of each buffer in `gmem`, and so the compulsory traffic of the program.
//!
//! Every use is a box of the buffer: all of it, or windows whose starts depend on coordinates and
//! loop variables. The boxes of one window over all its runs are counted exactly where the axes
//! fall into groups that share no variable: the union of a product is then the product of the
//! groups' unions. A group of one axis is a union of intervals. A group of several axes is exact
//! where its boxes lie on a grid of their own size (equal or disjoint), else bounded by their sum.
//! Different windows of one buffer are added and bounded by its size.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::cost::{Key, OpCost};
use super::cx::Cx;
use super::record::{Certainty, FootprintRecord, Site};
use super::trips::advance;
use crate::graph::{Def, NodeKind, ParamKind, ValueId};
use crate::ops::{Role, Sub};
use crate::types::dim::{Env, Expr, VarId, VarKind};
use crate::types::placement::Storage;

/// Boxes that are enumerated for one group of axes.
const BOXES: u64 = 1 << 17;

/// One axis of a box; none is the whole axis.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    start: Expr,
    len: i64,
    end: Option<Expr>,
}

/// The window of one use, as it is followed to its buffer.
struct Path {
    root: ValueId,
    /// One entry for each axis of `space`; none where the way to the buffer is not affine.
    axes: Option<Vec<Option<Range>>>,
    /// The value whose axes these are: the buffer, or a view that shows each of its elements once.
    space: ValueId,
}

/// A part of a buffer that one op touches.
#[derive(Clone, Debug)]
struct Window {
    axes: Option<Vec<Option<Range>>>,
    space: ValueId,
    loops: Vec<usize>,
    /// Elements that all runs together touch at most.
    most: u128,
    is: Certainty,
}

/// The distinct bytes read and written of one buffer.
#[derive(Default)]
struct Uses {
    reads: Vec<Window>,
    writes: Vec<Window>,
}

/// A footprint with the bytes of all reads and writes, repeats counted.
pub(super) struct Print {
    pub root: ValueId,
    pub record: FootprintRecord,
    pub read_total: u128,
    pub write_total: u128,
    /// Devices over which the buffer is split.
    pub devices: u128,
}

/// Distinct bytes of every buffer in `gmem` that the given ops touch.
pub(super) fn footprints<'c>(cx: &Cx, ops: impl Iterator<Item = &'c OpCost<'c>>) -> Vec<Print> {
    let roots = cx.roots();
    let mut all: BTreeMap<ValueId, Uses> = BTreeMap::new();
    for o in ops {
        collect(cx, roots, o, &mut all);
    }
    let outputs: BTreeMap<ValueId, &str> =
        cx.graph.outputs.iter().map(|o| (roots.find(cx, o.value), o.name.as_str())).collect();
    let mut out = vec![];
    for (root, uses) in all {
        let value = cx.graph.value(root);
        let Ok(shape) = cx.shape(&value.ty, value.span) else { continue };
        let elements: u128 = shape.iter().copied().fold(1, u128::saturating_mul);
        let bytes = |n: u128| n.saturating_mul(u128::from(value.ty.dtype.bits())).div_ceil(8);
        let (read, read_is) = union(cx, elements, &uses.reads);
        let (write, write_is) = union(cx, elements, &uses.writes);
        let all = |w: &[Window]| bytes(w.iter().map(|w| w.most).sum());
        let owner = cx.machine.owner(Storage::Gmem);
        let split = value.ty.place.split_axes();
        let over = split.iter().filter(|a| owner.is_some_and(|o| cx.rank(**a) <= o));
        let named = value.name.is_none().then(|| outputs.get(&root)).flatten();
        let record = FootprintRecord {
            buffer: named.map_or_else(|| cx.graph.value_name(root), |n| (*n).to_string()),
            site: Site::new(value.span),
            persistent: matches!(value.def, Def::Param(_)) || outputs.contains_key(&root),
            size: bytes(elements),
            read: bytes(read),
            read_is,
            write: bytes(write),
            write_is,
        };
        out.push(Print {
            root,
            record,
            read_total: all(&uses.reads),
            write_total: all(&uses.writes),
            devices: cx.extent_of(over),
        });
    }
    out
}

/// Which values are one buffer: a window write's result is its base, a carried value its start.
pub(super) struct Roots {
    parent: BTreeMap<ValueId, ValueId>,
}

impl Roots {
    pub fn of(cx: &Cx) -> Roots {
        let mut parent = BTreeMap::new();
        for s in &cx.walk.steps {
            let n = cx.graph.node(s.node);
            if let (NodeKind::Op { op, .. }, Some(o), Some(i)) =
                (&n.kind, n.outputs.first(), n.inputs.first())
                && op.role() == Role::Write
            {
                parent.insert(*o, *i);
            }
        }
        for s in &cx.walk.steps {
            for o in &cx.graph.node(s.node).outputs {
                parent.extend(cx.updates(*o).map(|from| (*o, from)));
            }
        }
        for (v, from) in &cx.walk.carried {
            let is_param = matches!(cx.graph.value(*v).def, Def::RegionParam(..));
            // a loop's result is what its body made, and that comes from the start
            if is_param || cx.graph.ty(*from).place.storage == Storage::Gmem {
                parent.insert(*v, *from);
            }
        }
        let mut roots = Roots { parent };
        // an inout parameter and its new value are one buffer
        for o in &cx.graph.outputs {
            let param = cx.graph.params.iter().find(|p| p.name == o.name);
            let old = param.filter(|p| p.kind == ParamKind::Inout).map(|p| p.value);
            let new = roots.find(cx, o.value);
            if let Some(old) = old.filter(|old| *old != new) {
                roots.parent.insert(new, old);
            }
        }
        roots
    }

    /// The first value of the buffer, through renamings and writes.
    fn find(&self, cx: &Cx, v: ValueId) -> ValueId {
        let mut at = cx.walk.resolve(v);
        // the map has an entry for each value at most once, and points to earlier ones
        for _ in 0..=self.parent.len() {
            match self.parent.get(&at) {
                Some(p) => at = cx.walk.resolve(*p),
                None => break,
            }
        }
        at
    }
}

fn collect(cx: &Cx, roots: &Roots, o: &OpCost, all: &mut BTreeMap<ValueId, Uses>) {
    let loops = cx.walk.frame(o.run.frame).map(|f| f.loops.clone()).unwrap_or_default();
    let reads = o.entries.iter().filter(|e| e.key == Key::Read(Storage::Gmem));
    let writes = o.entries.iter().filter(|e| e.key == Key::Write(Storage::Gmem));
    let elements = |bytes: u128, v: ValueId| {
        (bytes * 8).div_ceil(u128::from(cx.graph.ty(v).dtype.bits()).max(1))
    };
    if let Some((e, out)) = writes.zip(&o.op.node.outputs).next() {
        let (base, axes) = match o.op.op.role() {
            Role::Write => {
                let base = o.op.node.inputs.first().copied().unwrap_or(*out);
                (base, o.op.attrs.subs("subs").and_then(|s| window(cx, base, s)))
            }
            _ => (*out, Some(whole(cx, *out))),
        };
        let Path { root, axes, space } = trace(cx, roots, base, axes);
        let most = elements(e.grid, base);
        let window = Window { axes, space, loops: loops.clone(), most, is: e.is };
        all.entry(root).or_default().writes.push(window);
    }
    let operands: Vec<ValueId> = match o.op.op.role() {
        Role::Write => o.op.node.inputs.iter().skip(1).copied().collect(),
        _ => o.op.node.inputs.clone(),
    };
    let stored =
        |v: &&ValueId| !cx.is_const(**v) && cx.graph.ty(**v).place.storage == Storage::Gmem;
    for (e, v) in reads.zip(operands.iter().filter(stored)) {
        let axes = match (o.op.op.role(), o.op.attrs.subs("subs")) {
            (Role::Read, Some(s)) => window(cx, *v, s),
            _ => Some(whole(cx, *v)),
        };
        let Path { root, axes, space } = trace(cx, roots, *v, axes);
        // an op that reads by data touches a part of its operand that only its count bounds
        let axes = axes.filter(|_| e.is != Certainty::UpperBound || o.run.trips.is == e.is);
        let most = elements(e.grid, *v);
        let window = Window { axes, space, loops: loops.clone(), most, is: e.is };
        all.entry(root).or_default().reads.push(window);
    }
}

fn whole(cx: &Cx, v: ValueId) -> Vec<Option<Range>> {
    vec![None; cx.graph.ty(v).rank()]
}

/// The box of subscripts on a value.
fn window(cx: &Cx, base: ValueId, subs: &[Sub]) -> Option<Vec<Option<Range>>> {
    let mut out = whole(cx, base);
    for (slot, s) in out.iter_mut().zip(subs) {
        let r = match s {
            Sub::At(e) => Range { start: e.bind(cx.env), len: 1, end: None },
            Sub::Window { start, len, end, .. } => Range {
                start: start.bind(cx.env),
                len: len.eval(cx.env)?,
                end: end.as_ref().map(|e| e.bind(cx.env)),
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
    let mut path = Path { root: roots.find(cx, v), axes, space: v };
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
        path = Path { root: roots.find(cx, from), axes, space };
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
            Some(o) => Range { start: o.start.add(&r.start), len: r.len, end: o.end.or(r.end) },
            None => r,
        });
    }
    Some(outer)
}

/// Elements in the union of windows.
fn union(cx: &Cx, elements: u128, windows: &[Window]) -> (u128, Certainty) {
    let mut kinds: Vec<&Window> = vec![];
    for w in windows {
        let shape = |w: &Window| &cx.graph.ty(w.space).shape;
        let same = |k: &&&Window| {
            k.axes.is_some() && k.axes == w.axes && k.loops == w.loops && shape(k) == shape(w)
        };
        if !kinds.iter().any(|k| same(&k)) {
            kinds.push(w);
        }
    }
    let counts: Vec<(u128, Certainty)> = kinds.iter().map(|w| cover(cx, elements, w)).collect();
    if let Some(all) = counts.iter().find(|(n, is)| *n >= elements && *is == Certainty::Exact) {
        return (elements, all.1);
    }
    let sum: u128 = counts.iter().map(|(n, _)| n).sum();
    let is = counts.iter().fold(Certainty::Exact, |c, (_, is)| c.and(*is));
    let is = if counts.len() > 1 { Certainty::UpperBound } else { is };
    (sum.min(elements), is)
}

/// Elements that all runs of one window cover.
fn cover(cx: &Cx, elements: u128, w: &Window) -> (u128, Certainty) {
    let space = cx.graph.value(w.space);
    let shape = cx.shape(&space.ty, space.span).unwrap_or_default();
    let Some(axes) = &w.axes else { return (w.most.min(elements), Certainty::UpperBound) };
    let mut n = 1u128;
    let mut is = w.is;
    for group in groups(cx, w, axes) {
        let sizes: Vec<u128> = group.iter().map(|i| shape.get(*i).copied().unwrap_or(1)).collect();
        let ranges: Vec<&Range> =
            group.iter().filter_map(|i| axes.get(*i).and_then(Option::as_ref)).collect();
        let all: u128 = sizes.iter().copied().fold(1, u128::saturating_mul);
        let (here, how) = match starts(cx, w, &ranges) {
            _ if ranges.is_empty() => (all, Certainty::Exact),
            Some(s) => boxes(&ranges, &s, &sizes),
            None => (all, Certainty::UpperBound),
        };
        n = n.saturating_mul(here.min(all));
        is = is.and(how);
    }
    // no more elements than reads of them
    (n.min(w.most), is)
}

/// The variables of an expression with all that bound them: the loops' own bounds.
fn closure(cx: &Cx, loops: &[usize], e: &Range) -> BTreeSet<VarId> {
    let mut vars = e.start.vars();
    vars.extend(e.end.iter().flat_map(Expr::vars));
    // innermost first: a loop's bounds use only what is outside it
    for l in loops.iter().rev().filter_map(|l| cx.walk.loops.get(*l)) {
        if let NodeKind::Loop { var, start, stop, step, .. } = &cx.graph.node(l.node).kind
            && vars.contains(var)
        {
            for e in [start, stop, step] {
                vars.extend(e.bind(cx.env).vars());
            }
        }
    }
    vars
}

/// Axes in groups that share no variable.
fn groups(cx: &Cx, w: &Window, axes: &[Option<Range>]) -> Vec<Vec<usize>> {
    let mut out: Vec<(BTreeSet<VarId>, Vec<usize>)> = vec![];
    for (i, r) in axes.iter().enumerate() {
        let mut vars = r.as_ref().map(|r| closure(cx, &w.loops, r)).unwrap_or_default();
        let mut members = vec![i];
        out.retain(|(v, m)| {
            let apart = v.is_disjoint(&vars);
            if !apart {
                vars.extend(v.iter().copied());
                members.extend(m);
            }
            apart
        });
        members.sort_unstable();
        out.push((vars, members));
    }
    out.into_iter().map(|(_, m)| m).collect()
}

type Starts = HashSet<Vec<(i64, i64)>>;

/// All starts (and ends) that a group of ranges takes over coordinates and loops; none where data
/// decides them or they are too many.
fn starts(cx: &Cx, w: &Window, ranges: &[&Range]) -> Option<Starts> {
    let vars: BTreeSet<VarId> = ranges.iter().flat_map(|r| closure(cx, &w.loops, r)).collect();
    let data = |v: &VarId| matches!(cx.vars.get(*v).map(|i| i.kind), Some(VarKind::Data(_)));
    if vars.iter().any(|v| cx.env.get(*v).is_none() && data(v)) {
        return None;
    }
    let mut coords = vec![];
    for v in &vars {
        if let Some(VarKind::Coord(_)) = cx.vars.get(*v).map(|i| i.kind) {
            let axis = cx.graph.meshes.axes().find(|(_, a)| a.var == *v)?;
            coords.push((*v, cx.extent(axis.0) as i64));
        }
    }
    let used = |l: &&usize| match cx.walk.loops.get(**l).map(|l| &cx.graph.node(l.node).kind) {
        Some(NodeKind::Loop { var, .. }) => vars.contains(var),
        _ => false,
    };
    let loops: Vec<usize> = w.loops.iter().filter(used).copied().collect();
    let extents: Vec<i64> = coords.iter().map(|(_, e)| *e).collect();
    let combos = extents.iter().try_fold(1u64, |p, e| p.checked_mul(*e as u64))?;
    let mut s = Search { cx, loops: &loops, ranges, found: HashSet::new(), fuel: BOXES };
    if combos > BOXES {
        return None;
    }
    let (mut env, mut at) = (cx.env.clone(), vec![0; coords.len()]);
    for _ in 0..combos {
        for ((v, _), c) in coords.iter().zip(&at) {
            env.set(*v, *c);
        }
        s.run(0, &mut env)?;
        advance(&mut at, &extents);
    }
    Some(s.found)
}

struct Search<'a> {
    cx: &'a Cx<'a>,
    loops: &'a [usize],
    ranges: &'a [&'a Range],
    found: Starts,
    fuel: u64,
}

impl Search<'_> {
    fn run(&mut self, depth: usize, env: &mut Env) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        let Some(l) = self.loops.get(depth).and_then(|l| self.cx.walk.loops.get(*l)) else {
            let one = |r: &&Range| {
                let start = r.start.eval(env)?;
                let end = match &r.end {
                    Some(e) => e.eval(env)?,
                    None => i64::MAX,
                };
                Some((start, end))
            };
            let key: Option<Vec<(i64, i64)>> = self.ranges.iter().map(one).collect();
            self.found.insert(key?);
            return Some(());
        };
        let NodeKind::Loop { var, start, stop, step, .. } = &self.cx.graph.node(l.node).kind else {
            return None;
        };
        let (mut at, stop, step) = (start.eval(env)?, stop.eval(env)?, step.eval(env)?);
        while step > 0 && at < stop {
            env.set(*var, at);
            self.run(depth + 1, env)?;
            at = at.checked_add(step)?;
        }
        env.unset(*var);
        Some(())
    }
}

/// Elements in the union of boxes of one size, clipped to the buffer and to their ends.
fn boxes(ranges: &[&Range], starts: &Starts, sizes: &[u128]) -> (u128, Certainty) {
    let clip = |(start, end): (i64, i64), len: i64, size: u128| {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        (start.max(0), start.saturating_add(len).min(end).min(size))
    };
    if let ([r], [size]) = (ranges, sizes) {
        let mut spans: Vec<(i64, i64)> =
            starts.iter().filter_map(|s| s.first()).map(|s| clip(*s, r.len, *size)).collect();
        spans.sort_unstable();
        let (mut n, mut done) = (0u128, i64::MIN);
        for (lo, hi) in spans {
            let lo = lo.max(done);
            if hi > lo {
                n += (hi - lo) as u128;
            }
            done = done.max(hi);
        }
        return (n, Certainty::Exact);
    }
    let mut clipped: HashSet<Vec<(i64, i64)>> = HashSet::new();
    let mut on_grid = true;
    let mut origin: Option<Vec<i64>> = None;
    for s in starts {
        let both = s.iter().zip(ranges).zip(sizes);
        let cut: Vec<(i64, i64)> = both.map(|((s, r), n)| clip(*s, r.len, *n)).collect();
        let phase = |((s, _), r): (&(i64, i64), &&Range)| s.rem_euclid(r.len.max(1));
        let here: Vec<i64> = s.iter().zip(ranges).map(phase).collect();
        on_grid &= *origin.get_or_insert_with(|| here.clone()) == here;
        clipped.insert(cut);
    }
    let volume = |b: &Vec<(i64, i64)>| -> u128 {
        b.iter().map(|(lo, hi)| (hi - lo).max(0) as u128).product()
    };
    // clipped by different ends, boxes at one start may overlap
    let distinct: HashSet<Vec<i64>> =
        clipped.iter().map(|b| b.iter().map(|(lo, _)| *lo).collect()).collect();
    let exact = on_grid && distinct.len() == clipped.len();
    (clipped.iter().map(volume).sum(), super::cx::certainty(exact))
}

//! The distinct bytes of each buffer in `gmem`, and so the compulsory traffic of the program.
//!
//! Every use is a box of the buffer: all of it, or windows whose starts depend on coordinates and
//! loop variables. What all runs of all windows cover together is a set of strided boxes (see
//! `boxes`), and its size is exact. It is an upper bound, at most the sum over the windows and the
//! buffer's size, where data decides what is touched, where a window is seen through a view that
//! is no box of the buffer, and where the set has too many pieces.

use std::collections::BTreeMap;

use super::boxes::{self, Fuel, Inexact, Part, Set};
use super::cost::OpCost;
use super::cx::{Cx, certainty};
use super::record::{Certainty, FootprintRecord, Site};
use super::window::{self, Over, Window};
use crate::base::HashMap;
use crate::graph::{Def, NodeKind, ParamKind, ValueId};
use crate::ops::Role;
use crate::types::placement::Storage;

/// What the sets of one buffer may cost, in operations on strips.
pub(super) const PIECES: u64 = 1 << 20;

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
    /// The range of its first axis in which all of it lies, where the uses say so.
    pub lead: Option<(i64, i64)>,
}

/// Distinct bytes of every buffer in `gmem` that the given ops touch.
pub(super) fn footprints<'c>(cx: &Cx, ops: impl Iterator<Item = &'c OpCost<'c>>) -> Vec<Print> {
    let mut all: BTreeMap<ValueId, Uses> = BTreeMap::new();
    for o in ops {
        for u in window::uses(cx, o, None) {
            let of = all.entry(u.root).or_default();
            if u.write { of.writes.push(u.window) } else { of.reads.push(u.window) }
        }
    }
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
        let record = FootprintRecord {
            buffer: name(cx, root),
            site: Site::new(value.span),
            persistent: matches!(value.def, Def::Param(_))
                || cx.roots().results.contains_key(&root),
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
            lead: lead(&uses),
        });
    }
    out
}

fn lead(uses: &Uses) -> Option<(i64, i64)> {
    let mut all = uses.reads.iter().chain(&uses.writes).map(Window::lead);
    let first = all.next()??;
    all.try_fold(first, |(lo, hi), w| w.map(|(a, b)| (lo.min(a), hi.max(b))))
}

/// The name of a buffer: its own, or that of the result that it is.
pub(super) fn name(cx: &Cx, root: ValueId) -> String {
    let output = cx.roots().results.get(&root).and_then(|i| cx.graph.outputs.get(*i));
    match output.filter(|_| cx.graph.value(root).name.is_none()) {
        Some(o) => o.name.clone(),
        None => cx.graph.value_name(root),
    }
}

/// Which values are one buffer: a window write's result is its base, a carried value its start.
pub(super) struct Roots {
    parent: HashMap<ValueId, ValueId>,
    /// The first output that is a buffer, or a view of it.
    results: HashMap<ValueId, usize>,
}

impl Roots {
    pub fn of(cx: &Cx) -> Roots {
        let mut parent = HashMap::default();
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
        let mut roots = Roots { parent, results: HashMap::default() };
        // an inout parameter and its new value are one buffer
        for o in &cx.graph.outputs {
            let param = cx.graph.params.iter().find(|p| p.name == o.name);
            let old = param.filter(|p| p.kind == ParamKind::Inout).map(|p| p.value);
            let new = roots.find(cx, o.value);
            if let Some(old) = old.filter(|old| *old != new) {
                roots.parent.insert(new, old);
            }
        }
        for (i, o) in cx.graph.outputs.iter().enumerate() {
            let root = roots.seen(cx, o.value);
            roots.results.entry(root).or_insert(i);
        }
        roots
    }

    /// The first value of the buffer, through renamings and writes.
    pub fn find(&self, cx: &Cx, v: ValueId) -> ValueId {
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

    /// The buffer that a value is, or is a view of.
    pub fn seen(&self, cx: &Cx, v: ValueId) -> ValueId {
        let mut at = self.find(cx, v);
        // each step goes to an earlier op
        for _ in 0..cx.walk.steps.len() {
            let view = cx.op_of(at).filter(|o| o.op.role() == Role::View);
            let Some(from) = view.and_then(|o| o.node.inputs.first()) else { break };
            at = self.find(cx, *from);
        }
        at
    }
}

/// Elements in the union of windows.
fn union(cx: &Cx, elements: u128, windows: &[Window]) -> (u128, Certainty) {
    let mut fuel = Fuel(PIECES);
    let mut spaces: Vec<(Option<ValueId>, Vec<&Window>)> = vec![];
    for w in windows {
        let key = w.through.then_some(w.space);
        match spaces.iter_mut().find(|(k, _)| *k == key) {
            Some((_, all)) => all.push(w),
            None => spaces.push((key, vec![w])),
        }
    }
    let counts: Vec<(u128, Certainty)> =
        spaces.iter().map(|(_, w)| covered(cx, elements, w, &mut fuel)).collect();
    if counts.iter().any(|(n, is)| *n >= elements && *is == Certainty::Exact) {
        return (elements, Certainty::Exact);
    }
    let sum: u128 = counts.iter().map(|(n, _)| n).sum();
    let is = counts.iter().fold(Certainty::Exact, |c, (_, is)| c.and(*is));
    // what one shows of the buffer another may show too
    let is = if counts.len() > 1 { Certainty::UpperBound } else { is };
    (sum.min(elements), is)
}

/// Elements in the union of windows on one space.
fn covered(cx: &Cx, elements: u128, windows: &[&Window], fuel: &mut Fuel) -> (u128, Certainty) {
    let mut kinds: Vec<&Window> = vec![];
    for w in windows {
        let same = |k: &&Window| {
            k.axes.is_some() && k.axes == w.axes && k.loops == w.loops && k.is <= w.is
        };
        if !kinds.iter().any(same) {
            kinds.push(w);
        }
    }
    let mut sum = 0u128;
    let mut is = Certainty::Exact;
    let mut sets: Vec<Vec<Part>> = vec![];
    for w in &kinds {
        let parts = window::parts(cx, w, &Over::default(), fuel);
        let n = parts.as_ref().map_or(elements, |p| boxes::size(p));
        if n >= elements && parts.is_ok() && w.is == Certainty::Exact && w.most >= elements {
            return (elements, Certainty::Exact);
        }
        // no more elements than reads of them
        sum = sum.saturating_add(n.min(w.most));
        is = is.and(w.is).and(certainty(parts.is_ok() && n <= w.most));
        sets.extend(parts);
    }
    let sum = sum.min(elements);
    if kinds.len() == 1 {
        return (sum, is);
    }
    let all = || -> Result<u128, Inexact> {
        let mut union = Set::default();
        for p in &sets {
            union = union.union(&boxes::together(p, fuel)?, fuel)?;
        }
        Ok(union.size())
    };
    match (sets.len() == kinds.len()).then(all) {
        Some(Ok(n)) => (n.min(sum), is),
        _ => (sum, Certainty::UpperBound),
    }
}

//! A write into a window of a window, as a write into the buffer.
//!
//! A call that is given `inout kc[i]` is pasted as a read of that window, writes into what was read,
//! and a write of all of it back: the window is copied twice. Here the inner writes go into the
//! buffer itself and the last one is left out, so that a buffer which nobody else holds changes in
//! place.

use crate::graph::{Def, Graph, NodeId, NodeKind, RegionId, ValueId};
use crate::ops::{Attr, Role, Sub};
use crate::types::dim::Expr;

/// A window that is read, written, and written back.
struct Chain {
    buffer: ValueId,
    read: NodeId,
    /// Its subscripts.
    outer: Vec<Sub>,
    /// The writes into it, in order.
    writes: Vec<NodeId>,
    /// What reads parts of it in between.
    reads: Vec<NodeId>,
    back: NodeId,
}

/// The same program for the evaluator, with windows written in their buffers where it is certain
/// that nothing else sees a difference.
pub fn direct(g: &Graph) -> Graph {
    let mut g = g.clone();
    // who writes what matters where positions share a buffer
    if g.nodes().any(|(_, n)| matches!(n.kind, NodeKind::Mesh { .. } | NodeKind::On { .. })) {
        return g;
    }
    let regions: Vec<RegionId> = g.regions().map(|(r, _)| r).collect();
    for r in regions {
        for n in g.region(r).nodes.clone() {
            if let Some(c) = Chain::ending(&g, r, n) {
                c.apply(&mut g);
            }
        }
    }
    g
}

/// The subscripts of a window op that reads no numbers from tensors.
fn subs(g: &Graph, n: NodeId, role: Role) -> Option<&[Sub]> {
    let node = g.node(n);
    match &node.kind {
        NodeKind::Op { op, attrs } if op.role() == role && node.uses.is_empty() => {
            attrs.subs("subs")
        }
        _ => None,
    }
}

/// Whether each axis is either whole or dropped, so that inner subscripts hold for the buffer too.
fn simple(outer: &[Sub], shape: &[Expr]) -> bool {
    outer.iter().zip(shape).all(|(s, extent)| match s {
        Sub::At(_) => true,
        Sub::Window { start, len, end: None, pad: None } => start.is_zero() && len == extent,
        Sub::Window { .. } => false,
    })
}

impl Chain {
    /// The chain that ends with a write.
    fn ending(g: &Graph, r: RegionId, back: NodeId) -> Option<Chain> {
        let outer = subs(g, back, Role::Write)?.to_vec();
        let [buffer, tile] = *g.node(back).inputs.as_slice() else { return None };
        if outer.is_empty() || !simple(&outer, &g.ty(buffer).shape) {
            return None;
        }
        let (mut writes, mut at) = (vec![], tile);
        let read = loop {
            let Def::Node(n, 0) = g.value(at).def else { return None };
            let base = *g.node(n).inputs.first()?;
            if g.node(n).region != r {
                return None;
            }
            if subs(g, n, Role::Write).is_some() {
                writes.push(n);
                at = base;
            } else if subs(g, n, Role::Read) == Some(&outer[..]) && base == buffer {
                break n;
            } else {
                return None;
            }
        };
        writes.reverse();
        let mut c = Chain { buffer, read, outer, writes, reads: vec![], back };
        for (i, w) in c.writes.iter().enumerate() {
            let v = *g.node(*w).outputs.first()?;
            let next = c.writes.get(i + 1).copied().unwrap_or(back);
            c.reads.extend(readers(g, v, next)?);
        }
        (!c.writes.is_empty()).then_some(c)
    }

    fn apply(&self, g: &mut Graph) {
        let ty = g.ty(self.buffer).clone();
        for n in self.writes.iter().chain(&self.reads) {
            if let NodeKind::Op { attrs, .. } = &mut g.node_mut(*n).kind {
                for (_, a) in &mut attrs.0 {
                    if let Attr::Subs(inner) = a {
                        *inner = self.within(inner);
                    }
                }
            }
        }
        let mut last = self.buffer;
        for (i, w) in self.writes.iter().enumerate() {
            let node = g.node_mut(*w);
            if let (0, Some(base)) = (i, node.inputs.first_mut()) {
                *base = self.buffer;
            }
            let Some(out) = node.outputs.first().copied() else { continue };
            g.value_mut(out).ty = ty.clone();
            last = out;
        }
        for old in g.node(self.back).outputs.clone() {
            replace(g, old, last);
        }
        drop_node(g, self.back);
        if g.node(self.read).outputs.iter().all(|v| unused(g, *v)) {
            drop_node(g, self.read);
        }
    }

    /// Subscripts of the window as those of its buffer.
    fn within(&self, inner: &[Sub]) -> Vec<Sub> {
        let mut inner = inner.iter().cloned();
        let mut out: Vec<Sub> = vec![];
        for s in &self.outer {
            out.push(match s {
                Sub::At(_) => s.clone(),
                Sub::Window { .. } => inner.next().unwrap_or_else(|| s.clone()),
            });
        }
        out.extend(inner);
        out
    }
}

/// What reads windows of a value, where all else that uses it is `next`: the write that follows it,
/// into it or of all of it.
fn readers(g: &Graph, v: ValueId, next: NodeId) -> Option<Vec<NodeId>> {
    if g.regions().any(|(_, r)| r.results.contains(&v)) || g.outputs.iter().any(|o| o.value == v) {
        return None;
    }
    let mut out = vec![];
    for (n, node) in g.nodes() {
        let times = node.inputs.iter().chain(&node.uses).filter(|x| **x == v).count();
        if times == 0 || (n == next && times == 1) {
            continue;
        }
        subs(g, n, Role::Read)?;
        out.push(n);
    }
    Some(out)
}

fn unused(g: &Graph, v: ValueId) -> bool {
    !g.nodes().any(|(_, n)| n.inputs.contains(&v) || n.uses.contains(&v))
        && !g.regions().any(|(_, r)| r.results.contains(&v))
}

fn drop_node(g: &mut Graph, n: NodeId) {
    let region = g.node(n).region;
    g.region_mut(region).nodes.retain(|m| *m != n);
    g.node_mut(n).inputs.clear();
}

/// Uses one value in the place of another.
fn replace(g: &mut Graph, old: ValueId, new: ValueId) {
    let put = |v: &mut ValueId| {
        if *v == old {
            *v = new;
        }
    };
    let nodes: Vec<NodeId> = g.nodes().map(|(n, _)| n).collect();
    for n in nodes {
        let node = g.node_mut(n);
        node.inputs.iter_mut().chain(&mut node.uses).for_each(put);
    }
    let regions: Vec<RegionId> = g.regions().map(|(r, _)| r).collect();
    for r in regions {
        g.region_mut(r).results.iter_mut().for_each(put);
    }
    g.outputs.iter_mut().for_each(|o| put(&mut o.value));
}

//! A value that goes to another placement and back.

use super::look::name;
use super::{Draft, Edit, Program, Rule, bytes_of};
use crate::graph::ValueId;
use crate::ops::Role;
use crate::types::placement::{Placement, Storage};

pub(super) static RULE: Rule = Rule {
    kind: "reshard-back",
    title: "a value is resharded there and back",
    means: "A reshard gives a value the placement that the same value had before an earlier \
            reshard, and nothing was computed in between.",
    size: "The bytes of the reshard back, and those of the way there where nothing else uses its \
           result.",
    remedy: "Use the first value again: it holds the same bytes in the same places.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    let made = |v: ValueId| {
        let v = p.cx.walk.resolve(v);
        let i = p.ops.iter().position(|o| o.op.node.outputs.contains(&v))?;
        let o = p.ops.get(i).filter(|o| o.op.op.role() == Role::Reshard)?;
        // a copy that moves nothing is no way
        (!p.cx.is_free(&o.op)).then_some((i, o))
    };
    let mut out = vec![];
    for (back, o) in p.ops.iter().enumerate() {
        if o.op.op.role() != Role::Reshard || p.cx.is_free(&o.op) {
            continue;
        }
        let (Some(b), Some(c)) = (o.op.node.inputs.first(), o.op.node.outputs.first()) else {
            continue;
        };
        let Some((there, first)) = made(*b) else { continue };
        let Some(a) = first.op.node.inputs.first() else { continue };
        if !same(&p.cx.graph.ty(*a).place, &p.cx.graph.ty(*c).place) {
            continue;
        }
        let lone = uses(p, *b) == 1;
        let ops = [back].into_iter().chain(lone.then_some(there));
        let edits: Vec<Edit> = ops
            .flat_map(|op| {
                let n = p.ops.get(op).map_or(0, |o| o.entries.len());
                (0..n).map(move |entry| Edit::Scale { op, entry, num: 0, den: 1 })
            })
            .collect();
        let show = |v: &ValueId| {
            let ty = p.cx.graph.ty(*v);
            ty.place.show(&ty.shape, &p.cx.graph.vars, &p.cx.graph.meshes)
        };
        let value = name(p, *a);
        let mut d = Draft::new(
            format!("{value} goes from {} to {} and back", show(a), show(b)),
            format!("use {value} instead of {}: it is still in {}", name(p, *c), show(a)),
        );
        let of = [Storage::Gmem, Storage::Smem, Storage::Rmem];
        d.bytes = of.iter().find_map(|s| bytes_of(p, s.name(), &edits));
        d.edits = edits;
        out.push(
            d.spot(first.op.node.span, format!("there, to {}", show(b)))
                .spot(o.op.node.span, format!("back to {}", show(c))),
        );
    }
    out
}

fn same(a: &Placement, c: &Placement) -> bool {
    (a.storage, &a.axes, &a.partial) == (c.storage, &c.axes, &c.partial)
        && (&a.layout, &a.swizzle) == (&c.layout, &c.swizzle)
}

/// Uses of a value, by nodes and as a result.
fn uses(p: &Program, v: ValueId) -> usize {
    let g = p.cx.graph;
    let nodes = g.nodes().flat_map(|(_, n)| n.inputs.iter().chain(&n.uses));
    let results =
        g.regions().flat_map(|(_, r)| &r.results).chain(g.outputs.iter().map(|o| &o.value));
    nodes.chain(results).filter(|x| **x == v).count()
}

//! Work and bytes on padding.

use std::collections::BTreeMap;

use super::look::op_name;
use super::{Draft, Edit, Program, Rule};
use crate::analysis::cost::{Entry, Key};
use crate::types::placement::{AxisSplit, Storage};

pub(super) static RULE: Rule = Rule {
    kind: "padding",
    title: "positions work on padding",
    means: "A placement spreads an axis over more than it has (`pad(..)`): the last positions hold \
            elements that do not exist, and do the work of them.",
    size: "`1 - extent / padded extent` of what the ops on such an axis do; an upper bound where a \
           position with nothing but padding may stop at once.",
    remedy: "A split whose product is the extent, or smaller parts, so that less is left over.",
    find,
};

fn find(p: &Program) -> Vec<Draft> {
    // by extent and padded extent, the ops with such an axis
    let mut by: BTreeMap<(u128, u128), Vec<usize>> = BTreeMap::new();
    let mut shown: BTreeMap<(u128, u128), AxisSplit> = BTreeMap::new();
    for (i, o) in p.ops.iter().enumerate() {
        let mut here: Vec<(u128, u128)> = vec![];
        for v in o.op.node.outputs.iter().chain(&o.op.node.inputs) {
            let ty = p.cx.graph.ty(*v);
            for (e, s) in ty.shape.iter().zip(&ty.place.axes).filter(|(_, s)| s.padded) {
                let extent = e.eval(p.cx.env).and_then(|n| u128::try_from(n).ok()).unwrap_or(0);
                let key = (extent, p.cx.padded(s, extent));
                if key.1 > key.0 && !here.contains(&key) {
                    here.push(key);
                    shown.entry(key).or_insert_with(|| s.clone());
                }
            }
        }
        for key in here {
            by.entry(key).or_default().push(i);
        }
    }
    by.into_iter().filter_map(|(k, ops)| draft(p, k, &ops, shown.get(&k)?)).collect()
}

fn draft(
    p: &Program,
    (extent, padded): (u128, u128),
    ops: &[usize],
    split: &AxisSplit,
) -> Option<Draft> {
    let edits: Vec<Edit> = ops
        .iter()
        .flat_map(|op| {
            let entries = p.ops.get(*op).map(|o| o.entries.as_slice()).unwrap_or_default();
            // gmem holds the value without padding, and other entries may count none of it
            let counts = |e: &Entry| match e.key {
                Key::Read(s) | Key::Write(s) => !matches!(s, Storage::Gmem | Storage::Host),
                Key::Work(_) => true,
            };
            let entries = entries.iter().enumerate();
            let more = entries.filter(|(_, e)| counts(e) && e.total > e.logical);
            let scale = |(entry, _)| Edit::Scale { op: *op, entry, num: extent, den: padded };
            more.map(scale).collect::<Vec<_>>()
        })
        .collect();
    if edits.is_empty() {
        return None;
    }
    let over: u128 = split.mesh_axes().map(|a| p.cx.extent(a)).product();
    let part = padded / over.max(1);
    let used = extent.div_ceil(part.max(1));
    let divisor = (1..=over).rev().find(|n| extent.is_multiple_of(*n)).unwrap_or(1);
    let mut d = Draft::new(
        format!(
            "an axis of {extent} is spread over {over} positions in parts of {part}: {padded} \
             elements, of which {} are padding",
            padded - extent
        ),
        match used < over && divisor * 2 < over {
            true => format!("{used} positions in parts of {part} hold all of it"),
            false => {
                format!("{divisor} positions in parts of {} have no padding", extent / divisor)
            }
        },
    );
    d.is = crate::analysis::Certainty::UpperBound;
    d.edits = edits;
    for o in ops.iter().filter_map(|o| p.ops.get(*o)).filter(|o| !o.entries.is_empty()).take(4) {
        d = d.spot(o.op.node.span, format!("{} works on {padded} for {extent}", op_name(o)));
    }
    Some(d)
}

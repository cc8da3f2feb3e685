//! What several rules ask of a program.

use super::Program;
use crate::analysis::cost::{Entry, Key, OpCost};
use crate::graph::{Def, ValueId};
use crate::ops::Role;
use crate::types::placement::Storage;

/// One read or write of a storage.
pub(super) struct Access<'p> {
    /// Index of the op, and of the entry among its entries.
    pub op: usize,
    pub entry: usize,
    pub e: &'p Entry,
    pub read: bool,
    /// The operand or result that is accessed; of a window, the value it is a window of.
    pub value: ValueId,
}

/// Reads and writes of a storage, in program order.
pub(super) fn accesses<'p>(p: &'p Program, storage: Storage) -> Vec<Access<'p>> {
    let mut out = vec![];
    for (op, o) in p.ops.iter().enumerate() {
        for (entry, e) in o.entries.iter().enumerate().filter(|(_, e)| e.grid > 0) {
            let read = match e.key {
                Key::Read(s) if s == storage => true,
                Key::Write(s) if s == storage => false,
                _ => continue,
            };
            let Some(value) = e.value else { continue };
            let base = match (o.op.op.role(), read) {
                (Role::Read, true) | (Role::Write, false) => o.op.node.inputs.first().copied(),
                _ => None,
            };
            out.push(Access { op, entry, e, read, value: base.unwrap_or(value) });
        }
    }
    out
}

/// The value that has a buffer of its own, through views, windows and renamings.
pub(super) fn buffer(p: &Program, v: ValueId) -> ValueId {
    let roots = p.cx.roots();
    let mut at = roots.find(p.cx, v);
    // each step goes to an earlier op
    for _ in 0..p.cx.walk.steps.len() {
        let Some(op) = p.cx.op_of(at).filter(|o| p.cx.is_free(o)) else { break };
        let Some(from) = op.node.inputs.first() else { break };
        at = roots.find(p.cx, *from);
    }
    at
}

/// Buffers that exist before or after the program.
pub(super) fn persistent(p: &Program, root: ValueId) -> bool {
    let graph = p.cx.graph;
    matches!(graph.value(root).def, Def::Param(_))
        || graph.outputs.iter().any(|o| buffer(p, o.value) == root)
}

/// A value for a sentence: its name, or what made it.
pub(super) fn name(p: &Program, v: ValueId) -> String {
    let value = p.cx.graph.value(v);
    match (&value.name, value.def) {
        (Some(n), _) => format!("`{n}`"),
        (None, Def::Node(n, _)) => match window(p, v) {
            Some(base) => format!("a window of {}", name(p, base)),
            None => format!("the result of `{}`", p.cx.graph.node(n).label()),
        },
        (None, _) => "a carried value".into(),
    }
}

/// What a window read in place, or a window of one, is a window of.
fn window(p: &Program, v: ValueId) -> Option<ValueId> {
    let mut at = None;
    // each step goes to an earlier op
    for _ in 0..p.ops.len() {
        let op = p.cx.op_of(at.unwrap_or(v));
        let Some(op) = op.filter(|o| o.op.role() == Role::Read && p.cx.is_free(o)) else { break };
        at = op.node.inputs.first().copied();
    }
    at
}

/// An op for a sentence.
pub(super) fn op_name(o: &OpCost) -> String {
    format!("`{}`", o.op.op.name())
}

/// The function in which an op stands.
pub(super) fn caller(p: &Program, op: usize) -> String {
    let scope = p.ops.get(op).map(|o| p.cx.graph.scope(o.op.node.scope));
    scope.map_or(String::new(), |s| s.name.clone())
}

impl Program<'_, '_> {
    /// Units that run positions of the grid, on all devices; none where the target does not say.
    pub fn units(&self) -> Option<u128> {
        let unit = self.cx.machine.target?.grid_unit()?;
        let n = u128::from(unit.count.known()?.value);
        Some(n.saturating_mul(crate::analysis::roofline::devices(self.cx)))
    }
}

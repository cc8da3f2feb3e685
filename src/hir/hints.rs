//! Hints: which exist, what they apply to, and how they reach the nodes.

use super::elab::Elab;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::{Hint, HintArg, NodeId, NodeKind};
use crate::ops::Role;
use crate::syntax::ast::{self, ExprKind};

/// What a hint applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Reshard,
    Contraction,
    Loop,
    On,
    Mesh,
}

/// Every hint: name, what it applies to, how it is written.
const KNOWN: &[(&str, To, &str)] = &[
    ("via", To::Reshard, "via(tma)"),
    ("buffers", To::Reshard, "buffers(4)"),
    ("multicast", To::Reshard, "multicast"),
    ("atom", To::Contraction, "atom(wgmma, n = 256)"),
    ("unroll", To::Loop, "unroll(4)"),
    ("regs", To::On, "regs(240)"),
    ("fuse", To::Mesh, "fuse"),
    ("persistent", To::Mesh, "persistent"),
];

impl Elab<'_> {
    /// Makes hints active; gives how many.
    pub fn push_hints(&mut self, hints: &[ast::Hint]) -> usize {
        self.push_hints_of(hints)
    }

    pub fn push_hints_of(&mut self, hints: &[ast::Hint]) -> usize {
        let mut n = 0;
        for h in hints {
            if let Some(x) = self.hint(h) {
                self.hints.push(x);
                n += 1;
            }
        }
        n
    }

    /// Ends the last `n` hints; those that applied to nothing are reported.
    pub fn pop_hints(&mut self, n: usize) {
        for _ in 0..n {
            let Some(h) = self.hints.pop() else { return };
            if self.hint_used.contains(&h.span) {
                continue;
            }
            let to = KNOWN.iter().find(|(k, ..)| *k == h.name).map(|(_, t, _)| match t {
                To::Reshard => "a `reshard`",
                To::Contraction => "a contraction such as `matmul`",
                To::Loop => "a `for`",
                To::On => "an `on` block",
                To::Mesh => "a `mesh` block",
            });
            if let Some(to) = to {
                self.diags.push(
                    Diagnostic::new(
                        Code::UnusedHint,
                        h.span,
                        format!("`{}` applies to nothing here", h.name),
                    )
                    .help(format!("it stands before a statement with {to}")),
                );
            }
        }
    }

    fn hint(&mut self, h: &ast::Hint) -> Option<Hint> {
        let name = &h.name.text;
        let Some((_, _, form)) = KNOWN.iter().find(|(k, ..)| k == name) else {
            let names = KNOWN.iter().map(|(k, ..)| *k);
            let mut d = Diagnostic::new(
                Code::UnknownHint,
                h.name.span,
                format!("there is no hint `{name}`"),
            );
            d = match did_you_mean(name, names) {
                Some(m) => d.help(format!("`{m}` exists")).fix("rename", h.name.span, m),
                None => {
                    let all: Vec<&str> = KNOWN.iter().map(|(k, ..)| *k).collect();
                    d.help(format!("the hints are `{}`", all.join("`, `")))
                }
            };
            self.push(d);
            return None;
        };
        let mut args = vec![];
        for a in &h.args {
            let value = match &a.value.kind {
                ExprKind::Path(p) if p.segs.len() == 1 && self.find_word(p) => {
                    HintArg::Word(p.segs.iter().map(|s| s.text.clone()).collect())
                }
                _ => match self.int_expr(&a.value)?.as_int() {
                    Some(i) if i > 0 => HintArg::Int(i),
                    _ => {
                        self.error(
                            Code::BadHint,
                            a.span,
                            "a hint's number is constant and positive",
                        );
                        return None;
                    }
                },
            };
            args.push((a.name.as_ref().map(|n| n.text.clone()), value));
        }
        let wants = form.contains('(');
        if wants == args.is_empty() {
            self.error(Code::BadHint, h.span, format!("this hint is written `#[{form}]`"));
            return None;
        }
        Some(Hint { name: name.clone(), args, span: h.span })
    }

    /// Whether a path in a hint is a word, such as an instruction, and no number of the program.
    fn find_word(&self, p: &ast::Path) -> bool {
        let name = p.segs.first().map_or("", |s| s.text.as_str());
        self.find(name).is_none() && self.p.lookup(self.cx.file, self.cx.module, p).is_none()
    }
}

/// Gives a new node the active hints that apply to its kind.
pub fn attach(e: &mut Elab, id: NodeId) {
    if e.hints.is_empty() {
        return;
    }
    let kind = match &e.g.node(id).kind {
        NodeKind::Op { op, .. } if op.role() == Role::Reshard => To::Reshard,
        NodeKind::Op { op, .. } if op.contraction() => To::Contraction,
        NodeKind::Loop { .. } => To::Loop,
        NodeKind::On { .. } => To::On,
        NodeKind::Mesh { .. } => To::Mesh,
        _ => return,
    };
    let fit: Vec<Hint> = e
        .hints
        .iter()
        .filter(|h| KNOWN.iter().any(|(k, t, _)| *k == h.name && *t == kind))
        .cloned()
        .collect();
    for h in &fit {
        e.hint_used.insert(h.span);
    }
    e.g.node_mut(id).hints = fit;
}

//! Window writes of different positions, held apart where the indices decide.
//!
//! Two positions that differ in one coordinate write the same elements where no subscript depends
//! on that coordinate, or where the one that does steps by less than the window is long. Both are
//! refused. What the indices leave open is watched by the evaluator.

use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, Node, NodeKind};
use crate::ops::{Role, Sub};
use crate::types::dim::{Atom, Expr};
use crate::types::placement::{AxisId, Storage};

/// Every write of a graph whose positions certainly overlap.
pub fn check(g: &Graph) -> Vec<Diagnostic> {
    g.nodes().filter_map(|(_, n)| overlap(g, n)).collect()
}

fn overlap(g: &Graph, n: &Node) -> Option<Diagnostic> {
    let NodeKind::Op { op, attrs } = &n.kind else { return None };
    if op.role() != Role::Write {
        return None;
    }
    let (base, tile) = (n.inputs.first()?, n.inputs.get(1)?);
    // a buffer in registers or shared memory is each position's own
    if g.ty(*base).place.storage != Storage::Gmem {
        return None;
    }
    let subs = attrs.subs("subs")?;
    let mut axes = g.ty(*tile).place.varying.clone();
    for s in subs {
        axes.extend(super::place::coords(g, start(s)));
    }
    axes.sort_unstable();
    axes.dedup();
    let own = &g.ty(*base).place.varying;
    for a in axes.into_iter().filter(|a| !own.contains(a)) {
        let many = g.vars.lower(&g.meshes.axis_extent(a)).is_some_and(|e| e >= 2);
        if !many {
            continue;
        }
        let on: Vec<&Sub> =
            subs.iter().filter(|s| super::place::coords(g, start(s)).contains(&a)).collect();
        let name = g.meshes.axis_name(a);
        let why = match on.as_slice() {
            [] => format!("no subscript depends on `{name}`"),
            [one] => {
                let (step, len) = (stride(g, start(one), a)?, length(one)?);
                if step.abs() >= len {
                    continue;
                }
                format!("the window is {len} long, and neighbours along `{name}` are {step} apart")
            }
            _ => continue,
        };
        let buffer = g.value_name(*base);
        let msg = format!("positions along `{name}` write the same elements of `{buffer}`");
        return Some(
            Diagnostic::new(Code::WriteOverlap, n.span, msg)
                .here(why)
                .label(g.value(*tile).span, "each position has a value of its own here")
                .help(format!("give each position a window of its own, such as `{buffer}[{name} * N..({name} + 1) * N]`; a sum of all positions is `complete(sum(collect(..)))`")),
        );
    }
    None
}

fn start(s: &Sub) -> &Expr {
    match s {
        Sub::At(e) => e,
        Sub::Window { start, .. } => start,
    }
}

fn length(s: &Sub) -> Option<i64> {
    match s {
        Sub::At(_) => Some(1),
        Sub::Window { len, .. } => len.as_int(),
    }
}

/// The constant by which an index steps from one position of an axis to the next.
fn stride(g: &Graph, e: &Expr, a: AxisId) -> Option<i64> {
    let var = g.meshes.axis(a)?.var;
    let mut step = None;
    for (atoms, c) in e.terms() {
        match atoms {
            [Atom::Var(v)] if *v == var => step = Some(c),
            _ => {
                let mono = atoms.iter().fold(Expr::one(), |p, x| p.mul(&x.expr()));
                if super::place::coords(g, &mono).contains(&a) {
                    return None;
                }
            }
        }
    }
    step
}

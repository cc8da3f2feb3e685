//! A module against its target: the document exists, levels and extents fit the hardware,
//! storages exist, hints name instructions of the target that take the operands.

use std::rc::Rc;

use super::elab::{Cx, Elab};
use super::{ItemRef, Program, module_items};
use crate::base::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::graph::{Graph, Hint, HintArg, Node, NodeKind};
use crate::syntax::ast::{self, ItemKind};
use crate::target::{Extent, InstructionKind, Target, TargetError};
use crate::types::dtype::DType;
use crate::types::placement::Storage;

/// Where targets come from: built in, or of the user's own directory.
pub type FindTarget<'a> = dyn Fn(&str) -> Result<Rc<Target>, TargetError> + 'a;

/// Checks `target` and `topology` of one module; gives the target.
pub fn check(
    p: &Program,
    module: ItemRef,
    find: &FindTarget,
) -> (Option<Rc<Target>>, Vec<Diagnostic>) {
    let mut diags = vec![];
    let Some(items) = p.item(module).and_then(module_items) else { return (None, diags) };
    let mut target = None;
    for i in items {
        let ItemKind::Target(s) = &i.kind else { continue };
        match find(&s.value) {
            Ok(t) => target = Some(t),
            Err(e) => {
                let mut d = Diagnostic::new(
                    Code::UnknownTarget,
                    s.span,
                    format!("there is no target `{}`", s.value),
                );
                if let Some(first) = e.problems.first() {
                    if !first.path.is_empty() {
                        d.message = format!("the document of target `{}` has errors", s.value);
                        d = d.note(first.to_string());
                    }
                    if let Some(h) = &first.help {
                        d = d.help(h.clone());
                    }
                }
                if let Some(m) = did_you_mean(&s.value, crate::target::ids()) {
                    d = d.help(format!("`{m}` exists")).fix("rename", s.span, format!("\"{m}\""));
                }
                diags.push(d);
            }
        }
    }
    for i in items {
        if let ItemKind::Topology(levels) = &i.kind {
            match &target {
                Some(t) => topology(p, module, levels, t, &mut diags),
                None if items.iter().all(|i| !matches!(i.kind, ItemKind::Target(_))) => {
                    diags.push(
                        Diagnostic::new(
                            Code::BadTopology,
                            i.span,
                            "a topology names levels of a target, and the module has none",
                        )
                        .help("`target \"nvidia.h200_sxm\";`"),
                    );
                }
                None => {}
            }
        }
    }
    (target, diags)
}

fn topology(
    p: &Program,
    module: ItemRef,
    levels: &[ast::Level],
    t: &Target,
    diags: &mut Vec<Diagnostic>,
) {
    let names: Vec<&str> = t.levels().iter().map(|l| l.name.as_str()).collect();
    let inner = ItemRef { file: module.file, module: Some(module.item), item: 0 };
    let mut e = Elab::new(p, Cx::of(inner), "topology", file_span(levels));
    let mut coarser: Option<(&ast::Level, usize)> = None;
    for l in levels {
        let Some(rank) = t.level_index(&l.name.text) else {
            let msg = format!("`{}` is no level of `{}`", l.name.text, t.id());
            let mut d = Diagnostic::new(Code::UnknownLevel, l.name.span, msg);
            d = match did_you_mean(&l.name.text, names.iter().copied()) {
                Some(m) => d.help(format!("it has `{m}`")).fix("rename", l.name.span, m),
                None => d.help(format!("its levels are `{}`", names.join("`, `"))),
            };
            diags.push(d);
            continue;
        };
        if let Some((c, r)) = coarser {
            if rank <= r {
                diags.push(
                    Diagnostic::new(
                        Code::BadTopology,
                        l.name.span,
                        format!("`{}` is not finer than `{}`", l.name.text, c.name.text),
                    )
                    .help(format!("levels go from coarse to fine: `{}`", names.join("`, `"))),
                );
                continue;
            }
            limit(&mut e, c, l, t, diags);
        }
        if let Some(x) = &l.extent
            && e.extent(x).and_then(|n| n.as_int()) == Some(0)
        {
            let msg = format!("`{}` has at least one position", l.name.text);
            diags.push(Diagnostic::new(Code::BadTopology, x.span, msg));
        }
        let open = t.grid_level().is_some_and(|g| g.name == l.name.text);
        if l.extent.is_none() && !open {
            diags.push(
                Diagnostic::new(
                    Code::BadTopology,
                    l.name.span,
                    format!("`{}` needs an extent", l.name.text),
                )
                .help(format!(
                    "only the launch grid's extent may be left to the meshes: `{} = 256`",
                    l.name.text
                )),
            );
        }
        coarser = Some((l, rank));
    }
    diags.extend(e.diags);
}

/// A level's extent against what one position of the coarser level holds.
fn limit(
    e: &mut Elab,
    coarse: &ast::Level,
    l: &ast::Level,
    t: &Target,
    diags: &mut Vec<Diagnostic>,
) {
    let Some(x) = &l.extent else { return };
    let Some(n) = e.extent(x).and_then(|v| v.as_int()) else { return };
    let most = match t.extent(&l.name.text, &coarse.name.text) {
        Extent::Exactly(m) | Extent::AtMost(m) => m,
        Extent::Unstated => return,
    };
    let n = u64::try_from(n).unwrap_or(0);
    if n > most {
        diags.push(
            Diagnostic::new(
                Code::BadTopology,
                x.span,
                format!(
                    "{n} of `{}` in one `{}`: `{}` holds at most {most}",
                    l.name.text,
                    coarse.name.text,
                    t.id()
                ),
            )
            .fix("use the limit", x.span, most.to_string()),
        );
    }
}

fn file_span(levels: &[ast::Level]) -> Span {
    match levels.first() {
        Some(l) => l.name.span,
        None => super::file_start(crate::base::FileId(0)),
    }
}

/// Storages and hints of a graph against its target.
pub fn check_graph(g: &Graph, t: &Target) -> Vec<Diagnostic> {
    let mut diags = vec![];
    let mut seen = crate::base::HashSet::default();
    for (_, v) in g.values() {
        let s = v.ty.place.storage;
        if t.storage(s.name()).is_none() && seen.insert((v.span, s)) {
            let known: Vec<&str> =
                Storage::ALL.iter().map(|s| s.name()).filter(|s| t.storage(s).is_some()).collect();
            diags.push(
                Diagnostic::new(
                    Code::UnknownStorage,
                    v.span,
                    format!("`{}` has no `{}`", t.id(), s.name()),
                )
                .help(format!("it has `{}`", known.join("`, `"))),
            );
        }
    }
    for (_, n) in g.nodes() {
        for h in &n.hints {
            if let Some(d) = hint(g, n, h, t)
                && !diags.contains(&d)
            {
                diags.push(d);
            }
        }
    }
    diags
}

/// One load for several positions: what copies can do it, and there are such positions.
fn multicast(g: &Graph, n: &Node, h: &Hint, t: &Target) -> Option<Diagnostic> {
    let bad = |msg: String| Diagnostic::new(Code::BadHint, h.span, msg);
    let able = t.instructions().iter().filter(|i| i.multicast.is_some());
    let able: Vec<&str> = able.map(|i| i.hint.as_str()).collect();
    let Some(first) = able.first() else {
        return Some(bad(format!("`{}` has no copy that reaches several positions", t.id())));
    };
    let fix = format!("`#[via({first}), multicast]`");
    let Some(via) = n.hint("via") else {
        return Some(bad("`multicast` needs the instruction that copies".into()).help(fix));
    };
    // what is wrong with the instruction itself is said of `via`
    let (_, HintArg::Word(word)) = via.args.first()? else { return None };
    let i = t.instruction(word)?;
    let Some(level) = &i.multicast else {
        let msg = format!("a copy by `{word}` reaches one position only");
        return Some(bad(msg).label(via.span, "the instruction").help(fix));
    };
    let from = g.ty(*n.inputs.first()?).place.storage;
    if from != Storage::Gmem {
        let msg = format!("`multicast` loads from gmem, this copies from {}", from.name());
        return Some(bad(msg).label(n.span, "this copy"));
    }
    if g.topology.iter().any(|(l, _)| l == level) {
        return None;
    }
    let msg = format!("the topology has no `{level}`, whose positions would share this load");
    let unit = t.grid_level().map_or("cta", |l| l.name.as_str());
    Some(bad(msg).help(format!("`topology {level}, {unit} = 2, ..` puts two in each")))
}

fn hint(g: &Graph, n: &Node, h: &Hint, t: &Target) -> Option<Diagnostic> {
    let want = match h.name.as_str() {
        "via" => InstructionKind::Copy,
        "atom" => InstructionKind::Matrix,
        "multicast" => return multicast(g, n, h, t),
        _ => return None,
    };
    let (_, HintArg::Word(word)) = h.args.first()? else {
        return Some(Diagnostic::new(
            Code::BadHint,
            h.span,
            format!("`{}` names an instruction", h.name),
        ));
    };
    let Some(i) = t.instruction(word).filter(|i| i.kind == want) else {
        let known: Vec<&str> =
            t.instructions().iter().filter(|i| i.kind == want).map(|i| i.hint.as_str()).collect();
        let msg = format!("`{}` has no `{word}` for `{}`", t.id(), h.name);
        let mut d = Diagnostic::new(Code::BadHint, h.span, msg);
        d = match did_you_mean(word, known.iter().copied()) {
            Some(m) => d.help(format!("it has `{m}`")),
            None => d.help(format!("it has `{}`", known.join("`, `"))),
        };
        return Some(d);
    };
    let NodeKind::Op { .. } = &n.kind else { return None };
    let storage = |v| g.ty(v).place.storage.name();
    if want == InstructionKind::Copy {
        let (from, to) = (n.inputs.first()?, n.outputs.first()?);
        let (a, b) = (storage(*from), storage(*to));
        if i.moves.iter().any(|(x, y)| x == a && y == b) {
            return None;
        }
        let can: Vec<String> = i.moves.iter().map(|(x, y)| format!("{x} to {y}")).collect();
        return Some(
            Diagnostic::new(Code::BadHint, h.span, format!("`{word}` does not copy {a} to {b}"))
                .label(n.span, format!("{a} to {b}"))
                .help(format!("it copies {}", can.join(", "))),
        );
    }
    let (a, b, o) = (n.inputs.first()?, n.inputs.get(1)?, n.outputs.first()?);
    let d = |v| g.ty(v).dtype;
    let acc = if d(*o) == DType::F64 { DType::F64 } else { DType::F32 };
    if !i.forms.iter().any(|f| f.takes(d(*a), d(*b), acc) || f.takes(d(*a), d(*b), d(*o))) {
        return Some(
            Diagnostic::new(
                Code::BadHint,
                h.span,
                format!("`{word}` does not multiply {} by {}", d(*a), d(*b)),
            )
            .label(n.span, "this contraction"),
        );
    }
    for (x, allowed, who) in [(*a, &i.a, "first"), (*b, &i.b, "second")] {
        if !allowed.iter().any(|s| s == storage(x)) {
            return Some(
                Diagnostic::new(
                    Code::BadHint,
                    h.span,
                    format!(
                        "`{word}` reads its {who} operand from {}, found {}",
                        allowed.join(" or "),
                        storage(x)
                    ),
                )
                .label(g.value(x).span, format!("in {}", storage(x))),
            );
        }
    }
    let n_arg = h.args.iter().find(|(k, _)| k.as_deref() == Some("n"));
    if let Some((_, HintArg::Int(k))) = n_arg
        && !i.forms.iter().any(|f| f.n.contains(u64::try_from(*k).unwrap_or(0)))
    {
        let sizes: Vec<String> = i.forms.iter().map(|f| f.n.to_string()).collect();
        return Some(
            Diagnostic::new(Code::BadHint, h.span, format!("`{word}` has no n = {k}"))
                .help(format!("n is {}", sizes.first().cloned().unwrap_or_default())),
        );
    }
    None
}

//! Launches against what their kernel was compiled for.

use super::Entry;
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::hir::twins::{KernelDecl, LaunchForm};
use crate::target::Target;

/// Holds the launches of a kernel against its entry in the image.
pub(super) fn check(
    entry: &Entry,
    decl: &KernelDecl,
    launches: &[LaunchForm],
    target: Option<&Target>,
) -> Vec<Diagnostic> {
    let mut diags = vec![];
    let own = launches.iter().filter(|l| l.kernel == decl.item);
    for l in own {
        let wrong = [block(entry, l), cluster(entry, l), shared(entry, l, target)];
        diags.extend(wrong.into_iter().flatten().map(|d| d.label(decl.name.span, "declared here")));
    }
    diags
}

fn wrong(span: Span, msg: String) -> Diagnostic {
    Diagnostic::new(Code::LaunchMismatch, span, msg)
}

/// Extents without those of 1 at the end.
fn show(extents: [u32; 3]) -> String {
    let last = extents.iter().rposition(|n| *n != 1).unwrap_or(0);
    let shown: Vec<String> = extents.iter().take(last + 1).map(u32::to_string).collect();
    shown.join(", ")
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1u64, |p, n| p.saturating_mul(u64::from(*n)))
}

fn block(entry: &Entry, l: &LaunchForm) -> Option<Diagnostic> {
    let (given, span) = l.option("block")?;
    if let Some(want) = entry.block {
        let msg = format!(
            "`block({})` starts a kernel that was compiled for blocks of {}",
            show(given),
            show(want)
        );
        return (given != want)
            .then(|| wrong(span, msg).fix("the block", span, format!("block({})", show(want))));
    }
    let most = product(entry.max_block?);
    let threads = product(given);
    (threads > most).then(|| {
        let msg =
            format!("the block has {threads} threads, the kernel was compiled for at most {most}");
        wrong(span, msg).help("`__launch_bounds__` gives the most that the kernel must allow")
    })
}

fn cluster(entry: &Entry, l: &LaunchForm) -> Option<Diagnostic> {
    let want = entry.cluster?;
    if let Some((given, span)) = l.option("cluster")
        && given != want
    {
        let msg = format!(
            "`cluster({})` starts a kernel that was compiled for clusters of {}",
            show(given),
            show(want)
        );
        return Some(wrong(span, msg).fix("the cluster", span, format!("cluster({})", show(want))));
    }
    let (grid, span) = l.option("grid")?;
    let whole = grid.iter().zip(want).all(|(g, c)| c == 0 || g.is_multiple_of(c));
    (!whole).then(|| {
        let msg = format!(
            "a grid of {} is no multiple of the clusters of {} that the kernel was compiled for",
            show(grid),
            show(want)
        );
        wrong(span, msg)
    })
}

fn shared(entry: &Entry, l: &LaunchForm, target: Option<&Target>) -> Option<Diagnostic> {
    let target = target?;
    let most = target.storage("smem")?.capacity.known()?.value;
    let (dynamic, span) = match l.option("smem") {
        Some(([n, ..], span)) => (u64::from(n), span),
        None => (0, l.span),
    };
    let all = entry.shared.saturating_add(dynamic);
    (all > most).then(|| {
        let msg = format!("the launch needs {all} bytes of shared memory, a CTA has {most}");
        wrong(span, msg)
            .note(format!("{dynamic} of `smem`, and {} static ones of the kernel", entry.shared))
            .note(format!("the capacity of `smem` on `{}`", target.id()))
    })
}

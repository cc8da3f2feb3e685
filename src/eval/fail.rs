//! Diagnostics of a run: each with the place in the source, the position and the trip.

use super::frame::{Frame, coord};
use super::value::{Conflict, Gaps, Owner};
use super::window::{WindowError, unravel};
use crate::base::Span;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Graph, Node, ValueId};

pub(super) type Fail = Box<Diagnostic>;
pub(super) type Res<T> = Result<T, Fail>;

/// A diagnostic at a node of a frame.
pub(super) fn fail(g: &Graph, frame: &Frame, node: &Node, code: Code, text: String) -> Fail {
    Box::new(placed(g, frame, g.at_call(node, Diagnostic::new(code, node.span, text))))
}

/// Adds where in the meshes and loops the frame is.
pub(super) fn placed(g: &Graph, frame: &Frame, d: Diagnostic) -> Diagnostic {
    let mut at: Vec<String> = frame
        .bound
        .iter()
        .filter_map(|a| {
            Some(format!("{}={}", g.meshes.axis_name(*a), coord(&frame.env, *a, &g.meshes)?))
        })
        .collect();
    at.extend(
        frame
            .loops
            .iter()
            .filter_map(|v| Some(format!("{}={}", g.vars.name(*v), frame.env.get(*v)?))),
    );
    if at.is_empty() { d } else { d.note(format!("at {}", at.join(", "))) }
}

/// What cannot happen in a verified graph.
pub(super) fn internal(node: &Node, text: &str) -> Fail {
    Box::new(Diagnostic::new(
        Code::Internal,
        node.span,
        format!("evaluation of `{}`: {text}", node.label()),
    ))
}

/// `(g.m=0, g.n=1)`
pub(super) fn position(g: &Graph, o: &Owner) -> String {
    if o.axes.is_empty() {
        return "every position".into();
    }
    let parts: Vec<String> = o
        .axes
        .iter()
        .zip(&o.coords)
        .map(|(a, c)| format!("{}={c}", g.meshes.axis_name(*a)))
        .collect();
    format!("({})", parts.join(", "))
}

pub(super) fn index(offset: usize, shape: &[usize]) -> String {
    format!("{:?}", unravel(offset, shape))
}

pub(super) fn window_error(
    g: &Graph,
    frame: &Frame,
    node: &Node,
    v: ValueId,
    shape: &[usize],
    e: WindowError,
) -> Fail {
    match e {
        WindowError::Open => internal(node, "a subscript has no value"),
        WindowError::Outside { axis, lo, hi, extent } => {
            let what =
                if hi == lo + 1 { format!("index {lo}") } else { format!("window {lo}..{hi}") };
            let name = g.value_name(v);
            let text =
                format!("{what} lies outside axis {axis} of `{name}`, which has extent {extent}");
            let d = Diagnostic::new(Code::WindowOutOfBounds, node.span, text)
                .label(g.value(v).span, format!("`{name}` has shape {shape:?}"));
            Box::new(placed(g, frame, d))
        }
    }
}

/// Two positions wrote one element.
pub(super) fn conflict(g: &Graph, buffer: &str, shape: &[usize], c: &Conflict) -> Fail {
    let (first, second) = (position(g, &c.first.0), position(g, &c.second.0));
    let at = index(c.offset, shape);
    let text = format!("positions {first} and {second} both write element {at} of `{buffer}`");
    let d = Diagnostic::new(Code::WriteConflict, c.second.1, text)
        .here(format!("{second} writes it here"));
    let d = if c.first.1 == c.second.1 {
        d
    } else {
        d.label(c.first.1, format!("{first} writes it here"))
    };
    Box::new(d.help("windows of different positions must not overlap"))
}

/// A read of an element that another position wrote.
pub(super) fn read_back(
    g: &Graph,
    buffer: &str,
    shape: &[usize],
    offset: usize,
    reader: (&Owner, Span),
    writer: (&Owner, Span),
) -> Fail {
    let (by, of) = (position(g, reader.0), position(g, writer.0));
    let text = format!(
        "{by} reads element {} of `{buffer}`, which {of} writes in the same block",
        index(offset, shape)
    );
    Box::new(
        Diagnostic::new(Code::ReadBack, reader.1, text)
            .label(writer.1, format!("{of} writes it here"))
            .help("end the block before the read, or use `collect`"),
    )
}

/// A use of an element that nobody wrote.
pub(super) fn uninit(
    g: &Graph,
    frame: &Frame,
    span: Span,
    name: &str,
    shape: &[usize],
    gaps: &Gaps,
) -> Fail {
    let at = index(gaps.first(), shape);
    let n = gaps.missing;
    let rest = if n == 1 { String::new() } else { format!(" ({n} elements in all)") };
    let text = format!("element {at} of `{name}` is read, and nobody wrote it{rest}");
    let d = Diagnostic::new(Code::UninitRead, span, text)
        .label(gaps.origin, format!("`{}` starts without values here", gaps.name));
    Box::new(placed(g, frame, d))
}

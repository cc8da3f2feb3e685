//! Polynomials as text.

use std::fmt::Write;

use super::{Figure, Form, Piece, Polynomials};
use crate::analysis::record::Certainty;

/// Lines of a short report.
const LINES: usize = 36;

/// One line for each piece: `gmem.read.total = 4096 ctx + 17152 for 1 <= ctx <= 1815`.
pub fn text(p: &Polynomials, full: bool) -> String {
    let mut out = String::new();
    let dims: Vec<String> = p.dims.iter().map(|(n, v)| format!(" at {n} = {v}")).collect();
    let _ = writeln!(
        out,
        "{}{}, verified at each {} in {}..={}",
        p.program,
        dims.concat(),
        p.dim,
        p.from,
        p.to
    );
    if let Some(r) = &p.refusal {
        let _ = writeln!(out, "refused at {} of these sizes: {r}", p.refused);
    }
    let mut lines = vec![];
    let mut hidden = 0;
    for f in &p.figures {
        // names that the compiler made, and what is zero everywhere
        if !full && (f.figure.contains('#') || zero(f)) {
            hidden += 1;
            continue;
        }
        let few = if full { usize::MAX } else { 3 };
        for piece in f.pieces.iter().take(few) {
            lines.push(line(p, f, piece));
        }
        if let Some(n) = f.pieces.len().checked_sub(few).filter(|n| *n > 0) {
            lines.push(format!("{}: {n} more pieces with --full", f.figure));
        }
    }
    let shown = if full { lines.len() } else { lines.len().min(LINES) };
    for l in lines.iter().take(shown) {
        let _ = writeln!(out, "{l}");
    }
    let more = lines.len() - shown + hidden;
    if more > 0 {
        let _ = writeln!(out, "{more} more with --full");
    }
    out
}

fn zero(f: &Figure) -> bool {
    f.pieces.iter().all(|p| matches!(&p.form, Form::Terms(t) if t.is_empty()))
}

fn line(p: &Polynomials, f: &Figure, piece: &Piece) -> String {
    let mark = if f.is == Certainty::Exact { "" } else { " (upper_bound)" };
    let range = match piece.from == piece.to {
        true => format!("{} = {}", p.dim, piece.from),
        false => format!("{} <= {} <= {}", piece.from, p.dim, piece.to),
    };
    match &piece.form {
        Form::Values(v) if v.len() > 1 => {
            format!("{}{mark} is no quasi-polynomial for {range}: {}", f.figure, piece.text)
        }
        _ => format!("{}{mark} = {} for {range}", f.figure, piece.text),
    }
}

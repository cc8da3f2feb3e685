//! Findings as text.

use std::fmt::Write;

use super::{Bytes, Finding, Predicted, Saving};
use crate::analysis::record::{Analysis, Certainty};
use crate::analysis::units::{bytes, percent, time};
use crate::base::SourceMap;

/// The first finding as the answer to what is to be done that frees the program to run, or takes
/// time off the bound and none on the prediction.
pub fn next(a: &Analysis) -> Option<Vec<String>> {
    let f = a.advice.iter().find(|f| f.blocking || (gives(f) && !rises(f)))?;
    Some(vec![format!("next ({}): {}", f.kind, f.edit), format!("  gives: {}", gain(f))])
}

/// The first finding that takes time off the bound and is predicted to be slower.
pub fn slower(a: &Analysis) -> Option<&Finding> {
    a.advice.iter().find(|f| gives(f) && rises(f))
}

fn gives(f: &Finding) -> bool {
    f.saves.as_ref().is_some_and(|s| s.ps.num > 0)
}

fn rises(f: &Finding) -> bool {
    let predicted = f.saves.as_ref().and_then(|s| s.predicted.as_ref());
    predicted.is_some_and(Predicted::rises)
}

/// What the edit of a finding gives.
fn gain(f: &Finding) -> String {
    if f.blocking { "the program runs; it does not as it is".into() } else { worth(f) }
}

/// The first findings, a line or two each.
pub fn short(a: &Analysis, rows: usize) -> Vec<String> {
    let mut out = vec![];
    for f in a.advice.iter().take(rows) {
        out.push(format!("  {}: {}", f.kind, worth(f)));
        out.push(format!("    {}", f.edit));
    }
    let rest = a.advice.len().saturating_sub(rows);
    if !out.is_empty() {
        let more = match rest {
            0 => String::new(),
            n => format!("  ({n} more with --full or --advice)"),
        };
        out.insert(0, format!("advice{more}"));
    }
    out
}

/// Every finding with its places.
pub fn long(a: &Analysis, sources: &SourceMap) -> String {
    let mut s = String::new();
    let bound = a.roofline.as_ref().and_then(|r| r.bound("placed", "cold"));
    let head = match (a.advice.len(), bound.and_then(|b| b.ps.map(|t| (b, t)))) {
        (0, _) => "advice: nothing found".to_string(),
        (_, Some((b, t))) => {
            let t = time(t.as_f64());
            format!("advice, ranked by time off the prediction and the bound of {t} ({})", b.binds)
        }
        _ => "advice".to_string(),
    };
    let _ = writeln!(s, "{head}");
    for (i, f) in a.advice.iter().enumerate() {
        let _ = writeln!(s, "{}. {} ({})", i + 1, f.title, f.kind);
        let _ = writeln!(s, "   {}", f.what);
        for spot in &f.sites {
            let _ = writeln!(s, "   {}: {}", sources.locate(spot.site.span()), spot.label);
        }
        let _ = writeln!(s, "   size: {}", worth(f));
        let _ = writeln!(s, "   try: {}", f.edit);
    }
    s
}

/// What a finding is worth, in one line.
fn worth(f: &Finding) -> String {
    let mut parts = vec![];
    if f.blocking {
        parts.push("does not run as it is".to_string());
    }
    let up_to = if f.is == Certainty::Exact { "" } else { "up to " };
    parts.extend(f.saves.as_ref().map(|s| saving(s, up_to)));
    parts.extend(f.saves.as_ref().and_then(|s| s.predicted.as_ref()).and_then(predicted));
    parts.extend(f.bytes.as_ref().map(|b| format!("{up_to}{}", amount(b))));
    if parts.is_empty() {
        return "no time or bytes that the bound counts".into();
    }
    parts.join("; ")
}

fn saving(s: &Saving, up_to: &str) -> String {
    let (t, share) = (time(s.ps.as_f64()), percent(s.share.as_f64()));
    let resource = s.resource.as_deref().unwrap_or("nothing rated");
    match (s.ps.num, s.beyond) {
        (0, beyond) => match s.resource_ps.num {
            0 => "0 ns of the bound, and no rated resource changes".to_string(),
            _ => {
                let t = time(s.resource_ps.as_f64());
                let way = if beyond { "more" } else { "less" };
                format!(
                    "0 ns of the bound: not on the critical resource ({up_to}{t} {way} {resource})"
                )
            }
        },
        (_, true) => format!("{t} of {resource} that the bound does not count ({share} of it)"),
        (_, false) => {
            let then = time(s.bound_ps.as_f64());
            let more = if up_to.is_empty() { "" } else { " at best" };
            format!("{up_to}{t} off the bound ({share}), which becomes {then}{more}")
        }
    }
}

/// What becomes of the prediction.
fn predicted(p: &Predicted) -> Option<String> {
    let (from, to) = (p.from_ps.as_f64(), p.to_ps.as_f64());
    // what is the same to the digits that are shown is not told
    if time(to) == time(from) {
        return None;
    }
    let mut text = format!("predicted {} instead of {}", time(to), time(from));
    if to > from {
        text.push_str(", which is more");
        if !p.rises() {
            let launch = time(p.launch_ps.as_f64());
            text.push_str(&format!(": ops outside meshes have no launch here, of {launch}"));
        }
    }
    Some(text)
}

fn amount(b: &Bytes) -> String {
    let of = &b.of;
    match (b.read, b.write) {
        (r, 0) => format!("{} of {of} reads", exact(r)),
        (0, w) => format!("{} of {of} writes", exact(w)),
        (r, w) => format!("{} of {of} reads and {} of writes", exact(r), exact(w)),
    }
}

/// Bytes for people with the exact number.
pub(super) fn exact(n: u128) -> String {
    if n < 1024 { format!("{n} B") } else { format!("{} ({n} B)", bytes(n)) }
}

//! Windows: what subscripts say, for reads and writes.

use crate::ops::support::prelude::*;
use crate::types::dim::Env;

/// Whether indices past the end of what exists are allowed.
pub fn padded(s: &Sub) -> bool {
    matches!(s, Sub::Window { end, pad, .. } if end.is_some() || pad.is_some())
}

pub fn subs<'a>(op: &str, call: &Call<'a>) -> Result<&'a [Sub], OpError> {
    let subs = call.attrs.subs("subs").ok_or_else(|| check::missing(op, "subs"))?;
    let x = call.input(0)?;
    if subs.len() <= x.rank() {
        return Ok(subs);
    }
    let shown = check::show(call, 0);
    Err(OpError::new(
        Code::RankMismatch,
        format!("{} subscripts on {shown}, which has {} axes", subs.len(), x.rank()),
    )
    .at("subs", "too many subscripts")
    .help("a subscript for each axis; trailing ones may be left off"))
}

/// The shape of a window: numbers drop their axis, axes without a subscript are whole.
pub fn shape(subs: &[Sub], whole: &[Expr]) -> Vec<Expr> {
    let lens = subs.iter().filter_map(|s| match s {
        Sub::At(_) => None,
        Sub::Window { len, .. } => Some(len.clone()),
    });
    lens.chain(whole.iter().skip(subs.len()).cloned()).collect()
}

/// Refuses what lies outside for every value of the variables; what is undecided is watched when
/// the program runs.
pub fn check_bounds(op: &str, call: &Call, subs: &[Sub]) -> Result<(), OpError> {
    for (i, (s, n)) in subs.iter().zip(&call.input(0)?.shape).enumerate() {
        let (first, last) = match s {
            Sub::At(e) => (e.clone(), e.add(&Expr::one())),
            Sub::Window { start, .. } if padded(s) => (start.clone(), Expr::zero()),
            Sub::Window { start, len, .. } => (start.clone(), start.add(len)),
        };
        let below = call.vars.ge(&first, &Expr::zero()) == Decision::No;
        let above = call.vars.ge(n, &last) == Decision::No;
        if !below && !above {
            continue;
        }
        let what = match s {
            Sub::At(_) => format!("index {}", call.vars.show(&first)),
            _ if below => format!("a window from {}", call.vars.show(&first)),
            _ => format!("window {}..{}", call.vars.show(&first), call.vars.show(&last)),
        };
        let verb = if op == "slice" { "reads" } else { "writes" };
        return Err(OpError::new(
            Code::ShapeMismatch,
            format!(
                "{what} {verb} outside axis {i} of {}, which has {}",
                check::show(call, 0),
                call.vars.show(n)
            ),
        )
        .at("subs", format!("subscript {i}"))
        .help("indices run from 0; `tile(r, n, pad = v)` allows a last window to run past"));
    }
    Ok(())
}

/// How the subscripted operand or result is indexed; the domain has one dimension for each axis
/// of the window.
pub fn access(subs: &[Sub], whole: &[Expr]) -> Access {
    let mut dim = 0;
    let mut next = || {
        dim += 1;
        dim - 1
    };
    let axes = whole
        .iter()
        .enumerate()
        .map(|(i, n)| match subs.get(i) {
            Some(Sub::At(e)) => AxisAccess::At(e.clone()),
            Some(Sub::Window { start, len, .. }) if !(start.is_zero() && len == n) => {
                AxisAccess::Window { dim: next(), start: start.clone() }
            }
            _ => AxisAccess::Dims(vec![next()]),
        })
        .collect();
    Access { axes }
}

/// A window at a place: per axis its start, its length, and how much of that exists.
pub struct Place {
    pub starts: Vec<usize>,
    pub lens: Vec<usize>,
    pub valid: Vec<usize>,
}

impl Place {
    pub fn is_cut(&self) -> bool {
        self.valid != self.lens
    }
}

/// Where a window of a tensor of `shape` lies.
pub fn place(op: &str, subs: &[Sub], shape: &[usize], env: &Env) -> Result<Place, EvalError> {
    let mut p = Place { starts: vec![], lens: vec![], valid: vec![] };
    let value = |e: &Expr| {
        e.eval(env).ok_or_else(|| EvalError::new(format!("a subscript of `{op}` has no value")))
    };
    for (i, &n) in shape.iter().enumerate() {
        let (start, len, end, pad) = match subs.get(i) {
            None => (0, n as i64, n as i64, false),
            Some(Sub::At(e)) => (value(e)?, 1, n as i64, false),
            Some(s @ Sub::Window { start, len, end, .. }) => {
                let end = end.as_ref().map(value).transpose()?.unwrap_or(i64::MAX);
                (value(start)?, value(len)?, end.min(n as i64), padded(s))
            }
        };
        let last = start.checked_add(len).filter(|_| start >= 0 && len >= 0);
        let Some(last) = last.filter(|l| pad || *l <= n as i64) else {
            let what = if op == "slice" { "read" } else { "write" };
            return Err(EvalError::new(format!(
                "{what} outside axis {i} of {shape:?}: from {start}, {len} long"
            )));
        };
        let valid = (last.min(end) - start).max(0);
        // a window that holds nothing may start anywhere
        p.starts.push(if valid == 0 { 0 } else { start as usize });
        p.lens.push(len as usize);
        p.valid.push(valid as usize);
    }
    Ok(p)
}

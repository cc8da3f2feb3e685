//! Costs as polynomials of a dim.
//!
//! Comes in: a figure at every size of a range. Goes out: the range in pieces, each with a
//! quasi-polynomial that gives the figure at every size of the piece. A quasi-polynomial of period
//! p and degree d is a polynomial of degree d in each residue class modulo p, which is so exactly
//! where all (d + 1)-th differences with step p are zero; every one of them is checked, so that no
//! size is inferred. A piece has at least one more size in each class than its polynomial has
//! coefficients; sizes that are in no such piece are listed with their values.
//!
//! A piece is written in `n` and `ceil(n / P)` where such a form gives every value, otherwise by
//! its classes.

mod form;
mod rational;
mod text;

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

use super::metric::Unit;
use super::record::{Certainty, sizes};
pub use rational::Rational;
pub use text::text;

/// The version of the record below.
pub const SCHEMA: &str = "tilefoundry.polynomials/1";

/// Figures of one program as functions of a dim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Polynomials {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    pub program: String,
    pub dim: String,
    /// The first and the last size; each between was computed.
    pub from: i64,
    pub to: i64,
    /// The other dims with their values.
    #[serde(serialize_with = "sizes")]
    #[schemars(with = "BTreeMap<String, i64>")]
    pub dims: Vec<(String, i64)>,
    /// Sizes at which the program is refused, and why at the first.
    pub refused: usize,
    pub refusal: Option<String>,
    pub figures: Vec<Figure>,
}

/// One figure over the range.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// A path as in `--metric`.
    pub figure: String,
    pub unit: Unit,
    pub is: Certainty,
    pub pieces: Vec<Piece>,
}

/// Sizes with one form, which was verified at each of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Piece {
    pub from: i64,
    pub to: i64,
    /// For people: `4096 ctx + 64 ceil(ctx / 64)`.
    pub text: String,
    pub period: i64,
    pub degree: u32,
    pub form: Form,
}

/// A function of the dim `n`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The sum of the terms.
    Terms(Vec<Term>),
    /// A polynomial for each residue class of `n` modulo the period.
    Classes(Vec<Class>),
    /// The values themselves, in order: no form was found.
    Values(Vec<Rational>),
}

/// `coefficient * n^power * ceil(n / divisor)^ceil_power`
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Term {
    pub coefficient: Rational,
    pub power: u32,
    pub divisor: i64,
    pub ceil_power: u32,
}

/// The residues `from..=to` have one polynomial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Class {
    pub from: i64,
    pub to: i64,
    /// Of 1, `n`, `n^2`, ..
    pub coefficients: Vec<Rational>,
}

/// Degrees and periods that are tried.
const DEGREES: u32 = 3;
const PERIODS: usize = 4096;

/// A stretch of a sequence that is quasi-polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    len: usize,
    period: usize,
    degree: u32,
}

/// The pieces of values at consecutive sizes from `from` on; where there is none, the piece ends.
pub fn pieces(dim: &str, from: i64, values: &[Option<i128>]) -> Vec<Piece> {
    let mut out: Vec<Piece> = vec![];
    let mut i = 0usize;
    let mut loose: Vec<i128> = vec![];
    while let Some(v) = values.get(i) {
        let at = from + i as i64;
        let Some(v) = v else {
            flush(&mut out, at, &mut loose);
            i += 1;
            continue;
        };
        let rest: Vec<i128> = values.iter().skip(i).map_while(|v| *v).collect();
        match longest(&rest) {
            Some(s) => {
                flush(&mut out, at, &mut loose);
                let part = rest.get(..s.len).unwrap_or_default();
                out.push(form::piece(dim, at, part, s.period, s.degree));
                i += s.len;
            }
            None => {
                loose.push(*v);
                i += 1;
            }
        }
    }
    flush(&mut out, from + i as i64, &mut loose);
    out
}

/// Ends a piece of listed values before `end`.
fn flush(out: &mut Vec<Piece>, end: i64, loose: &mut Vec<i128>) {
    if loose.is_empty() {
        return;
    }
    let shown: Vec<String> = loose.iter().take(4).map(i128::to_string).collect();
    let more = if loose.len() > 4 { ", .." } else { "" };
    out.push(Piece {
        from: end - loose.len() as i64,
        to: end - 1,
        text: format!("{}{more}", shown.join(", ")),
        period: 1,
        degree: 0,
        form: Form::Values(loose.drain(..).map(Rational::int).collect()),
    });
}

/// The longest stretch from the start on; of those, the one of the least period, then degree.
fn longest(v: &[i128]) -> Option<Stretch> {
    let mut best: Option<Stretch> = None;
    for period in 1..=PERIODS.min(v.len() / 2) {
        for degree in 0..=DEGREES {
            let least = period.saturating_mul(degree as usize + 2);
            if least > v.len() {
                break;
            }
            let len = reach(v, period, degree);
            if len >= least && best.is_none_or(|b| len > b.len) {
                best = Some(Stretch { len, period, degree });
            }
            if len == v.len() {
                return best;
            }
        }
    }
    best
}

/// How many values from the start on are quasi-polynomial.
fn reach(v: &[i128], period: usize, degree: u32) -> usize {
    let span = period * (degree as usize + 1);
    let zero = |x: usize| -> bool {
        let mut sum = Some(0i128);
        let mut choose = 1i128;
        for k in 0..=degree as usize + 1 {
            let term = v.get(x + k * period).and_then(|y| y.checked_mul(choose));
            sum = sum
                .zip(term)
                .and_then(|(s, t)| if k % 2 == 0 { s.checked_add(t) } else { s.checked_sub(t) });
            choose = choose * (i128::from(degree) + 1 - k as i128) / (k as i128 + 1);
        }
        sum == Some(0)
    };
    let windows = v.len().saturating_sub(span);
    let good = (0..windows).take_while(|x| zero(*x)).count();
    if good == 0 { 0 } else { span + good }
}

#[cfg(test)]
mod tests;

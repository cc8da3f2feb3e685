//! Holds a result to an expected one by a rule.

use serde::Deserialize;
use tilefoundry::check::measure::{ulps, violation};
use tilefoundry::check::predicate::Predicate;
use tilefoundry::types::value::Tensor;

/// What may differ. NaN agrees with NaN, an infinity with itself only, under every rule.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// Every bit but those of NaN: the zeros differ.
    Equal,
    /// At most so many representable values apart.
    Ulp { max: u64 },
    /// `abs(got - expected) <= atol + rtol * abs(expected)`; `why` derives the bound.
    Close { rtol: f64, atol: f64, why: String },
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub compared: u64,
    pub wrong: u64,
    /// Of the first wrong element: its index, what was got, what was expected.
    pub first: Option<(Vec<usize>, String, String)>,
    /// The most representable values between two elements that are both numbers.
    pub largest: u64,
}

/// Compares every element.
///
/// # Errors
/// The dtypes or shapes differ.
pub fn judge(rule: &Rule, got: &Tensor, expected: &Tensor) -> Result<Verdict, String> {
    let of = |t: &Tensor| format!("{}{:?}", t.dtype(), t.shape());
    if (got.dtype(), got.shape()) != (expected.dtype(), expected.shape()) {
        return Err(format!("got {}, expected {}", of(got), of(expected)));
    }
    let mut v = Verdict { compared: got.len() as u64, ..Verdict::default() };
    for i in 0..got.len() {
        v.largest = v.largest.max(distance(got, expected, i).unwrap_or(0));
        if !agrees(rule, got, expected, i) {
            v.wrong += 1;
            let at = || (unravel(i, got.shape()), show(got, i), show(expected, i));
            v.first.get_or_insert_with(at);
        }
    }
    Ok(v)
}

fn agrees(rule: &Rule, got: &Tensor, expected: &Tensor, i: usize) -> bool {
    if got.bits(i) == expected.bits(i) {
        return true;
    }
    if !got.dtype().is_float() {
        return match rule {
            Rule::Close { .. } => distance(got, expected, i) == Some(0),
            Rule::Equal | Rule::Ulp { .. } => false,
        };
    }
    let (a, b) = (got.get_f64(i), expected.get_f64(i));
    if a.is_nan() || b.is_nan() {
        return a.is_nan() && b.is_nan();
    }
    if a.is_infinite() || b.is_infinite() {
        return a == b;
    }
    match rule {
        Rule::Equal => false,
        Rule::Ulp { max } => distance(got, expected, i).is_some_and(|d| d <= *max),
        Rule::Close { rtol, atol, .. } => {
            violation(&Predicate::Allclose { rtol: *rtol, atol: *atol }, a, b) <= 0.0
        }
    }
}

/// Representable values between two numbers; `None` where one is NaN.
fn distance(got: &Tensor, expected: &Tensor, i: usize) -> Option<u64> {
    if got.dtype().is_float() {
        return ulps(got.dtype(), got.bits(i), expected.bits(i));
    }
    Some(got.get_i64(i).abs_diff(expected.get_i64(i)))
}

fn show(t: &Tensor, i: usize) -> String {
    let bits = format!("{:#0w$x}", t.bits(i), w = 2 + t.dtype().bits().div_ceil(4) as usize);
    match t.dtype().is_float() {
        true => format!("{:?} ({bits})", t.get_f64(i)),
        false => format!("{} ({bits})", t.get_i64(i)),
    }
}

fn unravel(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|d| {
            let k = at % d;
            at /= d;
            k
        })
        .collect();
    index.reverse();
    index
}

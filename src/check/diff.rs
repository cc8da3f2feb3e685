//! Where two tensors differ: the first and the worst element, and how faults lie over the axes.

use serde::Serialize;

use super::measure::{differs, ulps, violation};
use super::predicate::Predicate;
use crate::types::value::Tensor;

/// One element with both values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Element {
    pub index: Vec<usize>,
    /// NaN and infinities are text in JSON.
    #[serde(serialize_with = "number")]
    pub candidate: f64,
    #[serde(serialize_with = "optional")]
    pub reference: Option<f64>,
}

/// Which indices of one axis contain faults.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub axis: usize,
    pub extent: usize,
    /// How many indices contain a fault.
    pub touched: usize,
    /// In words: `all`, `128..=135`, `every 64th from 63`, `3, 9, 12, ..`
    pub indices: String,
}

/// The faulty elements of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Faults {
    pub count: u64,
    pub of: u64,
    pub first: Element,
    pub worst: Element,
    pub spread: Vec<Spread>,
}

/// Any number for JSON, which has no NaN.
pub fn number<S: serde::Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
    if x.is_finite() { s.serialize_f64(*x) } else { s.serialize_str(&x.to_string()) }
}

fn optional<S: serde::Serializer>(x: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match x {
        Some(x) => number(x, s),
        None => s.serialize_none(),
    }
}

/// The elements that a predicate faults, or all that differ where it judges a tensor as a whole.
/// `None` where there are none.
pub fn faults(p: &Predicate, c: &Tensor, r: Option<&Tensor>, nan_equal: bool) -> Option<Faults> {
    let shape = c.shape();
    let mut counts: Vec<Vec<bool>> = shape.iter().map(|d| vec![false; *d]).collect();
    let (mut count, mut first, mut worst) = (0u64, None, None);
    let mut far = f64::NEG_INFINITY;
    let mut index = vec![0usize; shape.len()];
    for i in 0..c.len() {
        let bad = badness(p, c, r, i, nan_equal);
        if bad > 0.0 {
            count += 1;
            first.get_or_insert(i);
            if bad > far {
                (far, worst) = (bad, Some(i));
            }
            for (seen, k) in counts.iter_mut().zip(&index) {
                if let Some(s) = seen.get_mut(*k) {
                    *s = true;
                }
            }
        }
        step(&mut index, shape);
    }
    let element = |i: usize| Element {
        index: unravel(i, shape),
        candidate: c.get_f64(i),
        reference: r.map(|r| r.get_f64(i)),
    };
    let spread = counts.iter().enumerate().map(|(axis, seen)| spread(axis, seen)).collect();
    Some(Faults {
        count,
        of: c.len() as u64,
        first: element(first?),
        worst: element(worst?),
        spread,
    })
}

/// Above 0 where an element is at fault, the more the worse.
fn badness(p: &Predicate, c: &Tensor, r: Option<&Tensor>, i: usize, nan_equal: bool) -> f64 {
    let Some(r) = r else { return violation(&Predicate::Finite, c.get_f64(i), 0.0) };
    if !differs(c, r, i, nan_equal) && *p != Predicate::Finite {
        return if nan_equal || !c.get_f64(i).is_nan() { 0.0 } else { f64::INFINITY };
    }
    let (a, b) = (c.get_f64(i), r.get_f64(i));
    match p {
        // integers beyond 2^53 may look equal as f64
        Predicate::Equal => violation(p, a, b).max(f64::MIN_POSITIVE),
        Predicate::Finite => violation(p, a, 0.0),
        Predicate::Ulp { max } => match ulps(c.dtype(), c.bits(i), r.bits(i)) {
            Some(d) => d as f64 - *max as f64,
            None => f64::INFINITY,
        },
        _ => violation(p, a, b),
    }
}

fn step(index: &mut [usize], shape: &[usize]) {
    for (k, d) in index.iter_mut().zip(shape).rev() {
        *k += 1;
        if *k < *d {
            return;
        }
        *k = 0;
    }
}

fn unravel(mut offset: usize, shape: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = shape
        .iter()
        .rev()
        .map(|d| {
            let d = (*d).max(1);
            let k = offset % d;
            offset /= d;
            k
        })
        .collect();
    out.reverse();
    out
}

fn spread(axis: usize, seen: &[bool]) -> Spread {
    let ids: Vec<usize> = (0..seen.len()).filter(|i| seen.get(*i) == Some(&true)).collect();
    Spread { axis, extent: seen.len(), touched: ids.len(), indices: words(&ids, seen.len()) }
}

/// The shortest true description of a set of indices.
fn words(ids: &[usize], extent: usize) -> String {
    let (Some(lo), Some(hi)) = (ids.first(), ids.last()) else { return "none".into() };
    if ids.len() == extent {
        return "all".into();
    }
    let mut runs: Vec<(usize, usize)> = vec![];
    for i in ids {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == *i => *end = *i,
            _ => runs.push((*i, *i)),
        }
    }
    let one = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}..={b}") };
    if let [run] = runs.as_slice() {
        let tail = if *hi + 1 == extent && lo != hi { " (the end)" } else { "" };
        return format!("{}{tail}", one(run));
    }
    // the same run again and again: a tile, a head, a column of each
    if let [a, b, ..] = runs.as_slice()
        && runs.len() > 2
    {
        let (period, len) = (b.0 - a.0, a.1 - a.0);
        let regular = runs.iter().enumerate().all(|(k, (x, y))| {
            *x == a.0 + k * period && (y - x == len || (k + 1 == runs.len() && y - x < len))
        });
        if regular {
            return format!("{} of every {period}", one(a));
        }
    }
    let shown: Vec<String> = runs.iter().take(4).map(one).collect();
    let more = if runs.len() > 4 { ", .." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::dtype::DType;

    #[test]
    fn sets_of_indices_are_described() {
        assert_eq!(words(&[0, 1, 2], 3), "all");
        assert_eq!(words(&[6, 7], 8), "6..=7 (the end)");
        assert_eq!(words(&[2], 8), "2");
        assert_eq!(words(&[1, 5, 9], 12), "1 of every 4");
        assert_eq!(words(&[0, 1, 4, 5, 8], 9), "0..=1 of every 4");
        assert_eq!(words(&[0, 3, 4, 9], 12), "0, 3..=4, 9");
        assert_eq!(words(&[0, 2, 5, 9, 14], 20), "0, 2, 5, 9, ..");
    }

    #[test]
    fn first_worst_and_spread() {
        let r = Tensor::zeros(DType::F32, vec![3, 4]);
        let mut v = vec![0.0; 12];
        (v[5], v[9]) = (0.5, -2.0);
        let c = Tensor::from_f64s(DType::F32, vec![3, 4], v);
        let f = faults(&Predicate::Equal, &c, Some(&r), false).unwrap();
        assert_eq!((f.count, f.of), (2, 12));
        assert_eq!((f.first.index.as_slice(), f.first.candidate), (&[1, 1][..], 0.5));
        assert_eq!((f.worst.index.as_slice(), f.worst.candidate), (&[2, 1][..], -2.0));
        assert_eq!(f.spread[0].indices, "1..=2 (the end)");
        assert_eq!((f.spread[1].touched, f.spread[1].indices.as_str()), (1, "1"));
        let loose = Predicate::MaxAbs { max: 1.0 };
        assert_eq!(faults(&loose, &c, Some(&r), false).unwrap().count, 1);
        assert_eq!(faults(&Predicate::MaxAbs { max: 2.0 }, &c, Some(&r), false), None);
    }

    #[test]
    fn large_integers_differ() {
        let one = |x: i64| Tensor::from_i64s(DType::I64, vec![1], vec![x]);
        let f = faults(&Predicate::Equal, &one(i64::MAX), Some(&one(i64::MAX - 1)), false);
        assert_eq!(f.unwrap().count, 1);
    }
}

//! A quasi-polynomial piece in its shortest form that gives every value.

use super::rational::{Rational, solve};
use super::{Class, Form, Piece, Term};

/// The piece of values that start at `from`; they have this period and degree.
pub(super) fn piece(dim: &str, from: i64, v: &[i128], period: usize, degree: u32) -> Piece {
    let p = i64::try_from(period).unwrap_or(1).max(1);
    let form = terms(from, v, p, degree)
        .map(Form::Terms)
        .or_else(|| classes(from, v, p, degree).map(Form::Classes))
        .unwrap_or_else(|| Form::Values(v.iter().map(|x| Rational::int(*x)).collect()));
    let to = from + v.len() as i64 - 1;
    let text = show(dim, &form, p);
    Piece { from, to, text, period: p, degree, form }
}

/// One basis function: `n^power * ceil(n / divisor)^ceil_power`.
type Basis = (u32, i64, u32);

fn terms(from: i64, v: &[i128], p: i64, degree: u32) -> Option<Vec<Term>> {
    if p == 1 {
        return fit(from, v, &(0..=degree).map(|k| (k, 1, 0)).collect::<Vec<_>>());
    }
    let divisors: Vec<i64> = (2..=p).filter(|d| p % d == 0).collect();
    if degree <= 1 {
        for d in &divisors {
            if let Some(t) = fit(from, v, &[(0, 1, 0), (1, 1, 0), (0, *d, 1)]) {
                return Some(t);
            }
        }
        for (i, a) in divisors.iter().enumerate() {
            for b in divisors.iter().skip(i + 1) {
                let basis = [(0, 1, 0), (1, 1, 0), (0, *a, 1), (0, *b, 1)];
                if let Some(t) = fit(from, v, &basis) {
                    return Some(t);
                }
            }
        }
        return None;
    }
    divisors.iter().find_map(|d| {
        let all = (0..=degree).flat_map(|a| (0..=degree - a).map(move |b| (a, *d, b)));
        fit(from, v, &all.collect::<Vec<_>>())
    })
}

fn value((a, d, b): Basis, n: i64) -> Option<i128> {
    let ceil = n.checked_add(d - 1)?.div_euclid(d);
    i128::from(n).checked_pow(a)?.checked_mul(i128::from(ceil).checked_pow(b)?)
}

/// Coefficients of a basis, where they give every value; those of zero are left out.
fn fit(from: i64, v: &[i128], basis: &[Basis]) -> Option<Vec<Term>> {
    let row = |i: usize| -> Option<Vec<Rational>> {
        let n = from.checked_add(i as i64)?;
        let mut row: Vec<Rational> =
            basis.iter().map(|b| value(*b, n).map(Rational::int)).collect::<Option<_>>()?;
        row.push(Rational::int(*v.get(i)?));
        Some(row)
    };
    let x = solve(independent(&row, basis.len(), v.len())?)?;
    let holds = (0..v.len()).all(|i| {
        let Some(row) = row(i) else { return false };
        let sum = row.iter().zip(&x).try_fold(Rational::ZERO, |s, (b, c)| s.plus(b.times(*c)?));
        sum == row.last().copied()
    });
    let term = |((power, divisor, ceil_power), coefficient): (&Basis, &Rational)| Term {
        coefficient: *coefficient,
        power: *power,
        divisor: *divisor,
        ceil_power: *ceil_power,
    };
    holds.then(|| basis.iter().zip(&x).map(term).filter(|t| !t.coefficient.is_zero()).collect())
}

/// Rows of sizes at which the basis is independent: as many as it has functions.
fn independent(
    row: &dyn Fn(usize) -> Option<Vec<Rational>>,
    count: usize,
    len: usize,
) -> Option<Vec<Vec<Rational>>> {
    let mut kept: Vec<Vec<Rational>> = vec![];
    let mut reduced: Vec<(usize, Vec<Rational>)> = vec![];
    for i in 0..len {
        let full = row(i)?;
        let mut r: Vec<Rational> = full.iter().take(count).copied().collect();
        for (lead, by) in &reduced {
            let factor = r.get(*lead)?.over(*by.get(*lead)?)?;
            for (x, b) in r.iter_mut().zip(by) {
                *x = x.minus(factor.times(*b)?)?;
            }
        }
        if let Some(lead) = r.iter().position(|x| !x.is_zero()) {
            reduced.push((lead, r));
            kept.push(full);
        }
        if kept.len() == count {
            return Some(kept);
        }
    }
    None
}

/// A polynomial for each class, neighbours with the same one together.
fn classes(from: i64, v: &[i128], p: i64, degree: u32) -> Option<Vec<Class>> {
    let mut out: Vec<Class> = vec![];
    for r in 0..p {
        let first = (r - from).rem_euclid(p);
        let step = usize::try_from(p).ok()?;
        let here: Vec<i128> =
            v.iter().skip(usize::try_from(first).ok()?).step_by(step).copied().collect();
        let coefficients = class(from + first, p, &here, degree)?;
        match out.last_mut().filter(|c| c.coefficients == coefficients) {
            Some(c) => c.to = r,
            None => out.push(Class { from: r, to: r, coefficients }),
        }
    }
    Some(out)
}

/// The polynomial in `n` through values at `first`, `first + p`, .., checked at each of them.
fn class(first: i64, p: i64, v: &[i128], degree: u32) -> Option<Vec<Rational>> {
    let row = |(k, y): (i64, &i128)| -> Option<Vec<Rational>> {
        let n = first.checked_add(k.checked_mul(p)?)?;
        let mut row: Vec<Rational> = (0..=degree)
            .map(|d| i128::from(n).checked_pow(d).map(Rational::int))
            .collect::<Option<_>>()?;
        row.push(Rational::int(*y));
        Some(row)
    };
    let rows: Vec<Vec<Rational>> = (0..).zip(v).map(row).collect::<Option<_>>()?;
    let x = solve(rows.get(..=degree as usize)?.to_vec())?;
    let holds = rows.iter().all(|row| {
        let sum = row.iter().zip(&x).try_fold(Rational::ZERO, |s, (b, c)| s.plus(b.times(*c)?));
        sum == row.last().copied()
    });
    holds.then_some(x)
}

fn show(dim: &str, form: &Form, p: i64) -> String {
    match form {
        Form::Terms(t) => sum(t.iter().rev().map(|t| (t.coefficient, name(dim, t)))),
        Form::Classes(c) => {
            let poly = |c: &Class| {
                let powers: Vec<(u32, &Rational)> = (0u32..).zip(&c.coefficients).collect();
                sum(powers.into_iter().rev().map(|(k, x)| (*x, power(dim, k))))
            };
            let cases: Vec<String> = c
                .iter()
                .take(3)
                .map(|c| match c.from == c.to {
                    true => format!("{} where {dim} mod {p} = {}", poly(c), c.from),
                    false => format!("{} where {dim} mod {p} in {}..={}", poly(c), c.from, c.to),
                })
                .collect();
            let more = c.len().saturating_sub(3);
            let more =
                if more > 0 { format!("; {more} more classes: --json") } else { String::new() };
            format!("{}{more}", cases.join("; "))
        }
        Form::Values(v) => {
            let few: Vec<String> = v.iter().take(4).map(Rational::to_string).collect();
            few.join(", ")
        }
    }
}

fn power(name: &str, k: u32) -> String {
    match k {
        0 => String::new(),
        1 => name.to_string(),
        k => format!("{name}^{k}"),
    }
}

fn name(dim: &str, t: &Term) -> String {
    let ceil = match t.ceil_power {
        0 => String::new(),
        k => power(&format!("ceil({dim} / {})", t.divisor), k),
    };
    format!("{} {ceil}", power(dim, t.power)).trim().to_string()
}

/// `4096 ctx - 3`; terms of zero are left out.
fn sum(terms: impl Iterator<Item = (Rational, String)>) -> String {
    let mut out = String::new();
    for (c, name) in terms.filter(|(c, _)| !c.is_zero()) {
        let sign = match (out.is_empty(), c.num < 0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        let size = Rational { num: c.num.saturating_abs(), den: c.den };
        let text = match name.is_empty() {
            true => size.to_string(),
            false if size == Rational::int(1) => name,
            false => format!("{size} {name}"),
        };
        out.push_str(&format!("{sign}{text}"));
    }
    if out.is_empty() { "0".into() } else { out }
}

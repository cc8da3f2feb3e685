//! Signed quotients in 128 bits; what does not fit is none.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// `num / den`, reduced, `den` positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rational {
    pub num: i128,
    pub den: i128,
}

impl Rational {
    pub const ZERO: Rational = Rational { num: 0, den: 1 };

    pub fn int(num: i128) -> Rational {
        Rational { num, den: 1 }
    }

    pub fn new(num: i128, den: i128) -> Option<Rational> {
        let (mut a, mut b) = (num.checked_abs()?, den.checked_abs()?);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        if den == 0 || a == 0 {
            return (den != 0).then_some(Rational::ZERO);
        }
        let sign = den.signum();
        Some(Rational { num: sign * (num / a), den: (den / a).abs() })
    }

    pub fn plus(self, o: Rational) -> Option<Rational> {
        let a = self.num.checked_mul(o.den)?;
        let b = o.num.checked_mul(self.den)?;
        Rational::new(a.checked_add(b)?, self.den.checked_mul(o.den)?)
    }

    pub fn minus(self, o: Rational) -> Option<Rational> {
        self.plus(Rational { num: o.num.checked_neg()?, den: o.den })
    }

    pub fn times(self, o: Rational) -> Option<Rational> {
        Rational::new(self.num.checked_mul(o.num)?, self.den.checked_mul(o.den)?)
    }

    pub fn over(self, o: Rational) -> Option<Rational> {
        Rational::new(self.num.checked_mul(o.den)?, self.den.checked_mul(o.num)?)
    }

    pub fn is_zero(self) -> bool {
        self.num == 0
    }
}

impl std::fmt::Display for Rational {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.den {
            1 => write!(f, "{}", self.num),
            d => write!(f, "{}/{d}", self.num),
        }
    }
}

/// An integer if it is one that fits 64 bits, otherwise its text.
impl Serialize for Rational {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.num) {
            Ok(n) if self.den == 1 => s.serialize_i64(n),
            _ => s.serialize_str(&self.to_string()),
        }
    }
}

impl JsonSchema for Rational {
    fn schema_name() -> Cow<'static, str> {
        "Rational".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "An integer, or `num/den` in lowest terms.",
            "anyOf": [
                { "type": "integer" },
                { "type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$" }
            ]
        })
    }
}

/// The solution of a square system, each row with its right side last; none where it has not one.
pub(super) fn solve(mut rows: Vec<Vec<Rational>>) -> Option<Vec<Rational>> {
    let n = rows.len();
    for i in 0..n {
        let pivot = (i..n).find(|r| !at(&rows, *r, i).is_zero())?;
        rows.swap(i, pivot);
        let lead = rows.get(i)?.clone();
        let by = *lead.get(i)?;
        for r in (0..n).filter(|r| *r != i) {
            let factor = at(&rows, r, i).over(by)?;
            if factor.is_zero() {
                continue;
            }
            for (x, l) in rows.get_mut(r)?.iter_mut().zip(&lead) {
                *x = x.minus(factor.times(*l)?)?;
            }
        }
    }
    (0..n).map(|i| at(&rows, i, n).over(at(&rows, i, i))).collect()
}

fn at(rows: &[Vec<Rational>], r: usize, c: usize) -> Rational {
    rows.get(r).and_then(|r| r.get(c)).copied().unwrap_or(Rational::ZERO)
}

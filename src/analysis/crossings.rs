//! Where the curves of two programs over a dim cross.
//!
//! Both figures are known at every size, so that a crossing is exact: between `last` and `first`
//! no size is left out. Where a program is refused or does not fit, it has no curve.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::{Metric, Unit};
use super::record::{Analysis, Certainty, Ratio};

/// The version of the record below.
pub const SCHEMA: &str = "tilefoundry.crossings/1";

/// One figure of one program at one size, or why it has none there.
pub type Side = Result<Metric, String>;

/// The curves of `program` and `against` over a dim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossings {
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    pub program: String,
    pub against: String,
    pub dim: String,
    /// A path as in `--metric`.
    pub metric: String,
    pub unit: Option<Unit>,
    /// How many sizes were computed for each program.
    pub sizes: usize,
    /// All sizes in runs on which the same program is ahead.
    pub runs: Vec<Run>,
    /// Where the program that is ahead changes.
    pub crossings: Vec<Crossing>,
}

/// Which curve is lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lower {
    This,
    Against,
    Equal,
    /// The other has no curve here.
    OnlyThis,
    OnlyAgainst,
    Neither,
}

/// Consecutive sizes with one answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Run {
    pub from: i64,
    pub to: i64,
    pub lower: Lower,
    pub is: Certainty,
    /// Why a program has no curve at `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A change of the lower curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossing {
    /// The last size at which the one before is lower; sizes between it and `first`, if any, are
    /// equal.
    pub last: i64,
    /// The first size at which the other one is.
    pub first: i64,
    pub lower_before: Lower,
    pub lower_after: Lower,
    /// Both figures at `last`.
    pub this_last: Ratio,
    pub against_last: Ratio,
    /// Both figures at `first`.
    pub this_first: Ratio,
    pub against_first: Ratio,
}

/// The figure of an analysis, where the program fits.
pub fn side(found: Result<&Analysis, String>, metric: &str) -> Side {
    let a = found?;
    if let Some(p) = a.capacity.iter().find(|p| p.exceeded) {
        return Err(format!("{} of a {} exceeded", p.storage, p.owner));
    }
    if a.launches.iter().any(|l| l.stuck()) {
        return Err("a grid with a barrier is not resident".into());
    }
    a.metric(metric).ok_or_else(|| format!("no figure `{metric}`"))
}

fn lower(this: &Side, against: &Side) -> (Lower, Certainty) {
    match (this, against) {
        (Ok(t), Ok(a)) => (
            match t.value.cmp(&a.value) {
                Ordering::Less => Lower::This,
                Ordering::Greater => Lower::Against,
                Ordering::Equal => Lower::Equal,
            },
            t.is.and(a.is),
        ),
        (Ok(t), Err(_)) => (Lower::OnlyThis, t.is),
        (Err(_), Ok(a)) => (Lower::OnlyAgainst, a.is),
        (Err(_), Err(_)) => (Lower::Neither, Certainty::Exact),
    }
}

/// Runs and crossings of figures at ascending sizes.
pub fn find(points: &[(i64, Side, Side)]) -> (Vec<Run>, Vec<Crossing>) {
    let mut runs: Vec<Run> = vec![];
    let mut crossings = vec![];
    let mut ahead: Option<(Lower, i64, Ratio, Ratio)> = None;
    for (at, this, against) in points {
        let (lower, is) = lower(this, against);
        let why = this.as_ref().err().or(against.as_ref().err()).cloned();
        match runs.last_mut() {
            Some(r) if (r.lower, &r.why) == (lower, &why) => {
                r.to = *at;
                r.is = r.is.and(is);
            }
            _ => runs.push(Run { from: *at, to: *at, lower, is, why }),
        }
        match (this, against) {
            (Ok(t), Ok(a)) if lower != Lower::Equal => {
                if let Some((before, last, this_last, against_last)) = ahead
                    && before != lower
                {
                    crossings.push(Crossing {
                        last,
                        first: *at,
                        lower_before: before,
                        lower_after: lower,
                        this_last,
                        against_last,
                        this_first: t.value,
                        against_first: a.value,
                    });
                }
                ahead = Some((lower, *at, t.value, a.value));
            }
            (Ok(_), Ok(_)) => {}
            // a curve that ends crosses nothing
            _ => ahead = None,
        }
    }
    (runs, crossings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(n: Option<u8>) -> Side {
        let value =
            |n| Metric { value: Ratio::new(n, 3), unit: Unit::Picoseconds, is: Certainty::Exact };
        n.map(|n| value(u128::from(n))).ok_or_else(|| "refused".to_string())
    }

    proptest! {
        /// Every size stands in one run that says what its two figures say, neighbours differ, and
        /// a crossing is where the signs before and after are opposite with only zeros between.
        #[test]
        fn runs_and_crossings_say_what_the_sizes_say(
            pairs in proptest::collection::vec(
                (proptest::option::weighted(0.9, 0u8..4), proptest::option::weighted(0.9, 0u8..4)),
                0..60,
            ),
        ) {
            let points: Vec<(i64, Side, Side)> =
                (5i64..).zip(&pairs).map(|(i, (x, y))| (i, at(*x), at(*y))).collect();
            let (runs, crossings) = find(&points);
            let mut covered = vec![];
            for r in &runs {
                for i in r.from..=r.to {
                    let (x, y) = pairs[usize::try_from(i - 5).unwrap()];
                    let same = match r.lower {
                        Lower::This => x.zip(y).is_some_and(|(x, y)| x < y),
                        Lower::Against => x.zip(y).is_some_and(|(x, y)| x > y),
                        Lower::Equal => x.is_some() && x == y,
                        Lower::OnlyThis => x.is_some() && y.is_none(),
                        Lower::OnlyAgainst => x.is_none() && y.is_some(),
                        Lower::Neither => x.is_none() && y.is_none(),
                    };
                    prop_assert!(same, "{i}");
                    covered.push(i);
                }
            }
            prop_assert_eq!(covered, (5..5 + pairs.len() as i64).collect::<Vec<_>>());
            prop_assert!(runs.windows(2).all(|w| w[0].lower != w[1].lower));
            let sign = |i: i64| {
                let (x, y) = pairs[usize::try_from(i - 5).unwrap()];
                x.zip(y).map(|(x, y)| (i16::from(x) - i16::from(y)).signum())
            };
            let mut expected = vec![];
            for i in 5..5 + pairs.len() as i64 {
                for j in i + 1..5 + pairs.len() as i64 {
                    let opposite = sign(i).zip(sign(j)).is_some_and(|(a, b)| a * b == -1);
                    if opposite && (i + 1..j).all(|k| sign(k) == Some(0)) {
                        expected.push((i, j));
                    }
                }
            }
            let found: Vec<(i64, i64)> = crossings.iter().map(|c| (c.last, c.first)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

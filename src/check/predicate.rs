//! What can be asked of an output.

use std::fmt;

use serde::Serialize;

use super::complaint;
use crate::diag::{Code, Diagnostic, did_you_mean};

/// A condition on a candidate, most with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "fn", rename_all = "snake_case")]
pub enum Predicate {
    /// No element differs.
    Equal,
    /// `max(abs(c - r) - (atol + rtol * abs(r))) <= 0`
    Allclose { atol: f64, rtol: f64 },
    /// `norm(c - r) / norm(r) <= max`
    RelL2 { max: f64 },
    /// `c.r / (norm(c) norm(r)) >= min`
    Cosine { min: f64 },
    /// The largest absolute difference is at most `max`.
    MaxAbs { max: f64 },
    /// The largest relative difference is at most `max`.
    MaxRel { max: f64 },
    /// No two elements are more than `max` representable values of the dtype apart.
    Ulp { max: u64 },
    /// No NaN and no infinity in the candidate.
    Finite,
    /// In every row along the axis (negative counts from the end), at least this share of the
    /// indices of the k largest are common.
    Topk { k: usize, min_overlap: f64, axis: i64 },
    /// The candidate's `rel_l2` to the f64 truth is at most `slack` times the reference's.
    NoWorse { slack: f64 },
}

/// Options of a predicate, as a command line gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Args {
    pub atol: Option<f64>,
    pub rtol: Option<f64>,
    pub max: Option<f64>,
    pub min: Option<f64>,
    pub k: Option<usize>,
    pub min_overlap: Option<f64>,
    pub axis: Option<i64>,
    pub slack: Option<f64>,
}

/// Every predicate's name with the options it takes.
pub const PREDICATES: &[(&str, &[&str])] = &[
    ("equal", &[]),
    ("allclose", &["atol", "rtol"]),
    ("rel_l2", &["max"]),
    ("cosine", &["min"]),
    ("max_abs", &["max"]),
    ("max_rel", &["max"]),
    ("ulp", &["max"]),
    ("finite", &[]),
    ("topk", &["k", "min-overlap"]),
    ("no_worse", &["slack"]),
];

fn bad(text: impl Into<String>) -> Box<Diagnostic> {
    Box::new(complaint(Code::BadPredicate, text))
}

impl Args {
    fn given(&self) -> Vec<&'static str> {
        [
            ("atol", self.atol.is_some()),
            ("rtol", self.rtol.is_some()),
            ("max", self.max.is_some()),
            ("min", self.min.is_some()),
            ("k", self.k.is_some()),
            ("min-overlap", self.min_overlap.is_some()),
            ("axis", self.axis.is_some()),
            ("slack", self.slack.is_some()),
        ]
        .into_iter()
        .filter(|(_, g)| *g)
        .map(|(n, _)| n)
        .collect()
    }
}

impl Predicate {
    /// From a name and options. Every option that the predicate has must be given.
    ///
    /// # Errors
    /// An unknown name, a missing or foreign option, a bound that is negative or no number.
    pub fn new(name: &str, args: &Args) -> Result<Predicate, Box<Diagnostic>> {
        let Some((_, takes)) = PREDICATES.iter().find(|(n, _)| *n == name) else {
            let names = PREDICATES.iter().map(|(n, _)| *n);
            let mut d = complaint(Code::BadPredicate, format!("there is no predicate `{name}`"));
            d.help = Some(match did_you_mean(name, names.clone()) {
                Some(n) => format!("did you mean `{n}`?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            });
            return Err(Box::new(d));
        };
        let foreign = |o: &&str| !(takes.contains(o) || name == "topk" && *o == "axis");
        if let Some(o) = args.given().iter().find(|o| foreign(o)) {
            return Err(bad(format!("`{name}` takes no `--{o}`")));
        }
        let need = |v: Option<f64>, option: &str| match v {
            None => Err(bad(format!("`{name}` needs `--{option}`"))),
            Some(v) if !v.is_finite() => Err(bad(format!("`--{option} {v}` is not finite"))),
            Some(v) => Ok(v),
        };
        let bound = |v: Option<f64>, option: &str| match need(v, option)? {
            v if v < 0.0 => Err(bad(format!("`--{option} {v}` is negative"))),
            v => Ok(v),
        };
        Ok(match name {
            "equal" => Predicate::Equal,
            "allclose" => Predicate::Allclose {
                atol: bound(args.atol, "atol")?,
                rtol: bound(args.rtol, "rtol")?,
            },
            "rel_l2" => Predicate::RelL2 { max: bound(args.max, "max")? },
            "cosine" => Predicate::Cosine { min: need(args.min, "min")? },
            "max_abs" => Predicate::MaxAbs { max: bound(args.max, "max")? },
            "max_rel" => Predicate::MaxRel { max: bound(args.max, "max")? },
            "ulp" => match bound(args.max, "max")? {
                m if m.fract() == 0.0 && m < 2f64.powi(63) => Predicate::Ulp { max: m as u64 },
                m => return Err(bad(format!("`--max {m}` of `ulp` is no whole number"))),
            },
            "finite" => Predicate::Finite,
            "topk" => Predicate::Topk {
                k: match args.k {
                    Some(k) if k > 0 => k,
                    Some(_) => return Err(bad("`--k` is at least 1")),
                    None => return Err(bad("`topk` needs `--k`")),
                },
                min_overlap: bound(args.min_overlap, "min-overlap")?,
                axis: args.axis.unwrap_or(-1),
            },
            _ => Predicate::NoWorse { slack: bound(args.slack, "slack")? },
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Predicate::Equal => "equal",
            Predicate::Allclose { .. } => "allclose",
            Predicate::RelL2 { .. } => "rel_l2",
            Predicate::Cosine { .. } => "cosine",
            Predicate::MaxAbs { .. } => "max_abs",
            Predicate::MaxRel { .. } => "max_rel",
            Predicate::Ulp { .. } => "ulp",
            Predicate::Finite => "finite",
            Predicate::Topk { .. } => "topk",
            Predicate::NoWorse { .. } => "no_worse",
        }
    }

    /// Whether it looks at a reference.
    pub fn needs_reference(&self) -> bool {
        *self != Predicate::Finite
    }

    /// Whether it may judge integers and bools. They are finite always, so that a program with such
    /// an output can be run without a reference.
    pub fn takes_integers(&self) -> bool {
        matches!(self, Predicate::Equal | Predicate::Finite)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Predicate::Equal | Predicate::Finite => Ok(()),
            Predicate::Allclose { atol, rtol } => write!(f, "(atol {atol:e}, rtol {rtol:e})"),
            Predicate::RelL2 { max } | Predicate::MaxAbs { max } | Predicate::MaxRel { max } => {
                write!(f, "(max {max:e})")
            }
            Predicate::Cosine { min } => write!(f, "(min {min})"),
            Predicate::Ulp { max } => write!(f, "(max {max})"),
            Predicate::Topk { k, min_overlap, axis } => {
                write!(f, "(k {k}, min overlap {min_overlap}, axis {axis})")
            }
            Predicate::NoWorse { slack } => write!(f, "(slack {slack})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_complete_and_nothing_is_assumed() {
        let a = Args { atol: Some(1e-3), ..Args::default() };
        let d = Predicate::new("allclose", &a).unwrap_err();
        assert_eq!((d.code, d.message.as_str()), (Code::BadPredicate, "`allclose` needs `--rtol`"));
        assert!(Predicate::new("equal", &a).unwrap_err().message.contains("takes no `--atol`"));
        let d = Predicate::new("allclos", &a).unwrap_err();
        assert_eq!(d.help.as_deref(), Some("did you mean `allclose`?"));
        let neg = Args { max: Some(-1.0), ..Args::default() };
        assert!(Predicate::new("rel_l2", &neg).is_err());
        let nan = Args { max: Some(f64::NAN), ..Args::default() };
        assert!(Predicate::new("max_abs", &nan).is_err());
        let ok = Args { max: Some(2.0), ..Args::default() };
        assert_eq!(Predicate::new("ulp", &ok).unwrap(), Predicate::Ulp { max: 2 });
        for (name, takes) in PREDICATES {
            let p = Predicate::new(name, &Args::default());
            assert_eq!(p.is_ok(), takes.is_empty(), "{name}");
        }
    }
}

//! A split that a reshape can pass on, where the one at hand cannot be.

use super::split::tidy;
use crate::ops::facts::Domain;
use crate::types::dim::Expr;
use crate::types::placement::{AxisSplit, Factor};

/// A split over the same mesh axes, in their order, of which each falls into one of the new axes.
pub(super) fn fitting(split: &AxisSplit, list: &[usize], domain: &Domain) -> Option<AxisSplit> {
    let extent = |d: &usize| domain.dims.get(*d).map(|d| d.extent.clone());
    let mut left: Vec<Expr> = list.iter().map(extent).collect::<Option<_>>()?;
    let mut of: Vec<Vec<Factor>> = vec![vec![]; left.len()];
    // the minor ones first, each as far behind as it fits
    let mut last = left.len().checked_sub(1)?;
    for f in split.factors.iter().rev().filter(|f| f.axis.is_some()) {
        let found = (0..=last).rev().find_map(|d| Some((d, left.get(d)?.exact_div(&f.extent)?)));
        let (d, rest) = found?;
        *left.get_mut(d)? = rest;
        of.get_mut(d)?.insert(0, f.clone());
        last = d;
    }
    let mut factors = vec![];
    let n = left.len();
    for (d, (rest, mine)) in left.into_iter().zip(of).enumerate() {
        let rest = Factor { extent: rest, axis: None };
        // neighbours stay with one position
        match d + 1 == n {
            true => factors.extend(mine.into_iter().chain([rest])),
            false => factors.extend([rest].into_iter().chain(mine)),
        }
    }
    Some(AxisSplit { factors: tidy(factors), padded: false })
}

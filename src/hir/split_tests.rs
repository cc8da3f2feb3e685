//! How splits merge and pass through a reshape.

use super::*;
use crate::ops::facts::DomDim;

fn f(extent: i64, axis: Option<u32>) -> Factor {
    Factor { extent: Expr::int(extent), axis: axis.map(AxisId) }
}

fn split(factors: Vec<Factor>) -> DimSplit {
    DimSplit { factors, padded: false, from: None }
}

fn merged(a: Vec<Factor>, b: Vec<Factor>) -> Option<Vec<Factor>> {
    merge(&split(a), &split(b)).map(|m| m.factors)
}

#[test]
fn splits_merge_by_refinement() {
    // 4096 = 8 @ g, 512 meets 4096 = 8, 16, 32 @ t
    assert_eq!(
        merged(vec![f(8, Some(0)), f(512, None)], vec![f(128, None), f(32, Some(1))]),
        Some(vec![f(8, Some(0)), f(16, None), f(32, Some(1))])
    );
    // the same axis on the same factor agrees
    let s = vec![f(4, Some(0)), f(2, None)];
    assert_eq!(merged(s.clone(), s.clone()), Some(s));
    // two axes on one factor, or one axis at two places, do not
    assert_eq!(merged(vec![f(8, Some(0))], vec![f(8, Some(1))]), None);
    assert_eq!(merged(vec![f(4, Some(0)), f(2, None)], vec![f(2, None), f(4, Some(0))]), None);
    // a split factor that only partly meets another split one
    assert_eq!(merged(vec![f(8, Some(0))], vec![f(4, Some(1)), f(2, None)]), None);
    // extents that have no common refinement
    assert_eq!(merged(vec![f(2, Some(0)), f(3, None)], vec![f(3, Some(1)), f(2, None)]), None);
}

#[test]
fn a_reshape_ends_at_factors() {
    // 7168 = (7, 8 @ w, 32 @ l, 4) as [56, 128]
    let domain = Domain {
        dims: vec![DomDim::parallel(56.into()), DomDim::parallel(128.into())],
        reads: vec![],
        writes: vec![],
        exact: true,
    };
    let s = AxisSplit {
        factors: vec![f(7, None), f(8, Some(0)), f(32, Some(1)), f(4, None)],
        padded: false,
    };
    let parts = distribute(&s, &[0, 1], &domain).unwrap();
    assert_eq!(parts[0].1.factors, vec![f(7, None), f(8, Some(0))]);
    assert_eq!(parts[1].1.factors, vec![f(32, Some(1)), f(4, None)]);
    // an unsplit factor may be cut, a split one may not
    let cut = AxisSplit { factors: vec![f(112, None), f(64, Some(0))], padded: false };
    assert!(distribute(&cut, &[0, 1], &domain).is_some());
    let bad = AxisSplit { factors: vec![f(28, None), f(256, Some(0))], padded: false };
    assert!(distribute(&bad, &[0, 1], &domain).is_none());
}

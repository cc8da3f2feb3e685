//! Sets of mesh axes, as sorted vectors: they are tiny.

use crate::types::placement::AxisId;

pub(super) type Axes = Vec<AxisId>;

/// Adds `b` to `a` and says whether `a` grew.
pub(super) fn add(a: &mut Axes, b: &[AxisId]) -> bool {
    let before = a.len();
    for x in b {
        if let Err(i) = a.binary_search(x) {
            a.insert(i, *x);
        }
    }
    a.len() > before
}

pub(super) fn union(a: &[AxisId], b: &[AxisId]) -> Axes {
    let mut out = a.to_vec();
    add(&mut out, b);
    out
}

pub(super) fn minus(a: &[AxisId], b: &[AxisId]) -> Axes {
    a.iter().copied().filter(|x| b.binary_search(x).is_err()).collect()
}

pub(super) fn common(a: &[AxisId], b: &[AxisId]) -> Axes {
    a.iter().copied().filter(|x| b.binary_search(x).is_ok()).collect()
}

pub(super) fn subset(a: &[AxisId], b: &[AxisId]) -> bool {
    a.iter().all(|x| b.binary_search(x).is_ok())
}

//! Dtypes, symbolic extents, placements and types.

pub mod dim;
pub mod dtype;
pub mod num;
pub mod placement;
pub mod ty;

//! Dtypes, symbolic extents, placements and types.

pub mod dim;
pub mod dtype;

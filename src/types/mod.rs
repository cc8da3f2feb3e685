//! Dtypes, symbolic extents, placements and types.

pub mod dtype;

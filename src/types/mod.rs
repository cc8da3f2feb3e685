//! Dtypes, symbolic extents, placements and types.

mod block;
mod cast;
pub mod convert;
pub mod dtype;
pub mod value;

//! Dtypes, symbolic extents, placements, types and tensors.

mod block;
pub mod canvas;
mod cast;
pub mod convert;
pub mod dim;
pub mod dtype;
pub mod num;
pub mod placement;
pub mod ty;
pub mod value;

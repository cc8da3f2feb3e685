//! Dtypes, symbolic extents, placements, types and tensors.

mod block;
pub mod canvas;
mod cast;
pub mod convert;
pub(crate) mod data;
pub mod dim;
pub mod dtype;
#[cfg(target_arch = "x86_64")]
mod f16_unit;
pub mod num;
pub mod placement;
mod pool;
pub mod ty;
pub mod value;

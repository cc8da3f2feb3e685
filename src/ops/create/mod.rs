//! Ops that make a value from attributes alone.

pub mod arange;
pub mod causal_mask;
pub mod empty;
pub mod eye;
pub mod full;
pub mod full_like;
mod mask;
pub mod ones;
pub mod tril_mask;
mod typed;
pub mod window_valid;
pub mod zeros;

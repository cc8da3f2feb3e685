//! Ops that move values between storages and positions.

pub mod collect;
pub mod complete;
pub mod local;
pub mod reshard;

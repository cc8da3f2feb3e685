//! Ops that multiply and add over shared axes.

mod spec;

pub mod conv1d;
pub mod einsum;
pub mod grouped_matmul;
pub mod matmul;

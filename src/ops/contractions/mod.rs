//! Ops that multiply and add over shared axes.

mod spec;

pub mod einsum;
pub mod matmul;

//! Ops that multiply and add over shared axes.

mod conv;
mod spec;
mod unroll;

pub mod conv1d;
pub mod conv2d;
pub mod einsum;
pub mod grouped_matmul;
pub mod matmul;

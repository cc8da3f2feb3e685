//! Ops that combine the elements along axes.

mod arg;

pub mod abs_max;
pub mod all;
pub mod any;
pub mod argmax;
pub mod argmin;
pub mod cumsum;
pub mod logsumexp;
pub mod max;
pub mod mean;
pub mod min;
pub mod prod;
pub mod sum;

//! TileFoundry reads `.tf` programs and answers questions about them.
//!
//! Data flows down this list, and a module uses only those above it.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod base;

pub mod diag;

pub mod syntax;

pub mod target;

pub mod types;

pub mod tensorio;

pub mod ops;

pub mod analysis;
pub mod graph;

pub mod check;
pub mod eval;
pub mod hir;

pub mod session;

pub mod twin;

pub mod book;

pub mod cli;

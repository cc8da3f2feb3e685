//! Graphs built by hand from ops of the test's own, so that nothing here depends on the registry.

mod brute;
mod build;
mod parity;
mod predict;
mod verdict;

//! Tests of the ops, called through the trait on concrete tensors.

mod audit;
mod bits;
mod contractions;
mod convolutions;
mod domains;
mod elementwise;
mod examples;
mod indexing;
mod infer;
mod placement;
mod reductions;
mod run;
mod shape;

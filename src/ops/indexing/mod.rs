//! Ops that read or write through integer tensors.

mod order;
mod through;

pub mod bincount;
pub mod cache_update;
pub mod embedding;
pub mod gather;
pub mod index_add;
pub mod index_copy;
pub mod index_select;
pub mod one_hot;
pub mod scatter;
pub mod scatter_add;
pub mod sort;
pub mod topk;

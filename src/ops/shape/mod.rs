//! Ops that rearrange elements.

mod window;

pub mod concat;
pub mod expand;
pub mod flatten;
pub mod flip;
pub mod pad;
pub mod repeat_interleave;
pub mod reshape;
pub mod slice;
pub mod split;
pub mod squeeze;
pub mod stack;
pub mod transpose;
pub mod unflatten;
pub mod unsqueeze;
pub mod window_write;

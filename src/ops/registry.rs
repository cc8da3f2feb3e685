//! The list of all ops. Adding one is a file and a line here.

use super::Op;

/// Every op, in the order of the book.
pub static OPS: &[&dyn Op] = &[];

/// The op of a name.
pub fn find(name: &str) -> Option<&'static dyn Op> {
    OPS.iter().copied().find(|o| o.name() == name)
}

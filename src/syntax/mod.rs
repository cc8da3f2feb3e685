//! Tokens, the syntax tree, the parser and the formatter.
//!
//! The way of a text: [`token`] splits it, `repair` gives every bracket its partner, the grammar
//! `grammar/tf.lalrpop` builds the [`ast`] with the help of `build`, `finish` attaches the doc
//! comments, and `explain` words the errors. [`parser`] holds it together.

pub mod ast;
mod build;
pub mod dump;
mod explain;
mod finish;
pub mod fmt;
pub mod parser;
mod repair;
pub mod token;

pub use fmt::{format, format_text};
pub use parser::{Parsed, parse, parse_expr, parse_strict};

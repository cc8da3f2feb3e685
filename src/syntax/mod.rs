//! Tokens, the syntax tree, the parser and the formatter.

pub mod ast;

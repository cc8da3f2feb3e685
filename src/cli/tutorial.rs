//! `tutorial`: the book's chapters for those who begin.

use super::common::Reply;
use crate::book;

#[derive(clap::Args)]
pub struct Args {
    /// A page, by its number or name; the list of them where it is left out
    page: Option<String>,
}

pub fn run(args: &Args) -> Reply {
    Reply::found(book::tutorial(args.page.as_deref()))
}

//! `spec`: the reference, by topic and section, and the search of all the book.

use super::common::Reply;
use crate::book;

#[derive(clap::Args)]
pub struct Args {
    /// A topic and, after it, a section by number or name; an op or a function of the library; the
    /// list of topics where it is left out
    #[arg(value_name = "TOPIC [SECTION]")]
    topic: Vec<String>,
    /// List the sections that have these words
    #[arg(long, num_args = 1.., value_name = "WORD", conflicts_with = "topic")]
    find: Vec<String>,
}

pub fn run(args: &Args) -> Reply {
    Reply::found(match args.find.is_empty() {
        true => book::spec(&args.topic),
        false => book::find(&args.find),
    })
}

//! `explain`: the long text of a diagnostic code.

use super::common::Reply;
use crate::book;
use crate::diag::{Code, did_you_mean};

#[derive(clap::Args)]
pub struct Args {
    /// A code, as `TF0206` or `shape-mismatch`; all of them where it is left out
    code: Option<String>,
}

pub fn run(args: &Args) -> Reply {
    let Some(text) = &args.code else { return Reply::answer(book::codes()) };
    match Code::find(text) {
        Some(c) => Reply::answer(book::explain(c)),
        None => {
            let known = Code::ALL.iter().flat_map(|c| [c.id(), c.name()]);
            let lower = text.to_lowercase();
            Reply::usage(match did_you_mean(&lower, known) {
                Some(m) => format!("there is no code `{text}`: did you mean `{m}`?"),
                None => format!("there is no code `{text}`: `tilefoundry explain` lists them"),
            })
        }
    }
}

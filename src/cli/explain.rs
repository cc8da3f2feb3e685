//! `explain`: the long text of a diagnostic code.

use super::common::Reply;
use crate::diag::{Code, did_you_mean};

#[derive(clap::Args)]
pub struct Args {
    /// A code, as `TF0206` or `shape-mismatch`; all of them where it is left out
    code: Option<String>,
}

pub fn run(args: &Args) -> Reply {
    let Some(text) = &args.code else {
        let all = Code::ALL.iter().map(|c| {
            format!("{}  {:7}  {:24}  {}\n", c.id(), c.level().as_str(), c.name(), c.summary())
        });
        return Reply::answer(all.collect::<String>());
    };
    match Code::find(text) {
        Some(c) => Reply::answer(format!(
            "{} {} ({}): {}\n\n{}\n",
            c.id(),
            c.name(),
            c.level().as_str(),
            c.summary(),
            c.long()
        )),
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

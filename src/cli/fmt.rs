//! `fmt`: files in their one layout.

use super::common::{Common, Disk, Reply};
use crate::base::SourceMap;
use crate::diag::{Code, Diagnostic};
use crate::hir::load::Sources;
use crate::syntax::{format, parse};

#[derive(clap::Args)]
pub struct Args {
    /// `.tf` files; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
    /// Change nothing; the status is 1 if a file is not formatted
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Print the formatted text instead of writing files
    #[arg(long)]
    stdout: bool,
}

pub fn run(common: &Common, args: &Args) -> Reply {
    let mut reply = Reply::default();
    for f in &args.files {
        let one = file(common, args, f);
        reply.out += &one.out;
        reply.err += &one.err;
        reply.status = reply.status.max(one.status);
    }
    reply
}

fn file(common: &Common, args: &Args, name: &str) -> Reply {
    let bytes = if name == "-" {
        let mut all = vec![];
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut all)
            .map(|_| all)
            .map_err(|e| e.to_string())
    } else {
        Disk.read(name)
    };
    let bytes = match bytes {
        Ok(b) => b,
        Err(e) => return Reply::lacks(format!("cannot read `{name}`: {e}")),
    };
    let mut map = SourceMap::default();
    let text = match String::from_utf8(bytes) {
        Ok(t) => t,
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            let id = map.add(name, String::from_utf8_lossy(e.as_bytes()).into_owned());
            let span = crate::base::Span::new(id, at, at + 3);
            let d = Diagnostic::new(Code::NotUtf8, span, format!("`{name}` is not UTF-8"));
            return Reply { err: common.tell(&[d], &map), status: 1, ..Reply::default() };
        }
    };
    let id = map.add(name, text.as_str());
    let parsed = parse(id, &text);
    let Some(new) = format(&text, &parsed) else {
        return Reply { err: common.tell(&parsed.diags, &map), status: 1, ..Reply::default() };
    };
    if args.check {
        return match first_difference(&text, &new) {
            None => Reply::default(),
            Some(line) => Reply {
                out: format!("{name}:{line}: not formatted\n"),
                status: 1,
                ..Reply::default()
            },
        };
    }
    if args.stdout || name == "-" {
        return Reply::answer(new);
    }
    if new != text
        && let Err(e) = std::fs::write(name, new)
    {
        return Reply::lacks(format!("cannot write `{name}`: {e}"));
    }
    Reply::default()
}

/// The first line, from 1, in which two texts differ.
fn first_difference(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return None;
    }
    let same = a.lines().zip(b.lines()).take_while(|(x, y)| x == y).count();
    Some(same + 1)
}

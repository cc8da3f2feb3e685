//! `models`: whole models that the binary carries, as they stand in `examples/models`.

use super::common::Reply;
use crate::book::{MODELS, MOST, next};
use crate::diag::did_you_mean;

#[derive(clap::Args)]
pub struct Args {
    /// A model; the list of them where it is left out
    name: Option<String>,
    /// Print its program
    #[arg(long, requires = "name")]
    source: bool,
    /// Begin at this line of it
    #[arg(long, requires = "source", default_value_t = 1, value_name = "LINE")]
    from: usize,
}

/// A model's name with its files.
pub type Model = (&'static str, &'static [(&'static str, &'static str)]);

/// Lines of a program in one answer.
const PART: usize = MOST - 10;

pub fn run(args: &Args) -> Reply {
    let Some(name) = &args.name else { return Reply::answer(list()) };
    let model = match find(name) {
        Ok(m) => m,
        Err(e) => return Reply::usage(e),
    };
    if args.source { source(model, args.from) } else { Reply::answer(about(model)) }
}

/// The model of a name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<Model, String> {
    MODELS.iter().copied().find(|(n, _)| *n == name).ok_or_else(|| {
        match did_you_mean(name, MODELS.iter().map(|(n, _)| *n)) {
            Some(m) => format!("there is no model `{name}`: did you mean `{m}`?"),
            None => format!("there is no model `{name}`: `tilefoundry models` lists them"),
        }
    })
}

fn file((_, files): Model, end: &str) -> Option<(&'static str, &'static str)> {
    files.iter().copied().find(|(n, _)| n.ends_with(end))
}

/// What a program says of itself: its `//!` lines.
fn head(model: Model) -> Vec<&'static str> {
    let text = file(model, ".tf").map_or("", |(_, t)| t);
    text.lines().map_while(|l| l.strip_prefix("//!")).map(str::trim).collect()
}

fn list() -> String {
    if MODELS.is_empty() {
        return format!("this build carries no models\n{}", next(&[("tutorial", "begins")]));
    }
    let width = MODELS.iter().map(|(n, _)| n.len()).max().unwrap_or(0);
    let mut out = String::new();
    for m in MODELS {
        let lines = file(*m, ".tf").map_or(0, |(_, t)| t.lines().count());
        let text = head(*m).join(" ");
        let end = text.find(". ").map_or(text.len(), |i| i + 1);
        out += &format!("{:width$}  {lines} lines. {}\n", m.0, text.get(..end).unwrap_or(&text));
    }
    let first = MODELS.first().map_or("", |(n, _)| n);
    let (about, copy) = (format!("models {first}"), format!("new mine --model {first}"));
    out + &next(&[(&about, "says what it is"), (&copy, "writes its files into the folder `mine`")])
}

fn about(model: Model) -> String {
    let (name, files) = model;
    let mut lines: Vec<&str> = match file(model, "README.md") {
        Some((_, text)) => text.lines().collect(),
        None => head(model),
    };
    let more = lines.len() > PART;
    lines.truncate(PART);
    let mut out = lines.join("\n") + "\n";
    if more {
        out += "..\n";
    }
    let names: Vec<String> =
        files.iter().map(|(n, t)| format!("{n} ({} lines)", t.lines().count())).collect();
    out += &format!("\nfiles: {}\n", names.join(", "));
    let (source, copy) = (format!("models {name} --source"), format!("new mine --model {name}"));
    out + &next(&[
        (&source, "prints its program"),
        (&copy, "writes its files into the folder `mine`"),
    ])
}

fn source(model: Model, from: usize) -> Reply {
    let (name, _) = model;
    let Some((file, text)) = file(model, ".tf") else {
        return Reply::refused(format!("`{name}` has no program"));
    };
    let count = text.lines().count();
    if from == 0 || from > count {
        return Reply::usage(format!("`{file}` has the lines 1 to {count}, found {from}"));
    }
    let lines: Vec<&str> = text.lines().skip(from - 1).take(PART).collect();
    let last = from - 1 + lines.len();
    let rest = format!("models {name} --source --from {}", last + 1);
    let copy = format!("new mine --model {name}");
    let mut commands = vec![(copy.as_str(), "writes its files into the folder `mine`")];
    if last < count {
        commands.insert(0, (rest.as_str(), "goes on"));
    }
    Reply::answer(format!("{}\n{}", lines.join("\n"), next(&commands)))
}

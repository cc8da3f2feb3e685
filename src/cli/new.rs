//! `new`: a starting project, or the files of a model, in a folder of their own.

use std::path::Path;

use super::common::Reply;
use super::models;
use crate::book::next;

#[derive(clap::Args)]
pub struct Args {
    /// The folder to make; its program has the same name
    name: String,
    /// Write the files of this model instead
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

/// The files of a starting project; `NAME` in names and texts is the project's.
const START: &[(&str, &[u8])] = &[
    ("NAME.tf", include_bytes!("../../templates/new/start.tf")),
    ("README.md", include_bytes!("../../templates/new/README.md")),
    ("make_reference.py", include_bytes!("../../templates/new/make_reference.py")),
    ("inputs.safetensors", include_bytes!("../../templates/new/inputs.safetensors")),
    ("expected.safetensors", include_bytes!("../../templates/new/expected.safetensors")),
];

pub fn run(args: &Args) -> Reply {
    let name = &args.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return Reply::usage(format!(
            "a project's name is letters, digits, `_` and `-`, and begins with a letter: found `{name}`"
        ));
    }
    let files: Vec<(String, Vec<u8>)> = match &args.model {
        None => START.iter().map(|(file, text)| (named(file, name), filled(text, name))).collect(),
        Some(m) => match models::find(m) {
            Ok((_, files)) => {
                files.iter().map(|(f, t)| (f.to_string(), t.as_bytes().to_vec())).collect()
            }
            Err(e) => return Reply::usage(e),
        },
    };
    if let Err(e) = write(Path::new(name), &files) {
        return e;
    }
    let list: String = files.iter().map(|(f, _)| format!("  {name}/{f}\n")).collect();
    let tf = files.iter().find(|(f, _)| f.ends_with(".tf")).map_or("", |(f, _)| f);
    let first = format!("compile {tf}");
    let there = format!("in the folder, `cd {name}`");
    let (other, why) = match &args.model {
        None => ("tutorial 1".into(), "goes through the commands of its README.md"),
        Some(m) => (format!("models {m}"), "says what it is"),
    };
    Reply::answer(format!("wrote\n{list}{}", next(&[(&first, &there), (&other, why)])))
}

fn named(file: &str, name: &str) -> String {
    file.replace("NAME", name)
}

/// Texts with the name filled in; other files as they are.
fn filled(bytes: &[u8], name: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text.replace("NAME", name).into_bytes(),
        _ => bytes.to_vec(),
    }
}

/// Makes the folder, which must not exist, and the files in it.
fn write(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Reply> {
    let shown = dir.display();
    if dir.exists() {
        return Err(Reply::refused(format!(
            "`{shown}` exists, and nothing is overwritten: choose another name"
        )));
    }
    let lacks = |what: &Path, e: std::io::Error| {
        Reply::lacks(format!("cannot write `{}`: {e}", what.display()))
    };
    std::fs::create_dir(dir).map_err(|e| lacks(dir, e))?;
    for (file, bytes) in files {
        let path = dir.join(file);
        std::fs::write(&path, bytes).map_err(|e| lacks(&path, e))?;
    }
    Ok(())
}

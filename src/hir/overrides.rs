//! What one command sets: `--const NAME=VALUE`, `--config NAME=FILE`. A name is one of the root file,
//! or one of a file that it imports, by its alias: `model::N`.

use super::elab::{Cx, Elab};
use super::value::Val;
use super::{Decl, FileInfo, ItemRef, Program, item_name, module_items};
use crate::base::Span;
use crate::diag::did_you_mean;
use crate::syntax::ast;
use crate::types::num::{Float, Num};

/// Enters the values in the program. Gives a sentence for each that has no const or does not fit
/// it.
pub(super) fn apply(p: &mut Program, overrides: &[(String, String)]) -> Vec<String> {
    let mut wrong = vec![];
    let mut good = vec![];
    let mut seen = vec![];
    for (name, text) in overrides {
        let (file, own) = match new_place(&p.files, "const", name, &mut seen) {
            Ok(at) => at,
            Err(text) => {
                wrong.push(text);
                continue;
            }
        };
        let is_const = |k: &ast::ItemKind| matches!(k, ast::ItemKind::Const { .. });
        let consts = items(&p.files, file, is_const);
        let Some((_, item, span)) = consts.iter().find(|(n, _, _)| *n == own) else {
            let names: Vec<&str> = consts.iter().map(|c| c.0).collect();
            let other = elsewhere(&p.files, file, own, is_const);
            wrong.push(unknown("const", name, own, &names, other));
            continue;
        };
        // what the const is now says which kind of value it takes
        let mut e = Elab::new(p, Cx::of(*item), own, *span);
        e.constant = true;
        let old = e.path(&ast::Path {
            segs: vec![ast::Name { text: own.into(), span: *span }],
            span: *span,
        });
        match value(text, &old) {
            Ok(v) => good.push((file, own.to_string(), v)),
            Err(what) => wrong.push(format!("const `{name}` is {what}, found `{text}`")),
        }
    }
    p.forget_consts();
    p.overrides = good;
    wrong
}

/// The file that a name is of, and the name there.
///
/// # Errors
/// An alias that no import has.
fn place<'n>(files: &[FileInfo], name: &'n str) -> Result<(usize, &'n str), String> {
    let (mut file, mut rest) = (0, name);
    while let Some((alias, more)) = rest.split_once("::") {
        let names = files.get(file).map(|f| &f.names);
        let Some(Decl::File(f)) = names.and_then(|n| n.get(alias)) else {
            let aliases = names.into_iter().flatten();
            let aliases = aliases.filter(|(_, d)| matches!(d, Decl::File(_)));
            let aliases: Vec<&str> = aliases.map(|(n, _)| n.as_str()).collect();
            let known = match did_you_mean(alias, aliases.iter().copied()) {
                Some(m) => format!("did you mean `{m}`?"),
                None if aliases.is_empty() => "the file imports none".into(),
                None => format!("the file imports `{}`", aliases.join("`, `")),
            };
            return Err(format!("there is no import `{alias}`: {known}"));
        };
        (file, rest) = (*f, more);
    }
    Ok((file, rest))
}

/// The same of a name that no other before it stands for; `seen` has those with their names.
///
/// # Errors
/// A sentence for an alias that no import has, and for what is given twice.
fn new_place<'n>(
    files: &[FileInfo],
    kind: &str,
    name: &'n str,
    seen: &mut Vec<((usize, &'n str), &'n str)>,
) -> Result<(usize, &'n str), String> {
    let at = place(files, name).map_err(|text| format!("{kind} `{name}`: {text}"))?;
    match seen.iter().find(|(x, _)| *x == at) {
        Some((_, n)) if *n == name => Err(format!("{kind} `{name}` is given twice")),
        Some((_, n)) => Err(format!("{kind} `{name}` is given twice: `{n}` is the same one")),
        None => {
            seen.push((at, name));
            Ok(at)
        }
    }
}

/// Items of a file and of its modules, by name.
fn items(
    files: &[FileInfo],
    file: usize,
    wanted: impl Fn(&ast::ItemKind) -> bool,
) -> Vec<(&str, ItemRef, Span)> {
    let Some(info) = files.get(file) else { return vec![] };
    let mut out = vec![];
    for (n, item) in info.ast.items.iter().enumerate() {
        let inner = module_items(item).unwrap_or(&[]).iter().enumerate();
        let all = std::iter::once((ItemRef { file, module: None, item: n }, item))
            .chain(inner.map(|(k, i)| (ItemRef { file, module: Some(n), item: k }, i)));
        for (r, i) in all.filter(|(_, i)| wanted(&i.kind)) {
            if let Some(name) = item_name(&i.kind) {
                out.push((name.text.as_str(), r, name.span));
            }
        }
    }
    out
}

/// The files, by the configs that they are for, and a sentence for each config that is given twice
/// or that its file does not have.
pub(super) fn configs<'g>(
    files: &[FileInfo],
    given: &'g [(String, String)],
) -> (Vec<(usize, &'g str, &'g str)>, Vec<String>) {
    let (mut good, mut wrong, mut seen) = (vec![], vec![], vec![]);
    for (name, path) in given {
        let (file, own) = match new_place(files, "config", name, &mut seen) {
            Ok(at) => at,
            Err(text) => {
                wrong.push(text);
                continue;
            }
        };
        let is_config = |k: &ast::ItemKind| matches!(k, ast::ItemKind::Config { .. });
        let names: Vec<&str> = items(files, file, is_config).iter().map(|c| c.0).collect();
        match names.contains(&own) {
            true => good.push((file, own, path.as_str())),
            false => {
                let other = elsewhere(files, file, own, is_config);
                wrong.push(unknown("config", name, own, &names, other));
            }
        }
    }
    (good, wrong)
}

/// The shortest name of an item that a file does not have and one that it imports has.
fn elsewhere(
    files: &[FileInfo],
    file: usize,
    own: &str,
    wanted: impl Fn(&ast::ItemKind) -> bool + Copy,
) -> Option<String> {
    let mut all = vec![(file, String::new())];
    let mut at = 0;
    while let Some((f, before)) = all.get(at).cloned() {
        if items(files, f, wanted).iter().any(|c| c.0 == own) {
            return Some(before + own);
        }
        for (alias, d) in files.get(f).into_iter().flat_map(|f| &f.names) {
            if let Decl::File(n) = d
                && !all.iter().any(|(x, _)| x == n)
            {
                all.push((*n, format!("{before}{alias}::")));
            }
        }
        at += 1;
    }
    None
}

fn unknown(kind: &str, name: &str, own: &str, names: &[&str], other: Option<String>) -> String {
    let before = name.strip_suffix(own).unwrap_or_default();
    let near = || did_you_mean(own, names.iter().copied()).map(str::to_string);
    let rest = match other.or_else(near) {
        Some(m) => format!("did you mean `{before}{m}`?"),
        None if names.is_empty() => "it has none".into(),
        None => format!("it has `{}`", names.join("`, `")),
    };
    format!("the file has no {kind} `{name}`: {rest}")
}

/// The value of a text, of the kind the const has; says what was expected otherwise.
fn value(text: &str, old: &Val) -> Result<Val, &'static str> {
    let int = || parse_int(text).map(|i| Val::int(i.into()));
    let float = || text.parse::<f64>().ok().map(|x| Val::Num(Num::Float(Float::Const(x))));
    let boolean = || text.parse::<bool>().ok().map(Val::Bool);
    let string = || Val::Str(text.trim_matches('"').to_string());
    match old {
        Val::Num(Num::Int(_)) => int().ok_or("an integer"),
        Val::Num(Num::Float(_)) => float().ok_or("a number"),
        Val::Bool(_) => boolean().ok_or("`true` or `false`"),
        Val::Str(_) => Ok(string()),
        Val::List(_) => Err("a list, which only the file gives"),
        // a const that uses a dim, or one with an error: the text alone decides
        _ => Ok(int().or_else(float).or_else(boolean).unwrap_or_else(string)),
    }
}

fn parse_int(text: &str) -> Option<i64> {
    let digits = text.replace('_', "");
    let (sign, rest) = match digits.strip_prefix('-') {
        Some(r) => (-1, r),
        None => (1, digits.as_str()),
    };
    let n = match rest.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => rest.parse::<i64>().ok()?,
    };
    Some(sign * n)
}

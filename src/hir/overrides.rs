//! What one command sets: `--const NAME=VALUE`, `--config NAME=FILE`.

use super::elab::{Cx, Elab};
use super::value::Val;
use super::{ItemRef, Program, item_name, module_items};
use crate::base::Span;
use crate::diag::did_you_mean;
use crate::syntax::ast;
use crate::types::num::{Float, Num};

/// Enters the values in the program. Gives a sentence for each that has no const or does not fit
/// it.
pub(super) fn apply(p: &mut Program, overrides: &[(String, String)]) -> Vec<String> {
    let mut wrong = vec![];
    let mut good = vec![];
    let consts = root_consts(p);
    for (i, (name, text)) in overrides.iter().enumerate() {
        if overrides.iter().take(i).any(|(n, _)| n == name) {
            wrong.push(format!("const `{name}` is given twice"));
            continue;
        }
        let Some((_, item, span)) = consts.iter().find(|(n, _, _)| n == name) else {
            let names: Vec<&str> = consts.iter().map(|c| c.0.as_str()).collect();
            wrong.push(unknown("const", name, &names));
            continue;
        };
        // what the const is now says which kind of value it takes
        let mut e = Elab::new(p, Cx::of(*item), name, *span);
        e.constant = true;
        let old = e.path(&ast::Path {
            segs: vec![ast::Name { text: name.clone(), span: *span }],
            span: *span,
        });
        match value(text, &old) {
            Ok(v) => good.push((name.clone(), v)),
            Err(what) => wrong.push(format!("const `{name}` is {what}, found `{text}`")),
        }
    }
    p.forget_consts();
    p.overrides = good;
    wrong
}

fn root_consts(p: &Program) -> Vec<(String, ItemRef, Span)> {
    let Some(root) = p.files.first() else { return vec![] };
    let mut out = vec![];
    for (n, item) in root.ast.items.iter().enumerate() {
        let inner = module_items(item).unwrap_or(&[]).iter().enumerate();
        let all = std::iter::once((ItemRef { file: 0, module: None, item: n }, item))
            .chain(inner.map(|(k, i)| (ItemRef { file: 0, module: Some(n), item: k }, i)));
        for (r, i) in all {
            if let (ast::ItemKind::Const { .. }, Some(name)) = (&i.kind, item_name(&i.kind)) {
                out.push((name.text.clone(), r, name.span));
            }
        }
    }
    out
}

/// A sentence for each config that is given twice or that the root file does not have.
pub(super) fn unknown_configs(p: &Program, given: &[(String, String)]) -> Vec<String> {
    let root = p.files.first().map_or(&[][..], |f| &f.ast.items);
    let inner = root.iter().flat_map(|i| module_items(i).unwrap_or(&[]));
    let names: Vec<&str> = root
        .iter()
        .chain(inner)
        .filter(|i| matches!(i.kind, ast::ItemKind::Config { .. }))
        .filter_map(|i| item_name(&i.kind).map(|n| n.text.as_str()))
        .collect();
    let mut wrong = vec![];
    for (i, (name, _)) in given.iter().enumerate() {
        if given.iter().take(i).any(|(n, _)| n == name) {
            wrong.push(format!("config `{name}` is given twice"));
        } else if !names.contains(&name.as_str()) {
            wrong.push(unknown("config", name, &names));
        }
    }
    wrong
}

fn unknown(kind: &str, name: &str, names: &[&str]) -> String {
    let rest = match did_you_mean(name, names.iter().copied()) {
        Some(m) => format!("did you mean `{m}`?"),
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

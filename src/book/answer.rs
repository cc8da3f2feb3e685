//! Answers of at most so many lines, each with what to ask next.

use super::find::{Place, command, section, topic};
use super::{Page, Section, pages, places};
use crate::diag::{Code, GROUPS, did_you_mean};

/// An answer has fewer lines.
pub const MOST: usize = 150;

/// Lines for the body of an answer; what is around it takes the others.
const BODY: usize = MOST - 8;

/// A question without an answer, and what to ask instead.
#[derive(Debug)]
pub struct Refusal(pub String);

/// The last line of an answer: commands with what each one is for.
pub fn next(commands: &[(&str, &str)]) -> String {
    let list: Vec<String> =
        commands.iter().map(|(c, why)| format!("`tilefoundry {c}` {why}")).collect();
    format!("\nnext: {}\n", list.join("; "))
}

/// Lines of a page for a terminal: comments of the page are left out, and a link to another page
/// is the command that shows it.
pub fn readable(lines: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let mut code = false;
    for line in lines {
        code ^= line.starts_with("```");
        if !code && line.starts_with("<!--") {
            continue;
        }
        // a comment may leave two blank lines
        if line.is_empty() && !code && out.last().is_some_and(String::is_empty) {
            continue;
        }
        out.push(if code { line.to_string() } else { unlinked(line) });
    }
    out
}

fn unlinked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        out += before;
        let link = after.split_once("](").and_then(|(t, l)| Some((t, l.split_once(')')?)));
        let page = |to: &str| {
            let name = to.split_once(".md").map(|(n, _)| n)?;
            let page = pages_of(name)?;
            Some(command((page, &page.root)))
        };
        match link
            .filter(|(t, _)| !t.contains(']'))
            .and_then(|(t, (to, r))| Some((t, page(to)?, r)))
        {
            Some((text, command, after)) => {
                out += &format!("{text} (`tilefoundry {command}`)");
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

fn pages_of(name: &str) -> Option<&'static Page> {
    pages().iter().find(|p| p.name == name)
}

fn chapters() -> Vec<&'static Page> {
    pages().iter().filter(|p| p.tutorial).collect()
}

fn reference() -> Vec<&'static Page> {
    pages().iter().filter(|p| !p.tutorial).collect()
}

/// A list of names with a line each.
fn listed(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(n, _)| n.chars().count()).max().unwrap_or(0).min(34);
    rows.iter()
        .map(|(n, gist)| format!("  {n:width$}  {}", cut(gist)).trim_end().to_string() + "\n")
        .collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(96) {
        Some((i, _)) => text.get(..i).unwrap_or(text).trim_end().to_string() + " ..",
        None => text.to_string(),
    }
}

/// A chapter of the tutorial by its number or name; without one, the list of them.
///
/// # Errors
/// There is no such chapter.
pub fn tutorial(asked: Option<&str>) -> Result<String, Refusal> {
    let all = chapters();
    let Some(asked) = asked else {
        let rows: Vec<(String, String)> = all
            .iter()
            .enumerate()
            .map(|(i, p)| (format!("{} {}", i + 1, p.name), p.root.title.clone()))
            .collect();
        let head =
            "The tutorial, in the order of the work. `tilefoundry tutorial 1`, or by name.\n\n";
        return Ok(format!("{head}{}{}", listed(&rows), next(&[("tutorial 1", "begins")])));
    };
    let lower = asked.to_lowercase();
    let at = match lower.parse::<usize>() {
        Ok(n) => n.checked_sub(1).filter(|i| *i < all.len()),
        Err(_) => all.iter().position(|p| p.name == lower),
    };
    let Some((i, page)) = at.and_then(|i| Some((i, all.get(i)?))) else {
        let known = match did_you_mean(&lower, all.iter().map(|p| p.name)) {
            Some(m) => format!("did you mean `{m}`?"),
            None => format!("they are 1 to {}; `tilefoundry tutorial` lists them", all.len()),
        };
        return Err(Refusal(format!("the tutorial has no page `{asked}`: {known}")));
    };
    let mut out = page.root.shown().join("\n");
    out += &match all.get(i + 1) {
        Some(p) => next(&[(&format!("tutorial {}", i + 2), &p.root.title)]),
        None => next(&[("spec", "lists the reference"), ("models", "lists whole models")]),
    };
    Ok(out)
}

/// The topics of the reference.
pub fn topics() -> String {
    let mut out = String::from(
        "The reference. `tilefoundry spec TOPIC` shows a page or lists its sections, `spec TOPIC SECTION` one\nof them. An op, a function of the library and a heading are topics too: `spec matmul`, `spec rms_norm`.\n\n",
    );
    for p in reference() {
        out += &format!("{:12}  {}\n", p.name, p.root.title);
        let names: Vec<String> = p.root.inside.iter().map(Section::key).collect();
        let mut line = String::new();
        for n in &names {
            if line.len() + n.len() > 84 {
                out += &format!("              {}\n", line.trim_end());
                line.clear();
            }
            line += &format!("{n}; ");
        }
        out += &format!("              {}\n", line.trim_end().trim_end_matches(';'));
    }
    let first = reference().first().map_or("language", |p| p.name);
    out + &next(&[
        (&format!("spec {first}"), "reads from the start"),
        ("spec --find WORD", "searches"),
    ])
}

/// A topic of the reference, and a section of it.
///
/// # Errors
/// There is no such topic or section.
pub fn spec(words: &[String]) -> Result<String, Refusal> {
    let words: Vec<String> = words.iter().map(|w| w.to_lowercase().replace('`', "")).collect();
    let Some((first, rest)) = words.split_first() else { return Ok(topics()) };
    let rest = rest.join(" ");
    if let Some(page) = reference().into_iter().find(|p| p.name == first) {
        if rest.is_empty() {
            return Ok(show((page, &page.root)));
        }
        return match section(page, &rest) {
            Some(s) => Ok(show((page, s))),
            None => Err(Refusal(format!(
                "`{first}` has no section `{rest}`: `tilefoundry spec {first}` lists them, `tilefoundry spec --find {rest}` searches"
            ))),
        };
    }
    let query = words.join(" ");
    if let Some(c) = Code::find(&query.to_uppercase()).or_else(|| Code::find(&query)) {
        return Ok(explain(c));
    }
    if let Some(place) = topic(&query) {
        return Ok(show(place));
    }
    let keys: Vec<String> = places().into_iter().map(|(_, s)| s.key()).collect();
    let near = did_you_mean(&query, keys.iter().map(String::as_str));
    let near = near.map(|m| format!("did you mean `{m}`? ")).unwrap_or_default();
    Err(Refusal(format!(
        "there is no topic `{query}`: {near}`tilefoundry spec --find {query}` searches"
    )))
}

/// A section whole, or what is in it where it is too long.
fn show(place: Place) -> String {
    let (page, s) = place;
    let whole = s.shown();
    let mut out = if whole.len() <= BODY {
        whole.join("\n")
    } else {
        let own = Section {
            title: s.title.clone(),
            level: s.level,
            lines: s.lines.clone(),
            inside: vec![],
        };
        let rows: Vec<(String, String)> =
            s.inside.iter().map(|i| (row_name(i), i.gist())).collect();
        format!("{}\nsections:\n{}", own.shown().join("\n"), listed(&rows))
    };
    let listed = whole.len() > BODY;
    let mut commands: Vec<(String, String)> = vec![];
    if let Some(i) = s.inside.first().filter(|_| listed) {
        commands.push((command((page, i)), "the first of them".into()));
    }
    commands.extend(after(place));
    let commands: Vec<(&str, &str)> =
        commands.iter().map(|(c, w)| (c.as_str(), w.as_str())).collect();
    out += &next(&commands);
    out
}

/// `abs(x)` is listed with its parameters, other sections as they are asked for.
fn row_name(s: &Section) -> String {
    if s.title.contains('(') { s.title.clone() } else { s.key() }
}

/// What follows a section: its neighbour, or the next page.
fn after((page, s): Place) -> Vec<(String, String)> {
    let mut out = vec![];
    let outer = page.root.all().into_iter().find(|o| o.inside.iter().any(|i| std::ptr::eq(i, s)));
    let sibling = outer.and_then(|o| {
        let at = o.inside.iter().position(|i| std::ptr::eq(i, s))?;
        o.inside.get(at + 1)
    });
    let reference = reference();
    match (sibling, outer) {
        (Some(n), _) => out.push((command((page, n)), n.title.clone())),
        (None, _) => {
            let at = reference.iter().position(|p| p.name == page.name);
            if let Some(p) = at.and_then(|i| reference.get(i + 1)) {
                out.push((format!("spec {}", p.name), p.root.title.clone()));
            }
        }
    }
    match outer {
        Some(o) => out.push((command((page, o)), "what this is part of".into())),
        None => out.push(("spec".into(), "lists the topics".into())),
    }
    out
}

/// What a code means, and where the reference shows it.
pub fn explain(code: Code) -> String {
    let shown = places()
        .into_iter()
        .filter(|(p, s)| p.name != "diagnostics" && s.lines.iter().any(|l| l.contains(code.id())));
    let mut commands: Vec<(String, &str)> =
        shown.map(|place| (command(place), "shows it")).take(2).collect();
    if commands.is_empty() {
        let (topic, why) = match code.id().get(2..4) {
            Some("01") => ("spec language lexical rules", "has the words and literals"),
            Some("02") => ("spec language", "has the rules of names, types and shapes"),
            Some("03") => ("spec placement", "has the rules of placements and meshes"),
            Some("04") => ("spec check", "says how programs are run and judged"),
            _ => ("spec analyses", "says what is counted"),
        };
        commands.push((topic.into(), why));
    }
    commands.push(("explain".into(), "lists the codes"));
    let commands: Vec<(&str, &str)> = commands.iter().map(|(c, w)| (c.as_str(), *w)).collect();
    format!(
        "{} {} ({}): {}\n\n{}\n{}",
        code.id(),
        code.name(),
        code.level().as_str(),
        code.summary(),
        code.long(),
        next(&commands)
    )
}

/// Every code with its summary, by group.
pub fn codes() -> String {
    let mut out = String::new();
    for (digits, group) in GROUPS {
        out += &format!("{group}\n");
        let mut all: Vec<Code> = Code::ALL.iter().copied().filter(|c| c.in_group(digits)).collect();
        all.sort_by_key(|c| c.id());
        for c in all {
            let mark = if c.level() == crate::diag::Level::Error { "" } else { c.level().as_str() };
            let name = c.name();
            let line = format!("  {} {name:24} {mark:7} {}", c.id(), c.summary());
            out += &(cut_at(&line, 120) + "\n");
        }
    }
    out + &next(&[("explain TF0206", "explains one, by its number or name")])
}

fn cut_at(line: &str, most: usize) -> String {
    line.char_indices().nth(most).map_or(line, |(i, _)| line.get(..i).unwrap_or(line)).to_string()
}

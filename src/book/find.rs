//! Which section a question means, and which ones have a word.

use super::{Page, Refusal, Section, next, pages};

/// A section with its page.
pub type Place = (&'static Page, &'static Section);

/// Every section of the book.
pub fn places() -> Vec<Place> {
    pages().iter().flat_map(|p| p.root.all().into_iter().map(move |s| (p, s))).collect()
}

/// What to type to read a section.
pub fn command((page, section): Place) -> String {
    if page.tutorial {
        let n = pages().iter().filter(|p| p.tutorial).position(|p| p.name == page.name);
        return format!("tutorial {}", n.unwrap_or(0) + 1);
    }
    if std::ptr::eq(section, &page.root) {
        return format!("spec {}", page.name);
    }
    match page.name {
        "diagnostics" if section.level == 3 => {
            format!("explain {}", section.title.split(' ').next().unwrap_or_default())
        }
        // an op or a function is asked for by its name alone
        "ops" | "stdlib" if section.level == 3 => format!("spec {}", section.key()),
        _ => format!("spec {} {}", page.name, section.key()),
    }
}

/// How well a section's key answers to a query; the least is the best.
fn rank(section: &Section, query: &str) -> Option<usize> {
    let key = section.key();
    let last = query.rsplit("::").next().unwrap_or(query);
    if key == query {
        Some(0)
    } else if key == last || key.strip_prefix("std::") == Some(query) {
        Some(1)
    } else if key.split(' ').next() == Some(query) || key.split(' ').nth(1) == Some(query) {
        Some(2)
    } else if key.starts_with(query) {
        Some(3)
    } else {
        key.split(|c: char| !c.is_alphanumeric()).any(|w| w == query).then_some(4)
    }
}

/// The section of a page that a number or some words mean.
pub fn section(page: &'static Page, query: &str) -> Option<&'static Section> {
    if let Ok(n) = query.parse::<usize>() {
        return page.root.inside.get(n.checked_sub(1)?);
    }
    let ranked = page.root.all().into_iter().skip(1).filter_map(|s| Some((rank(s, query)?, s)));
    ranked.min_by_key(|(r, _)| *r).map(|(_, s)| s)
}

/// The section of the reference that some words mean. Ops come before functions of the library,
/// and these before sections of the same name.
pub fn topic(query: &str) -> Option<Place> {
    let order = |p: &Page| match p.name {
        "ops" => 0,
        "stdlib" => 1,
        "diagnostics" => 3,
        _ => 2,
    };
    let ranked = places().into_iter().filter(|(p, _)| !p.tutorial).filter_map(|(p, s)| {
        let r = rank(s, query)?;
        Some(((r, order(p)), (p, s)))
    });
    ranked.min_by_key(|(r, _)| *r).map(|(_, place)| place)
}

/// Most places that one answer lists.
const LISTED: usize = 60;

/// The sections whose tables say what words of others are here, and what a report's labels mean.
const WORDS: [&str; 2] = ["Words of PyTorch and CUDA", "Labels of a report"];

/// Letters and digits alone: `kv-cache` and `KV cache` are one word.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What these tables have for a query: commands, each with what it is here.
fn foreign(query: &str) -> Vec<(String, String)> {
    let query = plain(query);
    let code = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(String::from).collect()
    };
    let rows = places().into_iter().filter(|(_, s)| WORDS.contains(&s.title.as_str()));
    let mut out = vec![];
    for line in rows.flat_map(|(_, s)| &s.lines) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [there, here, read] = cells.as_slice() else { continue };
        if code(there).iter().any(|w| plain(w) == query) {
            out.extend(code(read).into_iter().map(|c| (c, here.replace('`', ""))));
        }
    }
    out
}

/// The sections that have all words: in their headings first, then what words of other languages
/// are here, then those with the words and with longer ones in their text.
///
/// # Errors
/// No section has them all.
pub fn find(words: &[String]) -> Result<String, Refusal> {
    let words: Vec<String> = words.iter().map(|w| w.to_lowercase().replace('`', "")).collect();
    let has = |text: &str| {
        let text = text.to_lowercase().replace('`', "");
        words.iter().all(|w| text.contains(w.as_str()))
    };
    let query = words.join(" ");
    let whole = |text: &str| {
        let text = text.to_lowercase();
        let all: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        words.iter().all(|w| all.contains(&w.as_str()))
    };
    let mut hits: Vec<(usize, String, String)> =
        foreign(&query).into_iter().map(|(c, here)| (1, c, here)).collect();
    for (page, s) in places() {
        let text = s.lines.join("\n");
        let place = command((page, s));
        // the name itself before longer titles
        let exact = plain(&query) == plain(&s.key()) || query == s.title.to_lowercase();
        if exact || has(&s.title) {
            hits.push((if exact { 0 } else { 2 }, place, s.gist()));
        } else if !WORDS.contains(&s.title.as_str()) && has(&text) {
            let line = s.lines.iter().find(|l| has(l)).or_else(|| {
                let some = |l: &&&str| words.iter().any(|w| l.to_lowercase().contains(w.as_str()));
                s.lines.iter().find(some)
            });
            let line = line.map_or_else(String::new, |l| l.trim().to_string());
            hits.push((if whole(&text) { 3 } else { 4 }, place, line));
        }
    }
    if hits.is_empty() {
        return Err(Refusal(format!(
            "nothing in the book has `{query}`: `tilefoundry spec` lists the topics"
        )));
    }
    hits.sort_by_key(|(rank, ..)| *rank);
    let mut listed: Vec<(String, String)> = vec![];
    let mut more = 0;
    for (_, c, line) in hits {
        if listed.iter().any(|(l, _)| *l == c) {
            continue;
        }
        match listed.len() < LISTED {
            true => listed.push((c, line.chars().take(90).collect())),
            false => more += 1,
        }
    }
    let width = listed.iter().map(|(c, _)| c.len()).max().unwrap_or(0);
    let mut out: String = listed
        .iter()
        .map(|(c, line)| format!("tilefoundry {c:width$}  {line}").trim_end().to_string() + "\n")
        .collect();
    if more > 0 {
        out += &format!("{more} more: add a word\n");
    }
    let first = listed.first().map_or("spec", |(c, _)| c.as_str());
    Ok(out + &next(&[(first, "reads the first of them")]))
}

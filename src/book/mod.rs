//! The book as the binary carries it: the files that mdbook renders, as pages of sections.
//!
//! In: the words of a question. Out: an answer of fewer than [`MOST`] lines, which ends with what to
//! ask next. `SUMMARY.md` has the pages in their order, and the part that is called `Tutorial`.

mod answer;
mod find;

use std::sync::LazyLock;

pub use answer::{MOST, Refusal, codes, explain, next, spec, topics, tutorial};
pub use find::{command, find, places};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

pub use embedded::MODELS;

/// A page of the book.
#[derive(Debug)]
pub struct Page {
    /// Its file's name without `.md`.
    pub name: &'static str,
    pub tutorial: bool,
    pub root: Section,
}

/// A heading with what stands below it.
#[derive(Debug)]
pub struct Section {
    /// Without the marks of code.
    pub title: String,
    /// 1 for the title of a page.
    pub level: usize,
    /// The lines before the first heading inside.
    pub lines: Vec<&'static str>,
    pub inside: Vec<Section>,
}

/// All pages, in the order of the summary.
pub fn pages() -> &'static [Page] {
    static ALL: LazyLock<Vec<Page>> = LazyLock::new(read);
    &ALL
}

fn read() -> Vec<Page> {
    let text = |name: &str| embedded::PAGES.iter().find(|(n, _)| *n == name);
    let Some((_, summary)) = text("SUMMARY") else { return vec![] };
    let mut tutorial = false;
    let mut out = vec![];
    for line in summary.lines() {
        if let Some(part) = line.strip_prefix("# ") {
            tutorial = part == "Tutorial";
        }
        let link = line.split_once("](").and_then(|(_, l)| l.split_once(".md)"));
        if let Some((name, text)) = link.and_then(|(l, _)| text(l)) {
            out.push(Page { name, tutorial, root: parse(text) });
        }
    }
    out
}

/// A page's lines as sections; headings inside of code blocks are none.
fn parse(text: &'static str) -> Section {
    let mut open = vec![Section::new(String::new(), 0)];
    let mut code = false;
    for line in text.lines() {
        code ^= line.starts_with("```");
        let level = line.bytes().take_while(|b| *b == b'#').count();
        let title = line.get(level..).and_then(|t| t.strip_prefix(' '));
        match title.filter(|_| !code && (1..=4).contains(&level)) {
            Some(title) => {
                close(&mut open, level);
                open.push(Section::new(title.replace('`', ""), level));
            }
            None => open.iter_mut().next_back().into_iter().for_each(|s| s.lines.push(line)),
        }
    }
    close(&mut open, 1);
    // what stands before the title of a page is nothing
    let top = open.pop().unwrap_or_else(|| Section::new(String::new(), 0));
    top.inside.into_iter().next().unwrap_or_else(|| Section::new(String::new(), 1))
}

/// Ends all sections of this level and finer ones.
fn close(open: &mut Vec<Section>, level: usize) {
    while open.len() > 1 && open.last().is_some_and(|s| s.level >= level) {
        let Some(done) = open.pop() else { return };
        if let Some(outer) = open.last_mut() {
            outer.inside.push(done);
        }
    }
}

impl Section {
    fn new(title: String, level: usize) -> Section {
        Section { title, level, lines: vec![], inside: vec![] }
    }

    /// What it is asked for by: `abs` of `abs(x)`, otherwise the title in lower case.
    pub fn key(&self) -> String {
        let t = self.title.split_once('(').map_or(self.title.as_str(), |(name, _)| name);
        t.trim().trim_end_matches(['.', '?', ':']).to_lowercase()
    }

    /// Itself and all sections inside, outer ones first.
    pub fn all(&self) -> Vec<&Section> {
        let mut out = vec![self];
        out.extend(self.inside.iter().flat_map(Section::all));
        out
    }

    /// Lines as they are shown, with those of the sections inside.
    fn shown(&self) -> Vec<String> {
        let mut out = vec![format!("{} {}", "#".repeat(self.level), self.title)];
        out.extend(answer::readable(&self.lines));
        for s in &self.inside {
            out.extend(s.shown());
        }
        while out.last().is_some_and(|l| l.trim().is_empty()) {
            out.pop();
        }
        out.push(String::new());
        out
    }

    /// The first sentence below the heading.
    pub fn gist(&self) -> String {
        let mut text = String::new();
        let mut code = false;
        for line in answer::readable(&self.lines) {
            code ^= line.starts_with("```");
            let plain =
                !code && !line.starts_with(['|', '<', '-', '#']) && !line.starts_with("```");
            match plain && !line.trim().is_empty() {
                true => text += &format!("{} ", line.trim()),
                false if !text.is_empty() => break,
                false => {}
            }
        }
        let end = text.find(". ").or_else(|| text.find(": ")).unwrap_or(text.len());
        text.get(..end).unwrap_or(&text).trim().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_nest_and_code_has_none() {
        let page = parse(
            "# A b\n\nintro\n\n## One `f(x)`\n\n```toml\n# no heading\n```\n\n### In\n\ntext\n\n## Two\n",
        );
        assert_eq!((page.title.as_str(), page.lines.len()), ("A b", 3));
        let titles: Vec<&str> = page.all().iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["A b", "One f(x)", "In", "Two"]);
        assert_eq!(page.inside[0].key(), "one f");
        assert_eq!(page.gist(), "intro");
    }
}

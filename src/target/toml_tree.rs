//! A TOML text as a tree with spans, and the cursor that reads it.
//!
//! Comes in: the text of one document. Goes out: values by key, and one [`Problem`] with line,
//! column and key path for everything that is missing, misspelt or of the wrong type. Reading
//! never stops at the first problem, so that one run reports all of them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use toml::de::{DeTable, DeValue};

use crate::base::SourceFile;
use crate::diag::did_you_mean;

/// One thing wrong in a target document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The document's id, for example `sm_90`.
    pub document: String,
    /// Byte range in the document's text; empty where the problem has no place in it.
    pub span: Range<usize>,
    /// Line, from 1; 0 where the problem has no place in the text.
    pub line: usize,
    /// Column in characters, from 1; 0 where the problem has no place in the text.
    pub column: usize,
    /// The key path, for example `storages.smem.capacity.unit`; empty for the whole document.
    pub path: String,
    /// What was expected and what was found.
    pub message: String,
    /// What to write instead, where that is known.
    pub help: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.document)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// A TOML value without its formatting. A copy of it shares what it has inside.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Str(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Array(Rc<[Node]>),
    Table(Rc<[Entry]>),
    /// Dates, and integers beyond 64 bits; no fact is written with either.
    Other(&'static str),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub span: Range<usize>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub node: Node,
}

impl Node {
    fn from_toml(value: &DeValue<'_>, span: Range<usize>) -> Node {
        let value = match value {
            DeValue::String(s) => Value::Str(s.to_string()),
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(v) => Value::Int(v),
                Err(_) => Value::Other("an integer beyond 64 bits"),
            },
            DeValue::Float(x) => match x.as_str().parse::<f64>() {
                Ok(v) => Value::Float(v),
                Err(_) => Value::Other("a malformed float"),
            },
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|n| Node::from_toml(n.get_ref(), n.span())).collect())
            }
            DeValue::Table(t) => Value::Table(entries(t)),
        };
        Node { span, value }
    }

    /// The value in words, for messages.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Str(s) => format!("the string {s:?}"),
            Value::Int(v) => format!("the integer {v}"),
            Value::Float(v) => format!("the float {v:?}"),
            Value::Bool(v) => format!("{v}"),
            Value::Array(_) => "an array".into(),
            Value::Table(_) => "a table".into(),
            Value::Other(what) => (*what).into(),
        }
    }
}

fn entries(table: &DeTable<'_>) -> Rc<[Entry]> {
    let mut out: Vec<Entry> = table
        .iter()
        .map(|(k, v)| Entry {
            key: k.get_ref().to_string(),
            key_span: k.span(),
            node: Node::from_toml(v.get_ref(), v.span()),
        })
        .collect();
    // The parser sorts by key; the order of the text is the order of the messages.
    out.sort_by_key(|e| e.key_span.start);
    out.into()
}

/// The text of one document with the problems found in it so far.
pub(super) struct Reader {
    file: SourceFile,
    /// Where each table lies, by path.
    places: BTreeMap<String, Range<usize>>,
    pub problems: Vec<Problem>,
}

impl Reader {
    pub fn new(id: &str, text: &str) -> Reader {
        let lines = crate::base::LineIndex::new(text);
        Reader {
            file: SourceFile { name: id.to_string(), text: text.into(), lines },
            places: BTreeMap::new(),
            problems: vec![],
        }
    }

    /// The root table, or `None` with the parser's messages as problems.
    pub fn root(&mut self) -> Option<Table> {
        let text = self.file.text.clone();
        match DeTable::parse(&text) {
            Ok(root) => Some(Table {
                path: String::new(),
                span: 0..0,
                entries: entries(root.get_ref()),
                known: vec![],
            }),
            Err(e) => {
                let span = e.span().unwrap_or(0..0);
                self.problem(span, "", e.message().replace('\n', ", "), None);
                None
            }
        }
    }

    pub fn problem(
        &mut self,
        span: Range<usize>,
        path: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let at = u32::try_from(span.start).unwrap_or(u32::MAX);
        let (line, column) = self.file.position(at);
        self.problems.push(Problem {
            document: self.file.name.clone(),
            span,
            line,
            column,
            path: path.to_string(),
            message: message.into(),
            help,
        });
    }

    /// Whether the document has a table at this path.
    pub fn has_place(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// A problem at a path: its place is that of the nearest table around it.
    pub fn problem_at(&mut self, path: &str, message: String, help: Option<String>) {
        let mut around = path;
        let span = loop {
            if let Some(span) = self.places.get(around) {
                break span.clone();
            }
            match around.rfind('.') {
                Some(dot) => around = around.get(..dot).unwrap_or(""),
                None => break 0..0,
            }
        };
        self.problem(span, path, message, help);
    }

    /// The problems in the order of the text.
    pub fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|p| p.span.start);
        self.problems
    }

    fn wrong_type(&mut self, path: &str, expected: &str, node: &Node) {
        let found = node.found();
        self.problem(node.span.clone(), path, format!("expected {expected}, found {found}"), None);
    }

    pub fn as_str(&mut self, path: &str, node: &Node) -> Option<String> {
        match &node.value {
            Value::Str(s) => Some(s.clone()),
            _ => {
                self.wrong_type(path, "a string", node);
                None
            }
        }
    }

    pub fn as_u64(&mut self, path: &str, node: &Node) -> Option<u64> {
        match node.value {
            Value::Int(v) if v >= 0 => Some(v.unsigned_abs()),
            _ => {
                self.wrong_type(path, "an integer of at least 0", node);
                None
            }
        }
    }

    /// A float, or an integer that a float holds exactly.
    pub fn as_f64(&mut self, path: &str, node: &Node) -> Option<f64> {
        match node.value {
            Value::Int(v) if v.unsigned_abs() <= 1 << 53 => Some(v as f64),
            Value::Float(v) if v.is_finite() => Some(v),
            _ => {
                self.wrong_type(path, "a finite number", node);
                None
            }
        }
    }

    pub fn as_bool(&mut self, path: &str, node: &Node) -> Option<bool> {
        match node.value {
            Value::Bool(v) => Some(v),
            _ => {
                self.wrong_type(path, "true or false", node);
                None
            }
        }
    }

    pub fn as_table(&mut self, path: &str, node: &Node) -> Option<Table> {
        match &node.value {
            Value::Table(entries) => {
                self.places.insert(path.to_string(), node.span.clone());
                Some(Table {
                    path: path.to_string(),
                    span: node.span.clone(),
                    entries: entries.clone(),
                    known: vec![],
                })
            }
            _ => {
                self.wrong_type(path, "a table", node);
                None
            }
        }
    }

    pub fn as_array(&mut self, path: &str, node: &Node) -> Option<Rc<[Node]>> {
        match &node.value {
            Value::Array(items) => Some(items.clone()),
            _ => {
                self.wrong_type(path, "an array", node);
                None
            }
        }
    }
}

/// One table; remembers the keys asked for, so that the others can be reported.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub path: String,
    pub span: Range<usize>,
    entries: Rc<[Entry]>,
    known: Vec<&'static str>,
}

impl Table {
    /// The path of a key of this table.
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    pub fn get(&mut self, key: &'static str) -> Option<Node> {
        self.known.push(key);
        self.entries.iter().find(|e| e.key == key).map(|e| e.node.clone())
    }

    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|e| e.key == key)
    }

    /// All entries of a table whose keys are names, such as `storages`.
    pub fn all(&self) -> Rc<[Entry]> {
        self.entries.clone()
    }

    fn missing(&self, r: &mut Reader, key: &str, what: &str) {
        r.problem(self.span.clone(), &self.path, format!("expected {what} `{key}`"), None);
    }

    pub fn str(&mut self, r: &mut Reader, key: &'static str) -> Option<String> {
        let found = self.opt_str(r, key);
        if found.is_none() && !self.has(key) {
            self.missing(r, key, "the string");
        }
        found
    }

    pub fn opt_str(&mut self, r: &mut Reader, key: &'static str) -> Option<String> {
        let node = self.get(key)?;
        r.as_str(&self.at(key), &node)
    }

    pub fn flag(&mut self, r: &mut Reader, key: &'static str) -> bool {
        let Some(node) = self.get(key) else { return false };
        r.as_bool(&self.at(key), &node).unwrap_or(false)
    }

    pub fn table(&mut self, r: &mut Reader, key: &'static str) -> Option<Table> {
        let node = self.get(key)?;
        r.as_table(&self.at(key), &node)
    }

    /// An array of tables, with the index in each path; empty where the key is absent.
    pub fn tables(&mut self, r: &mut Reader, key: &'static str) -> Vec<Table> {
        let Some(node) = self.get(key) else { return vec![] };
        let path = self.at(key);
        let items = r.as_array(&path, &node).unwrap_or_default();
        items
            .iter()
            .enumerate()
            .filter_map(|(i, n)| r.as_table(&format!("{path}[{i}]"), n))
            .collect()
    }

    /// An array of strings with their nodes; empty where the key is absent.
    pub fn strings(&mut self, r: &mut Reader, key: &'static str) -> Vec<(String, Node)> {
        let Some(node) = self.get(key) else { return vec![] };
        let path = self.at(key);
        let items = r.as_array(&path, &node).unwrap_or_default();
        items.iter().filter_map(|n| Some((r.as_str(&path, n)?, n.clone()))).collect()
    }

    /// Reports every key that nothing asked for.
    pub fn finish(self, r: &mut Reader) {
        for e in self.entries.iter() {
            if self.known.iter().any(|k| *k == e.key) {
                continue;
            }
            let help = match did_you_mean(&e.key, self.known.iter().copied()) {
                Some(k) => format!("did you mean `{k}`?"),
                None => format!("known keys: {}", list(self.known.iter().copied())),
            };
            let path = self.at(&e.key);
            r.problem(e.key_span.clone(), &path, "expected no such key here", Some(help));
        }
    }
}

/// Names in backticks, joined by commas.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    quoted.join(", ")
}

/// `; did you mean ...?` where a candidate is near, else the candidates.
pub(super) fn suggest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    match did_you_mean(name, candidates.clone()) {
        Some(c) => Some(format!("did you mean `{c}`?")),
        None => Some(format!("known: {}", list(candidates))),
    }
}

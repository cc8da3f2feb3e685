//! Reads one target document into a [`Draft`].
//!
//! An architecture and a device have the same sections; only an architecture has `levels`, only
//! a device names an `architecture`. References between sections are checked while reading,
//! against the names seen so far, so that each problem has its place.

use std::collections::BTreeMap;

use super::fact::{Datum, is_leaf, leaf, origin};
use super::model::{ACCESS_WORDS, Form, Instruction, InstructionKind, Level, STORAGE_WORDS, Sizes};
use super::toml_tree::{Node, Reader, Table, Value, suggest};
use crate::types::dtype::DType;

/// By name, in the order of the alphabet, so that reports are the same every time.
pub(super) type Named<T> = BTreeMap<String, T>;

/// What documents have said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub name: String,
    /// The latest version of PTX, as major * 10 + minor.
    pub ptx_version: Option<Datum<u64>>,
    pub levels: Vec<Level>,
    pub units: Named<UnitDraft>,
    pub storages: Named<StorageDraft>,
    pub caches: Named<CacheDraft>,
    /// `peak` and `sustained`, in Hz.
    pub clocks: Named<Datum<f64>>,
    /// Per unit of the grid level and clock.
    pub per_clock: Named<Datum<f64>>,
    pub peak: Named<Datum<f64>>,
    pub sustained: Named<Datum<f64>>,
    /// In ns.
    pub costs: Named<Datum<f64>>,
    pub instructions: Vec<Instruction>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct UnitDraft {
    pub level: Option<String>,
    pub count: Option<Datum<u64>>,
    pub resident: Named<Datum<u64>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StorageDraft {
    pub owner: Option<String>,
    pub capacity: Option<Datum<u64>>,
    pub pool: Option<Datum<u64>>,
    pub pool_unit: Option<String>,
    pub reserved: Option<Datum<u64>>,
    pub granule: Option<Datum<u64>>,
    pub align: Named<Datum<u64>>,
    pub access: Named<Datum<u64>>,
    pub latency: Option<Datum<f64>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CacheDraft {
    pub of: Option<String>,
    pub capacity: Option<Datum<u64>>,
    pub latency: Option<Datum<f64>>,
}

pub(super) const COSTS: [&str; 2] = ["launch", "grid_barrier"];
const CLOCKS: [&str; 2] = ["peak", "sustained"];
const ALIGNS: [&str; 2] = ["plain", "swizzle"];

/// Reads the sections of a document over what `draft` already holds: a fact of this document
/// replaces one of the same path.
pub(super) fn sections(r: &mut Reader, t: &mut Table, draft: &mut Draft) {
    draft.ptx_version = fact(r, t, "ptx_version", &["tenth"]).or(draft.ptx_version.take());
    if let Some(units) = t.table(r, "units") {
        for_names(r, &units, |r, name, t| unit(r, name, t, draft));
    }
    if let Some(storages) = t.table(r, "storages") {
        for_names(r, &storages, |r, name, t| storage(r, name, t, draft));
    }
    if let Some(caches) = t.table(r, "caches") {
        for_names(r, &caches, |r, name, t| cache(r, name, t, draft));
    }
    for (key, names, unit) in [("clocks", &CLOCKS, "Hz"), ("costs", &COSTS, "ns")] {
        let Some(table) = t.table(r, key) else { continue };
        let into = if key == "clocks" { &mut draft.clocks } else { &mut draft.costs };
        fixed_names(r, &table, names, |r, path, node, name| {
            if let Some(d) = leaf(r, path, node, &[unit], key == "costs") {
                into.insert(name.to_string(), d);
            }
        });
    }
    if let Some(table) = t.table(r, "per_clock") {
        let mut found = vec![];
        resources(r, &table, "", draft, "clock", &mut found);
        draft.per_clock.extend(found);
    }
    if let Some(mut rates) = t.table(r, "rates") {
        for key in ["peak", "sustained"] {
            let Some(table) = rates.table(r, key) else { continue };
            let mut found = vec![];
            resources(r, &table, "", draft, "s", &mut found);
            let into = if key == "peak" { &mut draft.peak } else { &mut draft.sustained };
            into.extend(found);
        }
        rates.finish(r);
    }
    for t in t.tables(r, "instructions") {
        if let Some(i) = instruction(r, t, draft) {
            draft.instructions.push(i);
        }
    }
}

/// Reads `levels`, coarse to fine.
pub(super) fn levels(r: &mut Reader, t: &mut Table) -> Vec<Level> {
    let mut tables = t.tables(r, "levels");
    let names: Vec<Option<String>> = tables.iter_mut().map(|t| t.str(r, "name")).collect();
    let Some(finest) = names.last().cloned().flatten() else {
        let span = t.span.clone();
        r.problem(span, "levels", "expected at least one table `[[levels]]`, found none", None);
        return vec![];
    };
    let mut out: Vec<Level> = vec![];
    for (mut t, name) in tables.into_iter().zip(names) {
        let Some(name) = name else { continue };
        let outer: Vec<&str> = out.iter().map(|l| l.name.as_str()).collect();
        if outer.contains(&name.as_str()) {
            r.problem(t.span.clone(), &t.path, format!("level `{name}` is named twice"), None);
            continue;
        }
        let grid = t.flag(r, "grid");
        let size = fact(r, &mut t, "size", &[&finest]);
        let mut at_most = Named::new();
        if let Some(table) = t.table(r, "at_most") {
            fixed_names(r, &table, &outer, |r, path, node, outer| {
                if let Some(d) = leaf(r, path, node, &[&name], false) {
                    at_most.insert(outer.to_string(), d);
                }
            });
        }
        t.finish(r);
        out.push(Level { name, grid, size, at_most });
    }
    out
}

/// Calls `read` for each table of a table whose keys are free names.
fn for_names(r: &mut Reader, t: &Table, mut read: impl FnMut(&mut Reader, &str, Table)) {
    for e in t.all().iter() {
        if let Some(inner) = r.as_table(&t.at(&e.key), &e.node) {
            read(r, &e.key, inner);
        }
    }
}

/// Calls `read` for each entry of a table whose keys are among `names`; reports the others.
fn fixed_names(
    r: &mut Reader,
    t: &Table,
    names: &[&str],
    mut read: impl FnMut(&mut Reader, &str, &Node, &str),
) {
    for e in t.all().iter() {
        let path = t.at(&e.key);
        if names.contains(&e.key.as_str()) {
            read(r, &path, &e.node, &e.key);
        } else {
            let help = suggest(&e.key, names.iter().copied());
            r.problem(e.key_span.clone(), &path, "expected no such key here", help);
        }
    }
}

fn fact<T: super::fact::FactValue>(
    r: &mut Reader,
    t: &mut Table,
    key: &'static str,
    units: &[&str],
) -> Option<Datum<T>> {
    let node = t.get(key)?;
    let path = t.at(key);
    leaf(r, &path, &node, units, false)
}

/// A string that must be one of `names`; `what` says what they are.
fn reference<'a>(
    r: &mut Reader,
    t: &mut Table,
    key: &'static str,
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<String> {
    let node = t.get(key)?;
    let path = t.at(key);
    let word = r.as_str(&path, &node)?;
    named(r, &path, &node, &word, what, names).then_some(word)
}

fn named<'a>(
    r: &mut Reader,
    path: &str,
    node: &Node,
    word: &str,
    what: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> bool {
    let known = names.clone().any(|n| n == word);
    if !known {
        let help = suggest(word, names);
        r.problem(node.span.clone(), path, format!("expected {what}, found `{word}`"), help);
    }
    known
}

fn unit(r: &mut Reader, name: &str, mut t: Table, draft: &mut Draft) {
    let levels: Vec<&str> = draft.levels.iter().map(|l| l.name.as_str()).collect();
    let level = reference(r, &mut t, "level", "a level", levels.iter().copied());
    let count = fact(r, &mut t, "count", &[name]);
    let mut resident = Named::new();
    if let Some(table) = t.table(r, "resident") {
        fixed_names(r, &table, &levels, |r, path, node, level| {
            if let Some(d) = leaf(r, path, node, &[level], false) {
                resident.insert(level.to_string(), d);
            }
        });
    }
    let new = !draft.units.contains_key(name);
    if new && !t.has("level") {
        r.problem(t.span.clone(), &t.path, "expected the string `level`", None);
    }
    t.finish(r);
    let u = draft.units.entry(name.to_string()).or_default();
    u.level = level.or(u.level.take());
    u.count = count.or(u.count.take());
    u.resident.extend(resident);
}

fn storage(r: &mut Reader, name: &str, mut t: Table, draft: &mut Draft) {
    if !STORAGE_WORDS.contains(&name) {
        let help = suggest(name, STORAGE_WORDS.iter().copied());
        let message = format!("expected a storage of the language, found `{name}`");
        r.problem(t.span.clone(), &t.path, message, help);
    }
    let levels = draft.levels.iter().map(|l| l.name.as_str());
    let owner = reference(r, &mut t, "owner", "a level", levels);
    let capacity = fact(r, &mut t, "capacity", &["B"]);
    let pool = fact(r, &mut t, "pool", &["B"]);
    let units = draft.units.keys().map(String::as_str);
    let pool_unit = reference(r, &mut t, "pool_unit", "a unit", units);
    let reserved = fact(r, &mut t, "reserved", &["B"]);
    let granule = fact(r, &mut t, "granule", &["B"]);
    let latency = fact(r, &mut t, "latency", &["ns"]);
    let mut align = Named::new();
    if let Some(table) = t.table(r, "align") {
        fixed_names(r, &table, &ALIGNS, |r, path, node, layout| {
            if let Some(d) = leaf::<u64>(r, path, node, &["B"], false) {
                if let Some(f) = d.known()
                    && !f.value.is_power_of_two()
                {
                    let message = format!("expected a power of two, found {}", f.value);
                    r.problem(node.span.clone(), path, message, None);
                }
                align.insert(layout.to_string(), d);
            }
        });
    }
    let mut access = Named::new();
    if let Some(table) = t.table(r, "access") {
        let words = ACCESS_WORDS.map(|(w, _)| w);
        fixed_names(r, &table, &words, |r, path, node, word| {
            let unit = ACCESS_WORDS.iter().find(|(w, _)| *w == word).map_or("B", |(_, u)| *u);
            if let Some(d) = leaf::<u64>(r, path, node, &[unit], false) {
                access.insert(word.to_string(), d);
            }
        });
    }
    if t.has("pool") && !t.has("pool_unit") {
        let message = "expected the string `pool_unit` beside `pool`";
        r.problem(t.span.clone(), &t.path, message, None);
    }
    t.finish(r);
    let s = draft.storages.entry(name.to_string()).or_default();
    s.owner = owner.or(s.owner.take());
    s.capacity = capacity.or(s.capacity.take());
    s.pool = pool.or(s.pool.take());
    s.pool_unit = pool_unit.or(s.pool_unit.take());
    s.reserved = reserved.or(s.reserved.take());
    s.granule = granule.or(s.granule.take());
    s.latency = latency.or(s.latency.take());
    s.align.extend(align);
    s.access.extend(access);
}

fn cache(r: &mut Reader, name: &str, mut t: Table, draft: &mut Draft) {
    let storages = draft.storages.keys().map(String::as_str);
    let of = reference(r, &mut t, "of", "a storage", storages);
    if !draft.caches.contains_key(name) && !t.has("of") {
        r.problem(t.span.clone(), &t.path, "expected the string `of`", None);
    }
    let capacity = fact(r, &mut t, "capacity", &["B"]);
    let latency = fact(r, &mut t, "latency", &["ns"]);
    t.finish(r);
    let c = draft.caches.entry(name.to_string()).or_default();
    c.of = of.or(c.of.take());
    c.capacity = capacity.or(c.capacity.take());
    c.latency = latency.or(c.latency.take());
}

/// The units of a resource's rate, without the `/s` or `/clock`; none for an unknown resource.
fn resource_units(name: &str, draft: &Draft) -> Option<&'static [&'static str]> {
    match name.split_once('.') {
        Some(("tensor", d)) => DType::parse(d).map(|_| &["flop"] as _),
        Some(("fma", d)) => DType::parse(d).map(|_| &["flop", "op"] as _),
        Some(_) => None,
        None if matches!(name, "sfu" | "int" | "cvt") => Some(&["op"]),
        None if name == "link" || draft.storages.contains_key(name) => Some(&["B"]),
        None if draft.caches.contains_key(name) => Some(&["B"]),
        None => None,
    }
}

/// Reads a table of rates; `tensor.bf16` is a key in quotes or a table within a table.
fn resources(
    r: &mut Reader,
    t: &Table,
    prefix: &str,
    draft: &Draft,
    per: &str,
    out: &mut Vec<(String, Datum<f64>)>,
) {
    for e in t.all().iter() {
        let name = format!("{prefix}{}", e.key);
        let path = t.at(&e.key);
        if prefix.is_empty() && !is_leaf(&e.node) && matches!(name.as_str(), "tensor" | "fma") {
            if let Some(inner) = r.as_table(&path, &e.node) {
                resources(r, &inner, &format!("{name}."), draft, per, out);
            }
            continue;
        }
        let Some(units) = resource_units(&name, draft) else {
            let mut known: Vec<String> = vec!["sfu".into(), "int".into(), "cvt".into()];
            known.push("link".into());
            for d in DType::ALL {
                known.push(format!("tensor.{d}"));
                known.push(format!("fma.{d}"));
            }
            known.extend(draft.storages.keys().chain(draft.caches.keys()).cloned());
            let near = crate::diag::did_you_mean(&name, known.iter().map(String::as_str));
            let help = match near {
                Some(n) => format!("did you mean `{n}`?"),
                None => "`tensor.<dtype>`, `fma.<dtype>`, `sfu`, `int`, `cvt`, `link`, a storage \
                         or a cache"
                    .into(),
            };
            let message = format!("expected a resource, found `{name}`");
            r.problem(e.key_span.clone(), &path, message, Some(help));
            continue;
        };
        let units: Vec<String> = units.iter().map(|u| format!("{u}/{per}")).collect();
        let units: Vec<&str> = units.iter().map(String::as_str).collect();
        if let Some(d) = leaf(r, &path, &e.node, &units, false) {
            out.push((name, d));
        }
    }
}

fn instruction(r: &mut Reader, mut t: Table, draft: &Draft) -> Option<Instruction> {
    let name = t.str(r, "name");
    let hint = t.str(r, "hint");
    if let Some(h) = &hint
        && draft.instructions.iter().any(|i| i.hint == *h)
    {
        let at = t.at("hint");
        r.problem(t.span.clone(), &at, format!("hint `{h}` is given twice"), None);
    }
    let kinds = InstructionKind::ALL;
    if !t.has("kind") {
        r.problem(t.span.clone(), &t.path, "expected the string `kind`", None);
    }
    let kind = reference(r, &mut t, "kind", "a kind", kinds.iter().map(|(n, _)| *n))
        .and_then(|w| kinds.iter().find(|(n, _)| *n == w).map(|(_, k)| *k));
    if !t.has("level") {
        r.problem(t.span.clone(), &t.path, "expected the string `level`", None);
    }
    let level =
        reference(r, &mut t, "level", "a level", draft.levels.iter().map(|l| l.name.as_str()));
    let participants = number(r, &mut t, "participants");
    if participants.is_none() && !t.has("participants") {
        r.problem(t.span.clone(), &t.path, "expected the integer `participants`", None);
    }
    let asynchronous = t.flag(r, "asynchronous");
    let forms = t.tables(r, "forms").into_iter().filter_map(|t| form(r, t)).collect::<Vec<_>>();
    let [a, b, acc] = ["a", "b", "acc"].map(|key| storages(r, &mut t, key, draft));
    let mut moves = vec![];
    if let Some(node) = t.get("moves") {
        let path = t.at("moves");
        for pair in r.as_array(&path, &node).unwrap_or_default().iter() {
            if let Some(m) = movement(r, &path, pair, draft) {
                moves.push(m);
            }
        }
    }
    let levels = draft.levels.iter().map(|l| l.name.as_str());
    let multicast = reference(r, &mut t, "multicast", "a level", levels);
    let bytes = sizes(r, &mut t, "bytes");
    let [run_bytes, max_rank, max_extent, align, max_group] =
        ["run_bytes", "max_rank", "max_extent", "align", "max_group"]
            .map(|key| number(r, &mut t, key));
    let origin = origin(r, &mut t);
    let source = t.str(r, "source");
    let note = t.opt_str(r, "note");
    let lacks = match kind {
        Some(InstructionKind::Matrix) if forms.is_empty() => Some("forms"),
        Some(InstructionKind::Matrix) if a.is_empty() => Some("a"),
        Some(InstructionKind::Matrix) if b.is_empty() => Some("b"),
        Some(InstructionKind::Matrix) if acc.is_empty() => Some("acc"),
        Some(InstructionKind::Copy) if moves.is_empty() => Some("moves"),
        _ => None,
    };
    if let Some(key) = lacks
        && !t.has(key)
    {
        let message = format!("expected the key `{key}` for an instruction of this kind");
        r.problem(t.span.clone(), &t.path, message, None);
    }
    t.finish(r);
    Some(Instruction {
        name: name?,
        hint: hint?,
        kind: kind?,
        level: level?,
        participants: participants?,
        asynchronous,
        forms,
        a,
        b,
        acc,
        moves,
        multicast,
        bytes,
        run_bytes,
        max_rank,
        max_extent,
        align,
        max_group,
        origin: origin?,
        source: source?,
        note,
    })
}

fn number(r: &mut Reader, t: &mut Table, key: &'static str) -> Option<u64> {
    let node = t.get(key)?;
    let path = t.at(key);
    let v = r.as_u64(&path, &node)?;
    if v == 0 {
        r.problem(node.span, &path, "expected a value above 0, found the integer 0", None);
        return None;
    }
    Some(v)
}

fn storages(r: &mut Reader, t: &mut Table, key: &'static str, draft: &Draft) -> Vec<String> {
    let path = t.at(key);
    let mut out = vec![];
    for (word, node) in t.strings(r, key) {
        let names = draft.storages.keys().map(String::as_str);
        if named(r, &path, &node, &word, "a storage", names) {
            out.push(word);
        }
    }
    out
}

fn movement(r: &mut Reader, path: &str, pair: &Node, draft: &Draft) -> Option<(String, String)> {
    let items = r.as_array(path, pair)?;
    let [from, to] = &*items else {
        let message = format!("expected [from, to], found {} items", items.len());
        r.problem(pair.span.clone(), path, message, None);
        return None;
    };
    let mut one = |node: &Node| {
        let word = r.as_str(path, node)?;
        let names = draft.storages.keys().map(String::as_str);
        named(r, path, node, &word, "a storage", names).then_some(word)
    };
    Some((one(from)?, one(to)?))
}

/// `[8, 16]` or `{ min = 8, max = 256, step = 8 }`.
fn sizes(r: &mut Reader, t: &mut Table, key: &'static str) -> Option<Sizes> {
    let node = t.get(key)?;
    let path = t.at(key);
    match &node.value {
        Value::Array(items) if !items.is_empty() => {
            let all: Vec<u64> = items.iter().filter_map(|n| r.as_u64(&path, n)).collect();
            (all.len() == items.len()).then_some(Sizes::OneOf(all))
        }
        Value::Table(_) => {
            let mut t = r.as_table(&path, &node)?;
            let [min, max, step] = ["min", "max", "step"].map(|k| number(r, &mut t, k));
            t.finish(r);
            if let (Some(min), Some(max), Some(step)) = (min, max, step)
                && min <= max
            {
                return Some(Sizes::Steps { min, max, step });
            }
            let message = "expected `min`, `max` and `step` with min <= max";
            r.problem(node.span.clone(), &path, message, None);
            None
        }
        _ => {
            let found = node.found();
            let message = format!("expected sizes or {{ min, max, step }}, found {found}");
            r.problem(node.span.clone(), &path, message, None);
            None
        }
    }
}

fn form(r: &mut Reader, mut t: Table) -> Option<Form> {
    let a = dtypes(r, &mut t, "a");
    let b = if t.has("b") { dtypes(r, &mut t, "b") } else { a.clone() };
    let acc = dtypes(r, &mut t, "acc");
    let mixed = t.flag(r, "mixed");
    let m = sizes(r, &mut t, "m");
    let n = sizes(r, &mut t, "n");
    let k_bytes = sizes(r, &mut t, "k_bytes");
    for key in ["a", "acc", "m", "n", "k_bytes"] {
        if !t.has(key) {
            r.problem(t.span.clone(), &t.path, format!("expected the key `{key}`"), None);
        }
    }
    // `b` may be left out where it is as `a`; asking for it keeps it a known key.
    t.get("b");
    t.finish(r);
    Some(Form { a, b, acc, mixed, m: m?, n: n?, k_bytes: k_bytes? })
}

fn dtypes(r: &mut Reader, t: &mut Table, key: &'static str) -> Vec<DType> {
    let path = t.at(key);
    let mut out = vec![];
    for (word, node) in t.strings(r, key) {
        if named(r, &path, &node, &word, "a dtype", DType::ALL.iter().map(|d| d.name())) {
            out.extend(DType::parse(&word));
        }
    }
    out
}

//! From documents to a [`Target`]: joins a device with its architecture and checks the whole.

use super::doc::{self, COSTS, Draft, StorageDraft, UnitDraft};
use super::fact::Datum;
use super::model::{Cache, Storage, Unit};
use super::toml_tree::{Problem, Reader, Table, list, suggest};
use super::{DocumentKind, Target, TargetError, builtin_architecture};

const KINDS: [&str; 2] = ["architecture", "device"];

/// Checks that a document is of a kind and has the id that it was asked for by.
fn header(r: &mut Reader, t: &mut Table, kind: DocumentKind, id: &str) {
    let want = kind.as_str();
    match t.get("kind") {
        None => {
            r.problem(t.span.clone(), "", format!("expected `kind = \"{want}\"`"), None);
        }
        Some(node) => {
            if let Some(word) = r.as_str("kind", &node)
                && word != want
            {
                let message = format!("expected the kind `{want}`, found `{word}`");
                r.problem(node.span, "kind", message, suggest(&word, KINDS));
            }
        }
    }
    match t.get("id") {
        None => r.problem(t.span.clone(), "", format!("expected `id = \"{id}\"`"), None),
        Some(node) => {
            if let Some(word) = r.as_str("id", &node)
                && word != id
            {
                let message = format!("expected the id `{id}`, found `{word}`");
                r.problem(node.span, "id", message, Some("a document is named by its id".into()));
            }
        }
    }
}

/// Reads an architecture; its own problems are in the reader.
pub(super) fn architecture(r: &mut Reader, id: &str) -> Option<Draft> {
    let mut t = r.root()?;
    header(r, &mut t, DocumentKind::Architecture, id);
    let name = t.str(r, "name").unwrap_or_default();
    let mut draft = Draft { name, levels: doc::levels(r, &mut t), ..Draft::default() };
    check_levels(r, &draft);
    doc::sections(r, &mut t, &mut draft);
    t.finish(r);
    Some(draft)
}

/// Reads a device over its architecture.
pub(super) fn device(
    id: &str,
    text: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Target, TargetError> {
    let mut r = Reader::new(id, text);
    let Some(mut t) = r.root() else { return Err(TargetError { problems: r.into_problems() }) };
    header(&mut r, &mut t, DocumentKind::Device, id);
    let name = t.str(&mut r, "name").unwrap_or_default();
    let Some(node) = t.get("architecture") else {
        r.problem(0..0, "", "expected the string `architecture`", None);
        return Err(TargetError { problems: r.into_problems() });
    };
    let Some(arch) = r.as_str("architecture", &node) else {
        return Err(TargetError { problems: r.into_problems() });
    };
    let Some(arch_text) = lookup(&arch).or_else(|| builtin_architecture(&arch).map(str::to_string))
    else {
        let help = suggest(&arch, super::architecture_ids());
        let message = format!("expected a known architecture, found `{arch}`");
        r.problem(node.span, "architecture", message, help);
        return Err(TargetError { problems: r.into_problems() });
    };
    let mut ra = Reader::new(&arch, &arch_text);
    let draft = architecture(&mut ra, &arch);
    if !ra.problems.is_empty() {
        // A device cannot be read against a broken architecture without false alarms.
        let mut problems = r.into_problems();
        problems.extend(ra.into_problems());
        return Err(TargetError { problems });
    }
    let Some(mut draft) = draft else { return Err(TargetError { problems: r.into_problems() }) };
    doc::sections(&mut r, &mut t, &mut draft);
    t.finish(&mut r);
    finish(r, ra, id, name, arch, draft)
}

fn check_levels(r: &mut Reader, draft: &Draft) {
    let grids: Vec<&str> =
        draft.levels.iter().filter(|l| l.grid).map(|l| l.name.as_str()).collect();
    if grids.len() != 1 && !draft.levels.is_empty() {
        let found = if grids.is_empty() { "none".into() } else { list(grids) };
        let message = format!("expected one level with `grid = true`, found {found}");
        r.problem_at("levels", message, None);
    }
    let mut outer: Option<(&str, u64)> = None;
    for (i, level) in draft.levels.iter().enumerate() {
        let Some(size) = level.size.as_ref().and_then(Datum::known).map(|f| f.value) else {
            continue;
        };
        if let Some((name, big)) = outer
            && (size > big || !big.is_multiple_of(size.max(1)))
        {
            let message =
                format!("expected a divisor of the size of `{name}`, {big}, found {size}");
            r.problem_at(&format!("levels[{i}].size"), message, None);
        }
        outer = Some((&level.name, size));
    }
    if let Some((i, last)) = draft.levels.iter().enumerate().next_back()
        && let Some(f) = last.size.as_ref().and_then(Datum::known)
        && f.value != 1
    {
        let message = format!("expected 1 for the finest level, found {}", f.value);
        r.problem_at(&format!("levels[{i}].size"), message, None);
    }
}

/// The documents of one target, for problems that concern both.
struct Both {
    device: Reader,
    architecture: Reader,
}

impl Both {
    /// Reports at the document that has the path; at the device's where neither has.
    fn problem(&mut self, path: &str, message: String) {
        let r = if !self.device.has_place(path) && self.architecture.has_place(path) {
            &mut self.architecture
        } else {
            &mut self.device
        };
        r.problem_at(path, message, None);
    }

    fn required<T>(&mut self, path: String, datum: Option<Datum<T>>) -> Datum<T> {
        datum.unwrap_or_else(|| {
            let help = "a fact that is not known is `{ absent = \"reason\" }`".to_string();
            self.device.problem_at(&path, "expected this fact, found none".into(), Some(help));
            Datum::Absent("missing".into())
        })
    }
}

fn finish(
    device: Reader,
    architecture: Reader,
    id: &str,
    name: String,
    arch: String,
    draft: Draft,
) -> Result<Target, TargetError> {
    let mut both = Both { device, architecture };
    let units: Vec<Unit> =
        draft.units.into_iter().map(|(name, u)| finish_unit(&mut both, name, u)).collect();
    let storages: Vec<Storage> =
        draft.storages.into_iter().map(|(name, s)| finish_storage(&mut both, name, s)).collect();
    let caches = draft
        .caches
        .into_iter()
        .map(|(name, c)| Cache {
            capacity: both.required(format!("caches.{name}.capacity"), c.capacity),
            of: c.of.unwrap_or_default(),
            latency: c.latency,
            name,
        })
        .collect();
    let mut clocks = draft.clocks;
    let peak_clock = both.required("clocks.peak".into(), clocks.remove("peak"));
    let mut costs = draft.costs;
    for name in COSTS {
        let datum = both.required(format!("costs.{name}"), costs.remove(name));
        costs.insert(name.into(), datum);
    }
    let grid = draft.levels.iter().position(|l| l.grid).unwrap_or(0);
    let grid_name = draft.levels.get(grid).map(|l| l.name.clone()).unwrap_or_default();
    if !units.iter().any(|u| u.level == grid_name) {
        both.problem("units", format!("expected a unit that runs the grid level `{grid_name}`"));
    }
    let gmem = storages.iter().any(|s| s.name == "gmem");
    if gmem && !draft.peak.contains_key("gmem") {
        both.required::<f64>("rates.peak.gmem".into(), None);
    }
    let mut problems: Vec<Problem> = both.device.into_problems();
    problems.extend(both.architecture.into_problems());
    if !problems.is_empty() {
        return Err(TargetError { problems });
    }
    Ok(Target {
        id: id.to_string(),
        name,
        architecture: arch,
        architecture_name: draft.name,
        ptx_version: draft.ptx_version,
        levels: draft.levels,
        grid,
        units,
        storages,
        caches,
        peak_clock,
        sustained_clock: clocks.remove("sustained"),
        per_clock: draft.per_clock,
        peak: draft.peak,
        sustained: draft.sustained,
        costs,
        instructions: draft.instructions,
    })
}

fn finish_unit(both: &mut Both, name: String, u: UnitDraft) -> Unit {
    Unit {
        count: both.required(format!("units.{name}.count"), u.count),
        level: u.level.unwrap_or_default(),
        resident: u.resident,
        name,
    }
}

fn finish_storage(both: &mut Both, name: String, s: StorageDraft) -> Storage {
    let path = format!("storages.{name}");
    let capacity = both.required(format!("{path}.capacity"), s.capacity);
    let known = |d: &Option<Datum<u64>>| d.as_ref().and_then(Datum::known).map(|f| f.value);
    if let (Some(capacity), Some(pool)) = (capacity.known(), known(&s.pool)) {
        let reserved = known(&s.reserved).unwrap_or(0);
        if capacity.value.saturating_add(reserved) > pool {
            let message = format!(
                "expected capacity and reserved of one owner within the pool of {pool} B, \
                 found {} B + {reserved} B",
                capacity.value
            );
            both.problem(&format!("{path}.capacity"), message);
        }
    }
    Storage {
        name,
        owner: s.owner,
        capacity,
        pool: s.pool,
        pool_unit: s.pool_unit,
        reserved: s.reserved,
        granule: s.granule,
        align: s.align,
        access: s.access,
        latency: s.latency,
    }
}

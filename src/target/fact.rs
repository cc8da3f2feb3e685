//! A fact: a value with its unit and where it comes from, or the reason why it is not known.

use serde::Serialize;

use super::toml_tree::{Node, Reader, Value, list, suggest};

/// How a fact came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Stated by the vendor of the device.
    Vendor,
    /// Measured on the device; the note says how.
    Measured,
    /// Computed from other facts; the source gives the formula.
    Derived,
    /// Stated by a third party.
    Reference,
    /// A judgement; never used where a bound must hold.
    Estimated,
}

impl Origin {
    pub const ALL: [Origin; 5] =
        [Origin::Vendor, Origin::Measured, Origin::Derived, Origin::Reference, Origin::Estimated];

    /// The word that documents and reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Vendor => "vendor",
            Origin::Measured => "measured",
            Origin::Derived => "derived",
            Origin::Reference => "reference",
            Origin::Estimated => "estimated",
        }
    }

    fn parse(word: &str) -> Option<Origin> {
        Origin::ALL.into_iter().find(|o| o.as_str() == word)
    }
}

/// A known value. Capacities and counts are `u64` and exact; rates and times are `f64`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact<T> {
    pub value: T,
    /// For example `B`, `B/s`, `op/s`, `ns`, `Hz`.
    pub unit: String,
    pub origin: Origin,
    /// The document, measurement or formula that the value is from.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl<T> Fact<T> {
    /// The same fact with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        Fact {
            value: f(self.value),
            unit: self.unit,
            origin: self.origin,
            source: self.source,
            note: self.note,
        }
    }
}

/// A fact of a document: known, or absent with a reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Datum<T> {
    Known(Fact<T>),
    /// Why the value is not known.
    Absent(String),
}

impl<T> Datum<T> {
    pub fn known(&self) -> Option<&Fact<T>> {
        match self {
            Datum::Known(f) => Some(f),
            Datum::Absent(_) => None,
        }
    }

    /// The reason of an absent fact.
    pub fn absent(&self) -> Option<&str> {
        match self {
            Datum::Known(_) => None,
            Datum::Absent(reason) => Some(reason),
        }
    }
}

/// A value type that a leaf can hold.
pub(super) trait FactValue: Sized + Copy {
    fn read(r: &mut Reader, path: &str, node: &Node) -> Option<Self>;
    fn positive(self) -> bool;
    fn show(self) -> String;
}

impl FactValue for u64 {
    fn read(r: &mut Reader, path: &str, node: &Node) -> Option<u64> {
        r.as_u64(path, node)
    }
    fn positive(self) -> bool {
        self > 0
    }
    fn show(self) -> String {
        self.to_string()
    }
}

impl FactValue for f64 {
    fn read(r: &mut Reader, path: &str, node: &Node) -> Option<f64> {
        r.as_f64(path, node)
    }
    fn positive(self) -> bool {
        self > 0.0
    }
    fn show(self) -> String {
        // Whole numbers that a float holds exactly are shown in full, others in their
        // shortest form that reads back to the same value.
        if self.fract() == 0.0 && self.abs() < 9e15 {
            format!("{self:.0}")
        } else {
            format!("{self:e}")
        }
    }
}

/// Whether a node is a leaf, as opposed to a table of leaves.
pub(super) fn is_leaf(node: &Node) -> bool {
    match &node.value {
        Value::Table(entries) => entries
            .iter()
            .any(|e| matches!(e.key.as_str(), "value" | "absent" | "unit" | "origin" | "source")),
        _ => true,
    }
}

/// Reads `{ value, unit, origin, source, note }` or `{ absent }`. `units` are those accepted; a
/// value of zero is refused where `zero` is false.
pub(super) fn leaf<T: FactValue>(
    r: &mut Reader,
    path: &str,
    node: &Node,
    units: &[&str],
    zero: bool,
) -> Option<Datum<T>> {
    let mut t = r.as_table(path, node)?;
    if t.has("absent") {
        let reason = t.opt_str(r, "absent");
        for e in t.all().iter().filter(|e| e.key != "absent") {
            let at = t.at(&e.key);
            r.problem(
                e.key_span.clone(),
                &at,
                "expected `absent` alone, found a second key beside it",
                None,
            );
        }
        let reason = reason?;
        if reason.trim().is_empty() {
            r.problem(node.span.clone(), path, "expected a reason, found an empty string", None);
            return None;
        }
        return Some(Datum::Absent(reason));
    }
    let value = match t.get("value") {
        Some(n) => {
            let at = t.at("value");
            let v = T::read(r, &at, &n);
            if let Some(v) = v
                && !zero
                && !v.positive()
            {
                let found = n.found();
                r.problem(n.span, &at, format!("expected a value above 0, found {found}"), None);
            }
            v
        }
        None => {
            r.problem(
                node.span.clone(),
                path,
                "expected the key `value`",
                Some("an unknown fact is `{ absent = \"reason\" }`".into()),
            );
            None
        }
    };
    let unit_node = t.get("unit");
    let unit = match &unit_node {
        Some(n) => r.as_str(&t.at("unit"), n),
        None => {
            let expected = list(units.iter().copied());
            r.problem(
                node.span.clone(),
                path,
                format!("expected the key `unit` ({expected})"),
                None,
            );
            None
        }
    };
    if let (Some(u), Some(n)) = (&unit, &unit_node)
        && !units.contains(&u.as_str())
    {
        let expected = list(units.iter().copied());
        let at = t.at("unit");
        r.problem(n.span.clone(), &at, format!("expected the unit {expected}, found `{u}`"), None);
    }
    let origin = origin(r, &mut t);
    let source = t.str(r, "source");
    let note = t.opt_str(r, "note");
    t.finish(r);
    Some(Datum::Known(Fact { value: value?, unit: unit?, origin: origin?, source: source?, note }))
}

/// The required key `origin` of a table.
pub(super) fn origin(r: &mut Reader, t: &mut super::toml_tree::Table) -> Option<Origin> {
    let Some(node) = t.get("origin") else {
        let words = list(Origin::ALL.iter().map(|o| o.as_str()));
        r.problem(
            t.span.clone(),
            &t.path,
            "expected the key `origin`",
            Some(format!("one of {words}")),
        );
        return None;
    };
    let at = t.at("origin");
    let word = r.as_str(&at, &node)?;
    let found = Origin::parse(&word);
    if found.is_none() {
        r.problem(
            node.span,
            &at,
            format!("expected an origin, found `{word}`"),
            suggest(&word, Origin::ALL.iter().map(|o| o.as_str())),
        );
    }
    found
}
